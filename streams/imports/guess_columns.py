"""Which columns are which fields: told by their names, and by what stands in them where these say nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from streams.files.report import LineError
from streams.imports.mapping import MappingError
from streams.imports.results import read_result
from streams.imports.time_guess import guess_times

_MOST = 0.9
_GAME = ("game_id", "ended_at", "rated", "game_type", "ladder")
# What stands for a result where it is no score, by its words.
_RESULT_WORDS = {
    **dict.fromkeys(("white", "home", "h", "w", "player1", "a"), "1-0"),
    **dict.fromkeys(("black", "away", "b", "player2"), "0-1"),
    **dict.fromkeys(("draw", "d", "x", "tie", "remis", "½"), "1/2-1/2"),
}

Cells = Mapping[str, Sequence[str]]


@dataclass
class Guess:
    """What a mapping would say, how to tell people, and what they should know of it."""

    document: dict[str, Any] = field(default_factory=dict)
    preset: str | None = None
    recognised: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def guess_columns(called: Mapping[str, str], cells: Cells) -> Guess:
    """Return which columns are which fields; `called` are those that are told by their names.

    Raises MappingError when the players, or when games ended, are not to be told.
    """
    if not any(map(any, cells.values())):
        raise MappingError("there are no games in it")
    fields = {name: column for name, column in called.items() if any(cells.get(column, ()))}
    _find_missing(fields, cells)
    guess = Guess()
    columns: dict[str, Any] = _shape(fields, cells)
    columns["ended_at"] = _times(guess, fields, cells)
    if "result" in columns:
        _read_words(guess, columns["result"], cells)
    guess.document["columns"] = columns
    used: set[str] = set()
    for name, column in columns.items():
        names = [column] if isinstance(column, str) else column
        used |= set(names)
        guess.recognised.append(f"{name} from {' and '.join(map(repr, names))}")
    unused = [name for name in cells if name not in used]
    if unused:
        guess.recognised.append(f"not used: {', '.join(map(repr, unused))}")
    return guess


def _find_missing(fields: dict[str, str], cells: Cells) -> None:
    """Add the fields without which nothing goes, from the columns that have no field yet."""
    free = [name for name in cells if name not in fields.values()]
    if "ended_at" not in fields:
        _take(fields, "ended_at", free, lambda name: guess_times(_some(cells[name])) is not None)
    if not {"result", "points1", "winner", "points", "rank", "won"} & fields.keys():
        _take(fields, "result", free, lambda name: _share_of_results(cells[name]) >= _MOST)
    if not {"player1", "winner", "player"} & fields.keys():
        fields |= _players(free, cells)


def _take(fields: dict[str, str], field: str, free: list[str], fits: Callable[[str], bool]) -> None:
    column = next((name for name in free if fits(name)), None)
    if column is not None:
        fields[field] = column
        free.remove(column)


def _players(free: Sequence[str], cells: Cells) -> dict[str, str]:
    """Return the two columns that have most names in common, as players; nothing when none have any."""
    best: dict[str, str] = {}
    most = 0
    for number, one in enumerate(free):
        for other in free[number + 1 :]:
            common = {text for text in set(cells[one]) & set(cells[other]) if any(map(str.isalpha, text))}
            if len(common) > most:
                best, most = {"player1": one, "player2": other}, len(common)
    return best


def _shape(fields: Mapping[str, str], cells: Cells) -> dict[str, str]:
    """Return the fields of one row a game, or of one row a player, whichever these are.

    Raises MappingError when they are neither.
    """
    names = fields.keys()
    if names >= {"player1", "player2"}:
        scores = ("points1", "points2") if names >= {"points1", "points2"} else ("result", "winner")
        decisions: tuple[str, ...] = ("player1", "player2", *scores)
    elif names >= {"winner", "loser"}:
        decisions = ("winner", "loser")
    elif "player" in names:
        decisions = ("player", "rank", "won", "points", "team")
    else:
        raise MappingError(
            "no columns are recognised as the players (--map player1=COLUMN --map player2=COLUMN, or --map "
            f"player=COLUMN where a row is one player); there are {_listed(cells)}"
        )
    if "ended_at" not in names:
        raise MappingError(
            f"no column is recognised as a date (--map ended_at=COLUMN); there are {_listed(cells)}"
        )
    return {name: fields[name] for name in (*_GAME, *decisions) if name in names}


def _listed(cells: Cells) -> str:
    return ", ".join(map(repr, cells))


def _times(guess: Guess, fields: Mapping[str, str], cells: Cells) -> str | list[str]:
    """Return the column of the time, or those of day and hour, and say its format."""
    day, hour = fields["ended_at"], fields.get("hour")
    joined: list[list[str]] = [[day]] if hour in {None, day} else [[day, str(hour)], [day]]
    for names in joined:
        texts = [
            " ".join(filter(None, parts)) for parts in zip(*(cells[name] for name in names), strict=True)
        ]
        guessed = guess_times(_some(texts))
        if guessed is None:
            continue
        if guessed.form != "iso":
            guess.document["time_format"] = guessed.form
        if guessed.other is not None:
            guess.remarks.append(
                f"the dates could be {guessed.form} or {guessed.other}, for no day in them is beyond 12; "
                f"taken as {guessed.form} (else --time-format '{guessed.other}')"
            )
        return names if len(names) > 1 else day
    example = next(iter(_some(cells[day])), "")
    guess.remarks.append(f"times such as {example!r} are in no format that is known here (--time-format)")
    return day


def _some(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if text]


def _is_result(text: str) -> bool:
    try:
        read_result(text, "")
    except LineError:
        return False
    return True


def _share_of_results(texts: Sequence[str]) -> float:
    some = _some(texts)
    return sum(map(_is_result, some)) / len(some) if some else 0.0


def _read_words(guess: Guess, column: str, cells: Cells) -> None:
    """Say what words stand for, where results are no scores."""
    others = sorted({text for text in cells[column] if text and not _is_result(text)})
    words = {text: _RESULT_WORDS.get(text.casefold(), "") for text in others}
    if words and all(words.values()):
        guess.document["values"] = {"result": words}
        guess.remarks.append("results are words: see that each stands for what it means")
