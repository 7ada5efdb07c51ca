"""What if: the figures of a comparison, its text and its page."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from season import LADDER_FILE, events
from sites import Site

from streams.cli.replay import compare_command
from streams.core.compare import Bin, Comparison, Figure, Moved, compare, histogram, signed, spearman, text
from streams.replay.page import page

VOID_ELEMENTS = {"meta", "line", "rect", "circle"}


class Page(HTMLParser):
    """Reads a page strictly: what is opened is closed, ids are unique, references lead somewhere."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an opening tag."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID_ELEMENTS:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a tag that closes itself."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Take a closing tag: that of the last one open."""
        if tag not in VOID_ELEMENTS:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Take text."""
        self.texts.append(data)

    def attributes(self, name: str) -> list[str]:
        """Give every value of an attribute."""
        return [attributes[name] or "" for _, attributes in self.tags if name in attributes]

    def count(self, tag: str) -> int:
        """Count the elements of a name."""
        return sum(found == tag for found, _ in self.tags)


def two() -> Comparison:
    before = {"ann": 1600.0, "bob": 1500.0, "cid": 1400.0, "<dan>": 1300.0, "gone": 1.0}
    after = {"ann": 1610.0, "bob": 1350.0, "cid": 1400.0, "<dan>": 1380.0, "new": 5.0, "newer": 6.0}
    return compare("chess", "fundox", before, after, [Figure("log-loss", 0.6, None)])


def test_players_are_those_rated_under_both_by_the_size_of_their_move() -> None:
    found = two()

    assert found.players == [
        Moved("bob", 1500.0, 1350.0, 2, 4),
        Moved("<dan>", 1300.0, 1380.0, 4, 3),
        Moved("ann", 1600.0, 1610.0, 1, 1),
        Moved("cid", 1400.0, 1400.0, 3, 2),
    ]
    assert (found.only_before, found.only_after) == (1, 2)
    assert found.spread is not None
    assert (found.spread.lowest, found.spread.median, found.spread.highest) == (-150.0, 5.0, 80.0)
    assert found.spread.mean == pytest.approx(-15.0)


def test_equal_ratings_share_a_rank() -> None:
    found = compare("l", "s", {"a": 2.0, "b": 2.0, "c": 1.0}, {"a": 1.0, "b": 3.0, "c": 2.0})

    assert {moved.player_id: (moved.rank_before, moved.rank_after) for moved in found.players} == {
        "a": (1, 3),
        "b": (1, 1),
        "c": (3, 2),
    }


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 1000], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        # Kendall & Gibbons: ranks (1, 2, 3, 4, 5) against (2, 1, 4, 3, 5) give 1 - 6 * 4 / (5 * 24).
        ([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], 0.8),
        # Ties have their mean rank: Pearson of (1, 2.5, 2.5, 4) and (1, 2, 3, 4).
        ([1, 2, 2, 3], [1, 2, 3, 4], 4.5 / (4.5 * 5.0) ** 0.5),
        ([1, 1], [1, 2], None),
        ([1], [1], None),
    ],
)
def test_spearmans_correlation(first: list[float], second: list[float], expected: float | None) -> None:
    found = spearman(first, second)

    assert found == (None if expected is None else pytest.approx(expected))


def test_the_histogram_has_round_bins_and_zero_on_a_border() -> None:
    found = histogram([-0.1, 0.0, 3.0, 9.9], bins=5)

    assert [(low, players) for low, _, players in found] == [(-2, 1), (0, 1), (2, 1), (4, 0), (6, 0), (8, 1)]
    assert {high - low for low, high, _ in found} == {2.0}
    assert histogram([]) == []
    assert histogram([5.0, 5.0]) == [Bin(5.0, 6.0, 2)]


def test_differences_are_shown_with_their_sign() -> None:
    assert [signed(value) for value in (1.26, -1.26, 0.04, -0.04)] == [
        "+1.3",
        "\N{MINUS SIGN}1.3",
        "0.0",
        "0.0",
    ]


def test_a_change_is_the_difference_of_the_ratings_that_stand_beside_it() -> None:
    # In full the move is 0.14; what is shown is 1600.0 and 1600.2.
    found = compare("l", "s", {"ann": 1600.04, "bob": 1500.0}, {"ann": 1600.18, "bob": 1500.04})
    cells = Page(page("t", "a", [found], 5)).texts

    assert "ann     1600.0 to    1600.2       +0.2  rank" in text(found, 5)
    assert "moves 0.0 to +0.2," in text(found, 5)
    assert "bob" not in text(found, 5)
    assert cells[cells.index("ann") :][:4] == ["ann", "1600.0", "1600.2", "+0.2"]


def test_a_move_too_small_to_be_shown_is_not_called_none() -> None:
    assert "nobody moves as far as is shown" in text(compare("l", "s", {"a": 1.0}, {"a": 1.01}), 5)


def test_the_text_shows_who_moves_most_and_the_tally() -> None:
    shown = text(two(), top=2)

    assert shown.startswith("chess, fundox: 4 players; 1 only before, 2 only after; moves ")
    assert "bob" in shown
    assert "<dan>" in shown
    assert "cid" not in shown
    assert "log-loss: 0.6 to -" in shown


def test_nobody_rated_is_said_too() -> None:
    empty = compare("l", "s", {}, {})

    assert text(empty, 3) == "l, s: 0 players"
    assert Page(page("t", "a", [empty], 3)).count("svg") == 0


def test_the_page_stands_alone_and_can_be_read_without_seeing_it() -> None:
    same = compare("other", "bga", {"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 2.0})
    source = page("What <if>", "Before: a. After: b.", [two(), same], top=10)
    found = Page(source)
    ids = found.attributes("id")

    assert found.open == []
    assert len(ids) == len(set(ids))
    assert {name for names in found.attributes("aria-labelledby") for name in names.split()} <= set(ids)
    assert {link.removeprefix("#") for link in found.attributes("href")} <= set(ids)
    assert found.attributes("src") == []
    assert not any(word in source for word in ("<script", "@import", "url(", "http"))
    assert [attributes["lang"] for tag, attributes in found.tags if tag == "html"] == ["en"]
    assert found.attributes("role") == ["img"] * found.count("svg") == ["img"] * 2
    assert found.count("desc") == found.count("svg")
    assert found.count("caption") == found.count("table") == 2
    assert set(found.attributes("scope")) == {"col", "row"}
    assert "prefers-color-scheme: dark" in source
    assert "<dan>" in found.texts
    assert "2 players; nobody moves." in found.texts
    assert "nan" not in source


def test_points_of_many_players_are_a_sample_with_the_extremes() -> None:
    before = {str(number): float(number) for number in range(9_000)}
    found = compare("l", "s", before, {name: rating * 1.1 for name, rating in before.items()})
    drawn = Page(page("t", "a", [found], 0)).count("circle")

    assert 1_000 < drawn <= 2_000


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Give a folder with a season and two ladder files."""
    (tmp_path / "ladders.toml").write_text(LADDER_FILE)
    other = LADDER_FILE.replace('systems = ["weekly", "bga"]', 'systems = ["weekly"]')
    (tmp_path / "other.toml").write_text(other + "\n[ladders.rummy.fundox]\nstake = 40\n")
    lines = (orjson.dumps(event) + b"\n" for event in events(600))
    (tmp_path / "games.jsonl").write_bytes(b"".join(lines))
    return tmp_path


