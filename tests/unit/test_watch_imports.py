"""Watch lists of other programs: carried over, or told why not; never a crash, never a bomb."""

from __future__ import annotations

import io
import json
import re
import sys
import time
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.errors import ConfigError
from honeyguide.watch.list_formats import ImportedPage, parse_interval
from honeyguide.watch.list_import import (
    ImportedWatchList,
    YamlMark,
    load_watch_list,
    parse_jobs,
    read_watch_list,
)

ONE = "0f3c2a9d-7e11-4b57-8a0c-6f0f5b0e9d63"
TWO = "1f3c2a9d-7e11-4b57-8a0c-6f0f5b0e9d63"


def got(text: str | bytes) -> ImportedWatchList:
    return read_watch_list(io.BytesIO(text if isinstance(text, bytes) else text.encode()))


def urls(found: ImportedWatchList) -> list[str]:
    return [page.url for page in found.pages]


def whys(found: ImportedWatchList) -> dict[str, str]:
    return {f"{left.where}: {left.what}": left.why for left in found.skipped}


# -- lists and tables --------------------------------------------------------------------------


def test_a_list_of_addresses() -> None:
    found = got(
        "\ufeff# mine\r\nhttps://example.org/a\r\n\r\nexample.com news, bees ,\r\n"
        "https://EXAMPLE.org/a#again\r\n|ls -al ~\r\nhttp://e.org/search.cgi q=1&b=2\r\n"
        "not an address\r\nhttps://me:secret@e.org/\r\nmailto:me@e.org\r\n"
    )
    assert found.format_name == "list"
    assert found.pages == (
        ImportedPage(url="https://example.org/a"),  # type: ignore[arg-type]
        ImportedPage(url="https://example.com/", tags=("news", "bees")),  # type: ignore[arg-type]
    )
    assert [left.where for left in found.skipped] == [f"line {n}" for n in (5, 6, 7, 8, 9, 10)]
    assert "secret" not in str(found)
    assert "watched once" in found.skipped[0].why
    assert "form" in found.skipped[2].why


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_table_by_its_headings(mark: str) -> None:
    rows = [
        ["Title", "URL", "Every", "Tags"],
        ["Bees", "https://e.org/1", "6 hours", "a|b"],
        ["", "https://e.org/2", "soon", ""],
        ["No page", "", "", ""],
        ["short"],
    ]
    found = got("\n".join(mark.join(row) for row in rows))
    assert found.format_name == "CSV"
    assert [(p.url, p.name, p.interval_s) for p in found.pages] == [
        ("https://e.org/1", "Bees", 21600.0),
        ("https://e.org/2", "", None),
    ]
    assert whys(found) == {
        "line 3: interval": "'soon' is not a time, such as 30m, 6h or 2 days",
        "line 4: row": "it has no address",
        "line 5: row": "it has no address",
    }


def test_a_table_without_headings_and_quoted_cells() -> None:
    found = got('https://e.org/1,"Bees, and\nwasps"\nhttps://e.org/2,Ants\n')
    assert [(page.url, page.name) for page in found.pages] == [
        ("https://e.org/1", "Bees, and wasps"),
        ("https://e.org/2", "Ants"),
    ]
    assert got("url\nhttps://e.org/a,b\n").format_name == "CSV"
    assert urls(got("https://e.org/a,b\nhttps://e.org/c\nhttps://e.org/d\n")) == [
        "https://e.org/a,b", "https://e.org/c", "https://e.org/d",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 30), ("30m", 1800), ("1d 12h", 129600), ("2 weeks, 1 day", 1296000), ("1.5h", 5400),
     ("", None), ("0", None), ("soon", None), ("5 apples", None), ("-3", None), ("1" * 99, None)],
)  # fmt: skip
def test_times_as_people_write_them(text: str, seconds: float | None) -> None:
    assert parse_interval(text) == seconds


# -- job files ---------------------------------------------------------------------------------

JOBS = """\
# jobs
name: "urlwatch: the \\u2603 page"   # a comment
url: https://example.org/#top
filter:
  - html2text
  - grep: "Current.*version"
tags: [news, 'two words']
---
kind: url
name: >-
  Folded
  name
url: "https://example.org/\\
  two"
user_visible_url: https://example.org/shown
max_tries: 3
tags:
- a
- "b"
---
command: |
  ls -al ~
  ---not a fence
name: Home
---
navigate: https://example.org/browser
enabled: false
---
url: http://example.com/search.cgi
data:
  q: something
---
url: https://example.org/hdr
headers: {
  Authorization: Bearer secret
}
use_browser: true
ssl_no_verify: no
differ: null
additions_only: true
---
# nothing but a comment
---
name: no address
...
---
url: *other
"""


