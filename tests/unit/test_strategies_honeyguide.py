"""The honeyguide strategy: critic, apprentice, and what each starts from."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from honeyguide.errors import ModelError
from honeyguide.models.anchor_meaning import AnchorMeaning
from honeyguide.models.link_model import FEATURE_PRIOR, LinkFeatures
from honeyguide.store.generations import pack_strategy, unpack_strategy
from honeyguide.strategies.honeyguide import Honeyguide
from honeyguide.text.word_vectors import text_vectors
from honeyguide.types import UNKNOWN_SCORE, Concept, Example, Link, LinkStats, Page, Url

GOOD = "owl feather nest wing beak prey night owl silent flight"
BAD = "engine wheel piston steel fuel brake clutch gear torque"
PLAIN = LinkStats(0.1, 5.0, 0.1, 5.0, 0.1, 0.2, 0.2, 0, 1, 50)


def page(name: str, text: str) -> Page:
    return Page(Url(f"http://e.org/{name}"), title=text.split()[0], text=text)


def link(name: str, anchor: str = "", yields: LinkStats | None = PLAIN, **more: object) -> Link:
    source = Url("http://e.org/list")
    return Link(Url(f"http://e.org/{name}"), source=source, anchor=anchor, yields=yields, **more)  # type: ignore[arg-type]


def examples() -> list[Example]:
    found = []
    for n in range(6):
        for name, text, target in (("good", GOOD, 1.0), ("bad", BAD, 0.0)):
            url = Url(f"http://e.org/{name}{n}")
            one = Page(url, title=text.split()[n % 3], text=f"{text} word{n}")
            found.append(Example(Link(url, channel="example"), one, target, "seed"))
    return found


def visits(count: int, good_anchor: str, bad_anchor: str) -> list[Example]:
    """Followed links: those with one anchor led to good pages, the others did not."""
    found = []
    for n in range(count):
        for name, text, anchor, target in (
            ("g", GOOD, good_anchor, 0.95),
            ("b", BAD, bad_anchor, 0.05),
        ):
            where = link(f"{name}{n}", anchor)
            found.append(Example(where, page(f"{name}{n}", text), target, "visit"))
    return found


@pytest.fixture(scope="module")
def taught() -> Honeyguide:
    return Honeyguide().learn(examples())


def test_it_knows_nothing_of_an_unstated_topic() -> None:
    assert Honeyguide().judge(page("x", GOOD)).score == UNKNOWN_SCORE


@pytest.mark.parametrize(
    "stated",
    [
        {"keywords": ("owl",)},
        {"description": "owls and their feathers"},
        {"concepts": (Concept("owl", 0), Concept("engine", 5))},
    ],
)
def test_words_concepts_or_a_sentence_are_enough(stated: dict[str, object]) -> None:
    strategy = Honeyguide(**stated)  # type: ignore[arg-type]
    assert strategy.judge(page("x", GOOD)).score > strategy.judge(page("y", BAD)).score
    good, bad = strategy.rank((link("1", "the silent owl"), link("2", "engine repair")))
    assert good > bad


def test_examples_teach_the_critic(taught: Honeyguide) -> None:
    good, bad = taught.judge(page("x", GOOD)), taught.judge(page("y", BAD))
    assert good.score > 0.8 > 0.2 > bad.score
    assert any("owl" in reason.what or "feather" in reason.what for reason in good.reasons)


def test_the_critic_reads_links_before_any_was_followed(taught: Honeyguide) -> None:
    owl, engine, here = taught.rank((link("1", "owl nest"), link("2", "engine"), link("3", "here")))
    assert owl > here > engine


def test_reasons_add_up_to_the_score(taught: Honeyguide) -> None:
    learned = taught.learn([*examples(), *visits(15, "read more", "contact")])
    one = link("1", "read more about the owl")
    total = sum(reason.weight for reason in learned.explain(one))
    assert learned.rank((one,))[0] == pytest.approx(1 / (1 + math.exp(-total)), abs=0.01)


def test_yields_count(taught: Honeyguide) -> None:
    rich = PLAIN._replace(siblings=0.9, group=0.8)
    lifted, plain = taught.rank((link("1", "here", rich), link("2", "here")))
    assert lifted > plain
    near, far = taught.rank(
        (link("1", "here", PLAIN._replace(parents=0.9, best=0.9)), link("2", "here"))
    )
    assert near > far


def test_the_apprentice_learns_signs_that_the_critic_cannot_know(taught: Honeyguide) -> None:
    first, second = link("1", "read more"), link("2", "contact")
    before = taught.rank((first, second))
    learned = taught.learn([*examples(), *visits(15, "read more", "contact")])
    after = learned.rank((first, second))
    assert after[0] - after[1] > before[0] - before[1]
    assert after[0] > after[1]
    said = " ".join(reason.what for reason in learned.explain(first))
    assert "“more” in the anchor" in said or "“read” in the anchor" in said


def test_without_signs_or_prior_it_still_ranks(taught: Honeyguide) -> None:
    for part in ("use_prior", "use_words", "use_signs", "use_meanings"):
        less = replace(taught, **{part: False}).learn([*examples(), *visits(9, "owl", "engine")])
        assert all(0 <= score <= 1 for score in less.rank((link("1", "owl"), link("2", "x"))))


def test_a_links_score_does_not_depend_on_its_neighbours(taught: Honeyguide) -> None:
    links = [link(str(n), f"owl {n}") for n in range(40)]
    together = taught.rank(links)
    assert together == [score for one in links for score in taught.rank((one,))]


def test_its_own_verdicts_do_not_teach_the_page_model() -> None:
    wrong = [Example(link(f"w{n}"), page(f"w{n}", f"{BAD} {n}"), 1.0, "judge") for n in range(30)]
    alone, misled = (Honeyguide().learn([*examples(), *more]) for more in ((), wrong))
    assert alone.judge(page("y", BAD)).score == misled.judge(page("y", BAD)).score


def test_the_same_examples_leave_the_page_model_alone(taught: Honeyguide) -> None:
    some = [*examples(), *visits(3, "owl", "engine")]
    learned = taught.learn(some)
    again = learned.learn([*some, *visits(3, "owl nest", "engine")])
    assert again.page_machine is learned.page_machine
    assert again.moved != learned.moved


def test_one_kind_of_page_teaches_nothing() -> None:
    strategy, good = Honeyguide(), [e for e in examples() if e.target]
    assert replace(strategy, use_meanings=False).learn(good).page_machine is None
    assert strategy.learn(good).page_machine is None


def test_optimism_shrinks_as_a_host_is_visited() -> None:
    curious = Honeyguide(keywords=("owl",), explore=0.5)
    new, old = PLAIN._replace(host_count=0.0), PLAIN._replace(host_count=40.0)
    unknown, known = curious.rank((link("1", "x", new), link("2", "x", old)))
    assert unknown > known
    unknown, known = replace(curious, explore=0.0).rank((link("1", "x", new), link("2", "x", old)))
    assert unknown == known


def test_a_damaged_generation_is_refused(taught: Honeyguide) -> None:
    with pytest.raises(ModelError, match="other features"):
        replace(taught, moved=(1.0,))
    with pytest.raises(ModelError, match="lack weights"):
        replace(taught, sign_names="a owl", sign_weights=None)


def test_what_was_learned_before_neighbours_counted_is_kept(taught: Honeyguide) -> None:
    old = replace(taught, moved=tuple(0.1 for _ in FEATURE_PRIOR[:-1]))
    assert old.moved[-1] == 0.0
    with pytest.raises(ModelError):
        replace(taught, moved=tuple(0.1 for _ in FEATURE_PRIOR[:-2]))


def test_links_beside_good_ones_are_lifted(taught: Honeyguide) -> None:
    link = Link(Url("http://a.org/x"), Url("http://a.org/"), yields=PLAIN)
    good = link._replace(yields=PLAIN._replace(beside=0.8))
    assert taught.rank((good,)) > taught.rank((link,))
    assert any("next to it" in reason.what for reason in taught.explain(good))
    assert not any("next to it" in reason.what for reason in taught.explain(link))


def titled(title: str, target: float) -> Example:
    one = Page(Url(f"http://e.org/{title.replace(' ', '-')}"), title=title, text=title)
    return Example(Link(one.url, channel="example"), one, target, "seed")


DISEASES = [
    *(titled(title, 1.0) for title in ("Typhoid fever", "Measles", "Smallpox", "Malaria")),
    *(titled(title, 0.0) for title in ("Rail gauge", "Flying Scotsman", "Signal box", "Tram")),
]


def test_anchors_count_by_their_meaning() -> None:
    cholera, engine = link("1", "Cholera"), link("2", "Steam locomotive")
    learned = Honeyguide().learn(DISEASES)
    disease, other = learned.rank((cholera, engine))
    assert disease > 2 * other
    assert any(
        "“Cholera” is close in meaning to" in reason.what and reason.weight > 0
        for reason in learned.explain(cholera)
    )
    for less in (Honeyguide(use_meanings=False), Honeyguide(language="tr")):
        same, as_well = less.learn(DISEASES).rank((cholera, engine))
        assert same == as_well


def test_stated_words_count_by_their_meaning_until_examples_do() -> None:
    stated = Honeyguide(keywords=("epidemic disease",))
    cholera, engine = link("1", "Cholera"), link("2", "Steam locomotive")
    disease, other = stated.rank((cholera, engine))
    assert disease > other
    learned = stated.learn([titled("Rail gauge", 1.0), titled("Malaria", 0.0)])
    disease, other = learned.rank((cholera, engine))
    assert disease < other


def test_followed_anchors_teach_what_is_meant() -> None:
    learned = Honeyguide().learn([*examples(), *visits(9, "Cholera", "Railway")])
    assert learned.meaning is not None
    disease, engine = learned.meaning.log_odds(text_vectors(("Smallpox", "Steam locomotive")))
    assert disease > engine + 0.5


def test_what_is_meant_is_saved_with_a_generation() -> None:
    learned = Honeyguide().learn(DISEASES)
    loaded = unpack_strategy(pack_strategy("honeyguide", learned), lambda _: Honeyguide)
    links = link("1", "Cholera"), link("2", "Steam locomotive")
    assert loaded.rank(links) == learned.rank(links)
    with pytest.raises(ModelError, match="not that"):
        replace(learned, meaning="owl")
    with pytest.raises(ModelError, match="equally long"):
        replace(learned, meaning=AnchorMeaning(np.zeros(3)))


def test_the_prior_has_a_reason_for_every_sign() -> None:
    assert len(FEATURE_PRIOR) == len(LinkFeatures._fields)
    assert (
        min(
            FEATURE_PRIOR.anchor, FEATURE_PRIOR.siblings, FEATURE_PRIOR.parents + FEATURE_PRIOR.best
        )
        > 0
    )
    assert FEATURE_PRIOR.barren <= 0


def filler(words: int) -> str:
    return " ".join(f"thing{n}" for n in range(words))


@pytest.mark.parametrize("title", ["The owl", "Night birds"])
def test_the_only_keyword_makes_a_page_relevant(title: str) -> None:
    """In the title, or several times in the text; not by one mention in passing."""
    strategy = Honeyguide(keywords=("owl",))
    mentions = 1 if "owl" in title else 5
    text = f"{filler(150)} {'owl ' * mentions} {filler(100)}"
    assert strategy.judge(Page(Url("http://e.org/"), title=title, text=text)).score >= 0.5
    passing = Page(Url("http://e.org/"), title="Night birds", text=f"{filler(250)} owl")
    assert strategy.judge(passing).score < 0.5


def test_far_concepts_count_less_with_every_step() -> None:
    far = tuple(Concept(name, n) for n, name in enumerate(("owl", "raptor", "bird", "animal")))
    strategy = Honeyguide(concepts=far)
    scores = [
        strategy.judge(page(c.name, f"{filler(99)} {c.name} {c.name} {c.name}")).score for c in far
    ]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0


@pytest.mark.parametrize("count", [1, 3, 5])
def test_labels_add_to_what_keywords_say(count: int) -> None:
    stated = Honeyguide(keywords=("owl",))
    alike = page("x", GOOD)
    seen = visits(20, "here", "there")
    labels = [
        Example(link(f"l{n}"), page(f"l{n}", f"{GOOD} {n}"), 1.0, "user") for n in range(count)
    ]
    bad = [Example(link(f"b{n}"), page(f"b{n}", f"{BAD} {n}"), 0.0, "judge") for n in range(3)]
    learned = stated.learn([*labels, *bad, *seen])
    assert learned.page_good == count
    assert learned.judge(alike).score >= stated.judge(alike).score
    assert learned.judge(alike).score > learned.judge(page("y", BAD)).score


def test_good_pages_and_unjudged_ones_are_enough() -> None:
    """Nobody named a bad page; visits that nobody judged show what is common."""
    good = [e for e in examples() if e.target]
    strategy = Honeyguide()
    assert strategy.learn([*good, *visits(9, "owl", "engine")]).page_machine is None
    learned = strategy.learn([*good, *visits(12, "owl", "engine")])
    assert learned.judge(page("x", GOOD)).score > 0.5 > learned.judge(page("y", BAD)).score


def test_of_a_description_the_words_of_the_seed_count() -> None:
    """*Bird* names the topic, *eat* and *live* stand on every page about animals."""
    bird = "bird wing eat live feather bird nest bird"
    animals = [f"cow horse eat live eat live farm{n % 4} live" for n in range(40)]
    machines = [f"engine wheel piston gear fuel{n % 4}" for n in range(40)]
    texts = [bird, *(f"bird owl wing nest eat{n % 3}" for n in range(8)), *animals, *machines]
    seen = [
        Example(link(f"v{n}", channel="seed" if n == 0 else ""), page(f"v{n}", text), 0.5, "visit")
        for n, text in enumerate(texts)
    ]
    stated = Honeyguide(description="Birds, where they live and what they eat")
    learned = stated.learn_verdicts(seen)
    bird_worth, live_worth, eat_worth = learned.term_worths
    assert bird_worth == 1.0
    assert max(live_worth, eat_worth) < 0.7
    assert learned.judge(page("x", "bird nest owl wing")).score > 0.5
    assert learned.judge(page("y", animals[0])).score < 0.5


def test_a_word_of_the_topic_is_worth_no_more_than_all() -> None:
    with pytest.raises(ModelError, match="worth"):
        Honeyguide(keywords=("owl",), term_worths=(1.5,))


def test_a_seed_without_any_stated_word_is_a_door() -> None:
    """No page has the keyword: nothing is known of the topic, and the seed is no picture of it."""
    kinds = (GOOD, BAD, "soup kettle onion salt boil broth", "castle king sword moat siege")
    texts = [f"{kinds[n % 4]} word{n % 3}" for n in range(40)]
    seen = [
        Example(link(f"v{n}", channel="seed" if n == 0 else ""), page(f"v{n}", text), 0.0, "visit")
        for n, text in enumerate(texts)
    ]
    learned = Honeyguide(keywords=("diabetes",)).learn_verdicts(seen)
    assert learned.judge(page("x", GOOD)).score < 0.1
