"""What may stand under ``[strategy]``, and within which range."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from honeyguide import registry
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.from_settings import TOPIC_KEYS, build_strategy, settable_parameters
from honeyguide.errors import ConfigError, ModelError
from honeyguide.models.neural import BackpropOptions, train_network
from honeyguide.protocols import Strategy


def chosen(name: str, **parameters: Any) -> Strategy:
    topic = {"seeds": ["http://e.org/"], "keywords": ["x"]}
    return build_strategy(
        parse_settings({"topic": topic, "crawl": {"strategy": name}, "strategy": parameters})
    )


@pytest.mark.parametrize(
    ("name", "key", "value", "told"),
    [
        ("ontology_ann", "momentum", 7.0, "at least 0 and below 1, not 7"),
        ("ontology_ann", "hidden", 0, "at least 1 and at most 1000, not 0"),
        ("ontology_ann", "hidden", 1_000_000_000, "at most 1000, not 1e\\+09"),
        ("ontology_ann", "rate", 0.0, "above 0"),
        ("ontology_ann", "decay", 5.0, "at most 1, not 5"),
        ("ontology_weights", "decay", 5.0, "at most 1, not 5"),
        ("hybrid_svm", "threshold", 7.0, "at most 1, not 7"),
        ("hybrid_svm", "page_weight", -5.0, "at least 0 and at most 1, not -5"),
        ("topic_cnn", "fewest", 0, "at least 1"),
        ("topic_cnn", "threshold", 1.0, "below 1"),
        ("user_utility", "share", 0.0, "above 0 and at most 1, not 0"),
        ("user_utility", "warmup", -1, "at least 0 and at most 1e\\+12, not -1"),
        ("honeyguide", "few", 0, "at least 1"),
        ("honeyguide", "explore", float("inf"), "at least 0"),
        ("keyword", "anchor_weight", 3.0, "at most 1"),
        ("adaptive_links", "believes", -1, "not -1"),
    ],
)
def test_a_number_out_of_range_is_refused_with_the_range(
    name: str, key: str, value: float, told: str
) -> None:
    with pytest.raises(ConfigError, match=rf"strategy\.{key} must be .*{told}"):
        chosen(name, **{key: value})


def test_a_link_must_be_ranked_by_something() -> None:
    with pytest.raises(ConfigError, match="cannot both be 0"):
        chosen("hybrid_svm", page_weight=0.0, link_weight=0.0)


def test_settings_name_their_range_too() -> None:
    with pytest.raises(ConfigError, match=r"learn\.every must be at least 0 and .* not -1"):
        parse_settings({"learn": {"every": -1}})
    with pytest.raises(ConfigError, match=r"topic\.threshold must be above 0 and at most 1, not 0"):
        parse_settings({"topic": {"threshold": 0.0}})


@pytest.mark.parametrize("name", sorted(registry.strategy_names()))
def test_what_is_learned_is_neither_listed_nor_accepted(name: str) -> None:
    cls = registry.find_strategy(name)
    known = settable_parameters(cls)
    assert not {*TOPIC_KEYS, *cls.traits.learned_fields} & set(known)
    assert not [key for key in known if key.endswith(("_words", "_machine")) and "page" in key]
    for key in cls.traits.learned_fields:
        with pytest.raises(ConfigError, match=rf"unknown setting strategy\.{key}"):
            chosen(name, **{key: getattr(cls, key)})
    with pytest.raises(ConfigError, match=r"unknown setting strategy\.nonsense; ") as told:
        chosen(name, nonsense=1)
    assert "machine" not in str(told.value)


def test_what_is_the_topics_is_sent_there() -> None:
    with pytest.raises(ConfigError, match=r"set topic\.keywords, not strategy\.keywords"):
        chosen("hybrid_svm", keywords=["zebra"])
    with pytest.raises(ConfigError, match=r"set topic\.words"):
        chosen("honeyguide", language="tr")


def test_a_network_that_diverges_is_no_lesson() -> None:
    rows, targets = np.eye(8), np.array([0.0, 1.0] * 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for early in (False, True):
            with pytest.raises(ModelError, match="weights grew beyond all bounds"):
                train_network(rows, targets, BackpropOptions(momentum=7.0, early=early))
