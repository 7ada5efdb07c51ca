"""What stops a replay or an audit."""


class ReplayError(Exception):
    """A replay that cannot be done, or not exactly; the message says why and what can be done instead."""


class LostError(ReplayError):
    """Records that an exact replay needs are not in the log any more."""