@pytest.fixture(params=["C", "Python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML with libyaml, and where it was built without."""
    if request.param == "Python":
        monkeypatch.delattr(yaml, "CSafeLoader")


def test_job_files_of_urlwatch_and_webchanges(parser: None) -> None:
    found = got(JOBS)
    assert found.format_name == "urlwatch or webchanges jobs"
    assert found.pages == (
        ImportedPage("https://example.org/", "urlwatch: the ☃ page", tags=("news", "two words")),  # type: ignore[arg-type]
        ImportedPage("https://example.org/two", "Folded name", tags=("a", "b")),  # type: ignore[arg-type]
        ImportedPage("https://example.org/browser", paused=True),  # type: ignore[arg-type]
        ImportedPage("https://example.org/hdr"),  # type: ignore[arg-type]
    )
    assert [(left.where, left.what) for left in found.skipped] == [
        ("job 1 (line 2)", "filter"),
        ("job 3 (line 21)", "Home"),
        ("job 4 (line 26)", "navigate"),
        ("job 5 (line 29)", "http://example.com/search.cgi"),
        ("job 6 (line 33)", "headers"),
        ("job 6 (line 33)", "use_browser"),
        ("job 6 (line 33)", "additions_only"),
        ("job 7 (line 44)", "no address"),
        ("job 8 (line 47)", "url"),
    ]
    assert "secret" not in str(found)
    assert all(left.why for left in found.skipped)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("url: https://e.org/\n\tname: x", "line 2: found "),
        (
            "url: https://e.org/\nname: 'open\n\n",
            "line 4: found unexpected end of stream, while scanning a quoted scalar of line 2",
        ),
        ("url: https://e.org/\nname: a: b", "line 2: mapping values are not allowed"),
        ("---\n- url: https://e.org/\n", "line 2: separate jobs by a line ---"),
        ("url: https://e.org/\nwhat is this\n", "line 3: could not find expected ':'"),
        ("url: https://e.org/\n--- url: x\n", "line 2: expected a key and a value"),
        ("url: https://e.org/\n---\n*other\n", "line 3: expected a key and a value"),
        ("url: https://e.org/\nname: @x\n", "line 2: found character"),
        ("url: https://e.org/\nname: 'a' b\n", "line 2: "),
        ("url: https://e.org/\ntags: [a, b\n", "line 3: "),
        ("url: https://e.org/\ntags:\n  - a\n b\n", "line 4: "),
        ("url: https://e.org/\n? [a]\n: b\n", "line 2: expected a key that is a text"),
        ("url: https://e.org/ # ü\nname: \x07\n", "line 2: "),
        ("url: https://e.org/\na: " + 200 * "[", "line 2: too deep"),
    ],
)
def test_a_damaged_job_file_names_the_line(parser: None, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        got(text)
    assert str(caught.value).startswith(says)


def test_a_job_in_braces_is_read() -> None:
    found = got("name: x\n---\n{url: 'https://e.org/', tags: [a]}\n")
    assert [(page.url, page.tags) for page in found.pages] == [("https://e.org/", ("a",))]


def test_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("honeyguide.watch.list_import._MAX_EVENTS", 100)
    with pytest.raises(ConfigError, match="line 50: too many values"):
        got("url: https://e.org/\n" + "a: b\n" * 100)


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ConfigError, match=r"pip install 'honeyguide\[yaml\]'"):
        got("url: https://e.org/")
    assert urls(got("https://e.org/")) == ["https://e.org/"]


def test_values_as_yaml_has_them(parser: None) -> None:
    text = (
        "a: plain # comment\nb: 'it''s'\nc: \"tab\\there \\x41\\u00e7\\U0001F600\"\n"
        "d: https://e.org/#not-a-comment\ne:\nf: |\n  one\n\n  two\ng: >\n  one\n  two\n\n  three\n"
        "h: &anchor value\ni: *anchor\nj: !!str 5\nk:\n  l: m\nn: [a, 'b, c', \"d\"]\no: [[a]]\n"
        "p: one\n  two\n\n  three\nq:\n- x\n-  'y # z'\nr: 'two\n  lines'\n\"s\": 1\nt: {}\n"
    )
    [job] = parse_jobs(text)
    assert job.keys == {
        "a": "plain", "b": "it's", "c": "tab\there Aç😀", "d": "https://e.org/#not-a-comment",
        "e": "", "f": "one\n\ntwo", "g": "one two\nthree", "h": "value", "i": YamlMark.ALIAS,
        "j": "5", "k": YamlMark.NESTED, "n": ("a", "b, c", "d"), "o": YamlMark.NESTED,
        "p": "one two\nthree", "q": ("x", "y # z"), "r": "two lines", "s": "1",
        "t": YamlMark.NESTED,
    }  # fmt: skip


