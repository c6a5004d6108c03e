from __future__ import annotations

import pytest

from honeyguide import registry
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.errors import ConfigError
from honeyguide.strategies.backlinks import Backlinks
from honeyguide.strategies.breadth import Breadth
from honeyguide.strategies.keyword import Keyword
from honeyguide.types import Link, Url

A = Link(Url("http://e.org/x"))


def test_breadth_prefers_what_is_near() -> None:
    near, far = Breadth().rank([A._replace(depth=1), A._replace(depth=5)])
    assert near > far


def test_backlinks_grow_with_number_and_quality() -> None:
    rank = Backlinks().rank
    one, many, praised = rank(
        [A._replace(parent=0.0), A._replace(parent=0.0, inlinks=20), A._replace(parent=1.0)]
    )
    assert one < praised
    assert one < many < 1


def test_keyword_reads_anchor_around_address_and_parent() -> None:
    rank = Keyword(keywords=("plumage",)).rank
    nothing = A._replace(parent=0.0)
    scores = rank(
        [
            nothing,
            nothing._replace(anchor="plumages"),
            nothing._replace(before="on plumage see"),
            nothing._replace(url=Url("http://e.org/birds/plumage_guide.html")),
            nothing._replace(parent=1.0),
            nothing._replace(url=Url("http://plumage.org/x")),
        ]
    )
    assert scores[0] == 0
    assert all(score > 0 for score in scores[1:5])
    assert scores[1] == max(scores)
    assert scores[5] == 0, "a host's name alone says nothing of a page"


def test_a_missing_or_misspelt_strategy_is_named() -> None:
    with pytest.raises(ConfigError, match="did you mean 'keyword'"):
        registry.find_strategy("keywrd")
    raw = {"topic": {"seeds": ["http://e.org/"]}, "crawl": {"strategy": "keyword"}}
    with pytest.raises(ConfigError, match="needs keywords or description"):
        build_strategy(parse_settings(raw))
    raw["topic"]["keywords"] = ["x"]  # type: ignore[assignment]
    with pytest.raises(ConfigError, match=r"strategy\.anchor_wieght; did you mean"):
        build_strategy(parse_settings({**raw, "strategy": {"anchor_wieght": 0.1}}))
