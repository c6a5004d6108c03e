"""What strangers may not do to what is asked: many hosts, redirects, names in addresses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from honeyguide.config.settings import has_bang_command
from honeyguide.errors import SearchError
from honeyguide.search.composer import QueryComposer
from honeyguide.search.engine import SearchEngine, engine_query_text
from honeyguide.search.phrases import extract_phrases
from honeyguide.search.query import Query, parse_query
from honeyguide.search.query_bandit import QueryBandit
from honeyguide.text.language import language_of
from honeyguide.types import Url
from tests.unit.engine_server import (
    ENGINES,
    QUERY,
    Says,
    Time,
    answer,
    ask,
    entry,
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


def composed(*evil: str) -> list[str]:
    """What is asked after twenty honest pages, twenty bad ones, and these."""
    composer = QueryComposer("en", ["lupus"])
    honest = "Living with lupus. My butterfly rash. The joint pain."
    for n in range(20):
        composer.add_page(Url(f"http://honest{n}.org/"), "", f"{honest} story{n}", 0.5)
        composer.add_page(Url(f"http://bad{n}.org/"), "", f"Weather and sports. game{n}.", -0.5)
    for url in evil:
        composer.add_page(Url(url), "", "Lupus. Buy miracle pills. Lupus miraclecure shop.", 0.5)
    return [engine_query_text(one.query, negatives=True) for one in composer.propose_queries()]


def test_a_domain_has_one_voice_however_many_names_it_gives_itself() -> None:
    many = composed(*(f"http://s{n}.evil.example/" for n in range(40)))
    assert not any("miracle" in query for query in many)
    others = composed(*(f"http://evil{n}.example/" for n in range(40)))
    assert any("miracle" in query for query in others), "the phrases could be asked for"


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("s1.evil.example", "evil.example"),
        ("www.bees.co.uk", "bees.co.uk"),
        ("ada.blogspot.com", "ada.blogspot.com"),
        ("ada.wordpress.com", "ada.wordpress.com"),
        ("www.ada.tumblr.com", "ada.tumblr.com"),
        ("127.0.0.1", "127.0.0.1"),
    ],
)
def test_people_under_one_roof_are_several(name: str, site: str) -> None:
    assert extract_phrases(Url(f"http://{name}/"), "", "bees", 1.0, language_of("en")).host == site


def test_one_redirect_elsewhere_says_nothing_of_other_questions(kind: str) -> None:
    away = Says(status=302, headers=(("Location", "https://elsewhere.example/?q=x"),))
    with serving(away, away, says(answer(kind, entry(kind, "http://a.test/"))), away) as server:
        time = Time()

        async def work(engine: SearchEngine) -> list[float]:
            waits = []
            for _ in range(7):
                try:
                    await engine.search(QUERY, 1)
                    waits.append(-1.0)
                except SearchError as error:
                    waits.append(error.wait if error.kind == "refused" else -2.0)
            return waits

        waits = use(settings(kind, server.origin), work, time)
    inf = float("inf")
    assert waits == [0.0, 0.0, -1.0, 0.0, 0.0, inf, inf], "three in a row are no accident"
    assert len(server.asked) == 6


def test_an_address_with_a_name_and_a_password_is_no_result(kind: str) -> None:
    urls = ("http://ada:secret@a.test/", "http://ada@a.test/", "http://a.test/@ada")
    with serving(says(answer(kind, *(entry(kind, url) for url in urls)))) as server:
        found = ask(settings(kind, server.origin))
    assert [str(result.url) for result in found.results] == ["http://a.test/@ada"]
    assert found.dropped == 2


@pytest.mark.parametrize("typed", ["!!g owl", "owl !!", "owl\t!!ddg call"])
def test_words_that_lead_away(typed: str) -> None:
    assert has_bang_command(typed)
    assert has_bang_command(str(parse_query(typed)))


@pytest.mark.parametrize("typed", ["!g owl", "wow!! owls", "owl", "", '"! !"'])
def test_words_that_do_not(typed: str) -> None:
    assert not has_bang_command(typed)


@pytest.mark.parametrize("order", ["!!g", "!images", ":fr", "<10", "site:evil.example", "-owl"])
def test_no_page_gives_orders_to_the_engine(order: str) -> None:
    composer = QueryComposer("en")
    for n in range(4):
        text = f"{order} warbler sings. The {order} of {order}. And {order} warbler nests. " * 3
        composer.add_page(Url(f"http://h{n}.example/"), f"{order} warbler", text, 0.5)
    said = [engine_query_text(one.query, negatives=True) for one in composer.propose_queries()]
    assert said
    for query in said:
        assert not any(word.lstrip('"').startswith(("!", ":", "<", "-")) for word in query.split())
        assert "site:" not in query
        assert engine_query_text(parse_query(query), negatives=True) == query, (
            "after a restart it is the same"
        )


def test_people_have_as_many_queries_as_are_allowed() -> None:
    pulls = QueryBandit(1, 3)
    assert [pulls.request_query(Query(text=f"word{n}")) for n in range(5)] == [True] * 3 + [
        False
    ] * 2
    assert pulls.request_query(Query(text="word1")), "it was begun"
    assert len(pulls.arms()) == 3
