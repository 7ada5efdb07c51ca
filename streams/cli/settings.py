"""The command `settings`: every setting, its value and where that comes from."""

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from streams.cli.config_files import origin
from streams.cli.json_output import echo_json, json_option
from streams.cli.options import config_options, gathered_settings, options
from streams.cli.settings_model import BY_NAME, SETTINGS, Setting, command, option
from streams.runtime.settings import Settings

_MASKED = "***"


@command("settings")
@options(*(option(setting.name) for setting in SETTINGS), *config_options)
@json_option
@gathered_settings
def settings_command(settings: Settings | None, *, as_json: bool, **_: Any) -> None:
    """Show every setting, its value, and where it comes from; secrets are not shown.

    A value is looked for in the option, the variable, the file of --command-config, that of --config, and is
    the default where none of them has it.
    """
    if settings is not None:
        # What is in files is looked at here too, so that a mistake is seen before a worker starts.
        settings.connection.client_arguments()
    shown = [_shown(setting) for setting in BY_NAME.values()]
    if as_json:
        echo_json({"settings": shown})
        return
    widths = [max(len(_text(row[name])) for row in shown) for name in ("name", "value")]
    for row in shown:
        name, value = (
            _text(row[key]).ljust(width) for key, width in zip(("name", "value"), widths, strict=True)
        )
        click.echo(f"{name}  {value}  {row['from']}".rstrip())


def _shown(setting: Setting) -> dict[str, Any]:
    context = click.get_current_context()
    value = context.params[setting.parameter]
    if isinstance(value, Path):
        value = str(value)
    if setting.secret and value is not None:
        value = _MASKED
    return {"name": setting.name, "value": value, "from": _source(context, setting)}


def _source(context: click.Context, setting: Setting) -> str:
    source = context.get_parameter_source(setting.parameter)
    if source is ParameterSource.COMMANDLINE:
        return f"option {setting.option}"
    if source is ParameterSource.ENVIRONMENT:
        return f"variable {setting.variable}"
    if source is ParameterSource.DEFAULT_MAP:
        return f"file {origin(context, setting.parameter)}"
    return "default"


def _text(value: Any) -> str:
    return "-" if value is None else str(value) or '""'
