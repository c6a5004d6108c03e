"""The lab's search engine: what it knows, what it finds, and how it says so."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.errors import ConfigError
from honeyguide.lab.responses import LabResponder, ServingOptions
from honeyguide.lab.search_engine import (
    LAB_ENGINE_URL,
    LabSearchEngine,
    LabSearchIndex,
    join_characters,
    make_lab_engine,
    split_characters,
    to_fts_query,
)
from honeyguide.lab.synthetic.topology import parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from honeyguide.lab.web import RecordedResponse, RecordedWeb, gzip_bytes, load_demo_web
from tests.lab_thread import serve_in_thread

HTML = (("Content-Type", "text/html; charset=utf-8"),)
FILLER = "Nothing much is said here besides a few plain words that fill the line. "


def page(path: str, title: str, text: str, status: int = 200, head: str = "") -> RecordedResponse:
    body = f"<title>{title}</title>{head}<main><p>{text}</p><p>{FILLER}</p></main>"
    return RecordedResponse(f"https://a.example/{path}", status, HTML, gzip_bytes(body.encode()))


NOINDEX = '<meta name="robots" content="noindex">'
WEB = RecordedWeb(
    [
        page("bees", "Bees", "Bees live in a hive and bring honey home, day after day."),
        page("hive", "A hive of one's own", "Honey bees need room: a wooden hive will do."),
        page("wasps", "Wasps", "Wasps bring no honey. They build a nest of paper, not a hive."),
        page("heart", "The heart", "The heart beats all day, and no art can make it stop."),
        page("tea", "Tea", "A café in the harbour sells tea with honey, O'Reilly's self-help."),
        page("chinese", "城市生活", "蜜蜂在城市里采蜜。学校的老师很喜欢蜜蜂。"),
        page("turkish", "Bal arısı", "Bal arısı kovanda yaşar ve çiçeklerden bal toplar."),
        page("gone", "Gone", "There was honey once.", 404),
        page("broken", "Broken", "The honey server fails.", 500),
        page("secret/1", "Secret", "Secret honey."),
        page("shy", "Shy", "Shy honey.", head=NOINDEX),
    ],
    {"http://a.example/old": "https://a.example/bees"},
)
CLOSED = ServingOptions(robots="User-agent: *\nDisallow: /secret/\n")
ENGINE = make_lab_engine(WEB, CLOSED)


def found(query: str, number: int = 1, engine: LabSearchEngine = ENGINE) -> list[str]:
    hits, _ = engine.index.search(query, number)
    return [hit.url.rpartition("/")[2] for hit in hits]


def told(path: str, engine: LabSearchEngine = ENGINE) -> tuple[int, Any]:
    answer = LabResponder(WEB, CLOSED, engine).respond(f"search.lab/{path}")
    return answer.status, json.loads(answer.body)


def test_it_knows_what_an_engine_would() -> None:
    known = {url.removeprefix("http://a.example/") for url in ENGINE.index.urls}
    assert known == {"bees", "hive", "wasps", "heart", "tea", "chinese", "turkish"}


def test_all_words_go_before_some_of_them() -> None:
    assert set(found("honey")) == {"bees", "hive", "wasps", "tea"}
    assert set(found("honey hive")[:3]) == {"bees", "hive", "wasps"}
    assert found("honey hive")[3:] == ["tea"]
    assert found("wasps heart zebra") == ["wasps", "heart"], "nobody has all: some will do"
    assert found("zebra") == []
    assert found("art") == ["heart"], "a word is a word, not a part of one"
    assert "heart" not in found("ear")


def test_where_enough_have_all_words_the_others_stay_away() -> None:
    pages = [page(str(n), f"Page {n}", f"red {'blue' if n < 12 else 'green'}") for n in range(20)]
    engine = make_lab_engine(RecordedWeb(pages))
    hits, total = engine.index.search("red blue")
    assert (len(hits), total) == (10, 12)
    assert len(found("red blue", 2, engine)) == 2
    assert found("red blue", 3, engine) == []
    seen = [*found("red", 1, engine), *found("red", 2, engine)]
    assert sorted(seen, key=int) == [str(n) for n in range(20)], "pages do not overlap"


def test_phrases_and_negatives() -> None:
    assert found('"wooden hive"') == ["hive"]
    assert found('"hive wooden"') == []
    assert set(found("honey -wasps")) == {"bees", "hive", "tea"}
    assert set(found('honey -"wooden hive" -tea')) == {"bees", "wasps"}
    assert found("-honey") == found('-"a hive"') == []
    assert found("cafe") == found("CAFÉ") == ["tea"], "accents do not matter"
    assert found("self-help") == found("“self help”") == ["tea"]


def test_scripts_without_spaces() -> None:
    assert found("城市") == found("蜜蜂") == found('"采蜜"') == found("蜜") == ["chinese"]
    assert found("蜂蜜") == [], "the same characters in another order are another word"
    (hit,), _ = ENGINE.index.search("老师")
    assert hit.title == "城市生活"
    assert "学校的老师很喜欢蜜蜂" in hit.snippet
    assert found("arısı") == ["turkish"]
    assert join_characters(split_characters("在 city 里。")) == "在 city 里。"


def test_the_title_counts_more_and_the_snippet_shows_why() -> None:
    assert found("wasps honey")[0] == "wasps"
    long = page("long", "Long", FILLER * 40 + "Here a zebra hides. " + FILLER * 40)
    (hit,), _ = make_lab_engine(RecordedWeb([long])).index.search("zebra")
    assert "a zebra hides" in hit.snippet
    assert len(hit.snippet) < 400


SYNTAX = ('AND OR NOT "', 'title:honey', "honey*", "^honey", "NEAR(a b)", "{title}: x", "a + b",
          "honey AND (", '"""', "- -", "--", "'; DROP TABLE pages; --", "\x00", "honey\x00",
          "(honey", "url : http", '-"', "*", "é" * 5000, "a " * 5000, '"a ' * 600)  # fmt: skip