def test_aliases_are_not_followed() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(20)
    )
    found = got(f"url: https://e.org/\n{bomb}")
    assert urls(found) == ["https://e.org/"]
    assert len(found.skipped) == 21


# -- changedetection.io ------------------------------------------------------------------------


def watch(**more: Any) -> dict[str, Any]:
    """A watch with the keys and empty values of version 0.60."""
    return {
        "url": "https://example.org/a", "title": None, "page_title": "Bees", "tags": [], "tag": "",
        "paused": False, "method": "GET", "body": None, "headers": {}, "include_filters": [],
        "fetch_backend": "system", "processor": "text_json_diff", "notification_urls": [],
        "time_between_check": {"weeks": None, "days": None, "hours": None, "minutes": None,
                               "seconds": None},
        "time_between_check_use_default": True, "proxy": None, "browser_steps": [],
        "time_schedule_limit": {"enabled": False}, **more,
    }  # fmt: skip


SETTINGS = {"settings": {"requests": {"time_between_check": {"hours": 3}}, "application": {}}}


def packed(files: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
    return out.getvalue()


def test_a_backup_of_changedetection_io() -> None:
    own = {"days": 1, "hours": "2", "minutes": 30}
    found = got(
        packed(
            {
                "changedetection.json": SETTINGS,
                f"{TWO}/tag.json": {"title": "Insects", "uuid": TWO},
                f"{ONE}/watch.json": watch(tags=[TWO, "unknown"], tag="old, news"),
                f"{ONE}/history.txt": b"1,abc.txt.br",
                "b/watch.json": watch(
                    url="source:https://example.org/b", title="Mine", paused=True,
                    time_between_check=own, time_between_check_use_default=False,
                    include_filters=["#main"], headers={"Cookie": "secret"},
                    fetch_backend="html_webdriver", processor="restock_diff",
                    notification_urls=["mailto://me:secret@e.org"],
                    time_schedule_limit={"enabled": True},
                ),
                "c/watch.json": watch(url="https://e.org/{% now 'utc' %}"),
                "d/watch.json": watch(url="https://e.org/form", method="POST"),
                "e/watch.json": watch(url=17),
                "url-list.txt": b"https://example.org/a\r\n",
            }
        )
    )  # fmt: skip
    assert found.format_name == "changedetection.io backup"
    assert found.pages == (
        ImportedPage("https://example.org/a", "Bees", 10800.0, ("Insects", "old", "news")),  # type: ignore[arg-type]
        ImportedPage("https://example.org/b", "Mine", 88200.0, (), True),  # type: ignore[arg-type]
    )
    assert sorted(whys(found)) == [
        "b: fetch_backend", "b: headers", "b: include_filters", "b: notification_urls",
        "b: processor", "b: time_schedule_limit", "c: https://e.org/{% now 'utc' %}",
        "d: https://e.org/form", "e: ",
    ]  # fmt: skip
    assert "secret" not in str(found)


def test_the_old_file_the_api_and_one_watch() -> None:
    tags = {"t": {"title": "Insects"}}
    settings = {"requests": {"minutes_between_check": 180}, "application": {"tags": tags}}
    old = {"watching": {ONE: watch(tags=["t"])}, "settings": settings}
    expected = ImportedPage("https://example.org/a", "Bees", 10800.0, ("Insects",))  # type: ignore[arg-type]
    assert got(json.dumps(old)).pages == (expected,)
    assert got(packed({"url-watches.json": old})).pages == (expected,)
    assert urls(got(json.dumps({ONE: {"url": "https://e.org/"}}))) == ["https://e.org/"]
    assert urls(got(json.dumps(watch()))) == ["https://example.org/a"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b'{"a": 1,\n "b" 2}', "line 2: this is not JSON"),
        (b'{"a": {"b": 1}}', "neither"),
        (b"[1]", "must be an object"),
        (b"[" * 100_000, "JSON"),
        (b'{"watching": {"x": {"url": ' + b"9" * 5000 + b"}}}", "JSON"),
        (b"https://e.org/\nhttps://e.org/\xff", "line 2: this is not UTF-8"),
        (b"GIF89a\0\0\0", "not a text file"),
        (b"PK\x03\x04 and nothing else", "zip file cannot be read"),
        (packed({"notes.txt": b"x"}), "holds no watch.json"),
        (packed({"a/watch.json": b"{"}), "a/watch.json is not JSON"),
        (packed({"a/watch.json": watch()})[:-30], "zip file cannot be read"),
    ],
)
def test_a_file_that_is_no_watch_list_is_said_so(body: bytes, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        got(body)
    assert says in str(caught.value)


def test_a_zip_bomb_is_not_unpacked() -> None:
    start = time.process_time()
    with pytest.raises(ConfigError, match="unpacks to more"):
        got(packed({"a/watch.json": b" " * 60_000_000}))
    # What is not wanted is not even opened.
    files = {"a/bomb.txt": b" " * 60_000_000, "../../a/watch.json": watch()}
    assert urls(got(packed(files))) == ["https://example.org/a"]
    assert time.process_time() - start < 10


def test_no_more_is_unpacked_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    many = packed({f"{n}/watch.json": watch(url=f"https://e.org/{n}") for n in range(20)})
    assert len(got(many).pages) == 20
    monkeypatch.setattr("honeyguide.watch.list_formats._ALL", 5_000)
    with pytest.raises(ConfigError, match="unpacks to more"):
        got(many)
    bomb = packed({"a/watch.json": b" " * 20_000_000})
    tracemalloc.start()
    try:
        with pytest.raises(ConfigError, match="unpacks to more"):
            got(bomb)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_a_zip_that_lies_about_its_sizes(tmp_path: Path) -> None:
    body = packed({"a/watch.json": b" " * 60_000_000})
    lie = body.replace((60_000_000).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lie != body
    with pytest.raises(ConfigError):
        got(lie)


def test_a_zip_with_a_password_or_an_odd_packing() -> None:
    body = packed({"a/watch.json": watch()})
    for place, value in ((6, 1), (8, 99)):  # the flags and the method of a local file header
        central = body.index(b"PK\x01\x02") + place + 2
        odd = bytearray(body)
        odd[place] = odd[central] = value
        with pytest.raises(ConfigError, match="zip file cannot be read"):
            got(bytes(odd))


# -- anything ----------------------------------------------------------------------------------


def test_a_file_is_named_in_its_errors(tmp_path: Path) -> None:
    path = tmp_path / "list.yaml"
    path.write_text("url: 'x")
    with pytest.raises(ConfigError, match=r"list\.yaml: line 1"):
        load_watch_list(path)
    with pytest.raises(ConfigError, match="not a plain file"):
        load_watch_list(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_watch_list(tmp_path / "nothing")
    path.write_text("https://e.org/")
    assert urls(load_watch_list(path)) == ["https://e.org/"]


SPITEFUL = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from("\n\n :-#'\"[]{}&*|>,;\t@/.%\x00aurl")),
    max_size=200,
)


@given(
    SPITEFUL, st.sampled_from(["", "url: ", "url: x\nname: ", "url,name\n", "{", "https://e.org/"])
)
def test_any_text_is_read_or_refused(text: str, start: str) -> None:
    try:
        found = got(start + text)
    except ConfigError:
        return
    for page in found.pages:
        assert page.url.startswith(("http://", "https://"))
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202e]", page.name + "".join(page.tags))
    assert all(left.why for left in found.skipped)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda value: (
        st.lists(value, max_size=3) | st.dictionaries(st.text(max_size=5), value, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(watch())), JSON), JSON, JSON)
