"""Labelled texts from folders and files, and what is wrong with them."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from honeyguide.errors import ConfigError
from honeyguide.text.segments import TextTokenizer
from honeyguide.training import documents
from honeyguide.training.corpus import gather_corpus
from honeyguide.training.documents import (
    ColumnNames,
    LabelledDocument,
    ReadingTally,
    read_documents,
)
from tests.unit.labelled import rows

ENGLISH = TextTokenizer("en")


USUAL = ColumnNames()


def read(source: Path, columns: ColumnNames = USUAL) -> tuple[list[LabelledDocument], Counter[str]]:
    tally = ReadingTally()
    return list(read_documents(source, columns, tally)), tally.left_out


def lines(path: Path, *objects: object) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in objects), "utf-8")
    return path


def test_a_folder_for_each_category(tmp_path: Path) -> None:
    for name in ("birds", "soup", ".hidden"):
        (tmp_path / name / "deeper").mkdir(parents=True)
    (tmp_path / "birds" / "a.txt").write_text("Kuşlar uçar", "utf-8")
    (tmp_path / "birds" / "deeper" / "b.html").write_text("<title>Nest</title><p>An egg</p>")
    (tmp_path / "soup" / "old.txt").write_bytes("Çorba pişirmek için su".encode("iso-8859-9"))
    (tmp_path / "soup" / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    (tmp_path / ".hidden" / "x.txt").write_text("no")
    found, left = read(tmp_path)
    assert [(d.label, d.page.title) for d in found] == [
        ("birds", ""),
        ("birds", "Nest"),
        ("soup", ""),
    ]
    assert found[0].page.text == "Kuşlar uçar"
    assert "su" in found[2].page.text, "another encoding is read, well or badly"
    assert left == {"no text": 1}
    with pytest.raises(ConfigError, match="has no folders"):
        read(tmp_path / "birds" / "deeper")


def test_lines_of_json(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "a.jsonl",
        {"text": "one", "label": "x"},
        {"html": "<p>two</p>", "label": 7},
        {"text": "", "label": "x"},
        {"text": "three", "label": None},
        {"text": ["no"], "label": "x"},
    )
    found, left = read(path)
    assert [(d.page.text.strip(), d.label) for d in found] == [("one", "x"), ("two", "7")]
    assert left == {"no text": 2, "no label": 1}
    zipped = tmp_path / "b.jsonl.gz"
    zipped.write_bytes(gzip.compress(b"\xef\xbb\xbf" + path.read_bytes()))
    assert len(read(zipped)[0]) == 2


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (b'{"text": "a", "label": "b"}\n{oops\n', "line 2: this is not JSON"),
        (b"[1]\n", "line 1: a line must be an object"),
        (b"[" * 100_000 + b"\n", "this is not JSON"),
        (b'{"body_": "a", "label": "b"}\n', "Say which it is with --text NAME"),
        (b'{"text": "a", "section": "b"}\n', "Say which it is with --label NAME"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, written: bytes, said: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(written)
    with pytest.raises(ConfigError, match=said):
        read(tmp_path / "a.jsonl")


def test_columns_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows(
            [
                ["id", "Section", "Body"],
                [1, "x", "line one\nline two"],
                [2, "y", "more, of it"],
                [3],
            ]
        )
    found, left = read(path, ColumnNames("body", "section"))
    assert [(d.page.text, d.label) for d in found] == [
        ("line one\nline two", "x"),
        ("more, of it", "y"),
    ]
    assert left == {"no label": 1}
    before = csv.field_size_limit()
    with pytest.raises(ConfigError, match="there is no 'title' in it, only: id, Section, Body"):
        read(path, ColumnNames("title", "section"))
    assert csv.field_size_limit() == before, "the limit is the whole process's"
    table = tmp_path / "a.tsv"
    table.write_text("label\ttext\nx\tone, two\n")
    assert read(table)[0][0].page.text == "one, two"


def test_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_TEXT_BYTES", 1000)
    long = lines(
        tmp_path / "a.jsonl",
        {"text": "x" * 5000, "label": "a"},
        {"text": "short", "label": "b"},
    )
    found, left = read(long)
    assert [d.label for d in found] == ["b"]
    assert left == {"lines that are too long": 1}
    (tmp_path / "b.csv").write_text("text,label\n" + "y" * 5000 + ",a\n")
    with pytest.raises(ConfigError, match="longer than 1000 characters"):
        read(tmp_path / "b.csv")
    quoted = '"' + "y\n" * 2000 + '"'
    (tmp_path / "d.csv").write_text(f"text,label\n{quoted},a\n")
    with pytest.raises(ConfigError, match="field larger than field limit"):
        read(tmp_path / "d.csv")
    (tmp_path / "c.jsonl.gz").write_bytes(b"\x1f\x8bnonsense")
    with pytest.raises(ConfigError, match="cannot be read"):
        read(tmp_path / "c.jsonl.gz")


def test_only_some_kinds_of_files(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(ConfigError, match=r"\.jsonl, \.csv or \.tsv"):
        read(tmp_path / "a.xlsx")
    with pytest.raises(ConfigError, match="does not exist"):
        read(tmp_path / "nothing")


def test_repetitions_are_left_out_and_told(tmp_path: Path) -> None:
    said = [{"text": text, "label": label} for text, label in rows(20)]
    again = {"text": "  " + str(said[0]["text"]).upper(), "label": said[0]["label"]}
    wrong = {"text": said[1]["text"], "label": "birds"}
    path = lines(tmp_path / "a.jsonl", *said, again, wrong, {"text": "!!! ...", "label": "soup"})
    corpus = gather_corpus(path, ENGLISH)
    assert corpus.category_sizes() == [20, 20, 20]
    assert corpus.categories == ("birds", "soup", "trains")
    assert corpus.notes == (
        "1 left out: no words.",
        "1 left out: repeated texts.",
        "1 left out: texts repeated under another label.",
    )


def test_what_cannot_be_told_apart(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", *({"text": f"w{n}", "label": "x"} for n in range(9)))
    with pytest.raises(ConfigError, match="there is only 'x'"):
        gather_corpus(path, ENGLISH)
    with pytest.raises(ConfigError, match="there is none"):
        gather_corpus(lines(tmp_path / "b.jsonl"), ENGLISH)
    many = lines(
        tmp_path / "c.jsonl",
        *({"text": f"w{n} {n % 2}", "label": str(n // 2)} for n in range(600)),
    )
    with pytest.raises(ConfigError, match="300 categories are too many"):
        gather_corpus(many, ENGLISH)


def test_unbalanced_and_rare_categories_are_told(tmp_path: Path) -> None:
    said = [{"text": f"w{n}", "label": "large"} for n in range(40)]
    said += [{"text": f"v{n}", "label": "small"} for n in range(3)]
    corpus = gather_corpus(
        lines(tmp_path / "a.jsonl", *said, {"text": "zebra", "label": "odd"}), ENGLISH
    )
    assert corpus.categories == ("large", "small")
    told = " ".join(corpus.notes)
    assert "one document only: odd" in told
    assert "Unbalanced: 'large' has 40 documents and 'small' has 3" in told


def test_of_too_many_documents_some_are_drawn_from_all(tmp_path: Path) -> None:
    said = [{"text": f"w{n}", "label": "early" if n < 500 else "late"} for n in range(1000)]
    path = lines(tmp_path / "a.jsonl", *said)
    corpus = gather_corpus(path, ENGLISH, most=100)
    assert len(corpus.labels) == 100
    assert min(corpus.category_sizes()) > 30, "a sorted file must not lose its last category"
    assert "Of 1000 documents 100 were drawn" in corpus.notes[0]
    assert gather_corpus(path, ENGLISH, most=100).pages == corpus.pages


def test_the_language_is_heard(tmp_path: Path) -> None:
    turkish = "Türkiye'nin en büyük şehri İstanbul'dur ve nüfusu on beş milyonu aşar"
    said = [{"text": f"{turkish} {n}", "label": "ab"[n % 2]} for n in range(50)]
    corpus = gather_corpus(lines(tmp_path / "a.jsonl", *said), TextTokenizer(""))
    assert corpus.reading.language == "tr"
    assert "'tr'" in corpus.notes[0]
