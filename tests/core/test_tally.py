"""The tally: how often the higher-rated won, and what the systems' chances were worth."""

import io
from pathlib import Path
from types import SimpleNamespace

import orjson
import pytest
from click.testing import CliRunner
from helpers import ENDED_AT, LADDER, imported, ladder, played, ranked, scored

from streams.cli.main import cli
from streams.core.events import Event, Output
from streams.core.rules import LadderRules, parse_ladders
from streams.core.tally import Score, Tally, tally_text
from streams.files.rate import RateFiles, rate_lines

NOBODY = SimpleNamespace(update=lambda _: None)


def rules(*systems: str) -> dict[str, LadderRules]:
    return parse_ladders({"ladders": {LADDER: {"systems": list(systems)}}})


def tally(system: str, *events: Event) -> Score:
    fold = ladder(system)
    counted = Tally(rules(system))
    for event in events:
        out: list[Output] = []
        fold.apply(event, out)
        counted.add(event, out)
    return counted.scores[LADDER, system]


def start(system: str, **ratings: float) -> list[Event]:
    week = "2026-W48" if system == "weekly" else None
    return [imported(system, player_id, rating, week=week) for player_id, rating in ratings.items()]


def beats(winner: str, loser: str) -> Event:
    return played("1", scored(winner, 2), scored(loser, 1))


def test_the_higher_rated_who_wins_is_right() -> None:
    score = tally("fundox", *start("fundox", a=1700, b=1600), beats("a", "b"))

    assert (score.compared, score.right, score.accuracy) == (1, 1, 1.0)


def test_the_higher_rated_who_loses_is_wrong() -> None:
    score = tally("fundox", *start("fundox", a=1700, b=1600), beats("b", "a"))

    assert (score.compared, score.right, score.accuracy) == (1, 0, 0.0)


def test_equal_ratings_predict_nothing() -> None:
    score = tally("fundox", beats("a", "b"))

    assert (score.compared, score.equal, score.accuracy, score.log_loss) == (0, 1, None, None)


def test_a_tie_is_neither_right_nor_wrong() -> None:
    score = tally("fundox", *start("fundox", a=1700, b=1600), played("1", ranked("a", 1), ranked("b", 1)))

    assert (score.compared, score.tied, score.log_loss) == (0, 1, None)


def test_a_game_that_somebody_abandoned_is_left_out() -> None:
    game = played("1", ranked("a", 1), ranked("b", 2, left="abandoned"))

    assert tally("bga", *start("bga", a=1700, b=1600), game) == Score(loss=0.0)


def test_a_lost_connection_is_no_reason_to_leave_a_game_out() -> None:
    game = played("1", ranked("a", 1), ranked("b", 2, left="disconnected"))

    assert tally("bga", *start("bga", a=1700, b=1600), game).compared == 1


def test_three_players_are_three_comparisons() -> None:
    game = played("1", ranked("c", 1), ranked("a", 2), ranked("b", 3))

    score = tally("bga", *start("bga", a=1700, b=1600, c=1500), game)

    assert (score.compared, score.right) == (3, 1)


def test_teams_are_compared_by_the_mean_of_their_members() -> None:
    game = played(
        "1",
        ranked("a", 1, team="n"),
        ranked("b", 1, team="n"),
        ranked("c", 2, team="s"),
        ranked("d", 2, team="s"),
    )

    score = tally("weekly", *start("weekly", a=300, b=0, c=140, d=150), game)

    assert (score.compared, score.right, score.log_loss) == (1, 1, None)


def test_a_game_the_system_ignores_is_not_counted() -> None:
    assert tally("closeness", played("1", ranked("a", 1), ranked("b", 2))) == Score()


@pytest.mark.parametrize(
    ("system", "right", "wrong"),
    [
        ("fundox", 0.2747698838, 1.4260624389),  # 1 / (1 + 10^(-400/800)) = 0.7597469266
        ("bga", 0.0953101798, 2.3978952728),  # 1 / (1 + 10^(-400/400)) = 0.9090909091
        ("points", 0.5877866649, 0.8109302162),  # 2000 / (2000 + 1600) = 0.5555555556
    ],
)
def test_the_loss_of_a_forecast_is_minus_the_logarithm_of_its_chance(
    system: str, right: float, wrong: float
) -> None:
    favourite = tally(system, *start(system, a=2000, b=1600), beats("a", "b"))
    outsider = tally(system, *start(system, a=2000, b=1600), beats("b", "a"))

    assert favourite.log_loss == pytest.approx(right)
    assert outsider.log_loss == pytest.approx(wrong)


