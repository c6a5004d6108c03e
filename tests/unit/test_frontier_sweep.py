"""A sweep passes every row once, whatever was under way when it began."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.frontier import rerank
from honeyguide.frontier.rerank import Rerank
from honeyguide.frontier.rows import BUSY, HOT, Rows
from honeyguide.types import Link


def rank(links: Sequence[Link]) -> list[float]:
    return [0.0] * len(links)


def extend(rows: Rows, count: int) -> None:
    zeros = np.zeros(count)
    rows.extend(zeros.astype(np.uint32), zeros.astype(np.float32), zeros.astype(np.uint16), HOT)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), min_size=1, max_size=12),
    st.sets(st.integers(0, 100)),
)
def test_every_waiting_row_once(turns: list[tuple[int, int]], gone: set[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rerank, "SLICE", 5)
        patch.setattr(rerank, "WINDOW", 16)
        rows, sweep = Rows(), Rerank()
        passed: list[int] = []
        for new, steps in turns:
            extend(rows, new)
            rows.state[[row for row in gone if row < rows.count]] = BUSY
            sweep.begin(rank, count := rows.count)
            passed = []
            for _ in range(steps):
                passed += sweep.next(rows).tolist()
        extend(rows, 7)
        while sweep:
            some = sweep.next(rows).tolist()
            assert len(some) <= 5
            passed += some
        assert sorted(passed) == [row for row in range(count) if row not in gone]


def test_turns_earn_what_is_ranked_at_once() -> None:
    rows, sweep = Rows(), Rerank()
    extend(rows, 10_000)
    assert sweep.begin(rank, rows.count) == 1024, "the first ranking may do all it likes"
    assert sweep.begin(rank, rows.count) == 0
    for _ in range(14):
        sweep.next(rows)
    assert sweep.begin(rank, rows.count) == 14 * 5
    for _ in range(800):
        sweep.next(rows)
    assert not sweep
    assert sweep.begin(rank, rows.count) == 1024, "and no more"
