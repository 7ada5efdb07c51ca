"""`ladderlog game`: all that was said of one game, what became of it, and what it changed."""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streams.cli.deployments import deployment_of
from streams.cli.json_output import echo_json, json_option
from streams.cli.options import kafka_options, ladders_option
from streams.cli.settings_model import command
from streams.core.events import Game, GameVoided, RatingChanged, Reason
from streams.core.rankings import shown
from streams.replay.errors import ReplayError
from streams.replay.game_story import UNKNOWN, UNREAD, Standing, Story, Told, change_text
from streams.runtime.settings import Settings

if TYPE_CHECKING:
    from streams.replay.game_story import Said

_OUTCOME_TEXTS = {
    UNREAD: "no worker has come to it yet",
    UNKNOWN: "nothing that was published about it is there: a topic may have lost its beginning",
}


@command("game")
@kafka_options
@ladders_option
@click.option("--ladder", required=True, help="The ladder of the game.")
@click.option("--game-id", required=True, help="Which game.")
@json_option
def game_command(settings: Settings, ladders: Path, ladder: str, game_id: str, *, as_json: bool) -> None:
    """Tell the story of a game: every record about it, its outcome and why, and the changes it made."""
    from streams.replay.game_records import read_story

    known = deployment_of(settings, ladders)
    known.ladder(ladder)
    try:
        story = asyncio.run(read_story(known.settings, ladder, game_id))
    except ReplayError as error:
        raise click.ClickException(str(error)) from error
    if not story.records:
        raise click.ClickException(
            f"nobody has sent anything about game {game_id!r} of ladder {ladder!r} to {settings.input_topic}"
        )
    if as_json:
        echo_json(_story_fields(story))
    else:
        click.echo("\n".join(_story_lines(story)))


def _story_lines(story: Story) -> Iterator[str]:
    """Yield the story as lines of text."""
    yield f"{story.ladder}, game {story.game_id}"
    for told in story.records:
        yield f"\n{told.said.place}, {_moment(told.said)}: {_said_text(told.said)}"
        yield f"  {_outcome_text(told)}"
    if story.changes:
        yield "\nchanges"
        width = max(len(change.player_id) for change in story.changes)
        yield from (f"  {_change_line(change, width)}" for change in story.changes)


def _said_text(said: "Said") -> str:
    """Return what a record says, in words, and where it was sent to when that was elsewhere."""
    return _event_text(said) + (f" (forwarded from {said.copy_of})" if said.copy_of else "")


def _event_text(said: "Said") -> str:
    if isinstance(said.event, GameVoided):
        return f"taken back: {said.event.reason}"
    if said.event is None:
        return f"no valid event: {said.text}"
    game = said.event
    rated = "" if game.rated else ", unrated"
    players = "; ".join(_player_text(player) for player in _players(game))
    return f"version {game.version}, ended {game.ended_at}{rated}: {players}"


def _player_text(player: dict[str, Any]) -> str:
    """Return a player of a game with what is known of the result."""
    others = [f"{name} {value:.12g}" for name, value in player.items() if name in ("rank", "points")]
    if "team" in player:
        others.append(f"team {player['team']}")
    if player.get("abandoned"):
        others.append("abandoned")
    return " ".join([player["player_id"], ", ".join(others)]).rstrip()


def _outcome_text(told: Told) -> str:
    """Return what became of a record, why, and whether it is in force."""
    text = _OUTCOME_TEXTS.get(told.outcome, told.outcome)
    if told.rejection is not None:
        text += f", {told.rejection.reason}: {told.rejection.message}"
    if told.reasons:
        text += f"; {_reasons_text(told.reasons)}"
    if told.standing is Standing.REBUILT:
        text += f"; in force since the rebuild at offset {told.rebuilt_at}"
    elif told.standing is Standing.AT_ONCE:
        text += "; in force: nothing was rated before it, and what comes after it is ignored"
    elif told.standing is Standing.PENDING:
        text += "; waits for `ladderlog rebuild`"
    return text


def _reasons_text(reasons: Sequence[Reason]) -> str:
    """Return why systems did not count a game; the systems of one reason together."""
    systems: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for reason in reasons:
        systems.setdefault((reason.reason, tuple(reason.players or ())), []).append(reason.system)
    texts = []
    for (why, players), names in systems.items():
        of_players = f", of {', '.join(players)}" if players else ""
        texts.append(f"{why} ({', '.join(names)}{of_players})")
    return "; ".join(texts)


def _change_line(change: RatingChanged, width: int) -> str:
    system = change.system if change.week is None else f"{change.system} {change.week}"
    return (
        f"{system:<16} {change.player_id:<{width}}  {shown(change.before):>8} to {shown(change.after):>8}  "
        f"{change_text(change):>7}"
    )


def _story_fields(story: Story) -> dict[str, Any]:
    """Return the story as plain JSON; ratings are as they are shown."""
    return {
        "ladder": story.ladder,
        "game_id": story.game_id,
        "pending": any(told.standing is Standing.PENDING for told in story.records),
        "records": [_told_fields(told) for told in story.records],
        "changes": [
            {
                "system": change.system,
                **({} if change.week is None else {"week": change.week}),
                "player_id": change.player_id,
                "before": float(shown(change.before)),
                "after": float(shown(change.after)),
                "difference": float(change_text(change)),
            }
            for change in story.changes
        ],
    }


def _told_fields(told: Told) -> dict[str, Any]:
    """Return a record as plain JSON: where it lies, what it says, and what became of it."""
    fields: dict[str, Any] = {**told.said.place._asdict(), "timestamp": _moment(told.said)}
    event = told.said.event
    if isinstance(event, GameVoided):
        fields["voided"] = {"reason": event.reason}
    elif event is not None:
        fields["game"] = {
            "version": event.version,
            "ended_at": event.ended_at,
            "rated": event.rated,
            "players": list(_players(event)),
        }
    else:
        fields["invalid"] = told.said.text
    if told.said.copy_of is not None:
        fields["forwarded_from"] = told.said.copy_of
    fields["outcome"] = told.outcome
    if told.rejection is not None:
        fields["rejection"] = told.rejection._asdict()
    if told.reasons:
        fields["reasons"] = [_reason_fields(reason) for reason in told.reasons]
    if told.standing is not None:
        fields["in_force"] = told.standing is not Standing.PENDING
    if told.rebuilt_at is not None:
        fields["rebuilt_at"] = told.rebuilt_at
    return fields


def _reason_fields(reason: Reason) -> dict[str, Any]:
    players = {} if reason.players is None else {"players": list(reason.players)}
    return {"system": reason.system, "reason": reason.reason, **players}


def _players(game: Game) -> Iterator[dict[str, Any]]:
    """Yield the players of a game, each with what is known of the result."""
    for number, player_id in enumerate(game.players):
        player: dict[str, Any] = {"player_id": player_id}
        columns = (
            ("team", game.teams),
            ("rank", game.ranks),
            ("points", game.points),
            ("abandoned", game.abandoned),
        )
        player |= {name: column[number] for name, column in columns if column is not None}
        yield player


def _moment(said: "Said") -> str:
    """Return the time of a record, in UTC; its number where a producer wrote one that no calendar has."""
    try:
        moment = datetime.fromtimestamp(said.timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"timestamp {said.timestamp_ms}"
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
