"""Games and figures from elsewhere, CSV, JSON and PGN, made into events that `ladderlog rate` accepts."""

from streams.files.report import FileReport, LeftOut
from streams.imports.conversion import Conversion
from streams.imports.csv_games import import_csv
from streams.imports.figures import import_ratings
from streams.imports.json_games import import_json
from streams.imports.mapping import ImportMapping, MappingError, parse_mapping
from streams.imports.pgn import import_pgn
from streams.imports.sorting import SortedLines

__all__ = [
    "Conversion",
    "FileReport",
    "ImportMapping",
    "LeftOut",
    "MappingError",
    "SortedLines",
    "import_csv",
    "import_json",
    "import_pgn",
    "import_ratings",
    "parse_mapping",
]
