"""What a crawl keeps about itself may be damaged, or a stranger's: nothing fails by it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from honeyguide.cli.status import status_lines
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.loop import CrawlLoop
from honeyguide.crawl.status import collection_status
from honeyguide.store.store import Store
from tests.unit.crawling import crawl
from tests.unit.test_training_feed import LEARNING, address, birds

TOPIC = {"keywords": ["finch plumage"]}
DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cut", '["\\u001b[31m\\u202e", 1, [1, 0.5, 1, 1, 1]]'),
        ("cut", '["balanced", 5, [0, 0, 0, 0, -1000]]'),
        ("cut", '["balanced", 1, [1e308, 1e308, 1e308, 1e308, 1e308]]'),
        ("host_trust", DEEP),
        ("lesson", DEEP),
        ("lesson", '[1e999, 1e999, 1, ""]'),
        ("run", DEEP),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_damaged_record_is_left_out(key: str, value: str, tmp_path: Path) -> None:
    tables = {**LEARNING, "topic": TOPIC}
    crawl(tmp_path, birds(), [address(0)], **{**tables, "crawl": LEARNING["crawl"] | {"pages": 50}})
    with Store.open(tmp_path, "write") as store:
        store.set_meta(key, value)
    with Store.open(tmp_path, "read") as store:
        status = collection_status(store, parse_settings({**tables}), 5)
    lines = "\n".join(status_lines(status))
    assert "nan" not in lines
    assert lines.replace("\n", "").isprintable()
    assert status.kept is not None
    assert all(map(math.isfinite, filter(None, (status.kept.precision, status.kept.recall))))
    more = LEARNING["crawl"] | {"pages": 52}
    report = crawl(tmp_path, birds(), [address(0)], **{**tables, "crawl": more})
    assert report.progress.visits == 52


def test_a_dial_that_is_none_is_not_taken_over(tmp_path: Path) -> None:
    def turn(crawl: CrawlLoop) -> None:
        crawl.store.set_meta("keep", "no such word")

    report = crawl(tmp_path, birds(), [address(0)], meanwhile=turn, **{**LEARNING, "topic": TOPIC})
    assert report.progress.visits == 40
