"""Why the broker cannot be reached: Kafka's client says it in its log only, and raises something vague."""

import asyncio
import logging
import ssl
from typing import Any

from aiokafka.errors import KafkaConnectionError

from streams.runtime.connection import Connection

_CLIENT_LOG = logging.getLogger("aiokafka")
# A server that takes a connection and says nothing is no Kafka, or speaks something else.
_PATIENCE = 8.0
# What a broker that is about to start answers with.
_MAY_COME = (ConnectionRefusedError, ConnectionResetError, TimeoutError)
# By a part of the name of the error.
_REFUSALS = {
    "AuthenticationFailed": "it refused who we are; look at sasl.username and sasl.password.file",
    "UnsupportedSaslMechanism": "it does not know this sasl.mechanism",
}
_TLS_TO_PLAINTEXT = ("WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE")


class _Causes(logging.Filter):
    """Keeps, by server, the last error that Kafka's client has logged, and hides the line if it is to."""

    def __init__(self) -> None:
        super().__init__()
        self.last: dict[str, BaseException] = {}
        self.hides = True

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the error of a line about a connection, and say whether the line is shown."""
        arguments = record.args if isinstance(record.args, tuple) else ()
        error = arguments[-1] if arguments else None
        if not isinstance(error, BaseException):
            return True
        self.last[":".join(map(str, arguments[:-1]))] = error
        return not self.hides


_causes = _Causes()


class BrokerUnreachableError(KafkaConnectionError):
    """No broker can be used; the message says why, and what to do.

    `may_come` says whether waiting can help: a wrong password stays wrong.
    """

    def __init__(self, message: str, *, may_come: bool) -> None:
        super().__init__(message)
        self.may_come = may_come

    def __str__(self) -> str:
        return str(self.args[0])


def show_client_log() -> None:
    """Show what Kafka's client logs of connections, in a process that goes on for long."""
    _causes.hides = False


async def started(client: Any, connection: Connection) -> None:
    """Start a client of Kafka. Raises BrokerUnreachableError, which says why, within about ten seconds."""
    _CLIENT_LOG.addFilter(_causes)
    _causes.last.clear()
    try:
        await asyncio.wait_for(client.start(), _PATIENCE)
    except (KafkaConnectionError, TimeoutError) as error:
        raise unreachable(connection) from error


def unreachable(connection: Connection) -> BrokerUnreachableError:
    """Return an error that says why no broker could be reached the last time."""
    return BrokerUnreachableError(
        explained(connection.bootstrap_servers, connection.security.protocol),
        may_come=all(isinstance(error, _MAY_COME) for error in _causes.last.values()),
    )


def explained(servers: str, protocol: str) -> str:
    """Return why no broker could be reached, in one line, and what to do; no secret is in it."""
    if not _causes.last:
        return f"no broker answers at {servers}"
    reasons = {server: _reason(error, protocol) for server, error in _causes.last.items()}
    if len(set(reasons.values())) == 1:
        return f"no broker at {servers} can be used: {next(iter(reasons.values()))}"
    told = "; ".join(f"{server}: {reason}" for server, reason in reasons.items())
    return f"no broker at {servers} can be used: {told}"


def _reason(error: BaseException, protocol: str) -> str:
    wrong_protocol = f"is security.protocol {protocol} what this port speaks?"
    if isinstance(error, ssl.SSLError):
        return _tls(error, protocol)
    if isinstance(error, TimeoutError):
        return f"it does not answer in time; {wrong_protocol}"
    if isinstance(error, OSError):
        return error.strerror or str(error) or f"it ended the connection; {wrong_protocol}"
    name = type(error).__name__
    reason = next((reason for part, reason in _REFUSALS.items() if part in name), None)
    return f"{reason or f'it ended the connection; {wrong_protocol}'} ({_said(error)})"


def _tls(error: ssl.SSLError, protocol: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate(error)
    if error.reason in _TLS_TO_PLAINTEXT:
        return f"it does not speak TLS there, and security.protocol is {protocol}"
    return f"TLS failed ({error.reason or error}); look at ssl.certificate.location and ssl.key.location"


def _certificate(error: ssl.SSLCertVerificationError) -> str:
    message = error.verify_message
    if "Hostname mismatch" in message or "IP address mismatch" in message:
        return f"its certificate is another host's: {message}"
    if "expired" in message:
        return f"its certificate has expired ({message})"
    return f"its certificate cannot be trusted ({message}); look at ssl.ca.location"


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
