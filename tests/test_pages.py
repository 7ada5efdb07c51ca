"""The pages: they build without a warning, say all that the code knows, and load nothing from elsewhere."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from project import PROJECT

from streams import events
from streams.cli.config_files import read_toml
from streams.cli.main import cli
from streams.cli.settings_model import SETTINGS
from streams.core.events import REASONS, REJECTIONS
from streams.core.player_events import ACTIVITY_REASONS, ACTIVITY_REJECTIONS
from streams.files.report import REASONS as LEFT_OUT
from streams.runtime import exit_statuses

EVENTS = sorted(path.name.partition(".")[0] for path in (PROJECT / "schemas").glob("*.json"))
# What a browser loads by itself, by the tag and the attribute that names it. Links it only follows.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}
NOT_LOADED = {"index", "search", "next", "prev", "canonical", "author", "copyright", "license"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the built pages."""
    folder = tmp_path_factory.mktemp("site")
    options = ("--quiet", "--fail-on-warning", "--keep-going", "--doctree-dir", folder / "trees")
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, PROJECT / "docs", folder / "html"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    return folder / "html"


class Loads(HTMLParser):
    """The addresses that a page loads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember what a tag loads."""
        given = dict(attrs)
        followed = tag == "link" and (given.get("rel") or "") in NOT_LOADED
        address = given.get(LOADED.get(tag, ""))
        if address and not followed:
            self.addresses.append(address)


def code_of(site: Path, page: str) -> set[str]:
    """Return what a page of the reference says in code."""
    text = (site / "reference" / f"{page}.html").read_text(encoding="utf-8")
    pieces = re.findall(r"<code[^>]*>(.*?)</code>", text, re.DOTALL)
    return {unescape(re.sub(r"<[^>]+>", "", piece)) for piece in pieces}


def headings_of(site: Path, page: str) -> set[str]:
    text = (site / "reference" / f"{page}.html").read_text(encoding="utf-8")
    return {unescape(re.sub(r"<[^>]+>", "", piece)) for piece in re.findall(r"<h2>(.*?)<a ", text, re.DOTALL)}


def options_of(command: str) -> Iterator[str]:
    """Yield the options of a command that help shows, but --help."""
    for option in cli.commands[command].params:
        if option.param_type_name == "option" and not getattr(option, "hidden", False):
            yield max(option.opts, key=len)


def test_every_command_is_in_the_reference(site: Path) -> None:
    assert set(cli.commands) - headings_of(site, "commands") == set()


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_every_option_of_a_command_is_in_the_reference(site: Path, command: str) -> None:
    text = " ".join(code_of(site, "commands") | code_of(site, "settings"))

    assert [option for option in options_of(command) if option not in text] == []


def test_every_setting_is_in_the_reference_by_all_its_names(site: Path) -> None:
    named = code_of(site, "settings")

    assert {setting.name for setting in SETTINGS} - named == set()
    assert {setting.variable for setting in SETTINGS if not setting.secret} - named == set()
    assert {setting.option for setting in SETTINGS if not setting.secret} - named == set()


def test_no_option_of_a_secret_is_shown(site: Path) -> None:
    secrets = {setting.option for setting in SETTINGS if setting.secret}

    assert secrets & (code_of(site, "settings") | code_of(site, "commands")) == set()


def test_every_event_is_in_the_reference(site: Path) -> None:
    assert set(EVENTS) - headings_of(site, "events") == set()


@pytest.mark.parametrize("event", [events.GameFinished, events.RatingChanged, events.CompetitionClosed])
def test_every_field_of_an_event_is_in_the_reference(site: Path, event: type) -> None:
    assert set(event.__struct_fields__) - code_of(site, "events") == set()  # type: ignore[attr-defined]


def test_every_reason_is_in_the_reference(site: Path) -> None:
    reasons = {*REASONS, *REJECTIONS, *ACTIVITY_REASONS, *ACTIVITY_REJECTIONS}

    assert reasons - code_of(site, "reasons") == set()


def test_every_reason_of_an_import_is_in_the_reference(site: Path) -> None:
    assert LEFT_OUT.keys() - code_of(site, "reasons") == set()


def test_every_exit_status_is_in_the_reference(site: Path) -> None:
    statuses = {value for name, value in vars(exit_statuses).items() if name.startswith("EXIT_")}

    assert statuses
    assert set(map(str, statuses)) - code_of(site, "exit-statuses") == set()


@pytest.mark.parametrize("page", ["reference/settings.md", "guides/secure.md"])
def test_the_files_of_settings_that_the_pages_show_are_some(page: str, tmp_path: Path) -> None:
    text = (PROJECT / "docs" / page).read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    file = tmp_path / "ladderlog.toml"
    file.write_text(shown)

    assert read_toml(file)["security.protocol"] == "SASL_SSL"


def test_the_pages_load_nothing_from_elsewhere(site: Path) -> None:
    elsewhere = {
        (page.relative_to(site).as_posix(), address)
        for page in site.rglob("*.html")
        for address in Loads(page).addresses
        if urlsplit(address).netloc
    }
    styles = {
        (style.relative_to(site).as_posix(), address)
        for style in site.rglob("*.css")
        for address in re.findall(
            r"(?:url\(|@import\s*)[\"']?((?:https?:)?//[^\"')]+)", style.read_text(encoding="utf-8")
        )
    }

    assert elsewhere | styles == set()


def test_what_a_page_loads_is_there(site: Path) -> None:
    missing = {
        (page.relative_to(site).as_posix(), address)
        for page in site.rglob("*.html")
        for address in Loads(page).addresses
        if not address.startswith("data:") and not (page.parent / urlsplit(address).path).exists()
    }

    assert missing == set()


def test_a_mark_of_a_part_that_there_is_none_of_ends_the_build() -> None:
    script = "import generated; generated.filled('<!-- generated: nothing -->')"

    done = subprocess.run(
        [sys.executable, "-c", script], cwd=PROJECT / "docs", capture_output=True, text=True, check=False
    )

    assert "KeyError: 'nothing'" in done.stderr
