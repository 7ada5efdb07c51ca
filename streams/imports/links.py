"""Games named by their links, as sites' exports do: the id is what the link ends with."""

import re

_LINK = re.compile(
    r"https?://(?:lichess\.org/(\w{8})(?:/white|/black)?"
    r"|(?:www\.)?chess\.com/(?:(?:live|daily)/)?game/(?:(?:live|daily)/)?(\d+))/?"
)


def link_id(text: str) -> str | None:
    """Return the id of the game that a link leads to; None when it is none that is known."""
    link = _LINK.fullmatch(text.strip())
    return None if link is None else link[1] or link[2]


def id_of_link(text: str) -> str:
    """Return the id of the game that a link leads to; what is none that is known as it is."""
    return link_id(text) or text
