from __future__ import annotations

import csv
import json
import logging
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from honeyguide.errors import ConfigError, StoreError
from honeyguide.store import Store, export
from honeyguide.types import Label, Url, Visit
from tests.unit.store_visits import answer, bad, good, records, warc_files


@pytest.fixture
def store(tmp_path: Path):
    sly = good(3, text="=HYPERLINK(1)\nsecond line")
    sly = replace(sly, link=sly.link._replace(anchor="-1+1"))
    same = replace(good(5, 0.9), response=good(2).response)
    moved = Visit(good(6).link, 2.0, response=answer(good(6).link.url, b"", 301))
    with Store.open(tmp_path / "bees", "crawl") as opened:
        with opened.transaction():
            opened.append([good(1), good(2, 0.1), sly, bad(4), same, moved])
        opened.label([Label(good(1).link.url, 1.0, "ada", 9.0)])
        yield opened


def test_jsonl_tells_where_everything_came_from(store: Store, tmp_path: Path) -> None:
    seen: list[int] = []
    count = export(store, tmp_path / "out.jsonl", "jsonl", progress=seen.append)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert count == len(rows) == 4
    assert seen == [1, 2, 3, 4]
    first = rows[0]
    assert first["url"] == good(1).link.url
    assert first["text"] == good(1).page.text  # type: ignore[union-attr]
    assert (first["label"], first["label_by"], first["relevant"]) == (1.0, "ada", True)
    assert (first["queued"], first["score"], first["verdict"]) == (0.25, 0.5, 0.9)
    assert first["warc"] == warc_files(store.folder)[0].name
    assert json.loads(first["reasons"]) == [["honey", 0.5]]
    assert rows[1]["label"] is None


def test_csv_is_safe_in_a_spreadsheet(store: Store, tmp_path: Path) -> None:
    assert export(store, tmp_path / "out.csv", "csv", relevant=True) == 3
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[1]["text"] == "'=HYPERLINK(1)\nsecond line"
    assert rows[1]["anchor"] == "'-1+1"
    assert rows[1]["text_digest"].lstrip("-").isdigit()


def test_parquet_has_types_and_row_groups(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("honeyguide.store.parquet._GROUP", 3)
    assert export(store, tmp_path / "out.parquet", "parquet") == 4
    file = parquet.ParquetFile(tmp_path / "out.parquet")
    assert file.metadata.num_row_groups == 2
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    rows = file.read().to_pylist()
    assert rows[0]["title"] == "Page 1"
    assert rows[1]["relevant"] is False


def test_parquet_without_pyarrow_says_what_to_install(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"pip install 'honeyguide\[parquet\]'"):
        export(store, tmp_path / "out.parquet", "parquet")
    assert list(tmp_path.glob("*.p*")) == []


def test_warc_brings_referred_payloads_along(store: Store, tmp_path: Path) -> None:
    assert export(store, tmp_path / "all.warc.gz", "warc") == 5
    everything = list(records(tmp_path / "all.warc.gz"))
    assert [kind for kind, _, _ in everything].count("revisit") == 1
    assert export(store, tmp_path / "good.warc.gz", "warc", relevant=True) == 3
    chosen = [(kind, target) for kind, target, _ in records(tmp_path / "good.warc.gz")]
    assert chosen[0][0] == "warcinfo"
    # Page 5 is relevant and has page 2's payload; page 2 itself is not relevant.
    assert chosen.index(("response", good(2).link.url)) < chosen.index(
        ("revisit", good(2).link.url)
    )
    assert ("response", good(6).link.url) not in chosen


def test_a_lost_record_is_left_out_and_told(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warc_files(store.folder)[0].unlink()
    with caplog.at_level(logging.WARNING):
        assert export(store, tmp_path / "all.warc.gz", "warc") == 0
    assert "missing" in caplog.text


def test_a_folder_gets_a_file_named_after_the_collection(store: Store, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    export(store, tmp_path / "out", "csv")
    export(store, tmp_path / "new" / "x.jsonl", "jsonl")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["bees.csv"]


def test_a_failed_export_leaves_the_old_file(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "out" / "x.jsonl"
    export(store, target, "jsonl")
    before = target.read_bytes()

    def stop(count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(store, target, "jsonl", progress=stop)
    assert target.read_bytes() == before
    assert [path.name for path in target.parent.iterdir()] == ["x.jsonl"]
    with pytest.raises(StoreError, match="cannot be written"):
        export(store, target / "below" / "y.csv", "csv")
    with pytest.raises(ConfigError, match="known: parquet"):
        export(store, target, "xml")  # type: ignore[arg-type]


def test_an_empty_collection_exports_nothing(tmp_path: Path) -> None:
    with Store.open(tmp_path / "c", "crawl") as store:
        for kind in ("csv", "jsonl", "warc", "parquet"):
            assert export(store, tmp_path / f"x.{kind}", kind) == 0  # type: ignore[arg-type]
        assert store.label_of(Url("https://e.org/")) is None
