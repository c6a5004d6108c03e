"""The strategy that judges by categories."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from honeyguide.config.loading import parse_settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.errors import ConfigError, ModelError
from honeyguide.models.categories import load_category_model, save_category_model
from honeyguide.store.generations import pack_strategy, unpack_strategy
from honeyguide.strategies.topic_cnn import TopicCnn
from honeyguide.text.segments import TextTokenizer
from honeyguide.training.corpus import Corpus
from honeyguide.training.train import ModelKind, TrainingOptions, train_model
from honeyguide.types import UNKNOWN_SCORE, Example, Link, Page, StrategyTraits, Url, Verdict
from tests.unit.labelled import WORDS, rows, text

HOME = Url("http://e.org/")


def page(category: str, seed: int = 1000) -> Page:
    return Page(Url(f"http://e.org/{category}/{seed}"), text=text(category, seed))


def corpus(each: int = 20) -> Corpus:
    reading = TextTokenizer("en")
    names = sorted(WORDS)
    found = [(Page(HOME, text=said), names.index(label)) for said, label in rows(each)]
    segments = [reading.page_segments(page) for page, _ in found]
    return Corpus(segments, [label for _, label in found], tuple(names), reading)


@pytest.fixture(scope="module", params=["linear", "paper"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    kind: ModelKind = request.param
    folder = tmp_path_factory.mktemp(kind)
    save_category_model(train_model(kind, corpus(), TrainingOptions(epochs=30)), folder)
    return folder


def strategy(model: Path, *categories: str, **more: object) -> TopicCnn:
    topic = {"seeds": ["http://e.org/"], "model": str(model), "categories": list(categories)}
    raw = {"topic": topic, "crawl": {"strategy": "topic_cnn"}, "strategy": more}
    made = build_strategy(parse_settings(raw))
    assert isinstance(made, TopicCnn)
    return made


def test_it_judges_by_the_topics_categories(model: Path) -> None:
    birds = strategy(model, "birds")
    verdict = birds.judge(page("birds"))
    assert verdict.score > 0.6
    assert birds.judge(page("soup")).score < 0.3
    both = strategy(model, "birds", "soup")
    assert both.judge(page("birds")).score > 0.6 < both.judge(page("soup")).score
    assert both.judge(page("trains")).score < 0.5
    told = [reason.what for reason in verdict.reasons]
    assert told[0] == "category birds"
    assert any(word.strip("“”") in "plumag feather migrat nest wing beak sparrow finch egg song"
               for word in told[3:])  # fmt: skip


def test_the_border_of_either_rule_is_a_half(model: Path) -> None:
    known = load_category_model(model)
    chances = np.array([[0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.6, 0.2, 0.2], [0.8, 0.1, 0.1]])
    assert strategy(model, "birds")._topic_scores(known, chances) == [0.4, 0.3, 0.6, 0.8]
    strict = strategy(model, "birds", threshold=0.8)
    assert strict._topic_scores(known, chances) == [0.25, 0.1875, 0.375, 0.5]
    likeliest = strategy(model, "birds", rule="argmax")._topic_scores(known, chances)
    assert [score >= 0.5 for score in likeliest] == [True, False, True, True]
    assert likeliest == sorted(likeliest, key=lambda s: [0.57143, 0.42857, 0.75, 0.88889].index(s))


@pytest.mark.parametrize(
    ("categories", "said"),
    [
        ((), "which of these is the topic"),
        (("bird",), "did you mean 'birds'"),
        (("birds", "soup", "trains"), "every page would be relevant"),
    ],
)
def test_categories_must_be_some_of_the_models(
    model: Path, categories: tuple[str, ...], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        strategy(model, *categories)


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no model"):
        strategy(tmp_path, "birds")
    with pytest.raises(ConfigError, match=r"add topic\.model"):
        TopicCnn(categories=("birds",))
    with pytest.raises(ConfigError, match="above 0 and below 1"):
        TopicCnn(threshold=1.0)


def test_links_are_ranked_by_their_words_and_their_page(model: Path) -> None:
    birds = strategy(model, "birds")
    on = Link(HOME, HOME, parent=0.9)
    good, bad, silent, seed, poor = birds.rank(
        [
            on._replace(anchor="plumage and feather", before="nest", after="wing"),
            on._replace(anchor="onion soup", before="boil water", after="salt"),
            on,
            Link(HOME),
            on._replace(anchor="plumage and feather", before="nest", after="wing", parent=0.0),
        ]
    )
    assert good > bad
    assert good > poor > 0
    assert silent == 0.9
    assert seed == 1.0
    assert [r.what for r in birds.explain(on._replace(anchor="plumage feather nest"))] == [
        "the words of the link",
        "the pages that it is on score 0.90",
    ]
    assert birds.explain(on)[0].what == "the pages that it is on score 0.90"


def test_a_page_without_words_is_judged_by_keywords_or_not_at_all(model: Path) -> None:
    birds = strategy(model, "birds")
    assert birds.judge(Page(HOME)) == Verdict(0.0)
    named = replace(birds, keywords=("plumage",))
    assert named.judge(Page(HOME, headings=("Plumage",))).score > 0


def test_a_generation_refers_to_the_model_and_has_no_copy(model: Path, tmp_path: Path) -> None:
    birds = strategy(model, "birds")
    data = pack_strategy("topic_cnn", birds)
    assert len(data) < 2_000
    again = unpack_strategy(data, lambda _: TopicCnn)
    assert again == birds
    assert again.judge(page("birds")) == birds.judge(page("birds"))
    taught = birds.learn(lessons(12))
    assert unpack_strategy(pack_strategy("topic_cnn", taught), lambda _: TopicCnn).judge(
        page("soup")
    ) == taught.judge(page("soup"))
    fixed = strategy(model, "birds", adapts=False)
    assert fixed.learn(lessons(12)) is fixed
    assert not fixed.traits.learns
    assert birds.traits.learns
    other = tmp_path / "other"
    save_category_model(replace(load_category_model(model), card={"another": 1}), other)
    moved = replace(birds, model=str(other))
    with pytest.raises(ModelError, match="another one than this generation"):
        moved.judge(page("birds"))


@pytest.mark.parametrize("categories", [("nothing",), (), ("birds", "soup", "trains")])
def test_a_generation_whose_topic_is_not_the_models_is_refused(
    model: Path, categories: tuple[str, ...]
) -> None:
    tampered = replace(strategy(model, "birds"), categories=categories)
    again = unpack_strategy(pack_strategy("topic_cnn", tampered), lambda _: TopicCnn)
    with pytest.raises(ModelError, match="does not fit its model"):
        again.judge(page("birds"))
    with pytest.raises(ModelError, match="does not fit its model"):
        again.rank([Link(HOME, source=HOME, anchor="feather")])


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), float("-inf")])
def test_weights_are_finite(model: Path, weight: float) -> None:
    for name in ("parent_weight", "link_weight"):
        with pytest.raises(ConfigError, match="at least 0 and at most 1"):
            replace(strategy(model, "birds"), **{name: weight})  # type: ignore[arg-type]


def lessons(each: int) -> list[Example]:
    found = []
    for n in range(each):
        for category, target in (("birds", 1.0), ("soup", 0.0)):
            one = page(category, n)
            found.append(Example(Link(one.url, HOME), one, target, "user"))
    return found


def test_without_a_model_it_learns_from_labels() -> None:
    fresh = TopicCnn()
    assert fresh.judge(page("birds")).score == UNKNOWN_SCORE
    assert fresh.rank([Link(HOME, HOME, parent=0.3)]) == [0.3]
    assert fresh.learn(lessons(9)) is fresh, "nine of a kind are too few"
    visits = [replace(lesson, by="visit") for lesson in lessons(12)]
    assert fresh.learn(visits) is fresh, "its own verdicts teach it nothing"
    taught = fresh.learn(lessons(12))
    assert taught.judge(page("birds")).score > 0.5 > taught.judge(page("soup")).score
    assert fresh.judge(page("birds")).score == UNKNOWN_SCORE
    links = [Link(HOME, HOME, anchor=a, parent=0.5) for a in ("plumage nest", "boil broth")]
    good, bad = taught.rank(links)
    assert good > bad
    again = unpack_strategy(pack_strategy("it", taught), lambda _: TopicCnn)
    assert again.judge(page("birds")) == taught.judge(page("birds"))
    assert again.rank(links) == taught.rank(links)
    assert fresh.learn(lessons(12)).rank(links) == taught.rank(links), "the same, the same"


def test_who_learns_goes_by_all_pages_of_a_link_and_those_beside_it(model: Path) -> None:
    fresh = TopicCnn()
    assert (fresh.traits.parent_score, fresh.traits.uses_neighbours) == ("all", True)
    apart = TopicCnn(neighbours=False)
    assert apart.traits == fresh.traits._replace(uses_neighbours=False)
    assert unpack_strategy(pack_strategy("it", apart), lambda _: TopicCnn).traits == apart.traits
    one = Link(HOME, HOME, parent=0.3)
    assert fresh.explain(one)[0] == ("the pages that it is on score 0.30", 0.3)
    given = TopicCnn(model=str(model), categories=("birds",), adapts=False)
    assert given.traits == StrategyTraits(), "a model has learned, and goes by the page"
    assert TopicCnn(model=str(model), categories=("birds",)).traits == fresh.traits
    assert given.explain(one)[0].what == "on a page with verdict 0.30"


def test_a_damaged_network_of_a_stranger_is_refused() -> None:
    taught = TopicCnn(epochs=1, fewest=5).learn(lessons(5))
    pupil = taught.pupil
    assert pupil is not None
    with pytest.raises(ModelError):
        replace(pupil, out=pupil.out[:, :1])
    with pytest.raises(ModelError):
        replace(pupil, embedding=np.array(["x"]))
    with pytest.raises(ModelError):
        replace(pupil, words=pupil.words + "\nmore")
    with pytest.raises(ModelError, match="other categories"):
        replace(taught, pupil=replace(pupil, categories=("a", "b")))
    with pytest.raises(ModelError, match="unknown way"):
        replace(taught, pupil=replace(pupil, settings={"language": [1]}))
    assert asdict(TextTokenizer("en")) == pupil.settings


def test_keywords_speak_until_there_is_a_network() -> None:
    named = TopicCnn(keywords=("plumage",))
    assert named.judge(page("birds")).score > named.judge(page("soup")).score
    good, bad = named.rank(
        [Link(HOME, HOME, anchor="plumage", parent=0.5), Link(HOME, HOME, anchor="x", parent=0.5)]
    )
    assert good > bad


@pytest.mark.parametrize(
    "said",
    [
        "東京は日本の首都であり、世界最大の都市圏の一つである。人口は千万人を超えた。",
        "zxqv wqplt mnbzx 1984 7 a b " * 20,
        "zxqv wqplt mnbzx " * 30 + "plumage",
    ],
)
def test_words_that_the_model_never_saw_are_no_evidence(model: Path, said: str) -> None:
    for name in WORDS:
        verdict = strategy(model, name).judge(Page(HOME, text=said))
        assert verdict.score == 0.0
        assert verdict.reasons[-1].what.endswith("words are known to the model")
    birds = replace(strategy(model, "birds"), keywords=("wqplt", "東京"))
    by_words = birds.judge(Page(HOME, title="wqplt 東京", text=said))
    assert by_words.score > 0, "the topic's own words are still looked for"
    link = Link(HOME, HOME, anchor="zxqv wqplt", parent=0.7)
    assert strategy(model, "birds").rank([link]) == [0.7], "as a link without words"
    assert strategy(model, "birds").judge(page("birds")).reasons[0].what == "category birds"
