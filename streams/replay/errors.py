"""What stops a replay or an audit."""


class ReplayError(Exception):
    """A replay that cannot be done, or not exactly; the message says why and what can be done instead."""


class LostError(ReplayError):
    """Records that an exact replay needs are not in the log any more."""


class RequestError(ReplayError):
    """What was asked for does not go together; the message says how to ask instead."""


class NoPartitionError(RequestError):
    """A partition was asked for that the topic does not have."""
