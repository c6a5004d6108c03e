"""What status and crawl say about how much of a topic is found."""

from __future__ import annotations

from dataclasses import replace

from honeyguide.cli.crawl import next_step_hint
from honeyguide.cli.status import coverage_summary, status_lines
from honeyguide.crawl.status import CollectionStatus, Report
from honeyguide.learning.coverage import Coverage, CoverageEstimate
from honeyguide.run_status import RunStatus

KNOWN = CoverageEstimate(
    found=81, total=94.2, low=85, high=106, covered=0.86, recent=0.06, falling=0.97, why="so it is"
)


def test_the_coverage_in_words() -> None:
    assert coverage_summary(KNOWN) == (
        "about 86% of 94 relevant pages in reach found by its own verdicts (of 85 to 106): "
        "so it is · recent harvest rate 6%, and falls (97% sure)"
    )
    assert "falls" not in coverage_summary(replace(KNOWN, falling=0.8))
    assert "rises (95% sure)" in coverage_summary(replace(KNOWN, falling=0.05))


def test_what_is_not_known_is_not_claimed() -> None:
    assert "%" not in coverage_summary(Coverage().estimate(7))
    assert "too little is known yet" in coverage_summary(Coverage().estimate(7))


def test_status_tells_it_if_it_can() -> None:
    assert any(
        "about 86% of 94" in line
        for line in status_lines(CollectionStatus(visits=9, estimate=KNOWN))
    )
    assert not any("topic" in line for line in status_lines(CollectionStatus(visits=9)))


def test_the_hint_does_not_send_an_exhausted_crawl_on() -> None:
    progress = RunStatus(300, 300, 41, 0, 90, 0, 1, 0, None)
    text = next_step_hint("birds", 1000, Report(progress, "enough (stop.coverage = 0.9)", 1.0))
    assert "[stop] in topic.toml" in text
    assert "honeyguide status birds" in text
