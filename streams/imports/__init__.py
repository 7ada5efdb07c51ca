"""Games and figures from elsewhere, CSV and PGN, made into events that `ladderlog rate` accepts."""

from streams.imports.csv_games import import_csv
from streams.imports.figures import import_ratings
from streams.imports.mapping import ImportMapping, MappingError, parse_mapping
from streams.imports.pgn import import_pgn
from streams.imports.report import ImportReport, LeftOut
from streams.imports.sorting import SortedLines

__all__ = [
    "ImportMapping",
    "ImportReport",
    "LeftOut",
    "MappingError",
    "SortedLines",
    "import_csv",
    "import_pgn",
    "import_ratings",
    "parse_mapping",
]
