"""What stops a broker from being provided, or a demonstration from going on."""


class BrokerError(Exception):
    """The broker could not be provided; the message says what failed and what to do."""


class PortTakenError(BrokerError):
    """Another process listens on the broker's port."""


class ShowError(Exception):
    """The demonstration cannot go on; the message says why."""


def extra_missing() -> BrokerError:
    """Return the error for a broker that was not installed along."""
    return BrokerError(
        "The embedded broker is not installed: run `pip install 'ladderlog[broker]'`, "
        "or set LADDERLOG_BOOTSTRAP_SERVERS to a running Kafka."
    )


def root_cause(error: BaseException) -> str:
    """Return the innermost message: `Connection refused` rather than five layers around it."""
    while inner := error.__cause__ or error.__context__:
        error = inner
    return str(error) or type(error).__name__
