"""The last step of every import: only what the decoder accepts is written, and nothing twice."""

from collections.abc import Callable
from math import inf
from typing import Any, Protocol

import orjson

from streams.core.events import Game, RatingImported, Rejected
from streams.files.report import FileReport, LineError, PassedOverError
from streams.imports.names import Names
from streams.imports.simultaneous import Simultaneous
from streams.wire.decode import decode_line

# An id that comes back is a mistake of the file: rows of one game that do not stand together, or the same
# game exported twice. The last 100,000 are some 20 MB; older ones are the fold's to find.
_REMEMBERED = 100_000
_PROGRESS_STEP = 1_000

OUT_OF_ORDER = "games that ended before the game above them; ratings depend on the order (--sort)"


IN_THE_FUTURE = "games that end in the future; is the format of the times right (unix or unix-ms)?"
IN_1970 = "games of the year 1970; is the format of the times right (unix or unix-ms)?"
_DAY = 86_400
_YEAR = 365 * _DAY


class LineSink(Protocol):
    """Where lines go: a binary file, or what sorts them first."""

    def write(self, line: bytes, /) -> Any:
        """Take a line with its end."""


class EventSink:
    """Writes events as lines and keeps the report. `ordered` says that something sorts them afterwards."""

    def __init__(
        self, out: LineSink, progress: Any, report: FileReport, *, ordered: bool = False, now: float = inf
    ) -> None:
        self.report = report
        self._out = out
        self._progress = progress
        self._ordered = ordered
        self._seen: dict[tuple[str, ...], int] = {}
        self._last: dict[str, float] = {}
        self._simultaneous = Simultaneous()
        self._names = Names()
        self._now = now

    def take(self, line: int, make: Callable[[], dict[str, Any]]) -> None:
        """Make a record's event and write it, or leave it out with the reason."""
        self.report.read += 1
        if self.report.read % _PROGRESS_STEP == 0:
            self._progress.update(_PROGRESS_STEP)
        try:
            with self.report.trying():
                self._write(make(), line)
        except PassedOverError as error:
            self.report.pass_over(error.line or line, error.reason, error.message)
        except LineError as error:
            self.report.leave_out(error.line or line, error.reason, error.message)
        except Rejected as rejected:
            self.report.leave_out(line, rejected.reason, rejected.message)

    def close(self) -> None:
        """Bring the progress to the end, and note what only the whole file tells."""
        for remark in self._names.remarks():
            self.report.note(remark)
        self._progress.update(self.report.read % _PROGRESS_STEP)
        self._simultaneous.close()
        note_players(self._simultaneous, self.report)

    def _write(self, fields: dict[str, Any], line: int) -> None:
        text = orjson.dumps(fields)
        event = decode_line(text)
        if isinstance(event, Game):
            self._once((event.ladder, event.game_id), line, f"game {event.game_id!r}")
            self._doubt_time(event, line)
            self._keep_time(event, line)
            self._names.add(event.players)
        elif isinstance(event, RatingImported):
            key = (event.ladder, event.system, event.player_id, event.week or "")
            self._once(key, line, f"player {event.player_id!r}")
        self._out.write(text + b"\n")
        self.report.written += 1

    def _once(self, key: tuple[str, ...], line: int, what: str) -> None:
        first = self._seen.get(key)
        if first is not None:
            raise LineError("twice", f"{what} was on line {first} already")
        self._seen[key] = line
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]

    def _keep_time(self, game: Game, line: int) -> None:
        if self._ordered:
            return
        if game.ended_epoch < self._last.get(game.ladder, game.ended_epoch):
            self.report.note(OUT_OF_ORDER, line)
        self._last[game.ladder] = game.ended_epoch
        self._simultaneous.take(game.ladder, game.ended_epoch, game.players)

    def _doubt_time(self, game: Game, line: int) -> None:
        if game.ended_epoch > self._now + _DAY:
            self.report.note(IN_THE_FUTURE, line)
        elif 0 <= game.ended_epoch < _YEAR:
            self.report.note(IN_1970, line)


def note_players(simultaneous: Simultaneous, report: FileReport) -> None:
    """Note how many games have a player who ended another one at the same moment, if there are any."""
    if simultaneous.of_a_player:
        report.note(
            "games of a player who ended another one at the same moment; ratings depend on which is first: "
            f"{simultaneous.of_a_player}"
        )