@pytest.mark.parametrize("text", SYNTAX)
def test_nothing_in_a_query_is_syntax(text: str) -> None:
    ENGINE.index.search(text)
    assert set(found("honey")) == {"bees", "hive", "wasps", "tea"}, "nothing was dropped"


def test_operators_and_columns_are_words() -> None:
    assert found("tea NOT tea") == found("tea NOT") == ["tea", "wasps"], "these say 'not'"
    assert found("title:wasps") == []
    assert found("was*") == []


@given(st.text(max_size=80), st.integers(-3, 10**9))
def test_any_query_is_answered(text: str, number: int) -> None:
    hits, total = ENGINE.index.search(text, number)
    assert len(hits) <= min(10, total)
    status, facts = told(
        f"search?format=json&pageno={number}&q={quote_plus(text, errors='ignore')}"
    )
    assert status == (200 if text.strip() else 400) or "\ud800" <= max(text) <= "\udfff"
    assert isinstance(facts, dict)


def test_a_long_query_is_cut() -> None:
    assert to_fts_query("a " * 5000).all_terms == '("a")'
    assert to_fts_query(" ".join(f"w{n}" for n in range(300))).all_terms.count('"') == 64


def test_it_speaks_searxng() -> None:
    status, facts = told("search?q=honey+hive&format=json&pageno=1&safesearch=0&language=en")
    assert status == 200
    assert {k: facts[k] for k in facts if k != "results"} == {
        "query": "honey hive",
        "number_of_results": 4,
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [],
    }
    first = facts["results"][0]
    assert first["url"].startswith("http://a.example/")
    assert first["engine"] == "lab"
    assert first["positions"] == [1]
    assert "hive" in first["content"].lower()
    assert told("search?q=honey&format=json&pageno=2")[1]["results"] == []
    assert told("search?q=&format=json")[0] == told("search?format=json")[0] == 400


def test_people_get_a_page() -> None:
    desk = LabResponder(WEB, CLOSED, ENGINE)
    answer = desk.respond(f"search.lab/search?q={quote('honey <script>')}")
    text = answer.body.decode()
    assert answer.status == 200
    assert b"text/html" in answer.head
    assert '<a href="http://a.example/bees">Bees</a>' in text
    assert "<script" not in text
    assert b"<form" in desk.respond("search.lab/").body
    assert desk.respond("search.lab/elsewhere").status == 404
    assert desk.respond("search.lab/search?q=a&format=csv").status == 403
    assert desk.respond("search.lab/robots.txt").body == b"User-agent: *\nDisallow: /\n"


