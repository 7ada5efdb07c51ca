"""The rating systems: one module each, and one line here."""

from streams.ratings.bga import Bga
from streams.ratings.closeness import Closeness
from streams.ratings.fundox import Fundox
from streams.ratings.points import Points
from streams.ratings.system import System
from streams.ratings.weekly import Weekly

SYSTEMS: dict[str, type[System]] = {
    system.name: system
    for system in (
        Fundox,
        Points,
        Closeness,
        Bga,
        Weekly,
    )
}
