"""Raw, gross and net volume, and the precision of what a crawl calls relevant."""

from __future__ import annotations

import pytest
from bench.papers.volumes import (
    MAX_SPANS,
    VolumeResult,
    cumulative_volumes,
    sample_judged,
    visit_results,
    volumes_per_span,
)
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.types import Failure, Link, Page, Url, Verdict, Visit


def visit(name: str, at: float, score: float | None) -> Visit:
    url = Url(f"http://e.org/{name}")
    if score is None:
        return Visit(Link(url), at, failure=Failure("timeout"))
    return Visit(Link(url), at, page=Page(url), verdict=Verdict(score))


def test_counts_hour_by_hour() -> None:
    journal = [
        visit("b", 110.0, 0.2),
        visit("a", 100.0, 0.9),
        visit("gone", 120.0, None),
        visit("c", 3800.0, 0.5),
        visit("d", 11_000.0, 0.8),
    ]
    truth = {"http://e.org/a": True, "http://e.org/b": True, "http://e.org/c": False}
    hours = volumes_per_span(visit_results(journal, 0.5, lambda url: truth.get(url)))
    assert [(h.raw, h.gross, h.judged, h.confirmed) for h in hours] == [
        (2, 1, 1, 1),
        (1, 1, 1, 0),
        (0, 0, 0, 0),
        (1, 1, 0, 0),
    ]
    assert [h.precision for h in hours] == [1.0, 0.0, None, None]
    so_far = cumulative_volumes(hours)
    assert [h.precision for h in so_far] == [1.0, 0.5, 0.5, 0.5]
    assert so_far[-1].net == 1.5, "of three called relevant, half of the judged ones are"
    assert so_far[-1].until == 4 * 3600


def test_one_of_every_so_many_is_judged() -> None:
    found = [VolumeResult(float(n), n % 2 == 0, n % 4 == 0) for n in range(400)]
    judged = [r for r in sample_judged(found, 50) if r.net is not None]
    assert len(judged) == 4
    assert all(r.gross for r in judged)
    assert len(sample_judged(found, 50)) == len(found), "raw volume stays"


def test_a_clock_that_leapt_and_nothing_at_all() -> None:
    assert volumes_per_span([]) == [] == cumulative_volumes([])
    assert len(volumes_per_span([VolumeResult(0.0, True), VolumeResult(1e15, True)])) == MAX_SPANS
    with pytest.raises(ValueError, match="span"):
        volumes_per_span([VolumeResult(0.0, True)], 0.0)


@given(
    st.lists(
        st.builds(
            VolumeResult,
            st.floats(0, 1e5),
            st.booleans(),
            st.one_of(st.none(), st.booleans()),
        )
    ),
    st.floats(10, 1e4),
)
def test_net_is_never_more_than_gross_nor_gross_than_raw(
    found: list[VolumeResult], span: float
) -> None:
    hours = volumes_per_span(found, span)
    so_far = cumulative_volumes(hours)
    for volume in (*hours, *so_far):
        assert volume.raw >= volume.gross >= volume.judged >= volume.confirmed >= 0
        assert volume.gross >= volume.net >= 0
    assert sum(h.raw for h in hours) == len(found)
    if so_far:
        assert so_far[-1].raw == len(found)
