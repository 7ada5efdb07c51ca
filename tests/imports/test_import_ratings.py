"""Starting figures from CSV."""

from typing import Any

import pytest
from imported import Imported, imported_by

from streams.imports import MappingError, import_ratings


def imported(text: str, **mapping: Any) -> Imported:
    return imported_by(import_ratings, text, "games", mapping)


def test_starting_figures() -> None:
    text = "Name,Elo,games,week\nann,1650.5,20,\nbob,1700,12.0,2026-W48\n"
    text += "cid,,3,\ndan,1,x,\neve,1,1,48\nann,1,1,\nfay,9e9,1,\n"
    found = imported(text, system="fundox", columns={"player": "Name", "rating": "Elo"})

    assert found.events == [
        {
            "type": "rating-imported",
            "ladder": "chess",
            "system": "fundox",
            "player_id": "ann",
            "rating": 1650.5,
            "games": 20,
        },
        {
            "type": "rating-imported",
            "ladder": "chess",
            "system": "fundox",
            "player_id": "bob",
            "rating": 1700.0,
            "games": 12,
            "week": "2026-W48",
        },
    ]
    assert found.lines == [(4, "missing"), (5, "number"), (6, "schema"), (7, "twice"), (8, "schema")]


def test_starting_figures_need_a_system() -> None:
    with pytest.raises(MappingError, match="system: neither given"):
        imported("player,rating,games\n")
