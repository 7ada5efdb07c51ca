"""The parts of the reference that are made from the code, as Markdown.

A page says `<!-- generated: NAME -->` where such a part belongs, and NAME is a key of `PARTS`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from streams.cli.main import cli
from streams.cli.settings_model import CONNECTION_SECTION, SETTINGS, Setting
from streams.core.events import REASONS, REJECTIONS
from streams.runtime.exit_statuses import MEANINGS

PROJECT = Path(__file__).parent.parent
SCHEMAS = PROJECT / "schemas"
MARK = re.compile(r"^<!-- generated: (\S+) -->$", re.MULTILINE)
_SETTING_OF = {setting.parameter: setting for setting in SETTINGS}


def filled(page: str) -> str:
    """Return a page with its generated parts. Raises KeyError for a part that there is none of."""
    return MARK.sub(lambda mark: PARTS[mark[1]](), page)


def commands() -> str:
    """Return a section for each command: what it does, its arguments and its options."""
    return "\n\n".join(_command(name, command) for name, command in sorted(cli.commands.items()))


def settings() -> str:
    """Return a section for each group of settings, with all names of each setting."""
    groups: dict[str, list[Setting]] = {}
    for setting in SETTINGS:
        groups.setdefault(setting.section or "The deployment", []).append(setting)
    return "\n\n".join(
        f"## {group}\n\n" + "\n\n".join(map(_setting, members)) for group, members in groups.items()
    )


def events() -> str:
    """Return a section for each event: its fields by its JSON Schema, and its examples."""
    return "\n\n".join(_event(path) for path in sorted(SCHEMAS.glob("*.json")))


def ignored() -> str:
    """Return the table of the reasons of game-ignored."""
    return _table(("reason", "meaning"), ((f"`{name}`", text) for name, text in REASONS.items()))


def rejected() -> str:
    """Return the table of the reasons of game-rejected."""
    return _table(("reason", "meaning"), ((f"`{name}`", text) for name, text in REJECTIONS.items()))


def exit_statuses() -> str:
    """Return the table of exit statuses."""
    rows = ((f"`{status}`", *meaning) for status, meaning in MEANINGS.items())
    return _table(("status", "what happened", "what to do"), rows)


def _command(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"ladderlog {name}", parent=click.Context(cli))
    parts = [f"## {name}", _help_text(command.help or "")]
    parts.append(f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```")
    shared, connects = [], False
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Argument) or parameter.name == "help":
            continue
        assert isinstance(parameter, click.Option)
        setting = _SETTING_OF.get(parameter.name or "")
        if parameter.hidden or (setting and setting.section == CONNECTION_SECTION):
            connects = connects or setting is not None
        elif setting is not None:
            shared.append(f"[`{setting.option}`](settings.md#{_anchor(setting.name)})")
        elif parameter.name not in {"config", "command_config"}:
            parts.append(_option(parameter, context))
    if connects:
        shared.append("those of the [connection](settings.md#connection)")
    if shared:
        parts.append(f"Settings: {', '.join(shared)}.")
    return "\n\n".join(parts)


def _help_text(text: str) -> str:
    return _escaped(re.sub(r"\s*\n(?!\n)\s*", " ", text.replace("\n\n", "\0")).replace("\0", "\n\n").strip())


def _option(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    assert record is not None
    names, text = record
    return f"`{names}`\n: {_escaped(' '.join(text.split()))}"


def _setting(setting: Setting) -> str:
    lines = [f"({_anchor(setting.name)})=", f"`{setting.name}`", f": {_escaped(setting.help)}"]
    if setting.secret:
        lines.append(": A secret: in a file of settings only, not as an option or a variable.")
    else:
        lines.append(f": Option `{setting.option}`, variable `{setting.variable}`.")
    if isinstance(setting.type, click.Choice):
        lines.append(f": One of {', '.join(f'`{choice}`' for choice in setting.type.choices)}.")
    if setting.shown_default is not None:
        lines.append(f": Default: {_escaped(setting.shown_default)}.")
    elif setting.default not in {None, ""}:
        lines.append(f": Default: `{setting.default}`.")
    head, name, *rest = lines
    return "\n".join([head, name, *rest])


def _event(path: Path) -> str:
    schema = json.loads(path.read_text(encoding="utf-8"))
    name = path.name.removesuffix(".json")
    fields = _table(("field", "type", "meaning"), _fields(schema))
    examples = (
        f"```json\n{example.read_text(encoding='utf-8').strip()}\n```"
        for example in sorted((SCHEMAS / "examples" / name).glob("*.json"))
    )
    source = f"The schema: [{path.name}](../../schemas/{path.name})."
    title = f"## {name.partition('.')[0]}"
    return "\n\n".join([title, schema["description"], fields, source, "Examples:", *examples])


def _fields(schema: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield a row for each field of a JSON object, and for those of the objects in it."""
    for name, field in schema["properties"].items():
        path = f"{within}{name}"
        needed = "required. " if name in schema.get("required", ()) else ""
        yield f"`{path}`", _kind(field), needed + _escaped(field.get("description", ""))
        if "properties" in field:
            yield from _fields(field, f"{path}.")
        if "properties" in field.get("items", {}):
            yield from _fields(field["items"], f"{path}[].")


def _kind(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return " or ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    if field.get("format") == "date-time":
        return "moment"
    kind = str(field["type"])
    low, high = field.get("minimum"), field.get("maximum")
    if low is not None and high is not None:
        return f"{kind}, {low:,.0f} to {high:,.0f}"
    return kind if low is None else f"{kind}, from {low:,.0f}"


def _table(heading: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [heading, ("---",) * len(heading), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def _anchor(name: str) -> str:
    return "setting-" + name.replace(".", "-")


def _escaped(text: str) -> str:
    """Return a text in which nothing is taken for Markdown or HTML but code."""
    return re.sub(r"(?<!`)([*_<\[\]])(?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)", r"\\\1", text)


PARTS: Mapping[str, Callable[[], str]] = {
    "commands": commands,
    "settings": settings,
    "events": events,
    "reasons-ignored": ignored,
    "reasons-rejected": rejected,
    "exit-statuses": exit_statuses,
}
