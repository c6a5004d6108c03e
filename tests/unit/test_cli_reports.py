"""What crawl and status say at the end, in numbers and hints."""

from __future__ import annotations

import time

import pytest

from honeyguide.api.watch import describe_configuration
from honeyguide.cli.crawl import next_step_hint
from honeyguide.cli.status import status_lines
from honeyguide.crawl.status import CollectionStatus, Report
from honeyguide.run_status import RunStatus
from honeyguide.watch.watcher import WatchProgress


def report(visits: int, waiting: int, reason: str = "", next_at: float | None = None) -> Report:
    return Report(RunStatus(visits, 1, 1, 0, waiting, 0, 1, 0, None), reason, 1.0, next_at)


@pytest.mark.parametrize(
    ("budget", "told", "says", "not_says"),
    [
        (100, report(100, 5), "honeyguide crawl birds --pages 200", "goes on"),
        (10, report(400, 5), "honeyguide crawl birds --pages 800", "--pages 20 "),
        (
            100,
            report(40, 5, "you asked for it"),
            "Continue with: honeyguide crawl birds",
            "--pages",
        ),
        (0, report(40, 5, "the time is up"), "Continue with: honeyguide crawl birds", "--pages"),
        (100, report(40, 0), "honeyguide export birds", "crawl birds"),
        (100, report(40, 5, next_at=time.time() + 86_400), "requested again from", "--pages"),
        (100, report(40, 5, next_at=float("inf")), "Continue with", "requested again from"),
    ],
)
def test_the_hint_fits_the_end(budget: int, told: Report, says: str, not_says: str) -> None:
    text = next_step_hint("birds", budget, told)
    assert says in text
    assert not_says not in text


def test_one_of_each_is_singular() -> None:
    one = CollectionStatus(
        visits=1, pages=1, relevant=1, copies=1, hosts=1, labels=1, redirects=1, waiting=1,
        strategy="keyword",
    )  # fmt: skip
    text = "\n".join(status_lines(one))
    for noun in ("visit", "page", "link", "redirect", "copy", "label", "host"):
        assert f"1 {noun} " in f"{text} "
    assert "from" not in text
    assert "failures" not in text


def test_other_languages_are_told_the_most_first() -> None:
    some = CollectionStatus(visits=200, foreign={"en": 120, "de": 4})
    assert "in other languages 124: en 120, de 4" in list(status_lines(some))
    assert "other languages" not in "\n".join(status_lines(CollectionStatus(visits=200)))
    many = CollectionStatus(foreign={f"x{c}": 1 for c in "abcdefghij"})
    assert next(line for line in status_lines(many) if "languages" in line).endswith("xh 1, …")


def test_many_are_plural_and_failures_are_told_by_status() -> None:
    many = CollectionStatus(
        visits=20, pages=9, relevant=4, budget=100, first=1.0, last=9.0, rate=2.5, generation=3,
        failures={"status": 5, "dns": 1}, statuses={404: 3, 500: 2},
    )  # fmt: skip
    text = "\n".join(status_lines(many))
    assert "20 of 100 visits · 9 pages · 4 relevant · harvest rate 20%" in text
    assert "0 redirects · 0 copies · 0 labels · 0 hosts" in text
    assert "waiting" not in text, "not known is not none"
    assert "2.5 visits/s in the last run" in text
    assert text.endswith("failures: 404 ×3, 500 ×2, dns ×1")


def test_a_queue_is_told_in_words_that_fit_any_number() -> None:
    progress = WatchProgress(configuration="3", fetchers=78, comparers=11, longest_queue=1)
    assert "78 threads to fetch, 11 to compare, longest queue 1; " in describe_configuration(
        progress
    )
