"""Options that several commands have, and how their values become settings, rules and moments."""

import asyncio
import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from streams.cli.config_files import origin, read_properties, read_toml, use_file
from streams.cli.settings_model import (
    BY_PARAMETER,
    CONNECTION_SECTION,
    SectionedOption,
    option,
    security_settings,
)
from streams.core.ratings.parameters import LadderFileError
from streams.core.rules import LadderRules
from streams.files.jsonl import DAMAGED
from streams.files.ladder_file import read_ladders
from streams.runtime.connection import ConnectionSettingsError, Secret, Security
from streams.runtime.settings import Settings


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return one decorator that does what several do; help shows their options in this order."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def gathered(
    name: str, kind: type, make: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that hands a command the options named as the fields of a dataclass as one argument.

    `name` is the argument, `kind` the dataclass. `make` makes the argument of these options by name, where
    that is not `kind` itself.
    """
    names = {field.name for field in fields(kind)}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def call(**given: Any) -> Any:
            parts = {option: given.pop(option) for option in names & given.keys()}
            return command(**{name: (make or kind)(**parts)}, **given)

        return call

    return decorate


def _settings(bootstrap_servers: str | None, given: dict[str, Any]) -> Settings | None:
    """Return the settings of a deployment; None when no broker is named. Raises click.UsageError."""
    security = {
        setting.parameter.removeprefix("security_"): given.pop(setting.parameter)
        for setting in security_settings()
    }
    if bootstrap_servers is None:
        return None
    for secret in ("sasl_password", "ssl_key_password"):
        _choose_secret(security, secret)
    for setting in security_settings():
        if setting.secret and security[setting.parameter] is not None:
            security[setting.parameter] = Secret(security[setting.parameter])
    try:
        return Settings(bootstrap_servers, **given, security=Security(**security))
    except ConnectionSettingsError as error:
        raise click.UsageError(str(error)) from error


def _choose_secret(security: dict[str, Any], secret: str) -> None:
    """Drop a secret that a file of settings has, when an option or a variable names a file with another.

    Raises click.UsageError when nothing says which of two is meant.
    """
    named = f"{secret}_file"
    if security[secret] is None or security[named] is None:
        return
    context = click.get_current_context()
    if context.get_parameter_source(named) is ParameterSource.DEFAULT_MAP:
        files = " and ".join(sorted({str(origin(context, name)) for name in (secret, named)}))
        raise click.UsageError(
            f"{BY_PARAMETER[secret]} and {BY_PARAMETER[named]} are both given, in {files}; give one of them"
        )
    security[secret] = None


def gathered_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Hand a command that has some of the options of a deployment all of them as its argument `settings`."""
    names = {item.name for item in fields(Settings)}
    names |= {setting.parameter for setting in security_settings()}

    @wraps(command)
    def call(**given: Any) -> Any:
        parts = {name: given.pop(name) for name in names & given.keys()}
        settings = _settings(parts.pop("bootstrap_servers"), parts)
        if settings is not None:
            _check_rights(settings)
        return command(settings=settings, **given)

    return call


def _check_rights(settings: Settings) -> None:
    """Raise MissingRightsError when the present command may not do what it has to."""
    if not settings.security.names_client:
        return
    from streams.runtime.rights import check_rights

    asyncio.run(check_rights(settings, click.get_current_context().command.name or ""))


def connection_options(
    *, required: bool = True, variable: str | None = None, text: str | None = None
) -> Callable[[Any], Any]:
    """Return the options that say where the broker is and how to reach it, and those of the files that may.

    With a `variable` of its own `--bootstrap-servers` is another question, which the files do not answer.
    """
    return options(
        option("bootstrap.servers", required=required, variable=variable, text=text),
        *(option(setting.name) for setting in security_settings()),
        *config_options,
    )


def _settings_file(name: str, read: Callable[[Path], dict[str, Any]], text: str) -> Callable[[Any], Any]:
    """Return the option of a file whose settings are taken before the other options are looked at."""
    return click.option(
        f"--{name}",
        cls=SectionedOption,
        section=CONNECTION_SECTION,
        type=click.Path(path_type=Path, dir_okay=False),
        envvar=f"LADDERLOG_{name.replace('-', '_').upper()}",
        show_envvar=True,
        is_eager=True,
        expose_value=False,
        callback=partial(use_file, read),
        help=text,
    )


config_options = (
    _settings_file("config", read_toml, "A ladderlog.toml with settings."),
    _settings_file("command-config", read_properties, "A client.properties, as Kafka's own tools take it."),
)
prefix_option = option("topic.prefix")
output_prefix_option = option("output.prefix")
app_id_option = option("app.id")
partitions_option = option("partitions")
replication_option = option("replication")
kafka_options = options(
    connection_options(),
    prefix_option,
    output_prefix_option,
    app_id_option,
    partitions_option,
    replication_option,
    gathered_settings,
)
ladders_option = option("ladders")


def read_rules(path: Path) -> dict[str, LadderRules]:
    """Return the rules of a ladder file. Raises click.ClickException, which names the file and the key."""
    try:
        return read_ladders(path)
    except LadderFileError as error:
        raise click.ClickException(str(error)) from error


def systems_of(rules: LadderRules, system: str | None) -> list[str]:
    """Return the system that was asked for, or all of a ladder. Raises click.BadParameter for another one."""
    if system is None:
        return list(rules.systems)
    if system not in rules.systems:
        raise click.BadParameter(
            f"{system!r} is not a system of {rules.ladder}; there are {', '.join(rules.systems)}",
            param_hint="--system",
        )
    return [system]


def parse_moment(text: str) -> datetime:
    """Return the moment that a text says, in UTC when it has no offset. Raises click.BadParameter."""
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no moment such as 2026-11-02T20:00:00+01:00") from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@contextmanager
def file_errors() -> Iterator[None]:
    """Show what is wrong with a file as a message; a reader of the output that has left is click's affair."""
    try:
        yield
    except DAMAGED as error:
        raise click.ClickException(f"a packed file is damaged: {error}") from error
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        raise click.ClickException(f"{error.filename or 'output'}: {error.strerror}") from error
