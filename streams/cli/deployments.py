"""Which deployment a command is about: its partitions and rules are its own, whatever the options say."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streams.cli.options import read_rules
from streams.core.manifest import Manifest
from streams.core.rules import LadderRules
from streams.runtime.exit_statuses import EXIT_REFUSED
from streams.runtime.settings import Settings

if TYPE_CHECKING:
    from streams.runtime.deployment import Deployment

_NO_SUCH_THING = 2


class NoSuchThingError(click.ClickException):
    """What was asked for is not there; the message names what is."""

    exit_code = _NO_SUCH_THING


class RefusedError(click.ClickException):
    """The state must not be used: as with a worker, an operator has to look."""

    exit_code = EXIT_REFUSED


def deployed(settings: Settings) -> Settings:
    """Return the settings with the number of partitions that the deployment's input has.

    Raises RefusedError when the deployment began with another number.
    """
    from streams.runtime.layout import with_partitions

    with _refusals():
        return asyncio.run(with_partitions(settings))


@contextmanager
def _refusals() -> Iterator[None]:
    from streams.runtime.layout import PartitionsChangedError

    try:
        yield
    except PartitionsChangedError as error:
        raise RefusedError(str(error)) from error


@dataclass(frozen=True)
class Known:
    """A deployment with the rules it is asked by: its own, or the ladder file's while it has none."""

    settings: Settings
    rules: Mapping[str, LadderRules]

    def ladder(self, ladder: str) -> LadderRules:
        """Return the rules of a ladder. Raises NoSuchThingError, which names those there are."""
        return self.rules[one_of(self.rules, ladder, "ladder")]

    def systems(self, ladder: str, system: str | None) -> list[str]:
        """Return that system of a ladder, or all. Raises NoSuchThingError, which names those there are."""
        systems = self.ladder(ladder).systems
        return list(systems) if system is None else [one_of(systems, system, f"system of ladder {ladder!r}")]


def one_of(there: Iterable[str], wanted: str, what: str) -> str:
    """Return what is wanted. Raises NoSuchThingError when it is not there, and names those there are."""
    there = list(there)
    if wanted not in there:
        raise NoSuchThingError(f"there is no {what} {wanted!r}; there are {', '.join(there)}")
    return wanted


def is_given(option: str) -> bool:
    """Say whether the present command has an option, and was given it: by itself, its variable or a file."""
    from click.core import ParameterSource

    context = click.get_current_context()
    given = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT, ParameterSource.DEFAULT_MAP)
    return any(
        option in parameter.opts and context.get_parameter_source(parameter.name or "") in given
        for parameter in context.command.params
    )


def settings_of(settings: Settings) -> Settings:
    """Return the settings of the deployment, with its own partitions.

    Raises NoSuchThingError when it, or one of its topics, is not there.
    """
    from streams.runtime.deployment import NoDeploymentError, find_topics

    try:
        with _refusals():
            known = asyncio.run(find_topics(settings))
    except NoDeploymentError as error:
        raise NoSuchThingError(str(error)) from error
    _tell_partitions(settings, known)
    return known


def check_input_of(settings: Settings) -> None:
    """Raise NoSuchThingError when there is no topic to send games to."""
    from streams.runtime.deployment import NoDeploymentError, check_input

    try:
        asyncio.run(check_input(settings))
    except NoDeploymentError as error:
        raise NoSuchThingError(str(error)) from error
    deployed(settings)


def deployment_of(settings: Settings, ladders: Path) -> Known:
    """Return the deployment with its own partitions and rules; what options say else is named.

    Raises NoSuchThingError when it, or one of its topics, is not there.
    """
    found = _find(settings)
    if found.manifest is None:
        return Known(found.settings, read_rules(ladders))
    rules = _rules_of(found.manifest)
    if is_given("--ladders"):
        _tell_rules(ladders, found.manifest, "what this deployment was begun with holds")
    return Known(found.settings, rules)


def deployment_by(settings: Settings, ladders: Path) -> Known:
    """Return the deployment as `deployment_of` does, but by the ladder file, where one is given.

    By a file a log can be folded that no deployment has rated.
    """
    from streams.runtime.deployment import NoDeploymentError, find_deployment

    if not is_given("--ladders"):
        return deployment_of(settings, ladders)
    try:
        with _refusals():
            found = asyncio.run(find_deployment(settings))
    except NoDeploymentError:
        check_input_of(settings)
        return Known(with_partitions_there(settings), read_rules(ladders))
    if found.manifest is not None:
        _tell_rules(ladders, found.manifest, "the file holds here")
    return Known(found.settings, read_rules(ladders))


def with_partitions_there(settings: Settings) -> Settings:
    """Return the settings with the partitions that the input topic has, unless others were asked for."""
    from streams.runtime.topics import partition_counts

    if is_given("--partitions"):
        return settings
    there = asyncio.run(partition_counts(settings.connection, [settings.input_topic]))
    return replace(settings, partitions=there.get(settings.input_topic, settings.partitions))


def _find(settings: Settings) -> "Deployment":
    from streams.runtime.deployment import NoDeploymentError, find_deployment

    try:
        with _refusals():
            found = asyncio.run(find_deployment(settings))
    except NoDeploymentError as error:
        raise NoSuchThingError(str(error)) from error
    _tell_partitions(settings, found.settings)
    return found


def _rules_of(manifest: Manifest) -> dict[str, LadderRules]:
    from streams.core.ratings.parameters import LadderFileError

    try:
        return manifest.rules()
    except LadderFileError as error:
        raise click.ClickException(
            f"the deployment was begun by program {manifest.program} with rules that this one does not "
            f"know: {error}"
        ) from error


def _tell_partitions(asked: Settings, known: Settings) -> None:
    if is_given("--partitions") and asked.partitions != known.partitions:
        click.echo(
            f"note: --partitions {asked.partitions} is not this deployment's number; it has "
            f"{known.partitions}, which holds",
            err=True,
        )


def _tell_rules(ladders: Path, manifest: Manifest, which: str) -> None:
    now = Manifest.of(read_rules(ladders), manifest.partitions)
    for difference in manifest.differences(replace(now, fold=manifest.fold), [*manifest.ladders]):
        click.echo(f"note: {ladders}: {difference}; {which}", err=True)
