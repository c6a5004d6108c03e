"""Several topics at once keep the promises of any strategy, whatever their parts are."""

from __future__ import annotations

import pytest

from honeyguide import registry
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.multi_topic import MultiTopicStrategy
from honeyguide.protocols import Strategy
from tests.contracts.test_strategies import (
    TOPIC,
    test_explains_what_it_ranks,
    test_is_a_frozen_dataclass_with_habits,
    test_judges_within_bounds_and_with_reasons,
    test_learning_leaves_the_old_one_untouched,
    test_ranks_each_link_within_bounds,
    test_same_topic_same_answers,
    test_survives_saving_and_loading,
)

__all__ = [
    "test_explains_what_it_ranks",
    "test_is_a_frozen_dataclass_with_habits",
    "test_judges_within_bounds_and_with_reasons",
    "test_learning_leaves_the_old_one_untouched",
    "test_ranks_each_link_within_bounds",
    "test_same_topic_same_answers",
    "test_survives_saving_and_loading",
]


@pytest.fixture(params=registry.strategy_names())
def strategy(request: pytest.FixtureRequest) -> Strategy:
    soup = {"name": "soup", "keywords": ["soup", "salt"], "good": ["http://e.org/cook"]}
    made = build_strategy(
        parse_settings(
            {
                "topic": TOPIC | {"name": "birds"},
                "topics": [soup],
                "crawl": {"strategy": request.param},
            }
        )
    )
    assert isinstance(made, MultiTopicStrategy)
    return made
