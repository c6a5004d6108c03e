"""Figures, pictures and cards of category models."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from honeyguide.training.report import (
    ModelFigures,
    assign_folds,
    card_text,
    confusion_svg,
    html_report,
    measure_figures,
    reliability_svg,
)

TRUTH = np.array([0, 0, 0, 1, 1, 2])
CHANCES = np.array(
    [
        [0.90, 0.05, 0.05],
        [0.80, 0.10, 0.10],
        [0.30, 0.40, 0.30],
        [0.10, 0.80, 0.10],
        [0.60, 0.30, 0.10],
        [0.10, 0.10, 0.80],
    ]
)
NAMES = ("<b>a&b", "b", "c" * 60)


def found() -> ModelFigures:
    return measure_figures(CHANCES, TRUTH, np.array([0, 1, 0, 1, 0, 1]), NAMES)


def test_figures_by_hand() -> None:
    one = found()
    assert one.accuracy == pytest.approx(4 / 6)
    assert one.confusion == ((2, 1, 0), (1, 1, 0), (0, 0, 1))
    a, b, c = one.each
    assert (a.precision, a.recall, a.f1) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert (b.precision, b.recall, b.f1, b.documents) == pytest.approx((0.5, 0.5, 0.5, 2))
    assert c.f1 == 1
    assert one.macro_f1 == pytest.approx((2 / 3 + 0.5 + 1) / 3)
    assert one.deviation == pytest.approx(np.std([1 / 3, 1.0], ddof=1))
    # Bins .9 (1 of 1 right), .8 (3 of 3), .4 (0 of 1), .6 (0 of 1).
    assert one.calibration_error == pytest.approx((0.1 + 3 * 0.2 + 0.4 + 0.6) / 6)


def test_a_category_that_is_never_said_has_no_worth() -> None:
    chances = np.array([[0.9, 0.1], [0.9, 0.1]])
    one = measure_figures(chances, np.array([0, 1]), np.array([0, 0]), ("a", "b"))
    assert one.each[1].f1 == 0
    assert one.deviation == 0


def test_folds_are_even_and_the_same_again() -> None:
    labels = np.array([0] * 50 + [1] * 7 + [2] * 2)
    fold = assign_folds(labels, 5, 1)
    assert [int((fold[:50] == n).sum()) for n in range(5)] == [10] * 5
    assert set(fold[50:57]) == set(range(5))
    assert (assign_folds(labels, 5, 1) == fold).all()
    assert (assign_folds(labels, 5, 2) != fold).any()


def card() -> dict[str, Any]:
    return {
        "name": "x<script>",
        "kind": "linear",
        "source": "a|b.csv",
        "categories": dict(zip(NAMES, (3, 2, 1), strict=True)),
        "reading": {"language": "tr"},
        "size": {"words": 10, "numbers": 30},
        "folds": 5,
        "notes": ["<i>note"],
        "licence": "",
        "command": "honeyguide train a.csv",
        "made": "2026-01-01",
        "version": "1",
    }


def test_pictures_are_svg_and_harmless() -> None:
    for picture in (confusion_svg(found()), reliability_svg(found().bins), reliability_svg(())):
        assert ET.fromstring(picture).tag.endswith("svg")
    assert "<b>" not in confusion_svg(found())


def test_the_report_is_one_page_that_strangers_names_cannot_steer() -> None:
    text = html_report(card(), {"linear": found(), "paper": found()})
    assert "<script>" not in text.replace("&lt;script&gt;", "")
    assert "<b>a&b" not in text
    assert "<i>note" not in text
    assert text.count("<svg") == 4
    assert "linear (chosen)" in text
    assert "is unknown" in html_report(card(), {})


def test_the_card_says_what_a_model_is_made_of() -> None:
    text = card_text(card(), found())
    for said in (
        "| licence | not stated",
        "2026-01-01",
        "a\\|b.csv",
        "accuracy 0.6667",
        "## Limits",
    ):
        assert said in text
    assert "Not measured" in card_text(card(), None)
