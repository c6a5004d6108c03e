"""The language gate on a served web in several languages: it brings more, also after a kill."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from honeyguide.api.create import create
from honeyguide.errors import StoreError
from honeyguide.lab.synthetic.topology import parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from tests.commands import Told
from tests.end_to_end.crawling import honeyguide, journal, start
from tests.lab_thread import serve_in_thread

WEB = SyntheticWeb(parse_plan("seed=5,pages=3000,hosts=12,languages=0.7"))
"""Of its pages, about a fifth is in Turkish."""
PAGES = 150


@pytest.fixture(scope="module")
def lab() -> Iterator[str]:
    with serve_in_thread(WEB) as address:
        yield address


def collection(folder: Path, lab: str, *languages: str) -> Path:
    create(
        folder,
        seeds=[WEB.random_page(number) for number in range(3)],
        contact="tester@example.org",
        language=languages,
        strategy="breadth",
        pages=PAGES,
        crawl={"concurrency": 4},
        fetch={"lab": lab},
        politeness={"loopback_delay_s": 0.0},
        store={"keep_text": "all"},
    )
    return folder


def turkish(folder: Path) -> int:
    """Pages that truly are; the made web never lies."""
    return sum(row.language == "tr" for row in journal(folder) if row.has_page)


def test_the_gate_brings_more_and_outlives_a_kill(lab: str, tmp_path: Path, told: Told) -> None:
    bare, gated = collection(tmp_path / "any", lab), collection(tmp_path / "tr", lab, "tr")
    assert honeyguide("crawl", bare, "--quiet").returncode == 0
    crawl = start("crawl", gated, "--quiet")
    deadline = time.monotonic() + 30
    while _visits(gated) < PAGES // 3 and time.monotonic() < deadline and crawl.poll() is None:
        time.sleep(0.02)
    crawl.kill()
    crawl.wait()
    before = journal(gated)
    assert PAGES // 3 <= len(before) < PAGES, "the kill came too late to mean anything"
    done = honeyguide("crawl", gated, "--json")
    assert done.returncode == 0, done.stderr
    rows = journal(gated)
    assert rows[: len(before)] == before, "nothing that was finished is lost"
    assert max(Counter(row.url for row in rows).values()) == 1
    assert turkish(gated) > 1.5 * turkish(bare)
    late = [row for row in rows[len(before) :] if row.has_page]
    share = sum(row.language == "tr" for row in late) / len(late)
    assert share > turkish(bare) / PAGES, "what was learned before the kill is known after it"

    facts = json.loads(done.stdout)
    apart = Counter(row.tongue for row in rows if row.tongue not in ("", "tr"))
    assert facts["foreign"] == apart
    assert not any(row.relevant for row in rows if row.tongue in apart)
    text = told("status", gated).out
    assert f"in other languages {sum(facts['foreign'].values())}: " in text
    assert json.loads(told("status", gated, "--json").out)["foreign"] == facts["foreign"]
    assert "in other languages" not in told("status", bare).out
    code = next(iter(facts["foreign"]))
    target = tmp_path / "some.jsonl"
    assert told("export", gated, "--to", target, "--language", code).code == 0
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert {line["detected_language"] for line in lines} == {code}
    told("export", gated, "--to", target)
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert {line["detected_language"] for line in lines} <= {"tr", ""}
    link = next(row for row in rows if row.tongue in apart and row.source)
    said = told("explain", gated, link.url).out
    assert "not in Turkish" in said
    assert "the chance of a page in Turkish" in said


def _visits(folder: Path) -> int:
    try:
        return len(journal(folder))
    except StoreError:
        return 0  # not made yet
