"""The report about a collection: volumes and precision, its forms, and hostile collections."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.api.collection import Collection
from honeyguide.errors import ConfigError, StoreError
from honeyguide.store.store import Store
from honeyguide.store.volumes import (
    PrecisionEstimate,
    VolumeTable,
    choose_sample_step,
    cumulative_volumes,
    volumes_per_span,
)
from honeyguide.studio import collection as studio
from honeyguide.types import DuplicateOf, Label, Page, Url, Verdict
from tests.commands import Told, told
from tests.unit.store_visits import bad, good
from tests.unit.studio_here import here, keep

__all__ = ["told"]

HOUR = 3600.0
START = 1_700_000_000.0


def page(number: int, at: float, score: float, title: str = "", **more: Any) -> Any:
    url = Url(f"https://host{number % 3}.example.org/{number}")
    values = {"detected_language": "en"}
    made = Page(url, title or f"Page {number}", "", (), f"text {number}", **values)
    return good(number, at=START + at, page=made, verdict=Verdict(score), **more)


def label(folder: Path, values: dict[int, float], by: str = "ann") -> None:
    with Store.open(folder, "write") as store:
        store.labels.add(
            Label(Url(f"https://host{n % 3}.example.org/{n}"), value, by, START)
            for n, value in values.items()
        )


@pytest.fixture
def bees(tmp_path: Path) -> Path:
    """Four hours: 2 pages, 1, none, 3; a copy, a failure, a page that people know better of."""
    return keep(
        tmp_path / "bees",
        [
            page(0, 0, 0.9),
            page(1, 10, 0.2),
            page(2, HOUR + 10, 0.5),
            bad(3),
            page(4, 3 * HOUR + 1, 0.8),
            page(5, 3 * HOUR + 2, 0.95),
            page(6, 3 * HOUR + 3, 0.9, duplicate=DuplicateOf(Url("https://a.example/"), True)),
        ],
    )


def test_volumes_and_precision_hour_by_hour(bees: Path) -> None:
    label(bees, {0: 1.0, 1: 1.0, 2: 0.0, 4: 0.3})
    found = Collection(bees).report(span_s=HOUR, every=1)
    assert [(v.raw, v.gross, v.judged, v.confirmed) for v in found.temporal] == [
        (2, 1, 1, 1), (1, 1, 1, 0), (0, 0, 0, 0), (3, 2, 1, 0),
    ]  # fmt: skip
    assert [v.precision for v in found.temporal] == [1.0, 0.0, None, 0.0]
    assert [v.precision for v in found.cumulative] == [1.0, 0.5, 0.5, pytest.approx(1 / 3)]
    assert (found.cumulative[-1].raw, found.cumulative[-1].gross) == (6, 4)
    assert found.cumulative[-1].until == 4 * HOUR
    assert found.net == pytest.approx(4 / 3), "of four called relevant, a third of the judged are"
    assert [one.relevant for one in found.sample] == [True, False, False, None]
    assert (found.all_judged.judged, found.all_judged.confirmed) == (3, 1)
    facts = json.loads(json.dumps(found.to_dict()))
    assert facts["precision"]["value"] == pytest.approx(1 / 3)
    assert facts["cumulative"][1]["precision"] == 0.5
    assert facts["languages"] == {"en": 6}
    assert facts["harvest"][-1] == [7, 4]


def test_a_label_does_not_take_a_page_out_of_what_the_crawler_said(bees: Path) -> None:
    """Labels mark pages relevant or not at once; gross volume is the crawler's own word."""
    with Store.open(bees, "crawl") as store, store.transaction():
        row = store.visits.attempts_at("https://host0.example.org/0")[0]
        store.counter.mark_relevant({row.id: False})
    assert Collection(bees).report(every=1).cumulative[-1].gross == 4


