"""Files as spreadsheets write them: other encodings, other marks between columns, faults."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.errors import ConfigError
from honeyguide.text.segments import TextTokenizer
from honeyguide.training import documents
from honeyguide.training.corpus import gather_corpus
from honeyguide.training.documents import (
    ColumnNames,
    LabelledRow,
    ReadingTally,
    detect_encoding,
    read_rows,
)

TURKISH = (
    "İstanbul'da yaşayan çocuklar için yeni sağlık merkezi açıldı, ışıklı bahçesi büyük ilgi gördü"
)


def read(
    path: Path, columns: ColumnNames | None = None, language: str = ""
) -> tuple[list[LabelledRow], ReadingTally]:
    tally = ReadingTally()
    return list(read_rows(path, columns or ColumnNames(), tally, language)), tally


def table(path: Path, encoding: str, between: str = ",", count: int = 40) -> Path:
    lines = [f"text{between}label"]
    lines += [f'"{TURKISH} {n}"{between}{"şehir" if n % 2 else "ev"}' for n in range(count)]
    path.write_bytes("\r\n".join(lines).encode(encoding))
    return path


@pytest.mark.parametrize("language", ["", "tr"])
@pytest.mark.parametrize("encoding", ["windows-1254", "utf-8", "utf-8-sig", "utf-16"])
def test_turkish_letters_survive_any_encoding(tmp_path: Path, encoding: str, language: str) -> None:
    found, tally = read(table(tmp_path / "a.csv", encoding, ";"), language=language)
    assert len(found) == 40
    assert found[1].text == f"{TURKISH} 1"
    assert found[1].label == "şehir"
    assert tally.lost == 0
    assert tally.encodings == ({} if encoding.startswith("utf-8") else {encoding: 1})
    lines = tmp_path / "a.jsonl.gz"
    row = json.dumps({"text": TURKISH, "label": "şehir"}, ensure_ascii=False)
    lines.write_bytes(gzip.compress("\n".join([row] * 30).encode(encoding)))
    found, _ = read(lines, language=language)
    assert {(row.text, row.label) for row in found} == {(TURKISH, "şehir")}


def test_what_it_was_read_as_is_told(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "windows-1254")
    told = " ".join(gather_corpus(path, TextTokenizer("tr")).notes)
    assert "1 file was read as windows-1254, not UTF-8." in told
    assert "could not be read" not in told
    told = " ".join(gather_corpus(path, TextTokenizer("tr"), ColumnNames(encoding="utf-8")).notes)
    assert "letters could not be read; --encoding says" in told
    with pytest.raises(ConfigError, match="--encoding: there is no 'klingon'"):
        read(path, ColumnNames(encoding="klingon"))
    with pytest.raises(ConfigError, match="--encoding: there is no 'base64'"):
        read(path, ColumnNames(encoding="base64"))


def test_a_fault_in_utf_8_is_a_letter_and_no_other_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = table(tmp_path / "a.csv", "utf-8").read_bytes()
    (tmp_path / "a.csv").write_bytes(good + b'\r\n"broken \xfe letter",ev\r\n')
    for block in (documents._BLOCK, 64):
        monkeypatch.setattr(documents, "_BLOCK", block)
        found, tally = read(tmp_path / "a.csv")
        assert (found[0].text, tally.lost, tally.encodings) == (f"{TURKISH} 0", 1, {})


def test_late_letters_are_found(tmp_path: Path) -> None:
    plain = "".join(f"plain text number {n},x\r\n" for n in range(10_000)).encode()
    late = f"{TURKISH},y\r\n".encode("windows-1254") * 20
    (tmp_path / "a.csv").write_bytes(b"text,label\r\n" + plain + late.replace(b"'da ", b" "))
    assert detect_encoding(tmp_path / "a.csv") == "windows-1254"


@pytest.mark.parametrize("between", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_columns_are_told_apart_by_whatever_stands_between(
    tmp_path: Path, between: str, ending: str
) -> None:
    path = tmp_path / f"a.{ending}"
    head, row = ("id", "section", "Body"), ("7", "x", '"one, two; three | four\t5"')
    path.write_text(f"{between.join(head)}\n\n{between.join(row)}\n")
    found, _ = read(path, ColumnNames("body", "section"))
    assert [(row.text, row.label) for row in found] == [("one, two; three | four\t5", "x")]


def test_what_excel_states_goes_before(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sep=;\r\ntext;label\r\none, two;x\r\n")
    found, _ = read(tmp_path / "a.csv")
    assert (found[0].text, found[0].label) == ("one, two", "x")
    assert found[0].where.endswith("line 3")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("metin;etiket\na;b\n", r"line 1: there is no label .* only: metin, etiket\."),
        ("sep=|\nmetin|etiket\na|b\n", "line 2: there is no label"),
        ('text,label\n"a\nb",x\n"' + "c\n" * 60 + ",x\n", "from line 4 on: field larger"),
        ("text,label\na,x\n\n" + "b" * 200 + ",x\n", "line 4: a line is longer than 100"),
    ],
)
def test_faults_are_told_with_their_own_line(
    tmp_path: Path, written: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("honeyguide.training.documents.MAX_TEXT_BYTES", 100)
    (tmp_path / "a.csv").write_text(written)
    with pytest.raises(ConfigError, match=said):
        read(tmp_path / "a.csv")


def test_json_faults_name_the_line_once(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a", "label": "b"}\n\n{"text": oops}\n')
    with pytest.raises(ConfigError) as error:
        read(tmp_path / "a.jsonl")
    assert str(error.value).endswith("line 3: this is not JSON: Expecting value, character 10")


def test_a_line_that_is_just_too_long_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("honeyguide.training.documents.MAX_TEXT_BYTES", 100)
    row = '{"text": "a", "label": "b"}\n'
    (tmp_path / "a.jsonl").write_text("x" * 199 + "\n" + row)
    found, tally = read(tmp_path / "a.jsonl")
    assert (len(found), tally.left_out) == (1, {"lines that are too long": 1})


@given(st.binary(max_size=300), st.sampled_from(["a.csv", "a.jsonl", "a.csv.gz"]))
def test_any_bytes_are_rows_or_a_mistake(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str
) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(b"text,label\n" + data if name == "a.csv" else data)
    try:
        found, _ = read(path)
    except ConfigError:
        return
    assert all(row.where for row in found)


def test_another_language_than_stated_is_told(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "utf-8")
    told = gather_corpus(path, TextTokenizer("de")).notes
    assert told[0].startswith("The texts look like Turkish ('tr'), not like German")
    assert not any("look like" in note for note in gather_corpus(path, TextTokenizer("tr")).notes)
    english = tmp_path / "b.jsonl"
    said = "The history of the city begins with the people who lived there and what they built"
    english.write_text(
        "".join(json.dumps({"text": f"{said} {n}", "label": "ab"[n % 2]}) + "\n" for n in range(9))
    )
    with pytest.raises(ConfigError, match="--normalise repairs Turkish"):
        gather_corpus(english, TextTokenizer("", normalise=True))
