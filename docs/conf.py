"""How Sphinx makes the pages: `make docs`, with a warning as an error."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

from pygments.lexers.data import JsonLexer
from sphinx.application import Sphinx

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import generated

project = "Ladderlog"
author = "The Ladderlog authors"
copyright = author  # noqa: A001 - Sphinx's name
version = release = installed_version("ladderlog")
extensions = ["myst_parser"]
exclude_patterns = ["README.md"]
nitpicky = True

# Headings down to this level can be linked to as in page.md#the-heading.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]
# Nothing but what a link says: "12:30" is no link to a scheme.
myst_url_schemes = ["http", "https"]

html_theme = "furo"
html_title = "Ladderlog"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
# The search would fetch each page for it, which browsers refuse where the pages are files.
html_show_search_summary = False
html_last_updated_fmt = None


def setup(app: Sphinx) -> None:
    """Let pages have parts that are made from the code."""

    def fill(_app: Sphinx, _page: str, source: list[str]) -> None:
        source[0] = generated.filled(source[0])

    def of_the_code(*_: object) -> list[str]:
        # What these pages are made from is not among the files that Sphinx watches.
        pages = Path(app.srcdir).rglob("*.md")
        return [
            page.relative_to(app.srcdir).with_suffix("").as_posix()
            for page in pages
            if generated.MARK.search(page.read_text(encoding="utf-8"))
        ]

    app.add_lexer("jsonl", JsonLexer)
    app.connect("source-read", fill)
    app.connect("env-get-outdated", of_the_code)
