"""The parts of the pages that come from elsewhere, as Markdown.

A page says `<!-- generated: NAME -->` where a part belongs that is made from the code, and NAME is a key of
`PARTS`; and `<!-- included: PATH -->` where a page of the project belongs that lies elsewhere.
"""

import inspect
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from streams.cli.main import cli
from streams.cli.settings_model import CONNECTION_SECTION, SETTINGS, Setting
from streams.core.events import (
    COMPETITION_CLOSED,
    CORRECTIONS_APPLIED,
    GAME_FINISHED,
    GAME_IGNORED,
    GAME_VOIDED,
    RATING_CHANGED,
    RATING_IMPORTED,
    REASONS,
    REJECTIONS,
    WEEK_ENDED,
)
from streams.core.player_events import (
    ACTIVITY_IGNORED,
    ACTIVITY_REASONS,
    ACTIVITY_REJECTIONS,
    PLAYER_EVENTS,
    PLAYER_STATUS,
)
from streams.files.report import REASONS as LEFT_OUT
from streams.runtime.exit_statuses import MEANINGS
from streams.runtime.metrics import DESCRIPTIONS
from streams.runtime.rights import RIGHTS, rights_of
from streams.runtime.settings import Settings

PROJECT = Path(__file__).parent.parent
SCHEMAS = PROJECT / "schemas"
MARK = re.compile(r"^<!-- (generated|included): (\S+) -->$", re.MULTILINE)
# Not those to other sites, nor to a heading of the same page.
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")
# How help names a page, and how another page does.
_JSON_PAGE = ("(docs/reference/json.md)", "([what is in it](json.md))")
# Events in the order in which one comes to know them: what goes in, then what comes out.
_EVENTS = (
    GAME_FINISHED,
    RATING_IMPORTED,
    GAME_VOIDED,
    WEEK_ENDED,
    CORRECTIONS_APPLIED,
    RATING_CHANGED,
    COMPETITION_CLOSED,
    GAME_IGNORED,
    *PLAYER_EVENTS,
    PLAYER_STATUS,
    ACTIVITY_IGNORED,
)
_SETTING_OF = {setting.parameter: setting for setting in SETTINGS}


def filled(page: str) -> str:
    """Return a page with its parts from elsewhere. Raises KeyError for a part that there is none of."""
    return MARK.sub(lambda mark: PARTS[mark[2]]() if mark[1] == "generated" else included(mark[2]), page)


def included(path: str) -> str:
    """Return a page of the project, by its path there, with links as a page in a folder of docs/ has them."""

    def linked(link: re.Match[str]) -> str:
        target = (PROJECT / path).parent / link[2]
        if target.is_dir():
            # A site has no pages of folders.
            return link[1]
        return f"[{link[1]}]({os.path.relpath(target, PROJECT / 'docs' / 'any folder')}{link[3] or ''})"

    return _LINK.sub(linked, (PROJECT / path).read_text(encoding="utf-8"))


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
    return "\n\n".join(_event(SCHEMAS / f"{name}.v1.json") for name in _EVENTS)


def ignored() -> str:
    """Return the table of the reasons of game-ignored."""
    return _table(("reason", "meaning"), ((f"`{name}`", text) for name, text in REASONS.items()))


def left_out() -> str:
    """Return the table of the reasons for which an import leaves a game out."""
    return _table(("reason", "meaning"), ((f"`{name}`", text) for name, text in LEFT_OUT.items()))


def rejected() -> str:
    """Return the table of the reasons of game-rejected."""
    return _table(("reason", "meaning"), ((f"`{name}`", text) for name, text in REJECTIONS.items()))


def activity_ignored() -> str:
    """Return the table of the reasons of activity-ignored."""
    return _table(("reason", "meaning"), ((f"`{name}`", text) for name, text in ACTIVITY_REASONS.items()))


def activity_rejected() -> str:
    """Return the table of the reasons for which a record of player-activity is rejected."""
    return _table(("reason", "meaning"), ((f"`{name}`", text) for name, text in ACTIVITY_REJECTIONS.items()))


def exit_statuses() -> str:
    """Return the table of exit statuses."""
    rows = ((f"`{status}`", *meaning) for status, meaning in MEANINGS.items())
    return _table(("status", "what happened", "what to do"), rows)


def _command(name: str, command: click.Command) -> str:
    context = click.Context(
        command, info_name=f"ladderlog {name}", parent=click.Context(cli), show_default=True
    )
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
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(_escaped(" ".join(paragraph.split())) for paragraph in paragraphs)


def _option(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    assert record is not None
    names, text = record
    return f"`{names}`\n: {_escaped(' '.join(text.split())).replace(*_JSON_PAGE)}"


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
    fields = "\n\n".join(_fields(schema))
    examples = (
        f"```json\n{example.read_text(encoding='utf-8').strip()}\n```"
        for example in sorted((SCHEMAS / "examples" / name).glob("*.json"))
    )
    source = f"As a JSON Schema: [{path.name}](../../schemas/{path.name}). Examples:"
    title = f"## {name.partition('.')[0]}"
    return "\n\n".join([title, schema["description"], fields, source, *examples])


def _fields(schema: Mapping[str, Any], within: str = "") -> Iterator[str]:
    """Yield a definition of each field of a JSON object, and of those of the objects in it."""
    for name, field in schema["properties"].items():
        path = f"{within}{name}"
        needed = ", required" if name in schema.get("required", ()) else ""
        lines = [f"`{path}`", f": *{_kind(field)}{needed}*"]
        if "description" in field:
            lines.append(f": {_escaped(field['description'])}")
        yield "\n".join(lines)
        if "properties" in field:
            yield from _fields(field, f"{path}.")
        if "properties" in field.get("items", {}):
            yield from _fields(field["items"], f"{path}[].")


def _kind(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return " or ".join(json.dumps(value) for value in field["enum"])
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


def rights() -> str:
    """Return a table of what each command has to be allowed, for a deployment with the usual names."""
    usual = Settings("localhost:9092")
    lines = ["| command | rights |", "| --- | --- |"]
    for command in sorted(RIGHTS):
        resources: dict[str, list[str]] = {}
        for right in rights_of(usual, command):
            resources.setdefault(f"{right.resource} `{right.name}`", []).append(f"`{right.operation}`")
        told = "; ".join(f"{', '.join(operations)} on {name}" for name, operations in resources.items())
        lines.append(f"| `{command}` | {told} |")
    return "\n".join(lines)


def metrics() -> str:
    """Return a definition of everything that a worker shows and an audit writes."""
    return "\n\n".join(
        f"`{name}`\n: *{kind}*{', by ' if labels else ''}{' and '.join(f'`{label}`' for label in labels)}\n"
        f": {_escaped(text)}"
        for name, kind, labels, text in DESCRIPTIONS
    )


PARTS: Mapping[str, Callable[[], str]] = {
    "metrics": metrics,
    "commands": commands,
    "settings": settings,
    "events": events,
    "reasons-ignored": ignored,
    "reasons-rejected": rejected,
    "reasons-import": left_out,
    "reasons-activity-ignored": activity_ignored,
    "reasons-activity-rejected": activity_rejected,
    "exit-statuses": exit_statuses,
    "rights": rights,
}