def test_one_result_in_so_many_by_its_address_alone(tmp_path: Path) -> None:
    folder = keep(tmp_path / "many", [page(n, n, 0.9) for n in range(1000)])
    with Store.open(folder, "read") as store:
        table = VolumeTable(store.database, 0.5)
        samples = {n: {one.url for one in table.sample_results(n, {})} for n in (50, 10, 2, 1)}
    assert 8 <= len(samples[50]) <= 40
    assert samples[50] < samples[10] < samples[2] < samples[1]
    found = Collection(folder).report()
    assert found.sample_every == 50
    assert {one.url for one in found.sample} == samples[50]
    assert [choose_sample_step(n) for n in (0, 9, 19, 20, 99, 100, 499, 500)] == [
        1, 1, 1, 2, 2, 10, 10, 50,
    ]  # fmt: skip


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_interval_holds_the_precision(one: int, other: int) -> None:
    found = PrecisionEstimate(one + other, one)
    low, high = found.interval
    assert 0 <= low <= (found.value if found.value is not None else 0.5) <= high <= 1
    wider = PrecisionEstimate(2 * (one + other), 2 * one).interval
    assert high - low >= wider[1] - wider[0] - 1e-12


def test_the_interval_is_wilsons() -> None:
    low, high = PrecisionEstimate(14, 9).interval
    assert (round(low, 3), round(high, 3)) == (0.388, 0.837)
    assert PrecisionEstimate(0, 0).interval == (0.0, 1.0)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20))
def test_cumulative_volumes_end_at_the_sums(counts: list[tuple[int, int]]) -> None:
    volumes = volumes_per_span(counts, [], 0.0, 60.0)
    so_far = cumulative_volumes(volumes)
    assert len(so_far) == len(counts)
    if so_far:
        assert so_far[-1].raw == sum(raw for raw, _ in counts)
        assert so_far[-1].gross == sum(gross for _, gross in counts)


def test_a_clock_that_leapt_fills_no_memory(tmp_path: Path) -> None:
    folder = keep(tmp_path / "leapt", [page(0, 0, 0.9), page(1, 9e9, 0.9)])
    assert len(Collection(folder).report(span_s=1.0).temporal) <= 400


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            if name in ("href", "src"):
                self.links.append(value or "")

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_hostile_page_is_only_text(tmp_path: Path) -> None:
    title = '<script>x()</script>\u202e"><img src=x onerror=x()> | `a` *b* [c](javascript:x)'
    url = Url("https://e.example/%22%3E<svg/onload=x()>?a='\"")
    visit = page(0, 0, 0.9)
    made = replace(visit.page, url=url, title=title * 30)
    folder = keep(tmp_path / "c", [visit._replace(link=visit.link._replace(url=url), page=made)])
    found = Collection(folder).report()
    html = found.to_html()
    read = Reader()
    read.feed(html)
    assert not {"script", "img", "iframe", "object", "link"} & set(read.tags)
    assert set(read.links) == {url}
    assert "\u202e" not in html
    assert any(words.startswith("<script>x()</script>") for words in read.words)
    text = found.to_markdown()
    assert "| site | 1 |" in text
    assert "<script" not in text
    assert "<img" not in text
    assert r"\[c\](javascript:x)" in text


def test_damaged_rows_are_left_out(bees: Path) -> None:
    with closing(sqlite3.connect(bees / "collection.db")) as db:
        db.execute("UPDATE visits SET url = 'javascript:x()' WHERE id = 1")
        db.execute("UPDATE visits SET title = x'ff00', at = 'never' WHERE id = 2")
        db.execute("UPDATE visits SET title = 7, verdict = 'much' WHERE id = 3")
        db.commit()
    found = Collection(bees).report(every=1)
    assert "javascript" not in found.to_html()
    assert {one.url for one in found.sample} == {
        "https://host1.example.org/4", "https://host2.example.org/5",
    }  # fmt: skip


