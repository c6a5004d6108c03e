"""Two strategies as one: each half does its own, and the links learn from the critic."""

from __future__ import annotations

import asyncio
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from honeyguide import registry
from honeyguide.api.explain import explain_url
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.errors import ConfigError, ModelError
from honeyguide.learning.relevance_cut import _wished_keep
from honeyguide.learning.worker_process import WorkerProcessBackend
from honeyguide.protocols import Strategy
from honeyguide.store.generations import pack_strategy, unpack_strategy
from honeyguide.store.store import Store
from honeyguide.strategies.combined import CombinedStrategy
from honeyguide.types import Example, Link, LinkStats, Page, Url
from tests.unit.crawling import FakeWeb, crawl, rows
from tests.unit.test_live_generation import go, wish

HOME = Url("http://e.org/")
HONEY = "honey of bees in the hive, wax and nectar " * 9
GEARS = "gears of engines in the workshop, oil and brake " * 9


def made(name: str, topic: dict[str, Any] | None = None, **strategy: Any) -> CombinedStrategy:
    tables = {"keywords": ["honey"], "seeds": [HOME]} | (topic or {})
    settings = {"topic": tables, "crawl": {"strategy": name}, "strategy": strategy}
    found = build_strategy(parse_settings(settings))
    assert isinstance(found, CombinedStrategy)
    return found


def example(number: int, good: bool, by: Any = "user") -> Example:
    url = Url(f"http://e.org/{number}")
    said = "to the apiary" if good else "to the garage"
    stats = LinkStats(0.5, 1, 0.5, 1, 0.5, 0.5, 0.5, 0, 1, number)
    link = Link(url, HOME, anchor=f"{said} {number}", depth=1).with_yields(stats)
    return Example(link, Page(url, text=HONEY if good else GEARS), float(good), by)


def anchored(words: str) -> Link:
    return example(len(words), True).link._replace(
        anchor=words, url=Url(f"{HOME}{words[-3:]}"), parent=0.5
    )


def test_pages_are_judged_by_one_and_links_ranked_by_the_other() -> None:
    both = made("keyword+breadth")
    page, links = Page(HOME, text=HONEY), [Link(HOME, HOME, depth=n) for n in (1, 3)]
    assert both.judge(page).score == both.critic.judge(page).score > 0.5
    assert both.rank(links) == both.links.rank(links) == [0.5, 0.25]
    assert both.judge(page).reasons[0].what == f"keyword: {both.critic.judge(page).reasons[0].what}"
    assert both.explain(links[0])[0].what == "breadth: 1 links away from a seed"
    assert both.traits.order == "breadth"


def test_links_learn_what_the_critic_says() -> None:
    """Not what the link model's own page model would have said."""
    visits = [example(n, n % 2 == 0, "visit") for n in range(60)]
    scores = {}
    for wanted in ("honey", "gears"):
        for name in ("honeyguide", "user_utility", "adaptive_links"):
            house = {"links": {"house": True}} if name == "user_utility" else {}
            pair = made(f"hybrid_svm+{name}", {"keywords": [wanted]}, **house)
            judged = [replace(e, target=pair.judge(e.page).score) for e in visits]
            taught = pair.learn(judged)
            assert taught.critic is pair.critic, "visits are no examples for this one"
            scores[wanted, name] = taught.rank(
                [anchored("to the apiary"), anchored("to the garage")]
            )
    for name in ("honeyguide", "user_utility", "adaptive_links"):
        apiary, garage = scores["honey", name]
        assert apiary > garage
        apiary, garage = scores["gears", name]
        assert apiary < garage


def test_verdicts_that_labels_changed_reach_the_links() -> None:
    """Visits judged before are targets again, by what the critic says now."""
    pair = made("hybrid_svm+honeyguide", {"keywords": ["brake"]})
    visits = [example(n, n % 2 == 0, "visit") for n in range(60)]
    old = [replace(e, target=1 - e.target) for e in visits]  # gears were wanted
    labels = [example(n, n % 2 == 0) for n in range(100, 120)]  # and now it is honey
    apiary, garage = pair.learn([*labels, *old]).rank(
        [anchored("to the apiary"), anchored("to the garage")]
    )
    assert apiary > garage


def test_parameters_of_a_half_have_a_table_of_their_own() -> None:
    pair = made("hybrid_svm+honeyguide", critic={"kernel": "linear"}, links={"explore": 0.5})
    assert (getattr(pair.critic, "kernel", ""), getattr(pair.links, "explore", 0)) == (
        "linear",
        0.5,
    )
    assert (
        made("hybrid_svm+adaptive_links", links={"neighbours": False}).traits.uses_neighbours
        is False
    )
    settings = {"crawl": {"strategy": "ontology_weights+honeyguide"}}
    assert _wished_keep(parse_settings(settings)) == "balanced"
    own = settings | {"strategy": {"critic": {"theta": 2.0}}}
    assert _wished_keep(parse_settings(own)) == ""


