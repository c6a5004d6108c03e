"""What strangers may not do to what is asked: many hosts, redirects, names in addresses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from honeyguide.errors import SearchError
from honeyguide.search_settings import leads_away
from honeyguide.seeds.composer import Composer
from honeyguide.seeds.engine import Engine, spoken
from honeyguide.seeds.phrases import reading
from honeyguide.seeds.query import Query, parse
from honeyguide.seeds.query_bandit import Pulls
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
    composer = Composer("en", ["lupus"])
    honest = "Living with lupus. My butterfly rash. The joint pain."
    for n in range(20):
        composer.read(Url(f"http://honest{n}.org/"), "", f"{honest} story{n}", 0.5)
        composer.read(Url(f"http://bad{n}.org/"), "", f"Weather and sports. game{n}.", -0.5)
    for url in evil:
        composer.read(Url(url), "", "Lupus. Buy miracle pills. Lupus miraclecure shop.", 0.5)
    return [spoken(one.query, negatives=True) for one in composer.candidates()]


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
    assert reading(Url(f"http://{name}/"), "", "bees", 1.0, language_of("en")).host == site


def test_one_redirect_elsewhere_says_nothing_of_other_questions(kind: str) -> None:
    away = Says(status=302, headers=(("Location", "https://elsewhere.example/?q=x"),))
    with serving(away, away, says(answer(kind, entry(kind, "http://a.test/"))), away) as server:
        time = Time()

        async def work(engine: Engine) -> list[float]:
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
    assert leads_away(typed)
    assert leads_away(str(parse(typed)))


@pytest.mark.parametrize("typed", ["!g owl", "wow!! owls", "owl", "", '"! !"'])
def test_words_that_do_not(typed: str) -> None:
    assert not leads_away(typed)


@pytest.mark.parametrize("order", ["!!g", "!images", ":fr", "<10", "site:evil.example", "-owl"])
def test_no_page_gives_orders_to_the_engine(order: str) -> None:
    composer = Composer("en")
    for n in range(4):
        text = f"{order} warbler sings. The {order} of {order}. And {order} warbler nests. " * 3
        composer.read(Url(f"http://h{n}.example/"), f"{order} warbler", text, 0.5)
    said = [spoken(one.query, negatives=True) for one in composer.candidates()]
    assert said
    for query in said:
        assert not any(word.lstrip('"').startswith(("!", ":", "<", "-")) for word in query.split())
        assert "site:" not in query
        assert spoken(parse(query), negatives=True) == query, "after a restart it is the same"


def test_people_have_as_many_queries_as_are_allowed() -> None:
    pulls = Pulls(1, 3)
    assert [pulls.insist(Query(text=f"word{n}")) for n in range(5)] == [True] * 3 + [False] * 2
    assert pulls.insist(Query(text="word1")), "it was begun"
    assert len(pulls.arms()) == 3
