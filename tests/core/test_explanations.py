"""Every change is explained by steps that lead to it: their numbers recompute it to the last bit."""

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from gettext import GNUTranslations
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from helpers import ENDED_AT, LADDER, imported, played, ranked, scored
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.core import ratings
from streams.core.events import Event, Game, RatingImported, WeekEnded, places
from streams.core.ladder import Corrections, Ladder
from streams.core.publications import written_out
from streams.core.ratings import SYSTEMS, bga, closeness_steps, elo_steps, fundox, points, weekly_steps
from streams.core.ratings.explanation import GAIN, LOSS, Catalogue, Step
from streams.core.rules import parse_ladders

Values = Mapping[str, Any]

# What leads from the values of a step to its result. Written anew here, from the rules.
FORMULAS: dict[str, Callable[[Values], Any]] = {
    GAIN: lambda v: v["before"] + v["gain"],
    LOSS: lambda v: v["before"] - v["loss"],
    elo_steps.ABOVE: lambda v: expected(-v["gap"], v["scale"]),
    elo_steps.BELOW: lambda v: expected(v["gap"], v["scale"]),
    elo_steps.LEVEL: lambda v: expected(v["gap"], v["scale"]),
    elo_steps.CAPPED_ABOVE: lambda v: expected(-v["cap"], v["scale"]),
    elo_steps.CAPPED_BELOW: lambda v: expected(v["cap"], v["scale"]),
    fundox.SHARED: lambda _: 0,
    fundox.PAID: lambda v: +price(v),
    fundox.PAYS: lambda v: -price(v),
    fundox.TOGETHER: lambda v: math.fsum(v["parts"]),
    points.SHARE: lambda v: share(v["points"], v["all"]),
    points.SHARE_NEGATIVE: lambda v: share(v["points"], v["all"]),
    points.SHARE_EVEN: lambda v: (v["points"] >= 0) / max(1, sum(made >= 0 for made in v["all"])),
    points.EXPECTED: lambda v: v["rating"] / math.fsum(v["all"]),
    points.EXPECTED_EVEN: lambda v: 1 / len(v["all"]),
    points.AT_STAKE: lambda v: v["base"] + v["newcomer"] * math.exp(-v["fade"] * v["games"]),
    points.CHANGE: lambda v: (v["share"] - v["expected"]) * v["rating"] * v["weight"],
    points.FLOOR: lambda v: -v["rating"],
    points.QUIT: lambda v: min(v["change"], 0),
    points.QUIT_BY_OTHER: lambda v: max(v["change"], 0),
    points.QUIT_BY_BOTH: lambda _: 0,
    bga.QUIT_FIRST: lambda _: None,
    bga.QUIT_BY_OTHER: lambda _: None,
    bga.WON: lambda v: 1 - v["expected"],
    bga.TIED: lambda v: 0.5 - v["expected"],
    bga.LOST: lambda v: -v["expected"],
    bga.TOGETHER: lambda v: math.fsum(v["parts"]),
    bga.NEWCOMER: lambda _: 60,
    bga.SETTLED: lambda _: 40,
    bga.PLAYERS: lambda v: v["players"] / 2,
    bga.ADVISED: lambda v: v["advised"] / 2,
    bga.CHANGE: lambda v: v["k"] * v["surplus"],
    bga.CHANGE_OF_MANY: lambda v: v["k"] * v["multiplier"] * v["surplus"] / v["opponents"],
    bga.PENALTY: lambda v: v["change"] - v["penalty"],
    closeness_steps.CAME_FIRST: lambda v: v["points"] * v["players"],
    closeness_steps.AS_MANY_POINTS: lambda v: v["points"] * v["players"],
    closeness_steps.NOTHING_TO_REACH: lambda _: 0,
    closeness_steps.DISTANCE: lambda v: min(1 - v["made"] / v["winning"], 2.0**64),
    closeness_steps.SCORE: lambda v: (
        (v["points"] - v["step"] * float(Fraction(v["distance"]) / v["average"])) * v["players"]
    ),
    closeness_steps.SCORE_NOTHING: lambda _: 0,
    closeness_steps.MOVING: lambda v: (
        v["step"] * (v["three"] * v["players"] - float(v["behind"] / v["average"]))
    ),
    closeness_steps.FIXED: lambda v: v["before"] + v["own"],
    closeness_steps.FIXED_MORE: lambda v: v["before"] + v["own"],
    closeness_steps.TOGETHER: lambda v: math.fsum(v["parts"]),
    closeness_steps.RATING: lambda v: 100 * v["total"] / (v["handicap"] + v["possible"]),
    weekly_steps.YOUR_LEVEL: lambda v: level(v["points"]),
    weekly_steps.THEIR_LEVEL: lambda v: level(v["points"]),
    weekly_steps.YOUR_TEAMS_LEVEL: lambda v: level(v["mean"]),
    weekly_steps.THEIR_TEAMS_LEVEL: lambda v: level(v["mean"]),
    weekly_steps.QUITTERS: lambda _: None,
    weekly_steps.WON: lambda v: v["stake"] - (v["own"] - v["theirs"]),
    weekly_steps.WON_NOTHING: lambda _: 0,
    weekly_steps.LOST: lambda v: -(v["stake"] - abs(v["own"] - v["theirs"])),
    weekly_steps.LOST_NOTHING: lambda _: 0,
    weekly_steps.DREW: lambda v: v["draw"],
    weekly_steps.STAYED: lambda _: 0,
    weekly_steps.PENALTY: lambda v: v["change"] - v["penalty"],
    weekly_steps.GAIN: lambda v: v["before"] + v["gain"],
    weekly_steps.LOSS: lambda v: v["before"] - v["loss"],
    weekly_steps.NOTHING_LEFT: lambda _: 0,
}
# What is looked up, not computed: the state of the ladder, not only the player's.
LOOKED_UP = {closeness_steps.MOVED_SINCE, closeness_steps.AVERAGE}
# Values that are results of steps before.
LINKED = {
    *(
        "expected",
        "share",
        "weight",
        "k",
        "surplus",
        "multiplier",
        "change",
        "gain",
        "loss",
        "total",
        "theirs",
    ),
    "parts",
}
# Parameters under which rare steps are not rare.
PARAMETERS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "fundox": [{}, {"stake": 40, "scale": 4}],
    "points": [{}, {"base": 1.5}],
    "closeness": [{}, {"handicap": 0}],
    "bga": [{}, {"quit_policy": "last-place", "cap": 30}, {"quit_policy": "exclude", "newcomer_games": 2}],
    "weekly": [{}, {"stake": 3}, {"stake": 0.5, "draw": 0.25, "abandon_penalty": 1.75}],
}
NAMES = "abcde"
POINTS = st.one_of(st.integers(-3, 3), st.integers(-3, 40), st.floats(-100, 1e6))
MOMENTS = st.sampled_from([ENDED_AT, "2026-11-25T22:10:00Z", "2026-11-30T00:00:00Z"])
RATINGS = st.one_of(st.floats(1_400, 2_100), st.floats(-100, 5_000))


