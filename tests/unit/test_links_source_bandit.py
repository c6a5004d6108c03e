"""Sources of links: which pays, and what their scores are worth beside each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.links.ranking import SourceBandit, link_source, visit_worth
from honeyguide.types import Channel, DuplicateOf, Failure, Link, Url, Verdict, Visit

CHANNELS: list[Channel] = ["seed", "link", "redirect", "sitemap", "feed", "search", "example"]


def visit(channel: Channel, verdict: float | None, score: float = 0.5, **more: object) -> Visit:
    link = Link(Url("http://a.test/"), Url("http://b.test/"), channel=channel, depth=1)
    judged = None if verdict is None else Verdict(verdict)
    return Visit(link, 0.0, score=score, verdict=judged, **more)  # type: ignore[arg-type]


def told(*visits: tuple[Channel, float, float]) -> SourceBandit:
    sources = SourceBandit(1)
    for channel, verdict, score in visits:
        sources.record_visit(visit(channel, verdict, score))
    return sources


def test_only_what_came_of_a_link_counts() -> None:
    assert visit_worth(visit("link", 0.7)) == 0.7
    assert (
        visit_worth(visit("link", 0.7, duplicate=DuplicateOf(Url("http://c.test/"), True))) == 0.0
    )
    assert visit_worth(visit("link", None, failure=Failure("status", "HTTP 404"))) == 0.0
    assert visit_worth(visit("link", None, failure=Failure("timeout", "", final=False))) is None
    assert visit_worth(visit("link", None, moved=Url("http://c.test/"))) is None
    assert visit_worth(visit("sitemap", None)) is None


def test_what_a_person_gave_is_no_source() -> None:
    assert link_source(Link(Url("http://a.test/"), channel="seed")) is None
    assert link_source(Link(Url("http://a.test/"), channel="redirect", depth=0)) is None
    assert link_source(visit("redirect", 1.0).link) == "link"
    assert link_source(visit("search", 1.0).link) == "search"
    assert link_source(visit("feed", 1.0).link) == "sitemap"


def test_a_source_that_pays_is_asked() -> None:
    good = told(*[("link", 0.02, 0.5)] * 40, *[("search", 0.95, 0.5)] * 40)
    poor = told(*[("link", 0.95, 0.5)] * 40, *[("search", 0.02, 0.5)] * 40)
    assert sum(good.asking_pays(1.0) for _ in range(100)) == 100
    assert sum(poor.asking_pays(1.0) for _ in range(100)) == 0
    assert sum(good.asking_pays(0.01) for _ in range(100)) <= 60, "it finds nothing new"


def test_what_was_long_ago_is_forgotten() -> None:
    sources = told(*[("search", 1.0, 0.5)] * 100, *[("link", 0.5, 0.5)] * 600)
    draws = [sources.draw_yield("search") for _ in range(200)]
    assert min(draws) < 0.2, "it is still as sure as it was 600 visits ago"


def test_scores_are_corrected_by_what_came() -> None:
    sources = told(*[("link", 0.5, 0.5)] * 50, *[("search", 0.9, 0.3)] * 50)
    assert 0.5 < sources.score_correction("search") <= 1.5
    search, link, seed = visit("search", 0).link, visit("link", 0).link, visit("seed", 0).link
    low, same, chosen = sources.correct_scores([search, link, seed], [0.3, 0.3, 1.0])
    assert low > 0.4
    assert (same, chosen) == (0.3, 1.0)


def test_few_visits_correct_little() -> None:
    visit: tuple[Channel, float, float] = ("search", 1.0, 0.2)
    assert (
        told(visit).score_correction("search")
        < 0.5
        < told(*[visit] * 10).score_correction("search")
    )
    assert told(("search", 0.5, 0.4)).score_correction("search") == 0.0


def test_a_correction_does_not_feed_on_itself() -> None:
    """Scores that were lifted before they are seen again lead to the same correction."""
    sources = SourceBandit(1)
    link = visit("search", 0.0).link
    for _ in range(500):
        (score,) = sources.correct_scores([link], [0.3])
        sources.record_visit(visit("search", 0.6, score))
    assert sources.score_correction("search") == pytest.approx(1.15, abs=0.31)


def test_links_are_the_measure() -> None:
    """Where all links brought more than they promised, none is worth more than the others."""
    sources = told(*[("link", 0.9, 0.3), ("search", 0.9, 0.3)] * 100)
    assert abs(sources.score_correction("search")) < 0.3
    assert sources.score_correction("link") == 0.0


@given(
    st.lists(st.tuples(st.sampled_from(CHANNELS), st.floats(0, 1), st.floats(0, 1)), max_size=60),
    st.lists(st.tuples(st.sampled_from(CHANNELS), st.floats(0, 1)), min_size=1, max_size=20),
)
def test_corrections_keep_scores_and_their_order(
    visits: list[tuple[Channel, float, float]], waiting: list[tuple[Channel, float]]
) -> None:
    sources = told(*visits)
    links = [visit(channel, 0.0).link for channel, _ in waiting]
    scores = [score for _, score in waiting]
    lifted = sources.correct_scores(links, scores)
    assert all(0 <= score <= 1 for score in lifted)
    for (channel, one), new in zip(waiting, lifted, strict=True):
        for (other, two), newer in zip(waiting, lifted, strict=True):
            if channel == other and one <= two:
                assert new <= newer + 1e-12
