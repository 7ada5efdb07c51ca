"""`ladderlog explain`: the arithmetic of what one game did to one player's ratings."""

import asyncio
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streams.cli.deployments import deployment_of, one_of
from streams.cli.json_output import echo_json, json_option
from streams.cli.options import ladders_option, read_rules
from streams.cli.replay import LogOptions, kafka_or_files, replay_errors, told_progress
from streams.cli.settings_model import command
from streams.core.events import REASONS
from streams.core.explaining import Answer, Explained, ExplanationError, Question
from streams.core.outcomes import NOTED
from streams.core.rankings import shown, shown_change
from streams.core.ratings.explanation import Catalogue, Step
from streams.core.ratings.system import Change
from streams.core.rules import LadderRules
from streams.replay.requests import Log, LogFiles

if TYPE_CHECKING:
    from streams.replay.requests import Telling

_WIDTH = 80
# A log that is folded in less needs no bar, in seconds.
_SOON = 2.0


@command("explain", short_help="Say why a game moved a player's rating.")
@kafka_or_files
@ladders_option
@click.option("--ladder", required=True, help="The ladder of the game.")
@click.option("--game-id", required=True, help="Which game.")
@click.option("--player", required=True, help="Whose rating.")
@click.option("--system", help="Which system; all of the ladder when not given.")
@click.option(
    "--games",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="The games are in this file, not on a broker; several are one log.",
)
@json_option
def explain_command(
    log: LogOptions,
    ladders: Path,
    ladder: str,
    game_id: str,
    player: str,
    system: str | None,
    *,
    as_json: bool,
) -> None:
    """Say, step by step, how a game came to move a player's rating as it did, or why it did not.

    The games before it are folded again, so that this may take as long as a replay of the ladder's home. A
    game that was corrected is explained as it stands now.
    """
    where, rules = _log_and_rules(log, ladders, ladder)
    systems = (
        [*rules.systems]
        if system is None
        else [one_of(rules.systems, system, f"system of ladder {ladder!r}")]
    )
    question = Question(ladder, game_id, player)
    with replay_errors(), told_progress("explain", "records", delay=_SOON) as telling:
        told, is_applied = _explain(where, rules, question, telling)
    one_of(told.report.game.players, player, f"player of game {game_id!r}")
    explained = [one for one in told.report.systems if one.system in systems]
    if as_json:
        echo_json(_fields(told, explained, is_applied=is_applied))
    else:
        click.echo("\n".join(_lines(told, explained, is_applied=is_applied)))


def _log_and_rules(log: LogOptions, ladders: Path, ladder: str) -> tuple[Log, LadderRules]:
    """Return where the games are, and the rules of their ladder: a deployment's own, a file's for files."""
    if not log.files and log.settings is None:
        raise click.UsageError("say where the games are: --bootstrap-servers, or --games FILE")
    where = log.log()
    if isinstance(where, LogFiles):
        rules: Mapping[str, LadderRules] = read_rules(ladders)
        return where, rules[one_of(rules, ladder, "ladder")]
    known = deployment_of(where, ladders)
    return known.settings, known.ladder(ladder)


def _explain(where: Log, rules: LadderRules, question: Question, telling: "Telling") -> tuple[Answer, bool]:
    """Return what the log says of the game, and whether a worker has applied it, as a file always is."""
    from streams.replay.explaining import explain_files, explain_topic

    try:
        if isinstance(where, LogFiles):
            return explain_files(where, rules, question, telling), True
        return asyncio.run(explain_topic(where, rules, question, telling))
    except ExplanationError as error:
        raise click.ClickException(
            f"{error}. The explanation of that system is wrong, not the rating"
        ) from error


def _lines(told: Answer, explained: Sequence[Explained], *, is_applied: bool) -> Iterator[str]:
    """Yield an answer as lines of text."""
    game, question = told.report.game, told.question
    yield f"{question.ladder}, game {question.game_id} of {game.ended_at}: {question.player_id}"
    if told.corrected_at is not None:
        since = f"in force since the rebuild at offset {told.corrected_at}"
        taken_back = any(one.reason == "voided" for one in told.report.systems)
        yield "taken back, " + since if taken_back else f"version {game.version}, {since}"
    if not is_applied:
        yield "no worker has come to it yet: this is what one will do"
    if told.report.outcome == NOTED:
        yield "not rated: it waits for `ladderlog rebuild`"
    elif told.pending:
        yield "a later word on it waits for `ladderlog rebuild`; this is how it stands now"
    for reason, group in groupby(explained, key=lambda one: one.reason):
        if reason is not None:
            yield ""
            yield _wrapped(
                f"{', '.join(one.system for one in group)}: not rated: {reason}: {REASONS[reason]}"
            )
            continue
        for one in group:
            yield ""
            yield from _system_lines(one)


def _system_lines(explained: Explained) -> Iterator[str]:
    """Yield what one system made of the game, and how."""
    change = explained.change
    if change is None:
        return
    week = "" if change.details is None or change.details.week is None else f" {change.details.week}"
    moved = f"{shown(change.before)} to {shown(change.after)}, {_difference(change)}"
    yield f"{explained.system}{week}: {moved}"
    if explained.steps is None:
        yield f"  {explained.system} does not say how it comes to a change."
        return
    catalogue = Catalogue()
    yield from (_wrapped(catalogue.text(step), "  ") for step in explained.steps)


def _wrapped(text: str, indent: str = "") -> str:
    """Return a text in lines that fit a terminal; the lines behind the first are set in."""
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _difference(change: Change) -> str:
    """Return how far a rating moved as it is shown, with its sign."""
    difference = shown_change(change.before, change.after)
    return f"{difference:+}" if difference else "0.0"


def _fields(told: Answer, explained: Sequence[Explained], *, is_applied: bool) -> dict[str, Any]:
    """Return an answer as plain JSON: ratings as they are shown, the values of steps unrounded."""
    game, question = told.report.game, told.question
    return {
        "ladder": question.ladder,
        "game_id": question.game_id,
        "player_id": question.player_id,
        "version": game.version,
        "ended_at": game.ended_at,
        "outcome": told.report.outcome,
        "unread": not is_applied,
        "corrected_at": told.corrected_at,
        "pending": told.pending,
        "systems": list(map(_system_fields, explained)),
    }


def _system_fields(explained: Explained) -> dict[str, Any]:
    """Return what one system made of the game as plain JSON."""
    fields: dict[str, Any] = {"system": explained.system, "reason": explained.reason}
    change = explained.change
    if change is None:
        return fields
    if change.details is not None and change.details.week is not None:
        fields["week"] = change.details.week
    fields["before"] = float(shown(change.before))
    fields["after"] = float(shown(change.after))
    fields["difference"] = float(_difference(change))
    fields["steps"] = None if explained.steps is None else list(map(_step_fields, explained.steps))
    return fields


def _step_fields(step: Step) -> dict[str, Any]:
    """Return a step as plain JSON: the message and its values, and the English text made of them."""
    return {
        "message": step.message,
        "values": {name: _plain(value) for name, value in step.values.items()},
        "result": _plain(step.result),
        "text": Catalogue().text(step),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return float(value)
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