def expected(gap: float, scale: float) -> float:
    return 1 / (1 + 10 ** min(gap / scale, 300.0))


def price(values: Values) -> float:
    exponent = values["gap"] / values["scale"]
    return 0.0 if exponent > 300 else values["stake"] / (1 + 10**exponent)


def share(own: float, everybody: Sequence[float]) -> float:
    most = max(everybody)
    squares = [(max(made, 0) / most) ** 2 if made > 0 else 0 for made in everybody]
    return (max(own, 0) / most) ** 2 / math.fsum(squares)


def level(made: float) -> int:
    return min(10, int(made // 50) + 1)


@st.composite
def games(draw: st.DrawFn, number: int) -> Game:
    """Make a finished game: of individuals or teams, with draws, and with players who abandon it."""
    count = draw(st.sampled_from([2, 2, 2, 3, 4, 5]))
    names = draw(st.permutations(NAMES))[:count]
    players = [scored(name, draw(POINTS)) for name in names]
    if draw(st.booleans()):
        players = [
            ranked(name, draw(st.integers(1, 3)), points=player.points)
            for name, player in zip(names, players, strict=True)
        ]
    if draw(st.integers(0, 4)) == 0:
        for place, player in enumerate(players):
            player.team = "st"[place % 2]
    if draw(st.integers(0, 3)) == 0:
        for player in draw(st.lists(st.sampled_from(players), max_size=3)):
            player.left = "abandoned"
            player.left_at = draw(st.sampled_from([None, "2026-11-25T19:59:00Z", "2026-11-25T19:58:00Z"]))
    fields: dict[str, Any] = {"ended_at": draw(MOMENTS)}
    if draw(st.booleans()):
        fields["game_type"] = "blitz"
    return played(str(number), *players, **fields)


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Make figures from elsewhere, and games."""
    imports: list[Event] = [
        imported(
            system,
            name,
            draw(RATINGS),
            draw(st.integers(0, 40)),
            week="2026-W48" if system == "weekly" else None,
        )
        for system in SYSTEMS
        for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    ]
    played_games = [draw(games(number)) for number in range(draw(st.integers(1, 12)))]
    ended = [WeekEnded(LADDER, "2026-W48", final=True)] if draw(st.booleans()) else []
    cut = draw(st.integers(0, len(played_games)))
    return [*imports, *played_games[:cut], *ended, *played_games[cut:]]


def of_one(system: str, parameters: Mapping[str, Any]) -> Ladder:
    table = {"systems": [system], system: dict(parameters), "advised_players": {"blitz": 3}}
    return Ladder(parse_ladders({"ladders": {LADDER: table}})[LADDER], Corrections())


def explained(fold: Ladder, game: Game) -> dict[str, tuple[Sequence[Step], float | None]]:
    """Fold a game, and give of each player the steps that were told before it, and the rating after it."""
    (system,) = fold.systems.values()
    finish = places(game)
    assert finish is not None
    told = {player_id: system.explain(game, finish, player_id) for player_id in game.players}
    ((_, published, _),) = fold.fold_games((game,))
    after = {change.player_id: change.after for change in written_out(published) if hasattr(change, "after")}
    return {player_id: (steps or (), after.get(player_id)) for player_id, steps in told.items()}


def check_steps(steps: Sequence[Step]) -> None:
    """Compare every result with what its own values give, and these with the results before."""
    results: list[Any] = []
    for step in steps:
        if step.message not in LOOKED_UP:
            assert (step, FORMULAS[step.message](step.values)) == (step, step.result)
        for name in LINKED & step.values.keys():
            value = step.values[name]
            parts = value if isinstance(value, list) else [value]
            assert all((-part if name == "loss" else part) in results for part in parts)
        results.append(step.result)


def said(step: Step) -> float | None:
    """Return what the arithmetic in the text of a step gives, when its numbers are not rounded."""
    text = re.sub(r"\{(\w+)(:\+?)?[^}]*\}", lambda name: spelled(step, name), step.message)
    sum_of, is_sum, _ = text.rpartition(": ")[2].partition(" = ")
    if not is_sum:
        return None
    for sign, python in ((" x ", " * "), ("e^", "2.718281828459045**")):
        sum_of = sum_of.replace(sign, python)
    figures = re.sub(r"(?<![\d.])[A-Za-z]+|,", "", sum_of)
    return float(eval(re.sub(r"\|(.*)\|", r"abs(\1)", figures)))  # noqa: S307 - arithmetic of our own


def spelled(step: Step, name: re.Match[str]) -> str:
    value = {**step.values, "result": step.result}[name[1]]
    several = value if isinstance(value, list) else [value]
    sign = "+" if "+" in (name[2] or "") else ""
    return " ".join("somebody" if isinstance(one, str) else f"{float(one):{sign}.17g}" for one in several)


@pytest.mark.parametrize(
    ("system", "parameters"), [(name, given_ones) for name in SYSTEMS for given_ones in PARAMETERS[name]]
)
@given(histories())
@settings(max_examples=60)
def test_the_steps_recompute_every_change_exactly(
    system: str, parameters: Mapping[str, Any], history: list[Event]
) -> None:
    fold = of_one(system, parameters)
    for event in history:
        if not isinstance(event, Game):
            if not isinstance(event, RatingImported) or event.system == system:
                fold.fold(event)
            continue
        for steps, after in explained(fold, event).values():
            assert after == (steps[-1].result if steps else None)
            check_steps(steps)
            for step in steps:
                arithmetic = said(step)
                assert arithmetic is None or arithmetic == pytest.approx(step.result, rel=1e-9, abs=1e-7)
                assert Catalogue().text(step)


@pytest.mark.parametrize("made", [2.4e-258, 1e-120])
def test_points_of_any_size_are_squared_as_they_are_shared(made: float) -> None:
    game = played("g", scored("a", 0), scored("b", made))

    told = {player_id: steps[0] for player_id, (steps, _) in explained(of_one("points", {}), game).items()}

    assert {player_id: (step.values["squares"], step.result) for player_id, step in told.items()} == {
        "a": ([0, 1], 0),
        "b": ([0, 1], 1),
    }


def extracted() -> Catalog:
    """Return the messages that a translator would be given, as `xgettext --keyword=message` finds them."""
    catalog = Catalog()
    for _, _, text, _, _ in extract_from_dir(ratings.__path__[0], keywords={"message": None}):
        catalog.add(text)
    return catalog


def test_gettext_finds_every_message_and_each_has_its_formula() -> None:
    assert {found.id for found in extracted() if found.id} == {*FORMULAS, *LOOKED_UP}
    assert all(found.python_brace_format for found in extracted() if "{" in found.id)


def test_a_translation_by_gettext_is_told_with_its_own_comma() -> None:
    catalog = extracted()
    catalog.get(LOSS).string = "Votre cote : {result:.1f}, soit {before:.1f} - {loss:.2f}."
    compiled = io.BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    french = Catalogue(GNUTranslations(compiled).gettext, ",")

    text = french.text(Step(LOSS, {"before": 1600.0, "loss": 0.001}, 1599.999))

    assert text == "Votre cote : 1600,0, soit 1600,0 - 0,00."


def test_an_explanation_changes_nothing() -> None:
    history = [
        played(str(number), scored("a", number), scored("b", 3), scored("c", -number)) for number in range(6)
    ]
    for system in SYSTEMS:
        told, untold = of_one(system, {}), of_one(system, {})
        for game in history:
            explained(told, game)
            untold.fold_games((game,))

        assert list(told.changed_rows()) == list(untold.changed_rows())


def texts(system: str, *events: Event, player: str = "ann", **parameters: Any) -> list[str]:
    """Return how the last game's change is explained to a player."""
    fold = of_one(system, parameters)
    *before, last = events
    for event in before:
        fold.fold_games((event,)) if isinstance(event, Game) else fold.fold(event)
    assert isinstance(last, Game)
    return list(map(Catalogue().text, explained(fold, last)[player][0]))


def test_fundox_is_told_in_the_way_of_its_rule() -> None:
    known = [imported("fundox", "ann", 1720), imported("fundox", "bob", 1600)]

    assert texts("fundox", *known, played("1", ranked("ann", 1), ranked("bob", 2))) == [
        "You stood 120.0 above bob: expected 0.5855.",
        "You won, bob pays you: 16 x (1 - 0.5855) = +6.63.",
        "Your rating: 1720.00 + 6.63 = 1726.63.",
    ]


def test_a_number_that_rounds_to_nothing_has_no_minus() -> None:
    rounded = [
        Step("{result:.2f}", result=-0.001),
        Step("{result:+.2f}", result=-0.001),
        Step("{result}", result=-0.0),
    ]

    assert list(map(Catalogue().text, rounded)) == ["0.00", "+0.00", "0"]
