"""A sweep passes every row once, whatever was under way when it began."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.frontier import waiting_links
from honeyguide.frontier.rows import BUSY, HOT, FrontierRows
from honeyguide.frontier.waiting_links import RerankSweep
from honeyguide.types import Link


def rank(links: Sequence[Link]) -> list[float]:
    return [0.0] * len(links)


def extend(rows: FrontierRows, count: int) -> None:
    zeros = np.zeros(count)
    rows.extend(zeros.astype(np.uint32), zeros.astype(np.float32), zeros.astype(np.uint16), HOT)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), min_size=1, max_size=12),
    st.sets(st.integers(0, 100)),
)
def test_every_waiting_row_once(turns: list[tuple[int, int]], gone: set[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waiting_links, "SLICE_LINKS", 5)
        patch.setattr(waiting_links, "WINDOW_ROWS", 16)
        rows, sweep = FrontierRows(), RerankSweep()
        passed: list[int] = []
        for new, steps in turns:
            extend(rows, new)
            rows.state[[row for row in gone if row < rows.count]] = BUSY
            sweep.begin_sweep(rank, count := rows.count)
            passed = []
            for _ in range(steps):
                passed += sweep.next_rows(rows).tolist()
        extend(rows, 7)
        while sweep:
            some = sweep.next_rows(rows).tolist()
            assert len(some) <= 5
            passed += some
        assert sorted(passed) == [row for row in range(count) if row not in gone]


def test_turns_earn_what_is_ranked_at_once() -> None:
    rows, sweep = FrontierRows(), RerankSweep()
    extend(rows, 10_000)
    assert sweep.begin_sweep(rank, rows.count) == 1024, "the first ranking may do all it likes"
    assert sweep.begin_sweep(rank, rows.count) == 0
    for _ in range(14):
        sweep.next_rows(rows)
    assert sweep.begin_sweep(rank, rows.count) == 14 * 5
    for _ in range(800):
        sweep.next_rows(rows)
    assert not sweep
    assert sweep.begin_sweep(rank, rows.count) == 1024, "and no more"