@pytest.mark.parametrize(
    ("name", "strategy", "said"),
    [
        ("keywords+honeyguide", {}, "there is no strategy 'keywords'; did you mean 'keyword'"),
        ("keyword+", {}, r"'keyword\+' should be CRITIC\+LINKS"),
        ("keyword+breadth+honeyguide", {}, r"should be CRITIC\+LINKS"),
        ("keyword+honeyguide", {"explore": 1}, "unknown setting strategy.explore"),
        ("keyword+honeyguide", {"links": 1}, r"write \[strategy.links\]"),
        (
            "keyword+honeyguide",
            {"links": {"explor": 1}},
            "links of .*did you mean strategy.explore",
        ),
        ("keyword+honeyguide", {"critic": {"url_weight": 7}}, "critic of .*at most 1"),
    ],
)
def test_what_cannot_be_is_told(name: str, strategy: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        made(name, **strategy)


def test_what_a_half_needs_is_told() -> None:
    with pytest.raises(ConfigError, match=r"links of honeyguide\+keyword: .*needs keywords"):
        made("honeyguide+keyword", {"keywords": []})
    with pytest.raises(ConfigError, match=r"topic\.model: the strategy 'keyword' cannot use one"):
        made("keyword+honeyguide", {"model": "somewhere"})


def test_saved_halves_can_be_no_others() -> None:
    pair = made("hybrid_svm+honeyguide")
    data = pack_strategy("hybrid_svm+honeyguide", pair)
    assert unpack_strategy(data, registry.find_strategy, "hybrid_svm+honeyguide") == pair
    assert pickle.loads(pickle.dumps(pair)) == pair
    with pytest.raises(ModelError, match="does not know there"):
        unpack_strategy(data, lambda _: registry.find_strategy("keyword+honeyguide"))
    exchanged = type(pair)(critic=pair.links, links=pair.critic)
    with pytest.raises(ModelError, match="does not know there"):
        unpack_strategy(pack_strategy("it", exchanged), lambda _: type(pair))


def test_it_learns_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))

    async def learned() -> Strategy | None:
        apart, pair = WorkerProcessBackend(visits=True), made("hybrid_svm+honeyguide")
        try:
            for n in range(40):
                apart.offer(example(n, n % 2 == 0, "visit" if n < 30 else "user"))
            return (await apart.build_generation(pair)).strategy
        finally:
            await apart.aclose()

    found = asyncio.run(learned())
    assert type(found) is registry.find_strategy("hybrid_svm+honeyguide")
    assert found is not None
    assert (
        found.judge(Page(HOME, text=HONEY)).score > 0.5 > found.judge(Page(HOME, text=GEARS)).score
    )


def test_a_generation_stays_until_a_half_is_another(tmp_path: Path) -> None:
    pair = "hybrid_svm+honeyguide"
    assert [go(tmp_path, pair), go(tmp_path, pair)] == [1, 1]
    assert go(tmp_path, pair, strategy={"critic": {"threshold": 0.7}}) == 2
    assert go(tmp_path, pair, strategy={"links": {"explore": 0.7}}) == 3
    assert go(tmp_path, "hybrid_svm+adaptive_links") == 4
    assert go(tmp_path, "hybrid_svm") == 5
    assert go(tmp_path, pair) == 6
    wish(tmp_path, {"links": None})
    assert go(tmp_path, pair) == 7, "half of what was asked for then is not known"


def test_a_crawl_of_a_pair_tells_which_half_said_what(tmp_path: Path) -> None:
    pages = {"http://a.org/": f'<p>{HONEY}<p><a href="/bees">bees and honey</a>'}
    web = FakeWeb(pages | {"http://a.org/bees": f"<p>{HONEY}"})
    tables = {"crawl": {"strategy": "hybrid_svm+honeyguide"}}
    crawl(tmp_path, web, ["http://a.org/"], **tables)
    assert rows(tmp_path)["http://a.org/bees"].verdict_reasons[0].what.startswith("hybrid_svm: ")
    settings = parse_settings(
        {"topic": {"seeds": ["http://a.org/"], "keywords": ["honey", "bee"]}, **tables}
    )
    told = explain_url(tmp_path, settings, "http://a.org/bees", 0.0)
    assert told.reasons[0].what.startswith("honeyguide: ")
    with Store.open(tmp_path, "read") as store:
        assert store.generations.list_all()[0].name == "hybrid_svm+honeyguide"
