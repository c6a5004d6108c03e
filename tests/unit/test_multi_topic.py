"""Several topics in one strategy: who judges, who learns, and what is saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide import registry
from honeyguide.api.create import create
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.errors import ConfigError, ModelError
from honeyguide.learning import topics
from honeyguide.learning.topics import seed_urls
from honeyguide.multi_topic import MultiTopicStrategy, topic_names
from honeyguide.store.generations import pack_strategy, unpack_strategy
from honeyguide.strategies.keyword import Keyword
from honeyguide.types import Example, Link, Page, Reason, StrategyTraits, Url, Verdict


@dataclass(frozen=True)
class Fixed:
    """Says of pages what their titles say of its word."""

    traits: ClassVar[StrategyTraits] = StrategyTraits(learns=True)

    word: str
    heard: tuple[Example, ...] = ()

    def judge(self, page: Page) -> Verdict:
        said = dict(pair.split("=") for pair in page.title.split())
        return Verdict(float(said.get(self.word, 0)), (Reason("its title", 1.0),))

    def rank(self, links: Sequence[Link]) -> list[float]:
        return [float(dict(p.split("=") for p in x.anchor.split())[self.word]) for x in links]

    def explain(self, link: Link) -> tuple[Reason, ...]:
        return (Reason(f"{self.word} in its anchor", self.rank((link,))[0]),)

    def learn(self, examples: Sequence[Example]) -> Self:
        return replace(self, heard=tuple(examples)) if examples else self


BOTH: Any = MultiTopicStrategy("fixed", ("birds", "bats"), (Fixed("birds"), Fixed("bats")))
LINK = Link(Url("http://e.org/"), anchor="birds=0.3 bats=0.6")


def page(birds: float, bats: float, name: str = "p") -> Page:
    return Page(Url(f"http://e.org/{name}"), title=f"birds={birds} bats={bats}")


def example(birds: float, bats: float, by: Any, target: float, topic: str = "") -> Example:
    return Example(LINK, page(birds, bats, f"{birds}-{bats}-{by}"), target, by, topic=topic)


chances = st.floats(0, 1, allow_subnormal=False).map(lambda x: round(x, 3))


@given(chances, chances)
def test_the_best_verdict_counts_and_names_its_topic(birds: float, bats: float) -> None:
    verdict = BOTH.judge(page(birds, bats))
    assert verdict.score == max(birds, bats)
    assert verdict.topics == (birds, bats)
    best = "birds" if birds >= bats else "bats"
    assert verdict.reasons == (Reason(f"{best}: its title", 1.0),)
    assert BOTH.strategy_for("").judge(page(birds, bats)).score == birds
    assert BOTH.strategy_for("bats").judge(page(birds, bats)).score == bats


def test_links_are_as_good_as_the_best_says() -> None:
    assert BOTH.rank((LINK, LINK._replace(anchor="birds=0.9 bats=0.1"))) == [0.6, 0.9]
    assert BOTH.explain(LINK) == (Reason("bats: bats in its anchor", 0.6),)
    assert BOTH.rank(()) == []


def test_people_teach_the_topic_they_speak_of() -> None:
    told = (
        example(0.5, 0.5, "user", 1.0),
        example(0.4, 0.4, "seed", 0.0, "bats"),
        example(0.3, 0.7, "user", 1.0, "birds"),
    )
    birds, bats = BOTH.learn(told).parts
    assert birds.heard == (told[0], told[2])
    assert bats.heard == (told[1],)
    with pytest.raises(ModelError, match="known: birds, bats"):
        BOTH.strategy_for("fish")


def test_each_part_believes_its_own_verdicts() -> None:
    visit, good = example(0.3, 0.7, "visit", 0.7), example(0.9, 0.1, "judge", 1.0)
    unsure, bad = example(0.9, 0.5, "judge", 1.0), example(0.1, 0.1, "judge", 0.0)
    birds, bats = BOTH.learn((visit, good, unsure, bad)).parts
    assert [e.target for e in birds.heard] == [0.3, 1.0, 1.0, 0.0]
    assert [e.target for e in bats.heard] == [0.7, 0.0, 0.0], "of the unsure one it learns nothing"


def test_nothing_learned_is_the_same_strategy() -> None:
    assert BOTH.learn(()) is BOTH
    assert topic_names(BOTH) == ("birds", "bats")
    assert topic_names(Keyword(("owl",))) == ()


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        (("a",), (Fixed("a"),)),
        (("a", "a"), (Fixed("a"), Fixed("b"))),
        (("a", "b"), (Fixed("a"),)),
        (("a", "b"), (Fixed("a"), Keyword(("owl",)))),
        (tuple(map(str, range(11))), (Fixed("a"),) * 11),
    ],
)
def test_what_does_not_fit_together_is_refused(names: Any, parts: Any) -> None:
    with pytest.raises(ModelError):
        MultiTopicStrategy("fixed", names, parts)


# -- saving ------------------------------------------------------------------------------------

KEYWORDS: Any = MultiTopicStrategy(
    "keyword", ("birds", "bats"), (Keyword(("owl",)), Keyword(("bat",)))
)


@pytest.mark.parametrize("name", ["keyword", "it"])
def test_it_is_saved_and_loaded_without_naming_code(name: str) -> None:
    data = pack_strategy(name, KEYWORDS)
    found = unpack_strategy(
        data, registry.find_strategy if name == "keyword" else lambda _: MultiTopicStrategy
    )
    assert found == KEYWORDS


def test_one_topic_is_saved_as_ever() -> None:
    one = build_strategy(
        parse_settings({"topic": {"keywords": ["owl"]}, "crawl": {"strategy": "keyword"}})
    )
    assert type(one) is Keyword
    assert b"topics" not in pack_strategy("keyword", one)


@pytest.mark.parametrize(
    "damage",
    [
        {"kind": "nothing"},
        {"kind": 7},
        {"kind": "honeyguide"},
        {"names": ("birds", 7)},
        {"names": ("birds",)},
        {"parts": (Fixed("a"), Fixed("b"))},
        {"parts": ()},
    ],
)
def test_damaged_generations_are_refused(damage: dict[str, Any]) -> None:
    broken = MultiTopicStrategy("keyword", ("birds", "bats"), KEYWORDS.parts)
    for key, value in damage.items():
        object.__setattr__(broken, key, value)
    with pytest.raises(ModelError):
        unpack_strategy(pack_strategy("keyword", broken), registry.find_strategy, "keyword")


def test_a_generation_of_another_strategy_is_refused() -> None:
    with pytest.raises(ModelError):
        unpack_strategy(pack_strategy("keyword", KEYWORDS), registry.find_strategy, "honeyguide")
    data = pack_strategy("honeyguide", KEYWORDS)
    with pytest.raises(ModelError):
        unpack_strategy(data, registry.find_strategy, "honeyguide")


# -- settings ----------------------------------------------------------------------------------

BIRDS = {"name": "birds", "keywords": ["owl"], "seeds": ["http://e.org/"]}
BATS = {"name": "bats", "keywords": ["bat"], "good": ["http://e.org/bat"]}


def raw(*further: object, **first: object) -> dict[str, Any]:
    return {"topic": BIRDS | first, "topics": list(further), "crawl": {"strategy": "keyword"}}


def test_each_topic_gets_a_part_of_its_own() -> None:
    settings = parse_settings(raw(BATS, keyword_language="tr"))
    made: Any = build_strategy(settings)
    assert made.names == topics.topic_names(settings) == ("birds", "bats")
    assert [part.keywords for part in made.parts] == [("owl",), ("bat",)]
    assert {part.language for part in made.parts} == {"tr"}, "what is shared is said once"
    assert seed_urls(settings) == ("http://e.org/", "http://e.org/bat")
    assert topics.example_labels_by_topic(settings) == {"http://e.org/bat": {"bats": 1.0}}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({**BATS, "name": ""}, r"topics\[0\].name must be"),
        ({**BATS, "name": "Birds"}, "two topics have the name 'Birds'"),
        ({**BATS, "name": "a\nb"}, "must be a name"),
        ({**BATS, "name": "b" * 61}, "must be a name"),
        ({**BATS, "keyword": []}, r"unknown setting topics\[0\].keyword; did you mean"),
        ({**BATS, "seeds": ["http://e.org"]}, r"unknown setting topics\[0\].seeds"),
        ({**BATS, "keywords": "bat"}, r"topics\[0\].keywords must be a list"),
        ({"name": "bats"}, "nothing says what the topic 'bats' is"),
        ({**BATS, "distance": -1}, r"topics\[0\].distance"),
        ("bats", r"topics\[0\]"),
    ],
)
def test_mistakes_are_named(table: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_settings(raw(table))


def test_more_mistakes_are_named() -> None:
    with pytest.raises(ConfigError, match=r"topic\.name must be"):
        parse_settings(raw(BATS, name=""))
    with pytest.raises(ConfigError, match=r"write \[\[topics\]\]"):
        parse_settings({"topic": BIRDS, "topics": BATS})
    with pytest.raises(ConfigError, match="too many"):
        parse_settings(raw(*({**BATS, "name": str(n)} for n in range(10))))
    bats = {"name": "bats", "description": "bats"}
    with pytest.raises(ConfigError, match="the topic 'bats': the strategy 'ontology_ann' needs"):
        build_strategy(parse_settings(raw(bats) | {"crawl": {"strategy": "ontology_ann"}}))
    good = {"name": "bats", "good": ["http://e.org/bat"], "bad": ["http://e.org/bat"]}
    with pytest.raises(ConfigError, match=r"the topic 'bats': .* is both"):
        topics.example_labels_by_topic(parse_settings(raw(good)))
    with pytest.raises(ConfigError, match=r"the topic 'bats': .* keywords or a description"):
        build_strategy(
            parse_settings(raw({**good, "bad": []}) | {"crawl": {"strategy": "breadth"}})
        )


def test_topics_are_chosen_by_name() -> None:
    two, one = parse_settings(raw(BATS)), parse_settings({"topic": BIRDS})
    assert [topics.resolve_topic(two, name) for name in ("", "birds", "bats")] == ["", "", "bats"]
    with pytest.raises(ConfigError, match=r"did you mean 'bats'.*known: birds, bats"):
        topics.resolve_topic(two, "bat")
    assert topics.resolve_topic(one, "birds") == topics.resolve_topic(one, "") == ""
    with pytest.raises(ConfigError, match="has one only"):
        topics.resolve_topic(one, "bats")


def test_a_new_file_names_further_topics(tmp_path: Path) -> None:
    more = {"seeds": "http://e.org", "contact": "me@e.org", "keywords": ["owl"]}
    one = create(tmp_path / "birds", **more)  # type: ignore[arg-type]
    assert one.topics == ()
    assert "[[topics]]" in (tmp_path / "birds" / "topic.toml").read_text()
    two = create(tmp_path / "both", topics=[BATS], **more)  # type: ignore[arg-type]
    assert two.topics == ("both", "bats")
    assert two.settings.topics[0].good == ("http://e.org/bat",)
    for wrong in ({**BATS, "keywords": ["\ud800"]}, {**BATS, "seeds": []}, {"name": "bats"}):
        with pytest.raises(ConfigError):
            create(tmp_path / "none", topics=[wrong], **more)  # type: ignore[arg-type]
    assert not (tmp_path / "none").exists()
