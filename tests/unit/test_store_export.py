from __future__ import annotations

import csv
import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from honeyguide.api.explain import word_rows
from honeyguide.cli.label_file import read_labels
from honeyguide.config.loading import parse_settings
from honeyguide.errors import CollectionCorrupt, ConfigError, StoreError
from honeyguide.store import Store
from honeyguide.store.export import EXPORT_COLUMNS, export_collection
from honeyguide.text.language import stems_of
from honeyguide.training.documents import ColumnNames, ReadingTally, read_documents
from honeyguide.types import Label, Reason, Url, Verdict, Visit
from honeyguide.watch.list_import import load_watch_list
from tests.commands import Told
from tests.unit.store_visits import answer, bad, change, good, records, warc_files


@pytest.fixture
def store(tmp_path: Path):
    sly = good(3, text="=HYPERLINK(1)\nsecond line")
    sly = sly._replace(link=sly.link._replace(anchor="-1+1"))
    same = good(5, 0.9)._replace(response=good(2).response)
    gone = answer(good(6).link.url, b"", 301)
    moved = Visit(good(6).link, 2.0, response=gone, moved=Url("http://x/"))
    with Store.open(tmp_path / "bees", "crawl") as opened:
        with opened.transaction():
            opened.append_visits([good(1), good(2, 0.1), sly, bad(4), same, moved])
        opened.labels.add([Label(good(1).link.url, 1.0, "ada", 9.0)])
        yield opened


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_jsonl_tells_where_everything_came_from(store: Store, tmp_path: Path) -> None:
    seen: list[int] = []
    done = export_collection(store, tmp_path / "out.jsonl", progress=seen.append)
    rows = lines(tmp_path / "out.jsonl")
    assert done[:4] == (tmp_path / "out.jsonl", "jsonl", 3, 0)
    assert [row["visit"] for row in rows] == [1, 3, 5]
    assert seen == [1, 2, 3]
    first = rows[0]
    assert first["url"] == good(1).link.url
    assert first["text"] == good(1).page.text  # type: ignore[union-attr]
    assert (first["label"], first["label_by"], first["relevant"]) == (1.0, "ada", True)
    assert (first["initial_score"], first["score"], first["verdict"]) == (0.25, 0.5, 0.9)
    assert first["warc"] == warc_files(store.folder)[0].name
    assert first["at"] == "2023-11-14T22:13:21.000Z"
    assert json.loads(first["reasons"]) == [["honey", 0.5]]
    assert rows[1]["label"] is None


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_exports_are_read_again_with_the_columns_of_any_version(
    store: Store, tmp_path: Path, ending: str
) -> None:
    made, older = tmp_path / f"new.{ending}", tmp_path / f"old.{ending}"
    export_collection(store, made, everything=True)
    text = made.read_text("utf-8")
    for name, old in {
        "detected_language": "tongue", "initial_score": "queued", "redirect_to": "moved",
        "indexable": "may_index",
    }.items():  # fmt: skip
        assert name in EXPORT_COLUMNS
        assert name in text.splitlines()[0]
        text = text.replace(name, old)
    older.write_text(text, "utf-8")
    labels = [(good(1).link.url, 1.0)]
    for file in (made, older):
        assert [(str(url), value) for url, value in read_labels(file)] == labels
        found = list(read_documents(file, ColumnNames(), ReadingTally()))
        assert [(one.page.text, one.label) for one in found] == [(good(1).page.text, "1.0")]  # type: ignore[union-attr]
        if ending == "csv":
            assert good(1).link.url in {page.url for page in load_watch_list(file).pages}