def test_any_watch_is_read_or_left(fields: dict[str, Any], tags: Any, requests: Any) -> None:
    settings = {"requests": requests, "application": {"tags": tags}}
    for raw in (
        {"watching": {"a": {**watch(), **fields}, "b": tags}, "settings": settings},
        {"watching": {"a": {**watch(), **fields}}, "settings": requests},
    ):
        found = got(json.dumps(raw))
        assert found.pages or found.skipped


@pytest.mark.parametrize(
    "text",
    [
        "url: x\n" + "a: 'b\n  c'\n" * 20_000,
        "url: x\n" + "a:\n- 'b\n\n  c'\n" * 20_000,
        "url: x\nname: " + " " * 1_000_000 + "b",
        "url: x\nname: '" + " " * 1_000_000 + "b'",
        "url: x\n" + "a" + " " * 1_000_000 + "b",
        "url: x\nname: [" + "[" * 500_000,
        "url: x\nname: \"" + "\\" * 1_000_001,
        "url: x\n---\n" * 20_000,
        "url: x\ntags:\n- 'a\n" + "\n" * 200_000,
        "https://e.org/" + "a" * 1_000_000,
        "\n".join(f"https://e.org/{n}" for n in range(20_000)),
        "url,name\n" + "," * 1_000_000,
    ],
    ids=range(12),
)  # fmt: skip
def test_large_files_take_no_more_than_their_size(text: str) -> None:
    start = time.process_time()
    with suppress(ConfigError):
        got(text)
    assert time.process_time() - start < 5
