"""Shows which lines of a file could not be taken: the first on standard error, all where they are wanted."""

from typing import IO

import click
import orjson

from streams.files.report import LeftOut

# More on a terminal than this and nobody reads them.
_SHOWN = 20


class Telling:
    """Shows the first lines left out with their reasons, and writes all of them to a file, if there is one.

    `option` is the one that names a file for all of them. With the `source` that lines are of, each is told
    with it and with the reason's name.
    """

    def __init__(
        self,
        option: str,
        file: IO[bytes] | None = None,
        *,
        elsewhere: bool = False,
        source: str | None = None,
    ) -> None:
        self._source = source
        self._option = option
        self._file = file
        self._kept = elsewhere or file is not None
        self._count = 0

    def __call__(self, left_out: LeftOut) -> None:
        """Take a line that was left out."""
        self._count += 1
        if self._count <= _SHOWN:
            click.echo(self._line(left_out), err=True)
        if self._file is not None:
            where = {} if self._source is None else {"file": self._source}
            fields = {**where, **left_out._asdict()}
            self._file.write(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE))

    def _line(self, left_out: LeftOut) -> str:
        if self._source is None:
            return f"line {left_out.line}: {left_out.message}"
        return f"{self._source}, line {left_out.line}: {left_out.reason}: {left_out.message}"

    def end(self) -> None:
        """Say how many more there were."""
        if self._count > _SHOWN:
            where = "" if self._kept else f"; {self._option} FILE has them all"
            click.echo(f"and {self._count - _SHOWN} more{where}", err=True)
