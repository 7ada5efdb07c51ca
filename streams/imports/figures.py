"""Players' starting figures from CSV: what a former system made of them, as rating-imported lines."""

from functools import partial
from typing import Any

from streams.files.report import FileReport
from streams.imports.conversion import Conversion, present
from streams.imports.csv_rows import Broken, Row, Table
from streams.imports.mapping import ImportMapping, MappingError

FIELDS = ("player", "rating", "games", "week", "system", "ladder")


def import_ratings(conversion: Conversion) -> FileReport:
    """Write the figures of a CSV file as rating-imported lines, one row per player, and return the report.

    Raises MappingError when mapping and header do not fit; a bad row is left out and told to the report.
    """
    sink = conversion.sink()
    with Table(conversion.lines, conversion.mapping, FIELDS) as table:
        _check(table, conversion.mapping)
        for item in table:
            sink.take(item.line, partial(_event, item, conversion.mapping))
    sink.close()
    return conversion.report


def _check(table: Table, mapping: ImportMapping) -> None:
    for field in ("player", "rating", "games"):
        if field not in table.columns:
            raise MappingError(f"no column for {field} (--map {field}=COLUMN)")
    for field, given in (("ladder", mapping.ladder), ("system", mapping.system)):
        if given is None and field not in table.columns:
            raise MappingError(f"{field}: neither given (--{field} NAME) nor a column (--map {field}=COLUMN)")


def _event(item: Row | Broken, mapping: ImportMapping) -> dict[str, Any]:
    if isinstance(item, Broken):
        raise item.error()
    for field in ("player", "rating", "games"):
        item.required(field)
    event = {
        "type": "rating-imported",
        "ladder": item.identifier("ladder") or mapping.ladder or item.required("ladder"),
        "system": item.identifier("system") or mapping.system or item.required("system"),
        "player_id": item.identifier("player"),
        "rating": item.number("rating"),
        "games": item.whole("games"),
        "week": item.identifier("week"),
    }
    return present(event)
