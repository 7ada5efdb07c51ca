"""The filter that keeps the log readable while the broker is away."""

import logging

from streams.runtime.log_filter import INTERVAL, OncePerInterval, Passing


def record(line: int, level: int = logging.ERROR) -> logging.LogRecord:
    return logging.LogRecord("aiokafka", level, "client.py", line, "node %s is away", (1,), None)


def test_a_kind_of_message_is_logged_once_in_a_while() -> None:
    now = 0.0
    repeats = OncePerInterval(lambda: now)
    first, second, other = (repeats.filter(record(line)) for line in (1, 1, 2))
    now = INTERVAL
    later = record(1)

    assert (first, second, other) == (True, False, True)
    assert repeats.filter(later)
    assert later.getMessage() == "node 1 is away (1 more of these were not logged)"


def test_messages_below_warning_are_all_logged() -> None:
    repeats = OncePerInterval(lambda: 0.0)

    assert [repeats.filter(record(1, logging.INFO)) for _ in range(3)] == [True, True, True]


def test_what_a_new_broker_answers_at_first_is_no_error() -> None:
    answer, failure = record(1), record(2)
    answer.msg, answer.args = "Request failed: [Error 15] GroupCoordinatorNotAvailableError", ()

    logging.getLogger("aiokafka").setLevel(logging.WARNING)

    assert (Passing().filter(answer), answer.levelname) == (False, "DEBUG")
    assert (Passing().filter(failure), failure.levelname) == (True, "ERROR")
