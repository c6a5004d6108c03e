"""Figures of a category model from documents outside its training; its report in HTML with SVG
charts, and its card in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honeyguide.training.documents import visible_text

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.signedinteger[Any]]

_BIN_COUNT = 10


@dataclass(frozen=True)
class CategoryFigures:
    """How well one category is recognised."""

    category: str
    precision: float
    recall: float
    f1: float
    documents: int


@dataclass(frozen=True)
class CalibrationBin:
    """Documents with similar confidence."""

    sure: float
    right: float
    documents: int


@dataclass(frozen=True)
class ModelFigures:
    """Figures of a model."""

    accuracy: float
    macro_f1: float
    deviation: float
    """Standard deviation of the accuracy over the folds."""
    calibration_error: float
    """Mean difference of confidence and accuracy over ten bins (Naeini, Cooper & Hauskrecht 2015:
    ECE)."""
    each: tuple[CategoryFigures, ...]
    confusion: tuple[tuple[int, ...], ...]
    """Row: the true category; column: the predicted one."""
    bins: tuple[CalibrationBin, ...]

    @property
    def macro_precision(self) -> float:
        """Mean over the categories that have documents."""
        return float(np.mean([one.precision for one in self.each if one.documents]))

    @property
    def macro_recall(self) -> float:
        return float(np.mean([one.recall for one in self.each if one.documents]))


def measure_figures(
    chances: Floats, truth: Ints, fold: Ints | None, categories: tuple[str, ...]
) -> ModelFigures:
    """From the probabilities of documents by models that were trained without them. ``fold``: the
    fold of each document; None: one model judged them all."""
    fold = np.zeros(len(truth), np.int64) if fold is None else fold
    predicted, sure = chances.argmax(axis=1), chances.max(axis=1)
    right = predicted == truth
    size = len(categories)
    confusion = np.bincount(truth * size + predicted, minlength=size * size).reshape(size, size)
    each = tuple(_category_figures(name, n, confusion) for n, name in enumerate(categories))
    folds = [float(right[fold == number].mean()) for number in np.unique(fold)]
    bins = _calibration_bins(sure, right)
    return ModelFigures(
        accuracy=float(right.mean()),
        macro_f1=float(np.mean([one.f1 for one in each if one.documents])),
        deviation=float(np.std(folds, ddof=1)) if len(folds) > 1 else 0.0,
        calibration_error=sum(b.documents * abs(b.sure - b.right) for b in bins) / len(truth),
        each=each,
        confusion=tuple(tuple(map(int, row)) for row in confusion),
        bins=bins,
    )


def _category_figures(name: str, number: int, confusion: Ints) -> CategoryFigures:
    hits, is_it = int(confusion[number, number]), int(confusion[number].sum())
    predicted = int(confusion[:, number].sum())
    precision, recall = hits / max(1, predicted), hits / max(1, is_it)
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return CategoryFigures(name, precision, recall, f1, is_it)


def _calibration_bins(sure: Floats, right: NDArray[np.bool_]) -> tuple[CalibrationBin, ...]:
    place = np.minimum((sure * _BIN_COUNT).astype(int), _BIN_COUNT - 1)
    found = []
    for number in range(_BIN_COUNT):
        inside = place == number
        if inside.any():
            share = float(right[inside].mean())
            found.append(CalibrationBin(float(sure[inside].mean()), share, int(inside.sum())))
    return tuple(found)


def assign_folds(labels: Ints, count: int, seed: int) -> Ints:
    """The fold of each document, every category spread evenly."""
    fold = np.empty(len(labels), dtype=np.int64)
    dice = np.random.default_rng(seed)
    for label in np.unique(labels):
        places = dice.permutation(np.flatnonzero(labels == label))
        # Not always from the first, lest the last folds get none of the small categories.
        fold[places] = (np.arange(len(places)) + int(label)) % count
    return fold


# --- Charts ---


_CELL, _SIDE, _TOP = 46, 150, 110
_LABEL = 20
_FEW = 30
"""Categories; with more, empty cells are not drawn."""
_PLOT, _EDGE = 260, 40
_FONT = 'font-family="system-ui, sans-serif" font-size="12"'


def confusion_svg(found: ModelFigures) -> str:
    """The confusion matrix: rows are true categories, columns predicted ones."""
    names = [_short_label(one.category) for one in found.each]
    size = len(names)
    cell = _CELL if size <= 15 else max(14, 700 // size)
    width, height = _SIDE + cell * size + 10, _TOP + cell * size + 10
    out = [
        _svg_head(
            width, height, "Confusion matrix: rows are true categories, columns predicted ones"
        )
    ]
    for row, counts in enumerate(found.confusion):
        total = max(1, sum(counts))
        y = _TOP + row * cell
        out.append(_svg_text(_SIDE - 6, y + cell / 2 + 4, names[row], "end"))
        for column, count in enumerate(counts):
            if not count and size > _FEW:
                continue
            x, share = _SIDE + column * cell, count / total
            colour = "34,120,80" if row == column else "190,60,50"
            title = (
                f"{found.each[row].category} predicted as {found.each[column].category}: {count}"
            )
            out.append(
                f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" stroke="#ccc" '
                f'fill="rgba({colour},{share:.3f})"><title>{escape(title)}</title></rect>'
            )
            if count and cell >= 24:
                ink = "#fff" if share > 0.6 else "#222"
                out.append(_svg_text(x + cell / 2, y + cell / 2 + 4, str(count), "middle", ink))
    for column, name in enumerate(names):
        at = f"{_SIDE + column * cell + cell / 2 + 4} {_TOP - 6}"
        turned = f'transform="translate({at}) rotate(-55)"'
        out.append(f"<text {turned} {_FONT}>{escape(name)}</text>")
    return "\n".join([*out, "</svg>"])


def reliability_svg(bins: tuple[CalibrationBin, ...]) -> str:
    """Accuracy by confidence; a calibrated model is on the diagonal."""
    side = _PLOT + 2 * _EDGE
    out = [_svg_head(side, side, "Reliability: accuracy by confidence")]
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
        title = f"{one.documents} documents: {one.sure:.0%} sure, {one.right:.0%} right"
        out.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="rgba(34,90,160,.6)">'
            f"<title>{title}</title></circle>"
        )
    out.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="#225aa0"/>')
    for share in (0.0, 0.5, 1.0):
        out.append(_svg_text(low + _PLOT * share, high + 16, f"{share:g}", "middle"))
        out.append(_svg_text(low - 6, high - _PLOT * share + 4, f"{share:g}", "end"))
    out.append(_svg_text(low + _PLOT / 2, high + 32, "confidence", "middle"))
    out.append(_svg_text(low + 4, low - 8, "accuracy", "start"))
    return "\n".join([*out, "</svg>"])


def _svg_head(width: float, height: float, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img"><title>{escape(title)}</title>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>'
    )


def _svg_text(x: float, y: float, text: str, anchor: str, ink: str = "#222") -> str:
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
    return f'<text {place} {_FONT} fill="{ink}">{escape(text)}</text>'


def _short_label(name: str) -> str:
    return name if len(name) <= _LABEL else name[: _LABEL - 1] + "…"


# --- Report and card ---


_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;"
    "background:#fff;color:#222}table{border-collapse:collapse}td,th{padding:.2em .8em;"
    "border-bottom:1px solid #ddd;text-align:right}td:first-child,th:first-child{text-align:left}"
    "svg{max-width:100%;height:auto}"
)
_MARKUP = re.compile(r"[\\`*_\[\]|#]")
_ADDRESS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
_ROWS = "<p>A row for the true category, a column for the predicted one.</p>"
_BINS_NOTE = "<p>A calibrated model is on the diagonal; large dots stand for many documents.</p>"
LIMITS = (
    "It knows these categories and no others: a page about something else is given one of them all "
    "the same, often with a middling probability.",
    "Figures hold for texts like those it was trained on. Pages of other sites, other years or "
    "another language may be classified much worse.",
    "Labels were used as given; a model repeats their mistakes and their bias.",
)


def html_report(card: Mapping[str, Any], figures: Mapping[str, ModelFigures]) -> str:
    """A self-contained HTML file; ``figures`` by kind, the chosen one first."""
    out = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(str(card['name']))}: report</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(str(card['name']))}</h1>",
        f"<p>{escape(_card_summary(card))}</p>",
    ]
    if len(figures) > 1:
        out += ["<h2>Kinds compared</h2>", _html_table(_KIND_COLUMNS, _kind_rows(figures))]
    for number, (kind, found) in enumerate(figures.items()):
        chosen = " (chosen)" if len(figures) > 1 and not number else ""
        out.append(f"<h2>{escape(kind)}{chosen}</h2>")
        out.append(
            f"<p>Accuracy {found.accuracy:.4f} (deviation over folds {found.deviation:.4f}), "
            f"macro-F1 {found.macro_f1:.4f}, "
            f"calibration error (ECE) {found.calibration_error:.4f}.</p>"
        )
        out += [confusion_svg(found), _ROWS, _html_table(_CATEGORY_COLUMNS, _category_rows(found))]
        out += [reliability_svg(found.bins), _BINS_NOTE]
    if not figures:
        out.append("<p>No cross-validation was made, so the quality of this model is unknown.</p>")
    out += ["<h2>Data</h2>", _notes_list(card["notes"]), "</body></html>"]
    return "".join(c for c in "\n".join(out) if c.isprintable() or c == "\n") + "\n"


def card_text(card: Mapping[str, Any], found: ModelFigures | None) -> str:
    """The model card as Markdown."""
    out = [f"# {escape_markdown(card['name'])}", "", _card_summary(card), "", "## What it is", ""]
    out += _markdown_rows(
        {
            "kind": card["kind"],
            "language": card["reading"]["language"] or "?",
            "words": card["size"]["words"],
            "numbers": card["size"]["numbers"],
            "made": card["made"],
            "version": f"honeyguide {card['version']}",
            "licence": card["licence"] or "not stated: ask its author before you pass it on",
        }
    )
    out.append(f"| command | {_markdown_code(card['command'])} |")
    out += ["", "## Training data", ""]
    out += _markdown_rows({"source": card["source"], "documents": sum(card["categories"].values())})
    out += ["", *markdown_table(("category", "documents"), card["categories"].items())]
    out += ["", *(f"- {escape_markdown(note)}" for note in card["notes"])]
    out += ["", "## Evaluation", ""]
    if found is None:
        out.append("Not measured: no cross-validation was made.")
    else:
        out += [
            f"{card['folds']}-fold cross-validation: accuracy {found.accuracy:.4f} "
            f"(deviation over folds {found.deviation:.4f}), macro-F1 {found.macro_f1:.4f}, "
            f"calibration error {found.calibration_error:.4f}. Pictures: [report](report.html).",
            "",
            *markdown_table(_CATEGORY_COLUMNS, _category_rows(found)),
        ]
    if test := card.get("test"):
        out += [
            "",
            f"On {test['documents']} documents of {escape_markdown(test['source'])}, which were "
            f"no part of the training: accuracy {test['accuracy']:.4f}, macro precision "
            f"{test['macro_precision']:.4f}, macro recall {test['macro_recall']:.4f}, macro-F1 "
            f"{test['macro_f1']:.4f}.",
        ]
    out += ["", "## Limits", "", *(f"- {limit}" for limit in LIMITS)]
    return "\n".join(out) + "\n"


def _card_summary(card: Mapping[str, Any]) -> str:
    return (
        f"A model of {len(card['categories'])} categories, kind {card['kind']}, trained from "
        f"{sum(card['categories'].values())} documents."
    )


_KIND_COLUMNS = ("kind", "accuracy", "macro-F1", "ECE")
_CATEGORY_COLUMNS = ("category", "precision", "recall", "F1", "documents")


def _kind_rows(figures: Mapping[str, ModelFigures]) -> list[list[str]]:
    return [
        [kind, *(f"{value:.4f}" for value in (f.accuracy, f.macro_f1, f.calibration_error))]
        for kind, f in figures.items()
    ]


def _category_rows(found: ModelFigures) -> list[list[str]]:
    return [
        [e.category, f"{e.precision:.3f}", f"{e.recall:.3f}", f"{e.f1:.3f}", str(e.documents)]
        for e in found.each
    ]


def _html_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = (f"| {' | '.join(map(escape_markdown, row))} |" for row in rows)
    return [f"| {' | '.join(columns)} |", "|---" + "|--:" * (len(columns) - 1) + "|", *lines]


def _notes_list(notes: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"


def _markdown_rows(values: Mapping[str, object]) -> list[str]:
    rows = (f"| {key} | {escape_markdown(value)} |" for key, value in values.items())
    return ["| | |", "|---|---|", *rows]


def escape_markdown(value: object) -> str:
    """Markdown that shows exactly these letters: names from a stranger's file must not add tables,
    pictures, addresses or tags."""
    marked = _MARKUP.sub(r"\\\g<0>", escape(visible_text(str(value)), quote=False))
    return _ADDRESS.sub(lambda found: f"&#{ord(found[0])};", marked)


def _markdown_code(value: object) -> str:
    """Text as code, unless it contains characters that end the code."""
    text = visible_text(str(value))
    return escape_markdown(text) if not text or set(text) & set("`\\|") else f"`{text}`"