def test_everything_means_every_visit(store: Store, tmp_path: Path) -> None:
    assert export_collection(store, tmp_path / "all.jsonl", everything=True).rows == 6
    rows = lines(tmp_path / "all.jsonl")
    assert [row["visit"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert (rows[3]["failure"], rows[3]["detail"], rows[3]["tries"]) == ("timeout", "no answer", 1)
    assert (rows[3]["status"], rows[3]["relevant"], rows[3]["text"]) == (None, False, "")
    assert (rows[5]["status"], rows[5]["redirect_to"]) == (301, "http://x/")
    assert [row["relevant"] for row in rows] == [True, False, True, False, True, False]


def test_a_label_overrules_the_verdict(store: Store, tmp_path: Path) -> None:
    store.labels.add(
        [Label(good(2).link.url, 0.5, "ada", 9.0), Label(good(3).link.url, 0.4, "ada", 9.0)]
    )
    store.labels.add([Label(bad(4).link.url, 1.0, "ada", 9.0)])
    assert export_collection(store, tmp_path / "some.jsonl").rows == 3
    assert [row["visit"] for row in lines(tmp_path / "some.jsonl")] == [1, 2, 5]
    export_collection(store, tmp_path / "all.jsonl", everything=True)
    kept = [row["visit"] for row in lines(tmp_path / "all.jsonl") if row["relevant"]]
    assert kept == [1, 2, 5]
    assert export_collection(store, tmp_path / "some.warc.gz").rows == 3


def test_the_text_is_last_and_may_be_left_out(store: Store, tmp_path: Path) -> None:
    assert list(EXPORT_COLUMNS)[-1] == "text"
    for name in ("a.csv", "a.csv.gz"):
        export_collection(store, tmp_path / name, text=False)
    packed = gzip.decompress((tmp_path / "a.csv.gz").read_bytes())
    assert packed == (tmp_path / "a.csv").read_bytes()
    assert packed.splitlines()[0].decode().split(",") == list(EXPORT_COLUMNS)[:-1]
    export_collection(store, tmp_path / "a.jsonl.gz", text=False)
    rows = [
        json.loads(line)
        for line in gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).splitlines()
    ]
    assert len(rows) == 3
    assert "text" not in rows[0]


def test_csv_is_safe_in_a_spreadsheet(store: Store, tmp_path: Path) -> None:
    assert export_collection(store, tmp_path / "out.csv").rows == 3
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[1]["text"] == "'=HYPERLINK(1)\nsecond line"
    assert rows[1]["anchor"] == "'-1+1"
    assert re.fullmatch("[0-9a-f]{16}", rows[1]["text_digest"])


@pytest.mark.parametrize(
    ("text", "cell"),
    [("=1", "'=1"), (" \n=1", "' \n=1"), ("\x1b=1", "'=1"), ("＝1", "'＝1"), ("\t1", "'\t1"),
     ("a\x1b[31mb\x9b1m\0\x7f", "a[31mb1m"), ("a\n=1", "a\n=1"), ("a=1", "a=1")],
)  # fmt: skip
def test_cells_of_csv(tmp_path: Path, text: str, cell: str) -> None:
    visit = good(1)._replace(link=good(1).link._replace(anchor=text))
    with Store.open(tmp_path / "c", "crawl") as store:
        with store.transaction():
            store.append_visits([visit])
        export_collection(store, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        assert [row["anchor"] for row in csv.DictReader(file)] == [cell]


def test_digests_of_texts_are_the_same_for_every_reader(store: Store, tmp_path: Path) -> None:
    export_collection(store, tmp_path / "a.jsonl")
    for told, row in zip(lines(tmp_path / "a.jsonl"), (1, 3, 5), strict=True):
        kept = store.visits.visit_by_id(row)
        assert kept is not None
        assert int(told["text_digest"], 16) % 2**64 == (kept.text_digest or 0) % 2**64


def test_parquet_has_types_and_row_groups(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("honeyguide.store.export._ROW_GROUP", 3)
    assert export_collection(store, tmp_path / "out.parquet", everything=True).rows == 6
    file = parquet.ParquetFile(tmp_path / "out.parquet")
    assert file.metadata.num_row_groups == 2
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    rows = file.read().to_pylist()
    assert rows[0]["title"] == "Page 1"
    assert rows[1]["relevant"] is False
    assert rows[3]["failure"] == "timeout"


def test_parquet_without_pyarrow_says_what_to_install(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match="pip install pyarrow"):
        export_collection(store, tmp_path / "out.parquet")
    assert list(tmp_path.glob("*.p*")) == []


def test_warc_brings_referred_payloads_along(store: Store, tmp_path: Path) -> None:
    assert export_collection(store, tmp_path / "all.warc.gz", everything=True).rows == 5
    everything = list(records(tmp_path / "all.warc.gz"))
    assert [kind for kind, _, _ in everything].count("revisit") == 1
    assert export_collection(store, tmp_path / "good.warc.gz").rows == 3
    chosen = [(kind, target) for kind, target, _ in records(tmp_path / "good.warc.gz")]
    assert chosen[0][0] == "warcinfo"
    # Page 5 is relevant and has page 2's payload; page 2 itself is not relevant.
    assert chosen.index(("response", good(2).link.url)) < chosen.index(
        ("revisit", good(2).link.url)
    )
    assert ("response", good(6).link.url) not in chosen


def test_warc_without_compression(store: Store, tmp_path: Path) -> None:
    export_collection(store, tmp_path / "a.warc")
    export_collection(store, tmp_path / "a.warc.gz")
    assert (tmp_path / "a.warc").read_bytes().startswith(b"WARC/1.1")
    plain, packed = (list(records(tmp_path / name))[1:] for name in ("a.warc", "a.warc.gz"))
    assert plain == packed


def test_lost_records_are_counted(store: Store, tmp_path: Path) -> None:
    (file,) = warc_files(store.folder)
    whole = file.read_bytes()
    row = store.visits.visit_by_id(5)
    assert row is not None
    assert row.offset is not None
    file.write_bytes(whole[: row.offset + 1])
    assert export_collection(store, tmp_path / "most.warc.gz", everything=True)[2:4] == (3, 2)
    file.unlink()
    with pytest.raises(StoreError, match="none of the 5 answers"):
        export_collection(store, tmp_path / "none.warc.gz", everything=True)
    assert not (tmp_path / "none.warc.gz").exists()


def test_damaged_records_are_left_out_and_told(store: Store, tmp_path: Path, told: Told) -> None:
    (file,) = warc_files(store.folder)
    row = store.visits.visit_by_id(2)
    assert row is not None
    assert row.offset is not None
    with file.open("r+b") as damaged:
        damaged.seek(row.offset + 40)
        damaged.write(b"x" * 20)
    for name in ("most.warc.gz", "most.warc"):
        done = export_collection(store, tmp_path / name, everything=True)
        assert (done.rows, done.missing, done.damaged) == (4, 0, (row.url,))
        assert len(list(records(tmp_path / name))) == 1 + 2 * 4
    (store.folder / "topic.toml").write_text('[topic]\nkeywords = ["bee"]\n')
    exported = told("export", store.folder, "--to", tmp_path / "a.warc.gz", "--all", "--as-is")
    assert exported.code == 3
    assert "1 answer left out" in exported.err
    assert row.url in exported.err
    assert "4 answers written" in exported.out


def test_a_changed_record_is_damaged(store: Store, tmp_path: Path) -> None:
    """A record that unpacks and is as long as before, with other words in it."""
    (file,) = warc_files(store.folder)
    row = store.visits.visit_by_id(5)
    assert row is not None
    assert row.offset is not None
    whole = file.read_bytes()
    record = gzip.decompress(whole[row.offset : row.offset + row.length])
    other = gzip.compress(record.replace(b"HTTP/1.1 200", b"HTTP/1.1 404"))
    file.write_bytes(whole[: row.offset] + other)
    change(
        store.folder, f"UPDATE visits SET length = {len(other)}, request_length = 0 WHERE id = 5"
    )
    done = export_collection(store, tmp_path / "a.warc.gz", everything=True)
    assert done.damaged == (row.url,)


@pytest.mark.parametrize(
    "name", ["x", "x.docx", "x.gz", "x.txt.gz", "warc.gz.old", "csv", "x.json"]
)
def test_other_names_are_refused(store: Store, tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"which format\?.*\.parquet"):
        export_collection(store, tmp_path / name)
    with pytest.raises(ConfigError, match="known: parquet"):
        export_collection(store, tmp_path / name, "xml")
    assert export_collection(store, tmp_path / name, "csv").format == "csv"
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") is name.endswith(".gz")


def test_name_and_format_must_agree(store: Store, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"x\.csv is a name for csv"):
        export_collection(store, tmp_path / "x.csv", "parquet")
    with pytest.raises(ConfigError, match="the folder"):
        export_collection(store, tmp_path)


def test_a_folder_gets_a_file_named_after_the_collection(store: Store, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert export_collection(store, tmp_path / "out", "csv").path == tmp_path / "out" / "bees.csv"
    export_collection(store, tmp_path / "new" / "x.jsonl")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["bees.csv"]


def test_a_failed_export_leaves_the_old_file(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "out" / "x.jsonl"
    export_collection(store, target, "jsonl")
    before = target.read_bytes()

    def stop(count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_collection(store, target, "jsonl", progress=stop)
    assert target.read_bytes() == before
    assert [path.name for path in target.parent.iterdir()] == ["x.jsonl"]
    with pytest.raises(StoreError, match="cannot be written"):
        export_collection(store, target / "below" / "y.csv", "csv")


def test_an_empty_collection_exports_nothing(tmp_path: Path) -> None:
    with Store.open(tmp_path / "c", "crawl") as store:
        for kind in ("csv", "jsonl", "warc", "parquet"):
            assert export_collection(store, tmp_path / f"x.{kind}").rows == 0
        assert store.labels.effective_label(Url("https://e.org/")) is None


def test_a_strangers_journal_cannot_lead_astray(tmp_path: Path) -> None:
    with Store.open(tmp_path / "c", "crawl") as store, store.transaction():
        store.append_visits([good(1), good(2)])
    change(tmp_path / "c", "UPDATE visits SET payload_of = 3 - id, at = 9e99 - id")
    with Store.open(tmp_path / "c", "read") as store:
        assert export_collection(store, tmp_path / "a.warc").rows == 2
        export_collection(store, tmp_path / "a.jsonl")
        assert [row["at"] for row in lines(tmp_path / "a.jsonl")] == [None, None]
    change(tmp_path / "c", "UPDATE warcs SET name = '../../secret'")
    with (
        Store.open(tmp_path / "c", "read") as store,
        pytest.raises(CollectionCorrupt, match="a name that Honeyguide does not give"),
    ):
        export_collection(store, tmp_path / "b.warc")
    assert not (tmp_path / "b.warc").exists()


def test_reasons_quote_words_of_the_page(store: Store, tmp_path: Path) -> None:
    assert stems_of("en")["queries"] == "queri"
    with store.transaction():
        store.append_visits([good(7, text="Queries of bees, and other queries.")])
        row = list(store.visits.iter_visits(page=True))[-1]
        store.visits.update_verdict(row.id, Verdict(0.9, (Reason("“queri”", 0.5),)))
        reword = word_rows(store, parse_settings({"topic": {"seeds": ["http://a.test/"]}}))
    export_collection(store, tmp_path / "a.jsonl", reword=reword)
    assert json.loads(lines(tmp_path / "a.jsonl")[-1]["reasons"]) == [["“queries”", 0.5]]
    damaged = row._replace(reasons="[[")
    assert reword(damaged) is damaged
