"""Curves for people: an SVG file, and the same in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

_COLOURS = (
    "#d97706", "#64748b", "#0f766e", "#7c3aed", "#be123c", "#1d4ed8", "#4d7c0f", "#a16207",
    "#0e7490", "#9d174d",
)  # fmt: skip
_WIDTH, _PLOT = 760, 312
_LEFT, _RIGHT, _BOTTOM = 64, 20, 52
_NAMES, _ROW, _LETTER = 4, 18, 6.8
"""Names in a row of the legend, if they are short enough; its height; the width of a letter."""
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The braille dots of one cell, by row and column."""
_TERMINAL_STYLES = ("bold yellow", "bright_black", "cyan", "magenta", "red", "blue")

Points = Sequence[tuple[float, float]]


def svg_chart(title: str, x_label: str, y_label: str, curves: Mapping[str, Points]) -> str:
    """A line chart without any library; text stays text."""
    x_most = max((x for points in curves.values() for x, _ in points), default=1) or 1
    y_most = _round_up(max((y for points in curves.values() for _, y in points), default=1))
    names = _names_per_row(curves)
    top = 38 + _ROW * max(1, -(-len(curves) // names))
    height = top + _PLOT + _BOTTOM

    def place(x: float, y: float) -> str:
        across = _LEFT + x / x_most * (_WIDTH - _LEFT - _RIGHT)
        down = top + _PLOT * (1 - y / y_most)
        return f"{across:.1f},{down:.1f}"

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="system-ui, sans-serif" font-size="13" role="img" '
        f"aria-label={quoteattr(title)}>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#fffdf8"/>',
        f'<text x="{_LEFT}" y="26" font-size="17" font-weight="600">{escape(title)}</text>',
    ]
    for y in _tick_values(y_most):
        left, down = place(0, y).split(",")
        right = place(x_most, y).split(",")[0]
        out.append(
            f'<line x1="{left}" y1="{down}" x2="{right}" y2="{down}" stroke="#e7e2d6"/>'
            f'<text x="{_LEFT - 8}" y="{float(down) + 4:.1f}" text-anchor="end" '
            f'fill="#57534e">{_format_number(y)}</text>'
        )
    for x in _tick_values(x_most):
        across = place(x, 0).split(",")[0]
        out.append(
            f'<text x="{across}" y="{top + _PLOT + 18}" text-anchor="middle" '
            f'fill="#57534e">{x:.0f}</text>'
        )
    out.append(
        f'<text x="{(_WIDTH + _LEFT) / 2:.0f}" y="{height - 12}" text-anchor="middle" '
        f'fill="#57534e">{escape(x_label)}</text>'
        f'<text transform="translate(16 {top + _PLOT / 2:.0f}) rotate(-90)" '
        f'text-anchor="middle" fill="#57534e">{escape(y_label)}</text>'
    )
    for number, (name, points) in enumerate(curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        across_to = _LEFT + number % names * (680 // names)
        down_to = 42 + number // names * _ROW
        line = " ".join(place(x, y) for x, y in points)
        out.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2.5" '
            f'stroke-linejoin="round"/>'
            f'<rect x="{across_to}" y="{down_to - 6}" width="18" height="4" fill="{colour}"/>'
            f'<text x="{across_to + 24}" y="{down_to}">{escape(name)}</text>'
        )
    return "\n".join([*out, "</svg>", ""])


def _names_per_row(curves: Mapping[str, Points]) -> int:
    """How many names of the legend fit beside each other."""
    longest = 30 + _LETTER * max(map(len, curves), default=0)
    return max(1, min(_NAMES, int((_WIDTH - _LEFT) / longest)))


def terminal_chart(curves: Mapping[str, Points], width: int = 64, height: int = 12) -> list[str]:
    """Lines of Rich markup: braille curves with a scale on the left."""
    x_most = max((x for points in curves.values() for x, _ in points), default=1) or 1
    y_most = _round_up(max((y for points in curves.values() for _, y in points), default=1))
    cells: dict[tuple[int, int], tuple[int, str]] = {}
    # Later curves go under earlier ones: the first is the one that matters.
    for number, points in reversed(list(enumerate(curves.values()))):
        pen = _TERMINAL_STYLES[number % len(_TERMINAL_STYLES)]
        for column in range(width * 2):
            y = _height_at(points, (column + 0.5) / (width * 2) * x_most)
            if y is None:
                continue
            down = height * 4 - 1 - min(height * 4 - 1, int(y / y_most * height * 4))
            spot = (down // 4, column // 2)
            bits, old_pen = cells.get(spot, (0, pen))
            dot = _DOTS[down % 4][column % 2]
            cells[spot] = (bits | dot if old_pen == pen else dot, pen)
    lines = []
    for row in range(height):
        label = _format_number(y_most * (height - row) / height) if row % 3 == 0 else ""
        drawn = "".join(
            f"[{cells[row, column][1]}]{chr(0x2800 + cells[row, column][0])}[/]"
            if (row, column) in cells
            else " "
            for column in range(width)
        )
        lines.append(f"{label:>6} │{drawn}")
    lines.append(f"{'0':>6} └{'─' * width}")
    lines.append(f"{'':8}0{f'{x_most:.0f}':>{width - 1}}")
    legend = "   ".join(
        f"[{_TERMINAL_STYLES[number % len(_TERMINAL_STYLES)]}]━━[/] {name}"
        for number, name in enumerate(curves)
    )
    return [*lines, f"{'':8}{legend}"]


def _height_at(points: Points, x: float) -> float | None:
    """The curve's height at x: the last point at or before it."""
    height: float | None = None
    for across, y in points:
        if across > x:
            return y if height is None else height
        height = y
    return height


def _round_up(value: float) -> float:
    """The next round number for the end of a scale."""
    if value <= 0:
        return 1.0
    if value <= 1:
        return next(top for top in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0) if value <= top + 1e-9)
    size = 10.0 ** (len(str(int(value))) - 1)
    return next(
        top * size for top in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if value <= top * size
    )


def _tick_values(most: float) -> list[float]:
    """Round numbers from 0 to the end of a scale, six or so."""
    step = _round_up(most / 6)
    return [n * step for n in range(int(most / step + 1e-9) + 1)]


def _format_number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.2f}"
