"""The rating systems: one module each, and one line here."""

from streams.core.ratings.bga import Bga
from streams.core.ratings.closeness import Closeness
from streams.core.ratings.fundox import Fundox
from streams.core.ratings.points import Points
from streams.core.ratings.system import Competition, System
from streams.core.ratings.weekly import Weekly

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


def competitions() -> list[str]:
    """Return the names of the systems that are weekly competitions."""
    return [name for name, system in SYSTEMS.items() if issubclass(system, Competition)]
