"""Two strategies as one keep the promises of any strategy."""

from __future__ import annotations

import pytest

from honeyguide.config.loading import parse_settings
from honeyguide.crawl.from_settings import build_strategy
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
PAIRS = (
    "hybrid_svm+honeyguide",
    "topic_cnn+honeyguide",
    "user_utility+adaptive_links",
    "honeyguide+user_utility",
    "ontology_ann+hybrid_svm",
    "keyword+breadth",
)


@pytest.fixture(params=PAIRS)
def strategy(request: pytest.FixtureRequest) -> Strategy:
    return build_strategy(parse_settings({"topic": TOPIC, "crawl": {"strategy": request.param}}))
