"""What people read about a model: a report with pictures, and a card that goes with it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from honeyguide.training.evaluation import Figures
from honeyguide.training.plots import confusion, reliability
from honeyguide.training.safe_names import shown

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;"
    "background:#fff;color:#222}table{border-collapse:collapse}td,th{padding:.2em .8em;"
    "border-bottom:1px solid #ddd;text-align:right}td:first-child,th:first-child{text-align:left}"
    "svg{max-width:100%;height:auto}"
)
_MARKUP = re.compile(r"[\\`*_\[\]|#]")
_ADDRESS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
_ROWS = "<p>A row for what documents are, a column for what the model said.</p>"
_BINS = "<p>A calibrated model is on the diagonal; large dots stand for many documents.</p>"
LIMITS = (
    "It knows these categories and no others: a page about something else is given one of them all "
    "the same, often with a middling probability.",
    "Figures hold for texts like those it learned from. Pages of other sites, other years or "
    "another language may be judged much worse.",
    "Labels were taken as they came; a model repeats their mistakes and their slant.",
)


def report(card: Mapping[str, Any], figures: Mapping[str, Figures]) -> str:
    """One HTML file that needs nothing else; ``figures`` by kind, the chosen one first."""
    out = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(str(card['name']))}: report</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(str(card['name']))}</h1>",
        f"<p>{escape(_summary(card))}</p>",
    ]
    if len(figures) > 1:
        out += ["<h2>Kinds compared</h2>", _compared(figures)]
    for number, (kind, found) in enumerate(figures.items()):
        out.append(
            f"<h2>{escape(kind)}{' (chosen)' if len(figures) > 1 and not number else ''}</h2>"
        )
        out.append(
            f"<p>Accuracy {found.accuracy:.4f} (deviation over folds {found.deviation:.4f}), "
            f"macro-F1 {found.macro_f1:.4f}, "
            f"calibration error (ECE) {found.calibration_error:.4f}.</p>"
        )
        out += [confusion(found), _ROWS, _each(found), reliability(found.bins), _BINS]
    if not figures:
        out.append("<p>No cross-validation was made: nobody knows what this model is worth.</p>")
    out += ["<h2>Data</h2>", _list(card["notes"]), "</body></html>"]
    return "".join(c for c in "\n".join(out) if c.isprintable() or c == "\n") + "\n"


def card_text(card: Mapping[str, Any], found: Figures | None) -> str:
    """The card as Markdown."""
    out = [f"# {_text(card['name'])}", "", _summary(card), "", "## What it is", ""]
    out += _rows(
        {
            "kind": card["kind"],
            "language": card["reading"]["language"] or "?",
            "words": card["size"]["words"],
            "numbers": card["size"]["numbers"],
            "made": card["made"],
            "version": f"honeyguide {card['version']}",
            "licence": card["licence"] or "not stated: ask whoever made it before you pass it on",
        }
    )
    out.append(f"| command | {_code(card['command'])} |")
    out += ["", "## What it learned from", ""]
    out += _rows({"source": card["source"], "documents": sum(card["categories"].values())})
    out += ["", "| category | documents |", "|---|--:|"]
    out += [f"| {_text(name)} | {size} |" for name, size in card["categories"].items()]
    out += ["", *(f"- {_text(note)}" for note in card["notes"])]
    out += ["", "## What it is worth", ""]
    if found is None:
        out.append("Not measured: no cross-validation was made.")
    else:
        out += [
            f"{card['folds']}-fold cross-validation: accuracy {found.accuracy:.4f} "
            f"(deviation over folds {found.deviation:.4f}), macro-F1 {found.macro_f1:.4f}, "
            f"calibration error {found.calibration_error:.4f}. Pictures: [report](report.html).",
            "",
            "| category | precision | recall | F1 | documents |",
            "|---|--:|--:|--:|--:|",
        ]
        out += [
            f"| {_text(name)} | {precision:.3f} | {recall:.3f} | {f1:.3f} | {documents} |"
            for name, precision, recall, f1, documents in found.each
        ]
    out += ["", "## Limits", "", *(f"- {limit}" for limit in LIMITS)]
    return "\n".join(out) + "\n"


def _summary(card: Mapping[str, Any]) -> str:
    return (
        f"A model of {len(card['categories'])} categories, kind {card['kind']}, trained from "
        f"{sum(card['categories'].values())} documents."
    )


def _compared(figures: Mapping[str, Figures]) -> str:
    rows = [
        f"<tr><td>{escape(kind)}</td><td>{f.accuracy:.4f}</td><td>{f.macro_f1:.4f}</td>"
        f"<td>{f.calibration_error:.4f}</td></tr>"
        for kind, f in figures.items()
    ]
    head = "<tr><th>kind</th><th>accuracy</th><th>macro-F1</th><th>ECE</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def _each(found: Figures) -> str:
    rows = [
        f"<tr><td>{escape(e.category)}</td><td>{e.precision:.3f}</td><td>{e.recall:.3f}</td>"
        f"<td>{e.f1:.3f}</td><td>{e.documents}</td></tr>"
        for e in found.each
    ]
    head = (
        "<tr><th>category</th><th>precision</th><th>recall</th><th>F1</th><th>documents</th></tr>"
    )
    return f"<table>{head}{''.join(rows)}</table>"


def _list(notes: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"


def _rows(values: Mapping[str, object]) -> list[str]:
    return ["| | |", "|---|---|", *(f"| {key} | {_text(value)} |" for key, value in values.items())]


def _text(value: object) -> str:
    """Markdown that shows these very letters: names come from a stranger's file, and must bring
    no tables, pictures, addresses or tags of their own."""
    marked = _MARKUP.sub(r"\\\g<0>", escape(shown(str(value)), quote=False))
    return _ADDRESS.sub(lambda found: f"&#{ord(found[0])};", marked)


def _code(value: object) -> str:
    """To be typed as it stands; what could end the code is text."""
    said = shown(str(value))
    return _text(said) if not said or set(said) & set("`\\|") else f"`{said}`"
