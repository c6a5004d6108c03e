"""What is known of a link, as numbers: each under its name."""

from __future__ import annotations

import math

import pytest

from honeyguide.models.link_model import LinkFeatures, LinkWordScores, feature_rows
from honeyguide.types import Link, LinkStats, Url


def _odds(share: float) -> float:
    return math.log(share / (1 - share)) / 3


def test_every_number_stands_under_its_name() -> None:
    yields = LinkStats(
        host=0.11, host_count=3, group=0.12, group_count=2, siblings=0.13, parents=0.14, best=0.15,
        relevant=4, barren=1, visits=9, surprise=0.7, beside=0.16,
    )  # fmt: skip
    words = LinkWordScores(anchor=2.0, around=4.0, address=6.0, inside=1.0, signs=8.0)
    (row,) = feature_rows([Link(Url("https://a.org/"), inlinks=5, yields=yields)], [words])
    assert LinkFeatures(*row)._asdict() == pytest.approx(
        {
            "best": _odds(0.15),
            "parents": _odds(0.14),
            "anchor": 1.0,
            "around": 2.0,
            "address": 3.0,
            "group": _odds(0.12),
            "siblings": _odds(0.13),
            "inlinks": math.log1p(5),
            "relevant": math.log1p(4),
            "host": _odds(0.11),
            "barren": 0.5,
            "inside": 1.0,
            "surprise": 0.7,
            "bias": 1.0,
            "beside": _odds(0.16) - _odds(0.1),
        }
    )


def test_who_knows_nothing_of_its_neighbours_counts_nothing() -> None:
    (row,) = feature_rows([Link(Url("https://a.org/"))], [LinkWordScores(0.0, 0.0, 0.0, 0.0, 0.0)])
    assert LinkFeatures(*row).beside == pytest.approx(0.0)
