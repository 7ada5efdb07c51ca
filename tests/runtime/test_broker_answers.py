"""What a broker's refusal means is said beside its name."""

import pytest
from aiokafka.errors import InvalidTimestampError, KafkaError, RecordListTooLargeError

from streams.runtime.broker_answers import meaning


@pytest.mark.parametrize(
    ("error", "said"), [(InvalidTimestampError(), "clock"), (RecordListTooLargeError(), "`ladderlog topics`")]
)
def test_a_refusal_says_where_to_look(error: KafkaError, said: str) -> None:
    assert said in (meaning(error) or "")


def test_an_error_that_is_no_refusal_has_no_other_meaning() -> None:
    assert meaning(ValueError("x")) is None