def test_the_chances_of_bga_are_those_of_a_capped_gap() -> None:
    score = tally("bga", *start("bga", a=2500, b=1500), beats("b", "a"))

    # The chance was 1 / (1 + 10^(600/400)), not 10^(1000/400).
    assert score.log_loss == pytest.approx(3.4850121826)


def test_what_was_impossible_costs_much_but_not_everything() -> None:
    score = tally("points", *start("points", a=0, b=1000), beats("a", "b"))

    assert score.log_loss == pytest.approx(20.7232658369)


def test_the_losses_of_three_games_by_hand() -> None:
    games = [played(str(n), ranked(w, 1), ranked(ell, 2)) for n, (w, ell) in enumerate(["ab", "ab", "ba"])]

    score = tally("fundox", *games)

    # 1600:1600 is left out; 1608:1592 gives a 0.511509; 1615.816:1584.184 gives b 0.477255.
    assert (score.compared, score.right, score.equal) == (2, 1, 1)
    assert score.log_loss == pytest.approx((0.670390 + 0.739705) / 2, abs=1e-5)


def test_closeness_and_weekly_give_no_chances() -> None:
    scores = Tally(rules("closeness", "weekly")).scores.values()

    assert [score.loss for score in scores] == [None, None]


def line(game_id: str, winner: str, loser: str) -> bytes:
    players = [{"player_id": winner, "rank": 1}, {"player_id": loser, "rank": 2}]
    return orjson.dumps({"game_id": game_id, "ladder": LADDER, "ended_at": ENDED_AT, "players": players})


def test_rate_feeds_a_tally_without_changing_what_is_written() -> None:
    lines = [line("1", "a", "b"), line("2", "a", "b"), b"rubbish"]
    with_tally, without = io.BytesIO(), io.BytesIO()
    counted = Tally(rules("fundox"))

    reports = [
        rate_lines(lines, rules("fundox"), RateFiles(with_tally), NOBODY, counted),
        rate_lines(lines, rules("fundox"), RateFiles(without), NOBODY),
    ]

    assert with_tally.getvalue() == without.getvalue()
    assert reports[0] == reports[1]
    assert counted.scores[LADDER, "fundox"].compared == 1


def test_the_table_has_the_systems_in_the_order_of_the_ladder_file() -> None:
    counted = Tally(rules("fundox", "closeness", "bga"))
    fold = ladder("fundox")
    for event in [*start("fundox", a=2000, b=1600), beats("a", "b")]:
        out: list[Output] = []
        fold.apply(event, out)
        counted.add(event, out)

    assert tally_text(counted).splitlines() == [
        "ladder  system     compared  higher won  log-loss     tied  equally rated",
        "l       fundox            1     100.0 %    0.2748        0              0",
    ]


def command(tmp_path: Path, *options: str) -> str:
    (tmp_path / "ladders.toml").write_text('[ladders.l]\nsystems = ["fundox", "weekly"]\n')
    games = tmp_path / "games.jsonl"
    games.write_bytes(b"\n".join([line("1", "a", "b"), line("2", "b", "a")]))
    arguments = ["rate", "--ladders", str(tmp_path / "ladders.toml"), *options, str(games)]
    return CliRunner().invoke(cli, arguments, catch_exceptions=False).stdout


def test_the_command_prints_the_tally_instead_of_events(tmp_path: Path) -> None:
    printed = command(tmp_path, "--tally")

    assert printed.splitlines() == [
        "ladder  system     compared  higher won  log-loss     tied  equally rated",
        "l       fundox            1       0.0 %    0.7164        0              1",
        "l       weekly            1       0.0 %         -        0              1",
    ]


def test_the_command_prints_events_without_the_option(tmp_path: Path) -> None:
    printed = command(tmp_path)

    assert len(printed.splitlines()) == 8
