"""How a rating moved, in steps: each is a message, the numbers in it, and what comes of them.

Steps are data. A message is the English text with the names of its numbers in braces, which is also its
msgid for gettext (python-brace-format); a Catalogue makes text of it. Numbers are unrounded, so that the last
step's result can be recomputed from them to the last bit; only the text rounds.

Pure: standard library only.
"""

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Number = int | float | Fraction
# Several numbers or names go into one place of a text.
Value = Number | str | Sequence[Number] | Sequence[str]

_SIGNIFICANT = 12


@dataclass(frozen=True)
class Step:
    """One step: a message, the values it names, unrounded, and the `result`, which it may name as well.

    `result` is None for a step that only says something. Values that the text does not name are those that
    the result depends on beside.
    """

    message: str
    values: Mapping[str, Value] = field(default_factory=dict)
    result: Number | None = None


def message(text: str) -> str:
    """Mark a text as a message, for `xgettext --keyword=message`, and return it."""
    return text


GAIN = message("Your rating: {before:.2f} + {gain:.2f} = {result:.2f}.")
LOSS = message("Your rating: {before:.2f} - {loss:.2f} = {result:.2f}.")


def balance(before: float, change: float) -> Step:
    """Return the last step of a rating that is moved by a change."""
    if change < 0:
        return Step(LOSS, {"before": before, "loss": -change}, before + change)
    return Step(GAIN, {"before": before, "gain": change}, before + change)


def last_result(steps: Sequence[Step]) -> Any:
    """Return the result of the last step; None when there is no step."""
    return steps[-1].result if steps else None


class _NumberFormatter(string.Formatter):
    """Formats numbers by the specs in a message: `.2f`, `+.2f`, or none for all digits there are."""

    def __init__(self, decimal: str) -> None:
        self._decimal = decimal

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a value as text; several are a list, or a sum where they have signs."""
        if isinstance(value, str):
            return value
        if not isinstance(value, Sequence):
            return self._number(value, format_spec)
        several = [self.format_field(one, format_spec) for one in value]
        if not format_spec.startswith("+"):
            return ", ".join(several)
        return " ".join([several[0].removeprefix("+"), *(f"{one[0]} {one[1:]}" for one in several[1:])])

    def _number(self, value: Number, spec: str) -> str:
        if spec in ("", "+"):
            spec += f".{_SIGNIFICANT}g"
        # A Fraction has no formats before Python 3.12.
        text = format(float(value) if isinstance(value, Fraction) else value, spec)
        if text.startswith("-") and not text.strip("-0."):
            text = text.replace("-", "+" if spec.startswith("+") else "", 1)
        return text.replace(".", self._decimal)


class Catalogue:
    """Makes text of steps, in English unless `translate` gives other texts for the messages.

    `translate` is the `gettext` of a `gettext.GNUTranslations`; `decimal` is written before decimals.
    """

    def __init__(self, translate: Callable[[str], str] = str, decimal: str = ".") -> None:
        self._translate = translate
        self._formatter = _NumberFormatter(decimal)

    def text(self, step: Step) -> str:
        """Return the text of a step."""
        return self._formatter.vformat(
            self._translate(step.message), (), {**step.values, "result": step.result}
        )
