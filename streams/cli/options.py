"""Options that several commands have, and how their values become settings, rules and moments."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any

import click

from streams.core.ratings.parameters import LadderFileError
from streams.core.rules import LadderRules
from streams.files.jsonl import DAMAGED
from streams.files.ladder_file import example_ladder_file, read_ladders
from streams.runtime.settings import Settings


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return one decorator that does what several do; help shows their options in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(decorators):
            command = option(command)
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


def _settings(bootstrap_servers: str | None, **others: Any) -> Settings | None:
    """Return the settings of a deployment; None when no broker is named."""
    return None if bootstrap_servers is None else Settings(bootstrap_servers, **others)


def bootstrap_option(*, required: bool = True) -> Callable[[Any], Any]:
    """Return the option that names the broker."""
    return click.option(
        "--bootstrap-servers",
        envvar="LADDERLOG_BOOTSTRAP_SERVERS",
        show_envvar=True,
        required=required,
        help="The Kafka broker, as host:port[,host:port].",
    )


prefix_option = click.option(
    "--topic-prefix",
    envvar="LADDERLOG_TOPIC_PREFIX",
    show_envvar=True,
    default="",
    help="Put before every topic.",
)
output_prefix_option = click.option(
    "--output-prefix",
    envvar="LADDERLOG_OUTPUT_PREFIX",
    show_envvar=True,
    show_default="that of every topic",
    help="Put before the topics published to, instead.",
)
app_id_option = click.option(
    "--app-id",
    envvar="LADDERLOG_APP_ID",
    show_envvar=True,
    default="ladderlog",
    help="Names consumer group and changelog.",
)
partitions_option = click.option(
    "--partitions",
    envvar="LADDERLOG_PARTITIONS",
    show_envvar=True,
    default=4,
    type=click.IntRange(1),
    show_default="as many as there are, else 4",
    help="Of every topic.",
)
replication_option = click.option(
    "--replication",
    envvar="LADDERLOG_REPLICATION",
    show_envvar=True,
    default=1,
    type=click.IntRange(1),
    help="Of every topic.",
)
# A command that has some of these options is given them as its argument `settings`.
gathered_settings = gathered("settings", Settings, _settings)
kafka_options = options(
    bootstrap_option(),
    prefix_option,
    output_prefix_option,
    app_id_option,
    partitions_option,
    replication_option,
    gathered_settings,
)
ladders_option = click.option(
    "--ladders",
    envvar="LADDERLOG_LADDERS",
    show_envvar=True,
    type=click.Path(path_type=Path),
    default=example_ladder_file,
    show_default="the deployment's own rules, else the example club's",
    help="The ladder file.",
)


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
