from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.frontier import rows
from honeyguide.frontier.rows import SeenUrls

prints = st.integers(0, 2**64 - 1)


@given(st.lists(st.lists(prints, max_size=40), max_size=20), st.lists(prints, max_size=20))
def test_it_remembers_what_a_dictionary_would(batches: list[list[int]], others: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "MAX_NEWEST", 10)
        patch.setattr(rows, "RUN_GROWTH", 3)
        known: dict[int, int] = {}
        tested = SeenUrls()
        for number, batch in enumerate(batches):
            new = [p for p in dict.fromkeys(batch) if p not in known]
            if number == 0:
                tested.load_rows(np.array(new, np.uint64))
            else:
                tested.add_rows(new, len(known))
            known.update(zip(new, range(len(known), len(known) + len(new)), strict=True))
        asked = [*known, *others]
        assert tested.find_rows(asked) == [known.get(p, -1) for p in asked]


def test_runs_stay_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MAX_NEWEST", 5000)
    tested = SeenUrls()
    for first in range(0, 200_000, 5000):
        tested.add_rows([number * 7919 for number in range(first, first + 5000)], first)
    assert len(tested._runs) <= 3
    assert tested.find_rows([199_999 * 7919, 1]) == [199_999, -1]