def test_it_is_written_to_files(bees: Path, tmp_path: Path) -> None:
    found = Collection(bees).report(every=1)
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (bees / "report.html").symlink_to(precious)
    assert found.save(bees / "report.html").read_text().startswith("<!doctype html>")
    assert precious.read_text() == "mine"
    assert "# bees" in found.save(tmp_path / "r.md").read_text()
    with pytest.raises(ConfigError, match=r"ends in \.html or \.md"):
        found.save(tmp_path / "r.pdf")
    with pytest.raises(ConfigError, match="cannot be written"):
        found.save(tmp_path / "none" / "r.md")
    rows = list(csv.DictReader(found.save_sample(tmp_path / "judge.csv").read_text().splitlines()))
    assert [row["label"] for row in rows] == ["", "", "", ""]
    assert rows[0]["url"] == "https://host0.example.org/0"


def test_an_empty_collection_says_so(tmp_path: Path) -> None:
    folder = keep(tmp_path / "empty", [])
    found = Collection(folder).report()
    assert (found.temporal, found.net) == ((), None)
    assert "Nothing was fetched yet" in found.to_html()
    assert "Nothing was fetched yet" in found.to_markdown()
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "topic.toml").write_text((folder / "topic.toml").read_text())
    with pytest.raises(StoreError, match="not crawled yet"):
        Collection(tmp_path / "none").report()


def test_the_studio_gives_it_in_three_forms(bees: Path) -> None:
    known = here(bees)
    as_json = studio.collection_report(known, studio.ReportFormatQuery())
    assert json.loads(as_json.body)["name"] == "bees"
    page_ = studio.collection_report(known, studio.ReportFormatQuery("html"))
    assert "sandbox" in page_.headers["Content-Security-Policy"]
    assert page_.body.startswith(b"<!doctype html>")
    assert b"# bees" in studio.collection_report(known, studio.ReportFormatQuery("md")).body


def test_the_command_writes_and_says_where(told: Told, bees: Path, tmp_path: Path) -> None:
    said = told("report", bees)
    assert (said.code, said.out) == (0, "")
    assert f"The report is in {bees / 'report.html'}." in said.err
    facts = json.loads(told("report", bees, "--json", "--every", 1, "--span", 1).out)
    assert (facts["span_s"], len(facts["sample"])) == (HOUR, 4)
    judge = tmp_path / "judge.csv"
    said = told("report", bees, "--sample", judge)
    assert "4 results in" in said.err
    judge.write_text(judge.read_text().replace("\n,", "\nyes,"))
    assert told("label", bees, judge).code == 0
    assert "4 of 4 are relevant: precision 100%" in Collection(bees).report().to_markdown()


def test_what_a_model_says_is_no_judgement_by_people(bees: Path) -> None:
    before = Collection(bees).report(every=1)
    label(bees, dict.fromkeys(range(6), 0.9), by="model:wise")
    after = Collection(bees).report(every=1)
    assert (after.precision, after.all_judged) == (before.precision, before.all_judged)
    label(bees, dict.fromkeys(range(6), 1.0))
    assert Collection(bees).report(every=1).precision.judged > before.precision.judged


def test_titles_are_no_formulas_in_any_script(bees: Path, tmp_path: Path) -> None:
    found = Collection(bees).report(every=1)
    hostile = replace(found, sample=(replace(found.sample[0], title="＝HYPERLINK(1)"),))
    rows = list(csv.reader(hostile.save_sample(tmp_path / "s.csv").read_text().splitlines()))
    assert rows[1][2] == "'＝HYPERLINK(1)"


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(bees: Path, tmp_path: Path) -> None:
    (tmp_path / "r.html").mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        Collection(bees).report().save(tmp_path / "r.html")
    assert not list(tmp_path.glob(".report-*"))


def test_a_folders_name_adds_no_markup(bees: Path) -> None:
    """A collection from elsewhere comes with the name of its folder."""
    found = replace(Collection(bees).report(), folder="bees\n\n![x](http://evil.example)\udcff")
    said = found.to_markdown()
    assert "\n![" not in said
    assert said.encode()
