"""What a hostile engine sends: kept small, clean, and without the key that it was given."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.unit.engine_server import (
    ENGINES,
    KEY,
    QUERY,
    Says,
    answer,
    ask,
    assert_without_key,
    entry,
    failing,
    nothing_told,
    says,
    serving,
    settings,
    use,
)


@pytest.fixture(params=ENGINES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with nothing_told(monkeypatch, caplog):
        yield


def test_too_large(kind: str) -> None:
    body = gzip.compress(b'{"results":"' + b"a" * 20_000_000 + b'"}')
    error = failing(kind, Says(body, headers=(("Content-Encoding", "gzip"),)))
    assert error.kind == "garbage"
    assert failing(kind, Says(b"[" * 2_000_001)).kind == "garbage"


def test_very_many_results(kind: str) -> None:
    one = b'{"url":"http://a.test/%d"}'
    entries = b",".join([*(one % n for n in range(200)), *([b"{}"] * 599_800)])
    opens = b'{"web":{"results":[' if kind == "brave" else b'{"results":['
    body = opens + entries + (b"]}}" if kind == "brave" else b"]}")
    with serving(Says(body)) as server:
        found = ask(settings(kind, server.origin))
    assert (len(found.results), found.dropped) == (100, 599_900)


def test_hostile_entries(kind: str) -> None:
    far = entry(kind, "http://a.test/" + "x" * 5000)
    entries: list[Any] = [
        None, 1, "x", [], {}, {"url": None}, {"url": ["http://a.test/"]}, far,
        *(entry(kind, url) for url in (
            "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//a.test/", "", "\0",
            "http://", "http://[::1", "http://a.test:99999/", "http://a b/", "ht\ntp//x",
            f"http://thief.test/?k={KEY}", f"http://thief.test/?k={quote(KEY, safe='')}",
        )),
        entry(kind, " http://b.test/1 ", {"a": 1}, ["x"]),
        entry(kind, "http://b.test/2", "<img src=x onerror=alert(1)>T\0i\u202et\ud800le",
              "&lt;script&gt;alert(1)&lt;/script&gt; &#0; <b <b>>x</b>"),
        entry(kind, "http://b.test/3", "t" * 300_000, "&amp;" * 100_000),
        entry(kind, "http://b.test/4", f"your key {KEY}", f"<b>s3cr/t</b>+KEY=for&amp;tests {KEY}"),
        entry(kind, "http://127.0.0.1:1/admin", "for the fence to judge"),
    ]  # fmt: skip
    with serving(says(answer(kind, *entries))) as server:
        entries.append(entry(kind, f"{server.origin}/settings", "the engine itself"))
        server._answers = [says(answer(kind, *entries))]
        found = ask(settings(kind, server.origin))
    assert_without_key(repr(found))
    urls = [str(result.url) for result in found.results]
    assert urls == [*(f"http://b.test/{n}" for n in (1, 2, 3, 4)), "http://127.0.0.1:1/admin"]
    assert found.dropped == len(entries) - len(found.results)
    none, marked, long, echo, _ = found.results
    assert (none.title, none.snippet) == ("", "")
    assert marked.title == "Tit\ufffdle"
    assert marked.snippet == "alert(1) \ufffd x"
    assert (len(long.title), len(long.snippet)) == (300, 1000)
    assert (echo.title, echo.snippet) == ("your key [key]", "[key] [key]")


def test_halves_of_characters(kind: str) -> None:
    body = json.dumps(answer(kind, entry(kind, "http://a.test/", "TITLE", "ok 😀"))).encode()
    body = body.replace(b"TITLE", rb"a\ud83d \ude00b\uD800\uD83D\uDE00 c\\ud800")
    with serving(Says(b"\xef\xbb\xbf" + body)) as server:
        (result,) = ask(settings(kind, server.origin)).results
    assert result.title == "a\ufffd \ufffdb\ufffd😀 c\\ufffd"
    assert result.snippet == "ok 😀"


@pytest.mark.parametrize("before", range(280, 302, 3))
def test_no_part_of_the_key(kind: str, before: int) -> None:
    """Long words are cut, and never within the key."""
    error = failing(kind, says({"message": "x" * before + KEY}, status=400))
    assert KEY[:4] not in error.detail
    for limit, field in ((300, "title"), (1000, "snippet")):
        cut = "<b>" * (limit * 8 // 3 - 4) + "y" + KEY
        entries = [
            entry(kind, "http://a.test/", **{field: text})
            for text in (cut, "z" * (limit - 9) + KEY)
        ]
        with serving(says(answer(kind, entries[0])), says(answer(kind, entries[1]))) as server:
            search = settings(kind, server.origin)
            shown = repr((ask(search), ask(search)))
        assert KEY[:4] not in shown


def test_cookies_are_neither_kept_nor_sent(kind: str) -> None:
    cookie = (("Set-Cookie", "id=1"),)
    with serving(says(answer(kind), headers=cookie)) as server:

        async def work(engine: Any) -> None:
            await engine.search(QUERY, 1)
            await engine.search(QUERY, 2)

        use(settings(kind, server.origin), work)
    assert [asked.headers["Cookie"] for asked in server.asked] == [None, None]
