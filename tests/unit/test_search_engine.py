"""Search engines: what is sent, what comes back, and settings that cannot work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from honeyguide.config.settings import SearchSettings
from honeyguide.errors import ConfigError
from honeyguide.search import engines
from honeyguide.search.credentials import ApiKey
from honeyguide.search.engine import (
    MAX_QUERY_CHARACTERS,
    MAX_QUERY_WORDS,
    ResultPage,
    SearchEngine,
    SearchResult,
    engine_query_text,
)
from honeyguide.search.engines import Brave, JsonApi, SearXng, seconds_until_reset
from honeyguide.search.http_client import EngineHttpClient
from honeyguide.search.query import Query
from honeyguide.types import Response, Url
from tests.unit.engine_server import (
    ENGINES,
    KEY,
    QUERY,
    EngineServer,
    Time,
    answer,
    ask,
    entry,
    says,
    serving,
    settings,
    use,
)

SAID = 'lupus "living with" -"side effects"'


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HONEYGUIDE_THE_KEY", KEY)


@pytest.fixture
def server() -> Iterator[EngineServer]:
    with serving(says({"results": []})) as made:
        yield made


def test_no_engine_is_set() -> None:
    assert engines.make_engine(SearchSettings(), None, Time()) is None  # type: ignore[arg-type]
    assert engines.make_quota(SearchSettings(per_month=1), Time()) is None


@pytest.mark.parametrize("kind", ENGINES)
def test_results(kind: str) -> None:
    one = entry(kind, "HTTPS://Forum.Example:443/a#b", "A <strong>title</strong>", "It&#39;s\n so")
    with serving(says(answer(kind, one, one, entry(kind, "mailto:x@y")))) as server:
        found = ask(settings(kind, server.origin))
    assert found == ResultPage(
        (SearchResult(Url("https://forum.example/a"), "A title", "It's so"),), True, dropped=2
    )


def test_searxng_is_asked(server: EngineServer) -> None:
    search = settings("searxng", server.origin, language="tr")
    found, address = use(search, lambda e: _both(e, 3))
    assert (found.results, found.more) == ((), False)
    (asked,) = server.asked
    assert asked.path == "/search"
    assert asked.query == {
        "q": SAID, "pageno": "3", "language": "tr", "format": "json", "safesearch": "0",
    }  # fmt: skip
    assert address == (
        f"{server.origin}/search?q=lupus+%22living+with%22+-%22side+effects%22&pageno=3&language=tr"
    )
    assert KEY not in str(asked.headers)
    assert "Cookie" not in asked.headers


def test_searxng_with_a_bare_address_and_a_password(server: EngineServer) -> None:
    ask(replace(settings("searxng", ""), url=server.origin, header="Authorization"))
    assert server.asked[0].path == "/search"
    assert server.asked[0].headers["Authorization"] == KEY


def test_brave_is_asked() -> None:
    more = {"query": {"more_results_available": True}}
    some = answer("brave", entry("brave", "https://a.test/"))
    with serving(says(some | more), says(some | {"query": {"more_results_available": False}}),
                 says(some), says({"type": "search"})) as server:  # fmt: skip
        search = settings("brave", server.origin, language="ja")

        async def work(engine: Any) -> list[ResultPage]:
            return [await engine.search(QUERY, page) for page in (1, 2, 10, 3, 11)]

        found = use(search, work)
        address = use(search, lambda e: _both(e, 2))[1]
    assert [one.more for one in found] == [True, False, False, False, False]
    assert [len(one.results) for one in found] == [1, 1, 1, 0, 0]
    first = server.asked[0]
    assert first.path == "/res/v1/web/search"
    assert first.query == {
        "q": SAID, "count": "20", "offset": "0", "search_lang": "jp", "safesearch": "off",
        "text_decorations": "false", "spellcheck": "false", "result_filter": "web",
    }  # fmt: skip
    assert first.headers["X-Subscription-Token"] == KEY
    assert first.headers.get_all("Accept") == ["application/json"]
    assert [asked.query["offset"] for asked in server.asked[:4]] == ["0", "1", "9", "2"]
    assert address.startswith("https://search.brave.com/search?q=lupus")
    assert address.endswith("&offset=1")


def test_a_json_api_is_asked() -> None:
    nested = {"data": {"hits": [{"doc": {"href": "http://a.test/x"}, "t": "T"}]}}
    with serving(says(nested)) as server:
        search = SearchSettings(
            engine="json", per_minute=0, key_env="HONEYGUIDE_THE_KEY", language="de",
            url=f"{server.origin}/{{key}}/s?q={{query}}&o={{offset}}&f={{first}}&n={{count}}"
            "&k={key}&l={language}&p={page}",
            results="data.hits", link="doc.href", title="t", snippet="",
        )  # fmt: skip
        found, address = use(search, lambda e: _both(e, 2))
    assert found.results == (SearchResult(Url("http://a.test/x"), "T"),)
    (asked,) = server.asked
    assert asked.query == {
        "q": SAID, "o": "10", "f": "11", "n": "10", "k": KEY, "l": "de", "p": "2",
    }  # fmt: skip
    assert asked.path == "/s3cr%2Ft%2BKEY%3Dfor%26tests/s"
    quoted = "lupus%20%22living%20with%22%20-%22side%20effects%22"
    assert address == f"{server.origin}/-/s?q={quoted}&o=10&f=11&n=10&l=de&p=2"


def test_a_json_api_without_pages() -> None:
    with serving(says(answer("json", entry("json", "http://a.test/")))) as server:
        search = SearchSettings(engine="json", per_minute=0, url=f"{server.origin}/?q={{query}}")
        found, second = ask(search), ask(search, 2)
    assert (len(found.results), found.more) == (1, False)
    assert second == ResultPage((), more=False)
    assert len(server.asked) == 1


async def _both(engine: Any, page: int) -> tuple[ResultPage, Url]:
    return await engine.search(QUERY, page), engine.address(QUERY, page)


@pytest.mark.parametrize(
    ("search", "words"),
    [
        (SearchSettings(engine="searx"), "did you mean 'searxng'"),
        (SearchSettings(engine="searxng"), "search.url: where"),
        (SearchSettings(engine="searxng", url="ftp://x/"), "not a web address"),
        (SearchSettings(engine="searxng", url="http://u:p@x.test/search"), "Authorization"),
        (SearchSettings(engine="searxng", url="http://x.test/", language="tür k"), "language code"),
        (SearchSettings(engine="searxng", url="http://x.test/", header="X-A"), "no key to send"),
        (SearchSettings(engine="brave"), "HONEYGUIDE_SEARCH_KEY holds none"),
        (SearchSettings(engine="json", url="http://x.test/"), "{query} must stand in it"),
        (SearchSettings(engine="json", url="http://x.test/{query}?p={pgae}"), "mean {page}"),
        (SearchSettings(engine="json", url="http://x.test/{query}?p={}"), "no meaning; known"),
        (SearchSettings(engine="json", url="http://{query}.x.test/"), "must be plain"),
        (SearchSettings(engine="json", url="{query}"), "not a web address"),
        (SearchSettings(engine="json", url="http://x.test/{query}{key}"), "holds none"),
        (
            SearchSettings(engine="json", url="http://x.test/{query}", header="a b"),
            "not a header name",
        ),
        (SearchSettings(engine="json", url="http://x.test/{query}", link=""), "search.link"),
        (SearchSettings(engine="json", url="http://x.test/{query}", results="a..b"), "data.items"),
    ],
)  # fmt: skip
def test_settings_that_cannot_work(search: SearchSettings, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        engines.make_engine(search, None, Time())  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_a_key_has_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    search = replace(settings("json-address", "http://127.0.0.1"), header="X-Key")
    with pytest.raises(ConfigError, match="leave one of them out"):
        engines.make_engine(search, None, Time())  # type: ignore[arg-type]


def test_a_key_that_would_go_out_in_the_open(caplog: pytest.LogCaptureFixture) -> None:
    search = SearchSettings(
        engine="brave", url="http://far.example/search", key_env="HONEYGUIDE_THE_KEY"
    )
    engines.make_engine(search, None, Time())  # type: ignore[arg-type]
    assert "unencrypted" in caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (QUERY, SAID),
        (Query(text='  my "own"\nwords -no !g '), 'my "own" words -no !g'),
        (Query(("!g lupus", ':fr "x"', "-", "a\x00b")), '"g lupus" "fr x" "a b"'),
        (Query(("a",), ("b", '"', "-c d")), 'a -"b" -"c d"'),
        (Query(("İstanbul", "痛み 止め")), 'İstanbul "痛み 止め"'),
    ],
)
def test_how_a_query_is_spoken(query: Query, said: str) -> None:
    assert engine_query_text(query, negatives=True) == said


def test_nothing_is_asked_for_nothing(server: EngineServer) -> None:
    for kind in ENGINES:
        search = settings(kind, server.origin)
        assert use(search, lambda engine: engine.search(Query(("-",)), 1)) == ResultPage((), False)
    assert server.asked == []


def test_ours_are_engines() -> None:
    line = EngineHttpClient(None, Time(), key=ApiKey(KEY), price=0.25)  # type: ignore[arg-type]
    home = "http://127.0.0.1"
    ours: list[SearchEngine] = [
        SearXng(settings("searxng", home), line),
        Brave(settings("brave", home), line),
        JsonApi(settings("json-address", home), line),
    ]
    assert [engine.name for engine in ours] == ["searxng", "brave", "json"]
    assert all(engine.price == 0.25 and engine.negatives for engine in ours)


def test_a_query_is_bounded() -> None:
    assert engine_query_text(Query(("a",), ("b",)), negatives=False) == "a"
    long = engine_query_text(Query(("one two",) * 40, ("b",)), negatives=True)
    assert len(long.split()) == MAX_QUERY_WORDS
    assert engine_query_text(Query(("x" * 300, "y" * 200)), negatives=True) == "x" * 300
    assert len(engine_query_text(Query(text="z" * 5000), negatives=True)) == MAX_QUERY_CHARACTERS


def test_requests_keep_their_distance() -> None:
    time = Time()
    with serving(says({"results": []})) as server:
        search = settings("searxng", server.origin, per_minute=10)

        async def work(engine: Any) -> None:
            for page in (1, 2, 3):
                await engine.search(QUERY, page)
            time.now += 4.5
            await engine.search(QUERY, 4)
            time.now -= 1000  # a clock set back
            await engine.search(QUERY, 5)

        use(search, work, time)
    assert time.slept == [6.0, 6.0, 1.5, 6.0]


@pytest.mark.parametrize(
    ("remaining", "after", "wait"),
    [("0, 1999", "1, 1419704", 1.0), ("0, 0", "1, 1419704", 1_419_704.0), ("1, 2", "1, 2", None),
     ("0", "-5", None), ("", "", None), ("0", "9" * 50, 31 * 86_400.0), ("0,0,0", "7", 7.0)],
)  # fmt: skip
def test_braves_limits(remaining: str, after: str, wait: float | None) -> None:
    headers = (("X-RateLimit-Remaining", remaining), ("X-RateLimit-Reset", after))
    response = Response(Url("http://a/"), 429, headers, b"", b"", b"", b"", "", 0.0, 0.0)
    assert seconds_until_reset(response, 0.0) == wait
    told = response._replace(headers=(*headers, ("Retry-After", "30")))
    assert seconds_until_reset(told, 0.0) == 30.0
