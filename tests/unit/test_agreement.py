"""Do people agree? Cohen's kappa on the example of a textbook, and what must always hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.api.labels import cohen_kappa, measure_agreement
from honeyguide.store.labels import majority_label
from honeyguide.types import Label, Url

Both = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60)


def test_fifty_grants() -> None:
    both = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    assert cohen_kappa(both) == pytest.approx(0.4)


@given(Both)
def test_kappa_is_at_most_one_and_one_only_if_all_agree(both: list[tuple[bool, bool]]) -> None:
    found = cohen_kappa(both)
    if found is None:
        assert len(set(both)) == 1
    else:
        assert -1 <= found <= 1 + 1e-12
        assert (found == pytest.approx(1)) == all(a == b for a, b in both)
        assert found == pytest.approx(cohen_kappa([(b, a) for a, b in both]))


def test_people_without_pages_in_common_say_nothing() -> None:
    found = measure_agreement({"ada": {1: True}, "bob": {2: False}})
    assert found.pairs == ()
    assert found.agreed is None
    assert found.kappa is None


def test_pairs_are_weighed_by_their_pages() -> None:
    said = {
        "ada": {n: n % 2 == 0 for n in range(8)},
        "bob": {n: n % 2 == 0 for n in range(8)},
        "cem": {0: False, 1: True},
    }
    found = measure_agreement(said)
    first = found.pairs[0]
    assert (first.one, first.other, first.pages) == ("ada", "bob", 8)
    assert found.agreed == pytest.approx(8 / 12)


@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_most_count_and_of_a_tie_the_newest(votes: list[bool]) -> None:
    words = [Label(Url("https://a.org/"), float(v), str(n)) for n, v in enumerate(votes)]
    found = majority_label(words)
    if 2 * sum(votes) == len(votes):
        assert found is words[-1]
    else:
        assert (found.value >= 0.5) == (2 * sum(votes) > len(votes))
        assert found in words
