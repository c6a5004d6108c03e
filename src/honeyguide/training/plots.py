"""Pictures of a model's figures, as SVG: they need no library, and any browser shows them."""

from __future__ import annotations

from html import escape

from honeyguide.training.evaluation import Bin, Figures

_CELL, _SIDE, _TOP = 46, 150, 110
_LABEL = 20
_FEW = 30
"""Categories; with more, empty cells are not drawn."""
_PLOT, _EDGE = 260, 40
_FONT = 'font-family="system-ui, sans-serif" font-size="12"'


def confusion(found: Figures) -> str:
    """The confusion matrix: rows are what documents are, columns what the model said."""
    names = [_short(one.category) for one in found.each]
    size = len(names)
    cell = _CELL if size <= 15 else max(14, 700 // size)
    width, height = _SIDE + cell * size + 10, _TOP + cell * size + 10
    out = [_svg(width, height, "Confusion matrix: rows are what it is, columns what was said")]
    for row, counts in enumerate(found.confusion):
        total = max(1, sum(counts))
        y = _TOP + row * cell
        out.append(_text(_SIDE - 6, y + cell / 2 + 4, names[row], "end"))
        for column, count in enumerate(counts):
            if not count and size > _FEW:
                continue
            x, share = _SIDE + column * cell, count / total
            colour = "34,120,80" if row == column else "190,60,50"
            said = f"{found.each[row].category} said to be {found.each[column].category}: {count}"
            out.append(
                f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" stroke="#ccc" '
                f'fill="rgba({colour},{share:.3f})"><title>{escape(said)}</title></rect>'
            )
            if count and cell >= 24:
                ink = "#fff" if share > 0.6 else "#222"
                out.append(_text(x + cell / 2, y + cell / 2 + 4, str(count), "middle", ink))
    for column, name in enumerate(names):
        at = f"{_SIDE + column * cell + cell / 2 + 4} {_TOP - 6}"
        turned = f'transform="translate({at}) rotate(-55)"'
        out.append(f"<text {turned} {_FONT}>{escape(name)}</text>")
    return "\n".join([*out, "</svg>"])


def reliability(bins: tuple[Bin, ...]) -> str:
    """How often it was right, by how sure it was; a calibrated model is on the diagonal."""
    side = _PLOT + 2 * _EDGE
    out = [_svg(side, side, "Reliability: how often right, by how sure")]
    low, high = _EDGE, _EDGE + _PLOT
    out.append(
        f'<rect x="{low}" y="{low}" width="{_PLOT}" height="{_PLOT}" fill="none" stroke="#999"/>'
    )
    out.append(f'<line x1="{low}" y1="{high}" x2="{high}" y2="{low}" stroke="#bbb"/>')
    largest = max((one.documents for one in bins), default=1)
    points = []
    for one in bins:
        x, y = low + _PLOT * one.sure, high - _PLOT * one.right
        radius = 3 + 7 * (one.documents / largest) ** 0.5
        points.append(f"{x:.1f},{y:.1f}")
        said = f"{one.documents} documents: {one.sure:.0%} sure, {one.right:.0%} right"
        out.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="rgba(34,90,160,.6)">'
            f"<title>{said}</title></circle>"
        )
    out.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="#225aa0"/>')
    for share in (0.0, 0.5, 1.0):
        out.append(_text(low + _PLOT * share, high + 16, f"{share:g}", "middle"))
        out.append(_text(low - 6, high - _PLOT * share + 4, f"{share:g}", "end"))
    out.append(_text(low + _PLOT / 2, high + 32, "how sure", "middle"))
    out.append(_text(low + 4, low - 8, "how often right", "start"))
    return "\n".join([*out, "</svg>"])


def _svg(width: float, height: float, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img"><title>{escape(title)}</title>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>'
    )


def _text(x: float, y: float, text: str, anchor: str, ink: str = "#222") -> str:
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
    return f'<text {place} {_FONT} fill="{ink}">{escape(text)}</text>'


def _short(name: str) -> str:
    return name if len(name) <= _LABEL else name[: _LABEL - 1] + "…"
