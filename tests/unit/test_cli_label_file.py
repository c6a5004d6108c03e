from __future__ import annotations

import io
from pathlib import Path

import pytest

from honeyguide.cli.label_file import read_labels
from honeyguide.errors import ConfigError


def made(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "labels.csv"
    file.write_bytes(text.encode("utf-8"))
    return file


@pytest.mark.parametrize(
    "text",
    [
        "http://e.org/a,yes\nhttp://e.org/b,0.25\n",
        "http://e.org/a;yes\nhttp://e.org/b;0,25\n",
        "http://e.org/a\tgood\nhttp://e.org/b\t0.25\n",
        "\ufeffurl,label\r\nhttp://e.org/a,+\r\n\r\nhttp://e.org/b,.25\r\n",
        "Adresse;Urteil;Wer\nhttp://e.org/a;1;ich\nhttp://e.org/b;0.25;du\n",
        'url,title,label\nhttp://e.org/a,"two\nlines",1\nhttp://e.org/c,x,\nhttp://e.org/b,,0.25\n',
        '"http://e.org/a","yes"\n"http://e.org/b","0.25"\n',
        '{"url": "http://e.org/a", "label": true}\n\n{"url": "http://e.org/b", "label": 0.25}\n'
        '{"url": "http://e.org/c", "label": null}\n',
    ],
)
def test_files_as_people_have_them(text: str, tmp_path: Path) -> None:
    assert read_labels(made(tmp_path, text)) == [("http://e.org/a", 1.0), ("http://e.org/b", 0.25)]


def test_an_address_may_hold_separators(tmp_path: Path) -> None:
    file = made(tmp_path, "http://e.org/a,b;yes\nhttp://e.org/c,d;no\n")
    assert read_labels(file) == [("http://e.org/a,b", 1.0), ("http://e.org/c,d", 0.0)]


def test_a_scheme_may_be_missing(tmp_path: Path) -> None:
    assert read_labels(made(tmp_path, "e.org/a,yes\n")) == [("e.org/a", 1.0)]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("http://e.org/a,no\n"))
    assert read_labels(Path("-")) == [("http://e.org/a", 0.0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("url,label\n\nhttp://e.org/a,yes\n\nhttp://e.org/b,perhaps\n", "line 5: 'perhaps'"),
        ("http://e.org/a,yes\nmailto:x,no\n", "line 2: 'mailto:x' is not an http"),
        ("http://e.org/a,yes\nhttp://e.org/b\n", "line 2: two columns"),
        ('{"url": "http://e.org/a", "label": 1}\n\n{"url": "x"}\n', "line 3: must be"),
        ("http://e.org/a,2\n", "line 1: '2' is neither"),
        ("http://e.org/a,nan\n", "line 1: 'nan' is neither"),
    ],
)
def test_mistakes_name_the_line_of_the_file(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_labels(made(tmp_path, text))
    assert f"labels.csv, {message}" in str(caught.value)
    assert "None of its labels were saved" in str(caught.value)


def test_what_is_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_labels(tmp_path / "none.csv")
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_labels(tmp_path / "x")


def test_an_export_has_a_column_for_each_topic(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("url,label,label.bats,label.birds\nhttp://a.org/,1,0,1\nhttp://b.org/,1,,1\n")
    assert read_labels(file, "bats") == [("http://a.org/", 0.0)]
    assert read_labels(file, "birds") == [("http://a.org/", 1.0), ("http://b.org/", 1.0)]
    assert read_labels(file, "frogs") == [("http://a.org/", 1.0), ("http://b.org/", 1.0)]
    lines = tmp_path / "labels.jsonl"
    lines.write_text('{"url": "http://a.org/", "label": 1, "label.bats": 0}\n')
    assert read_labels(lines, "bats") == [("http://a.org/", 0.0)]


def test_a_column_of_topics_is_not_swallowed(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("url,label,topic\nhttp://a.org/,1,bats\n")
    assert read_labels(file) == [("http://a.org/", 1.0)]
    with pytest.raises(ConfigError, match="a file for each"):
        read_labels(file, "bats")
