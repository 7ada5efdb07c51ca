"""`--json`: what a command shows as one JSON document. docs/reference/json.md has every shape."""

from typing import Any

import click
import msgspec
import orjson

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document (docs/reference/json.md)."
)


def echo_json(document: Any) -> None:
    """Print a document of plain values, Structs and named tuples among them."""
    text = orjson.dumps(
        document, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_PASSTHROUGH_DATACLASS
    )
    click.echo(text.decode())


def named(record: Any) -> dict[str, Any]:
    """Return a named tuple's fields by name."""
    fields: dict[str, Any] = record._asdict()
    return fields


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