def compared(folder: Path, *arguments: str) -> Iterator[str]:
    given = [f"--ladders={folder / 'ladders.toml'}", f"--with={folder / 'other.toml'}", "--top=3"]
    result = CliRunner().invoke(compare_command, [*given, *arguments])

    assert result.exit_code == 0, result.output
    yield from result.stdout.splitlines()


def test_a_file_is_compared_under_two_ladder_files(files: Path) -> None:
    lines = list(compared(files, f"--html={files / 'page.html'}", str(files / "games.jsonl")))
    (moved,) = (line for line in lines if line.startswith("rummy, fundox:"))
    (still,) = (line for line in lines if line.startswith("tiles, fundox:"))

    assert still.endswith(" players; nobody moves")
    assert "rank correlation 1.0000" in moved
    assert "moves \N{MINUS SIGN}" in moved
    assert any(line.startswith("  log-loss: 0.") for line in lines)
    assert lines[-1] == "go/bga: only before"
    assert Page((files / "page.html").read_text(encoding="utf-8")).open == []


@pytest.mark.kafka
def test_a_topic_is_compared_as_a_file_is(site: Site, files: Path) -> None:
    site.produce(events(600))
    topic = list(
        compared(
            files,
            f"--bootstrap-servers={site.settings.bootstrap_servers}",
            f"--topic-prefix={site.settings.topic_prefix}",
        )
    )

    assert topic == list(compared(files, str(files / "games.jsonl")))
