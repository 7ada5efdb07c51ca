"""The what-if report as one HTML page: no script, nothing from elsewhere, light and dark.

Pure: standard library only.
"""

from collections.abc import Callable, Sequence
from html import escape

from streams.core.compare import Bin, Comparison, Moved, figure_text, signed, summary
from streams.core.rankings import shown

_WIDTH, _HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 30, 12, 44
# More points than this are a blot, and megabytes.
_MAX_POINTS = 2_000
_TICKS = 5
_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1e; --paper: #fff; --line: #b6b6bd; --mark: #0b5cad; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ececf0; --paper: #17181a; --line: #55565c; --mark: #7db8f5; }
}
body { color: var(--ink); background: var(--paper); font: 1rem/1.5 system-ui, sans-serif;
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; }
section { border-top: 1px solid var(--line); margin-top: 2rem; }
figure { margin: 1.5rem 0; }
figcaption, caption { text-align: left; font-weight: 600; margin-bottom: .25rem; }
svg { width: 100%; height: auto; max-width: 40rem; display: block; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.axis { stroke: var(--line); }
.same { stroke: var(--line); stroke-dasharray: 4 4; }
.bar { fill: var(--mark); }
.point { fill: var(--mark); fill-opacity: .55; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .2rem .75rem .2rem 0; text-align: right; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; }
thead th, tbody th { font-weight: 600; }
tr { border-bottom: 1px solid var(--line); }
a { color: var(--mark); }
"""


def page(title: str, about: str, comparisons: Sequence[Comparison], top: int) -> str:
    """Return the whole page."""
    links = "".join(
        f'<li><a href="#part-{number}">{escape(comparison.ladder)}, {escape(comparison.system)}</a>: '
        f"{escape(summary(comparison))}</li>"
        for number, comparison in enumerate(comparisons)
    )
    parts = "".join(_section(number, comparison, top) for number, comparison in enumerate(comparisons))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n<p>{escape(about)}</p>\n<ul>{links}</ul>\n{parts}</main>\n</body>\n</html>\n"
    )


def _section(number: int, comparison: Comparison, top: int) -> str:
    title = f"{comparison.ladder}, {comparison.system}"
    parts = [
        f'<section id="part-{number}" aria-labelledby="title-{number}">',
        f'<h2 id="title-{number}">{escape(title)}</h2>',
        f"<p>{escape(summary(comparison))}.</p>",
        _tally(comparison),
    ]
    movers = [moved for moved in comparison.players[:top] if moved.difference]
    if any(moved.difference for moved in comparison.players):
        parts += [
            _figure(
                f"{number}-moves",
                "How far ratings move",
                _moves_text(comparison),
                _bars(comparison.histogram),
            ),
            _figure(
                f"{number}-both",
                "Every player's rating before and after",
                f"One point for each of {min(len(comparison.players), _MAX_POINTS)} players: before to the "
                f"right, after upwards; on the dashed line nothing has moved.",
                _points(comparison.players),
            ),
            _movers(movers),
        ]
    parts.append("</section>\n")
    return "\n".join(parts)


def _tally(comparison: Comparison) -> str:
    if not comparison.tally:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{figure_text(before)}</td>'
        f"<td>{figure_text(after)}</td></tr>"
        for name, before, after in comparison.tally
    )
    return _table("How well the ratings predict", ("", "before", "after"), rows)


def _movers(movers: Sequence[Moved]) -> str:
    if not movers:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(moved.player_id)}</th><td>{shown(moved.before)}</td>'
        f"<td>{shown(moved.after)}</td><td>{signed(moved.difference)}</td><td>{moved.rank_before}</td>"
        f"<td>{moved.rank_after}</td></tr>"
        for moved in movers
    )
    header = ("player", "before", "after", "difference", "rank before", "rank after")
    return _table("Who moves most", header, rows)


def _table(caption: str, header: Sequence[str], rows: str) -> str:
    cells = "".join(f'<th scope="col">{escape(cell)}</th>' if cell else "<td></td>" for cell in header)
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption><thead><tr>{cells}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _figure(name: str, caption: str, description: str, drawing: str) -> str:
    return (
        f'<figure><figcaption id="caption-{name}">{escape(caption)}</figcaption>'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="caption-{name} about-{name}">'
        f'<desc id="about-{name}">{escape(description)}</desc>{drawing}</svg></figure>'
    )


def _moves_text(comparison: Comparison) -> str:
    bins = [
        f"{signed(low)} to {signed(high)}: {players}"
        for low, high, players in comparison.histogram
        if players
    ]
    return f"Players by difference. {'; '.join(bins)}."


class _Scale:
    """Where a value lies on an axis of the drawing."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high = low, high if high > low else low + 1
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        return self._start + (value - self.low) / (self.high - self.low) * (self._end - self._start)

    def ticks(self) -> list[float]:
        return [self.low + step * (self.high - self.low) / _TICKS for step in range(_TICKS + 1)]


def _across(low: float, high: float) -> _Scale:
    return _Scale(low, high, _LEFT, _WIDTH - _RIGHT)


def _upwards(low: float, high: float) -> _Scale:
    return _Scale(low, high, _HEIGHT - _BOTTOM, _TOP)


def _bars(bins: Sequence[Bin]) -> str:
    x = _across(bins[0].low, bins[-1].high)
    y = _upwards(0, max(bar.players for bar in bins))
    bars = "".join(
        f'<rect class="bar" x="{x(low) + 0.5:.1f}" y="{y(players):.1f}" '
        f'width="{max(1.0, x(high) - x(low) - 1):.1f}" height="{y(0) - y(players):.1f}">'
        f"<title>{signed(low)} to {signed(high)}: {players}</title></rect>"
        for low, high, players in bins
    )
    return bars + _axes(x, y, "difference", "players", signed)


def _points(players: Sequence[Moved]) -> str:
    # Every so many of those sorted by how far they move, the furthest first: none of the extremes is lost.
    step = -(-len(players) // _MAX_POINTS)
    chosen = players[::step]
    values = [value for moved in players for value in (moved.before, moved.after)]
    x, y = _across(min(values), max(values)), _upwards(min(values), max(values))
    line = (
        f'<line class="same" x1="{x(x.low):.1f}" y1="{y(y.low):.1f}" x2="{x(x.high):.1f}" '
        f'y2="{y(y.high):.1f}"/>'
    )
    points = "".join(
        f'<circle class="point" cx="{x(moved.before):.1f}" cy="{y(moved.after):.1f}" r="3"/>'
        for moved in chosen
    )
    return line + points + _axes(x, y, "before", "after", lambda value: f"{value:.0f}")


def _axes(x: _Scale, y: _Scale, across: str, upwards: str, label: Callable[[float], str]) -> str:
    bottom, left = y(y.low), x(x.low)
    lines = (
        f'<line class="axis" x1="{left:.1f}" y1="{bottom:.1f}" x2="{x(x.high):.1f}" y2="{bottom:.1f}"/>'
        f'<line class="axis" x1="{left:.1f}" y1="{bottom:.1f}" x2="{left:.1f}" y2="{y(y.high):.1f}"/>'
    )
    below = "".join(
        f'<text x="{x(tick):.1f}" y="{bottom + 16:.1f}" text-anchor="middle">{label(tick)}</text>'
        for tick in x.ticks()
    )
    beside = "".join(
        f'<text x="{left - 6:.1f}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.0f}</text>'
        for tick in y.ticks()
    )
    names = (
        f'<text x="{_WIDTH / 2:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">{across}</text>'
        f'<text x="14" y="{_HEIGHT / 2 - 20:.0f}" text-anchor="middle" '
        f'transform="rotate(-90 14 {_HEIGHT / 2 - 20:.0f})">{upwards}</text>'
    )
    return lines + below + beside + names