def test_it_is_no_part_of_the_web() -> None:
    assert LabResponder(WEB).respond("search.lab/search?q=a").status == 502, (
        "without --engine: nobody"
    )
    failing = LabResponder(WEB, ServingOptions(error_rate=1.0), ENGINE)
    assert failing.respond("a.example/bees").status == 503
    assert failing.respond("search.lab/search?q=honey&format=json").status == 200
    hosts = json.loads(failing.respond("lab.invalid/").body)["hosts"]
    assert hosts == ["a.example"], "no crawl follows a link into the engine"


def test_a_share_of_the_web_is_known_and_a_wider_reach_knows_it_too() -> None:
    web = SyntheticWeb(parse_plan("seed=5,hosts=20,pages=600"))
    reaches = [
        set(LabSearchIndex.from_responder(LabResponder(web), reach=reach).urls)
        for reach in (0.2, 0.5, 1.0)
    ]
    assert reaches[0] < reaches[1] < reaches[2]
    assert 0.4 < len(reaches[1]) / len(reaches[2]) < 0.6
    few = LabSearchIndex.from_responder(LabResponder(web), most=100)
    assert 60 < len(few) <= 100
    assert len({url.split("/")[2] for url in few.urls}) > 10, "evenly, not the first hosts"
    for wrong in (0.0, 1.5, float("nan")):
        with pytest.raises(ConfigError, match="reach"):
            LabSearchIndex.from_responder(LabResponder(web), reach=wrong)


def test_the_same_web_gives_the_same_answers() -> None:
    one, two = (
        make_lab_engine(SyntheticWeb(parse_plan("seed=5,hosts=20,pages=400"))) for _ in range(2)
    )
    for query in ("borg backup", "the", '"access control" -python'):
        assert one.index.search(query) == two.index.search(query)


def test_progress_is_told() -> None:
    heard: list[tuple[int, int]] = []
    index = LabSearchIndex.from_responder(
        LabResponder(WEB), progress=lambda done, of: heard.append((done, of))
    )
    assert heard[0] == (0, len(WEB))
    assert heard[-1] == (len(WEB), len(WEB))
    assert len(index) == 8, "nothing is closed here, and one is shy"


@pytest.mark.slow
def test_the_demo_web_can_be_searched() -> None:
    engine = make_lab_engine(load_demo_web(), reach=0.3)
    hits, _ = engine.index.search("sqlite full text search")
    assert "sqlite" in hits[0].url


def test_it_is_served_beside_the_web() -> None:
    with serve_in_thread(WEB, CLOSED, engine=ENGINE) as address:
        place = address.removeprefix("http://")
        for target in (f"{LAB_ENGINE_URL}?q=wasps&format=json", "/search?q=wasps&format=json"):
            connection = http.client.HTTPConnection(place, timeout=10)
            connection.request("GET", target)
            answer = connection.getresponse()
            assert answer.headers["content-type"] == "application/json"
            assert json.loads(answer.read())["results"][0]["title"] == "Wasps"
            connection.close()


def test_hostile_pages_are_only_text() -> None:
    script = "zebra <b>bold</b> &lt;script&gt;alert(1)&lt;/script&gt;"
    pdf = (("Content-Type", "application/pdf"),)
    odd = [
        page("null", "Null \x00 byte", "zebra \x00 &#0; &#xD800;"),
        page("quotes", '"); DROP TABLE pages; --', script),
        page("long", "zebra " * 50_000, "zebra " * 100_000),
        RecordedResponse("https://a.example/bytes", 200, HTML, gzip_bytes(bytes(range(256)) * 50)),
        RecordedResponse("https://a.example/pdf", 200, pdf, gzip_bytes(b"%PDF zebra")),
        RecordedResponse("https://a.example/empty", 200, HTML, b""),
    ]
    engine = make_lab_engine(RecordedWeb(odd))
    assert set(found("zebra", 1, engine)) == {"null", "quotes", "long"}
    (hit,), _ = engine.index.search("alert")
    assert "<script>" in hit.snippet, "it is told as text, for the reader to escape"
    text = LabResponder(WEB, engine=engine).respond("search.lab/search?q=alert").body
    assert b"<script>" not in text


def test_an_index_is_closed_with_its_last_user() -> None:
    index = LabSearchIndex()
    assert index.close.alive
    index.close()
    assert not index.close.alive
