"""Xu, Yoon & Tourassi: the two-tier utility learner, by its worked cases."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.errors import ConfigError
from honeyguide.frontier.order import Proportional
from honeyguide.models.confidence import (
    LEVELS,
    binned,
    factor,
    nearest,
    percentiles,
    pooled,
    relative,
)
from honeyguide.models.promise import promise
from honeyguide.models.ridge import ridge
from honeyguide.models.screening import admitted, admitted_fast, auc, pearson, ranked
from honeyguide.store.generations import pack, unpack
from honeyguide.strategies.user_utility import UserUtility
from honeyguide.text.keywords import odds
from honeyguide.types import UNKNOWN, Example, Link, Page, Url

GOOD = ("breast cancer survivor", "my story", "chemotherapy diary", "support group", "diagnosis")
BAD = ("stock market", "football results", "side effects leaflet", "privacy policy", "recipes")


def page(number: int, good: bool, chance: random.Random) -> Page:
    said = chance.sample(GOOD if good else BAD, 3) + chance.sample(GOOD + BAD, 1)
    text = ". ".join(f"The {phrase} of the day" for phrase in said)
    return Page(Url(f"http://h{number % 7}.org/{number}"), title=said[0].title(), text=text)


def example(number: int, by: str = "visit", *, good: bool | None = None) -> Example:
    chance = random.Random(number)
    good = chance.random() < 0.3 if good is None else good
    seen = page(number, good, chance)
    anchor = f"{'personal stories' if good else 'quarterly news'} {chance.choice('abcdefgh')}"
    link = Link(seen.url, Url("http://e.org/"), anchor=anchor)
    return Example(link, seen, float(good), "user" if by == "user" else "visit", 0.1 + number % 7)


LABELS = [example(n, "user", good=n % 3 == 0) for n in range(60)]
VISITS = [replace(example(n), target=0.5) for n in range(100, 400)]


def trained(**parameters: object) -> UserUtility:
    made = UserUtility(warmup=0, **parameters)  # type: ignore[arg-type]
    return made.learn([*LABELS, *VISITS])


# Tier 1: feature screening


def test_psi_with_empty_cells_is_finite_and_orders_phrases() -> None:
    good, bad = np.array([5.0, 5.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0, 5.0])
    psi = odds(good, bad, 10, 10)
    assert psi.tolist() == pytest.approx(
        [5.5 * 10.5 / (5.5 * 0.5), 5.5 * 9.5 / (5.5 * 1.5), 1.5 * 10.5 / (9.5 * 0.5), 1 / 21]
    )
    assert ranked(psi, good + bad, 1).tolist() == [0, 1, 2, 3]
    assert ranked(psi, good + bad, 5).tolist() == [0, 1, 3], "too rare to count"
    assert ranked(psi, good + bad, 1, both=True).tolist() == [0, 3, 1, 2], "against counts too"


def scores(*values: float) -> tuple[list[int], object]:
    asked: list[int] = []

    def score(count: int) -> float:
        asked.append(count)
        return values[count - 1]

    return asked, score


def test_admission_stops_after_a_drop_of_more_than_five_percent() -> None:
    rising = [0.5 + 0.03 * n for n in range(12)]  # the best: 0.83, with 12 phrases
    values = [*rising, 0.80, 0.79, 0.788, 0.99]
    asked, score = scores(*values)
    assert admitted(score, len(values)) == 12  # type: ignore[arg-type]
    assert asked[-1] == 15, "0.79 is 4.8 % below the best, 0.788 is 5.06 %"


def test_admission_does_not_stop_before_ten_phrases() -> None:
    values = [0.9, *[0.5] * 9, 0.95, 0.9]
    asked, score = scores(*values)
    assert admitted(score, len(values)) == 11  # type: ignore[arg-type]
    assert asked == list(range(1, 13))


def test_of_equal_scores_the_fewest_phrases_are_kept() -> None:
    for admit in (admitted, admitted_fast):
        assert admit(lambda n: 0.7 if n >= 3 else 0.6, 40) == 3
        assert admit(lambda n: 0.5, 0) == 0


@pytest.mark.parametrize("peak", [1, 4, 17, 50, 100])
def test_fast_admission_comes_near_the_peak_with_few_questions(peak: int) -> None:
    asked: list[int] = []

    def score(count: int) -> float:
        asked.append(count)
        return 1 - 0.002 * abs(count - peak)

    found = admitted_fast(score, 100)
    assert abs(found - peak) <= max(1, peak // 50)
    assert len(asked) <= 45


def test_scores_by_hand() -> None:
    assert auc(np.array([1.0, 1, 0, 0]), np.array([0.9, 0.4, 0.4, 0.1])) == 0.875
    assert auc(np.ones(3), np.ones(3)) == 0.5
    assert pearson(np.array([0.0, 1, 2]), np.array([1.0, 3, 5])) == pytest.approx(1)
    assert pearson(np.array([0.0, 1]), np.array([1.0, 1])) == 0


# Tier 1: the learner


def test_phi_tells_good_from_bad_pages_and_says_why() -> None:
    crawler = trained()
    assert crawler.learned.phi is not None
    fresh = [example(n, good=n % 2 == 0) for n in range(1000, 1060)]
    said = np.array([crawler.judge(e.page).score for e in fresh])
    assert auc(np.array([e.target for e in fresh]), said) > 0.95
    reasons = crawler.judge(fresh[0].page).reasons
    assert any("text: “" in reason.what for reason in reasons)


def test_a_label_of_the_user_stands_above_one_given_before() -> None:
    seeds = [replace(label, by="seed", target=1 - label.target) for label in LABELS[:2]]
    one = UserUtility().learn([*LABELS, *seeds]).learned
    assert one.labels == UserUtility().learn(LABELS).learned.labels
    assert one.labels != UserUtility().learn([*LABELS[2:], *seeds]).learned.labels


def test_a_label_of_the_user_stands_above_the_verdict() -> None:
    odd = [replace(e, target=0.123) for e in LABELS[:1]]
    learned = UserUtility(warmup=0).learn([*odd, *LABELS[1:], *VISITS]).learned
    assert learned.utilities[0] == pytest.approx(0.123)


# Tier 2: confidence


def test_leave_one_out_equals_as_many_refits() -> None:
    chance = np.random.default_rng(4)
    for columns in (5, 40):
        rows = (chance.random((25, columns)) < 0.4).astype(float)
        target = chance.random(25)
        exact = ridge(rows, target).left_out(2.0)
        for out in range(25):
            rest = np.arange(25) != out
            refitted = ridge(rows[rest], target[rest]).fit(2.0)
            assert exact[out] == pytest.approx(refitted.predict(rows[out : out + 1])[0])


def test_ten_levels_of_confidence() -> None:
    assert LEVELS.tolist() == [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05]
    errors = np.arange(101) / 100
    assert percentiles(errors) == pytest.approx(LEVELS), "ψ is the η-percentile of the errors"


def test_q_by_hand() -> None:
    psi = np.array([0.5, 0.4, 0.4, 0.3, 0.2, 0.2, 0.1, 0.1, 0.0, 0.0])
    summed = sum(eta * (1 - p) for eta, p in zip(LEVELS, psi, strict=True))
    assert factor(psi) == pytest.approx(summed / 4.55), "4.55 is the most that the sum can be"
    assert factor(np.zeros(10)) == 1
    assert factor(np.ones(10)) == 0
    assert relative(np.array([0.5, 1.0, 0.1]), np.array([0.4, 0.2, 0.0])).tolist() == (
        pytest.approx([0.25, 1.0, 1.0])
    )


def test_confidence_to_the_letter_cancels_in_the_chance_of_a_link() -> None:
    chance = np.random.default_rng(5)
    rows = (chance.random((200, 8)) < 0.5).astype(float)
    target = np.clip(rows @ chance.random(8) / 4 + 0.1 * chance.random(200), 0, 1)
    familiar = chance.random(200)
    literal = promise(rows, target, familiar, learner="ridge", confidence="global")
    said = literal.said(rows)
    q = literal.weigh(said, familiar)
    assert q / q.sum() == pytest.approx(said / said.sum())
    local = promise(rows, target, familiar, learner="ridge", confidence="binned")
    q = local.weigh(said, familiar)
    assert q / q.sum() != pytest.approx(said / said.sum(), rel=1e-3)


def test_a_bin_is_drawn_to_the_whole_as_by_twenty_errors() -> None:
    # Ten errors of 1 at Υ = 0.9, 90 of 0 at Υ = 0.1: the whole has ψ = 0 up to η = 0.9.
    said = np.array([0.1] * 90 + [0.9] * 10)
    truth = np.array([0.1] * 90 + [0.0] * 10)
    one = binned(truth, said, np.ones(100))
    everywhere = percentiles(relative(truth, said))
    expected = factor((10 * np.ones(10) + 20 * everywhere) / 30)
    assert one.of(np.array([0.95]), np.ones(1))[0] == pytest.approx(expected)
    assert pooled(truth, said).of(np.array([0.95]), np.ones(1))[0] == factor(everywhere)


def test_links_of_unknown_words_have_a_confidence_of_their_own() -> None:
    # The same promises: kept where the words are known, broken where they are not.
    said, familiar = np.full(200, 0.5), np.repeat([1.0, 0.0], 100)
    truth = np.where(familiar > 0, 0.5, 1.0)
    for one in (binned(truth, said, familiar), nearest(truth, said, familiar)):
        known, strange = one.of(np.array([0.5, 0.5]), np.array([0.5, 0.49]))
        assert known > strange + 0.5


# Tier 2: choosing links


def links(count: int = 40) -> list[Link]:
    return [example(n, good=n % 2 == 0).link for n in range(2000, 2000 + count)]


@pytest.mark.parametrize("confidence", ["binned", "global", "knn"])
@pytest.mark.parametrize("learner", ["ridge", "additive"])
def test_upsilon_tells_promising_links_by_their_words(confidence: str, learner: str) -> None:
    crawler = trained(confidence=confidence, link_learner=learner)
    said = np.array(crawler.rank(links()))
    assert ((said > 0) & (said <= 1)).all()
    assert said[::2].mean() > 1.3 * said[1::2].mean()
    assert any("“stori”" in reason.what for reason in crawler.explain(links()[0]))


def test_warm_up_is_uniform_and_ends() -> None:
    warming = UserUtility(warmup=1000).learn([*LABELS, *VISITS])
    assert warming.learned.visits == 360
    assert set(warming.rank(links())) == {0.5}
    assert warming.learned.phi is not None, "pages are judged meanwhile"
    assert warming.learned.upsilon is None
    warm = replace(warming, warmup=360).learn([*LABELS, *VISITS])
    assert len(set(warm.rank(links()))) > 1
    assert UserUtility().warmup == 1000, "the paper's"
    assert warming.learn([*LABELS, *VISITS[:9]]) is warming, "nothing new to say meanwhile"


def test_it_is_drawn_in_proportion_and_taught_at_every_tenth() -> None:
    assert UserUtility.habits.order == "proportional"
    assert UserUtility.habits.grows
    assert UserUtility.habits.visits
    order = Proportional(1)
    first = [order.key(0.8, 0) > order.key(0.2, 0) for _ in range(4000)]
    assert np.mean(first) == pytest.approx(0.8, abs=0.03), "p = q ÷ Σq"


def test_temperature_sharpens_and_haste_prefers_fast_hosts() -> None:
    plain, hot = trained(), trained(temperature=2.0)
    assert np.array(hot.rank(links())) == pytest.approx(np.array(plain.rank(links())) ** 2)
    quick = trained(haste=1.0)
    ratio = np.array(quick.rank(links(7))) / np.array(plain.rank(links(7)))
    seconds = [0.1 + n % 7 for n in range(2000, 2007)]
    assert ratio == pytest.approx(0.1 / np.array(seconds))
    assert any("host" in reason.what for reason in quick.explain(links()[0]))


# Growing


def test_more_visits_teach_upsilon_and_leave_phi() -> None:
    first = trained()
    second = first.learn([*LABELS, *VISITS, *(example(n) for n in range(500, 540))])
    assert second.learned.phi is first.learned.phi
    assert second.learned.upsilon is not first.learned.upsilon
    assert second.learned.visits == first.learned.visits + 40


def test_a_new_label_teaches_phi_which_judges_the_visits_anew() -> None:
    first = trained()
    turned = [replace(label, target=1 - label.target) for label in LABELS]
    second = first.learn([*turned, *VISITS])
    assert second.learned.phi is not first.learned.phi
    before, after = (
        dict(zip(s.learned.read.tolist(), s.learned.utilities.tolist(), strict=True))
        for s in (first, second)
    )
    assert before.keys() == after.keys()
    moved = np.corrcoef([before[k] for k in before], [after[k] for k in before])[0, 1]
    assert moved < -0.8, "what was good is bad now"
    said = np.array(second.rank(links()))
    assert said[1::2].mean() > said[::2].mean()


def test_a_visit_without_text_keeps_the_verdict_it_had() -> None:
    bare = replace(VISITS[0], page=Page(VISITS[0].page.url), target=0.37)
    learned = UserUtility(warmup=0).learn([*LABELS, bare]).learned
    assert 0.37 in [round(u, 6) for u in learned.utilities.tolist()]


# Bad input


@pytest.mark.parametrize(
    ("examples", "note"),
    [
        ([LABELS[0]], "1 good and 0 bad"),
        ([e for e in LABELS if e.target == 1], "0 bad"),
        (VISITS, "0 good and 0 bad"),
        ([replace(e, page=Page(e.page.url)) for e in LABELS], "no phrase"),
    ],
    ids=["one", "one class", "no labels", "empty pages"],
)
def test_what_cannot_be_learned_is_said_and_the_keywords_judge(
    examples: list[Example], note: str
) -> None:
    made = UserUtility(keywords=("breast cancer",), warmup=0)
    learned = made.learn(examples)
    assert note in learned.learned.note
    assert learned.judge(LABELS[0].page) == made.judge(LABELS[0].page)
    assert all(0 <= score <= 1 for score in learned.rank(links()))


def test_five_examples_and_contradictions_are_borne() -> None:
    few = UserUtility(warmup=0).learn(LABELS[:5])
    assert 0 <= few.judge(LABELS[0].page).score <= 1
    torn = [
        replace(e, link=e.link._replace(url=Url(e.link.url + f"?{v}")), target=float(v))
        for e in LABELS[:20]
        for v in (0, 1)
    ]
    said = [UserUtility(warmup=0).learn(torn).judge(e.page).score for e in LABELS[:5]]
    assert all(0.2 <= score <= 0.8 for score in said), "half of them said so"


def test_a_page_that_says_nothing_is_not_good_because_most_labels_are() -> None:
    labels = [*(e for e in LABELS if e.target), *[e for e in LABELS if not e.target][:5]]
    blank = Page(Url("http://e.org/blank"), text="Nothing at all")
    literal = UserUtility(blanks=0.0, learners=("additive",)).learn(labels)
    padded = UserUtility(learners=("additive",)).learn(labels)
    assert padded.judge(blank).score < min(0.3, literal.judge(blank).score)
    assert padded.judge(labels[0].page).score > 0.5
    few = LABELS[:16]  # 6 good and 10 bad: enough for a ratio of 1, and nothing is added
    one, two = (UserUtility(blanks=b, learners=("ridge",)).learn(few) for b in (0.0, 1.0))
    assert [one.judge(e.page) for e in VISITS[:9]] == [two.judge(e.page) for e in VISITS[:9]]


def test_untrained_without_a_topic_everything_is_possible() -> None:
    made = UserUtility(warmup=0)
    assert made.judge(LABELS[0].page).score == UNKNOWN
    assert made.rank([links()[0]._replace(parent=0.3)]) == [0.3]


@pytest.mark.parametrize("learner", ["additive", "bagging", "kernel", "ridge", "stacking"])
def test_what_was_learned_survives_saving(learner: str) -> None:
    crawler = trained(learners=(learner,))
    again = unpack(pack("it", crawler), lambda _: UserUtility)
    assert again.judge(VISITS[0].page) == crawler.judge(VISITS[0].page)
    assert again.rank(links()) == crawler.rank(links())
    assert again.learn([*LABELS, *VISITS]).rank(links()) == crawler.rank(links())
    alone = [crawler.rank([link])[0] for link in links()]
    assert alone == crawler.rank(links()), "a link's score is its own"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=60), st.text(max_size=20), st.floats(0, 1)), max_size=12)
)
def test_whatever_the_web_says_it_is_borne(said: list[tuple[str, str, float]]) -> None:
    examples = [
        Example(
            Link(Url(f"http://e.org/{n // 2}"), anchor=anchor, before=text, after=text),
            Page(Url(f"http://e.org/{n // 2}"), title=anchor, text=text, headings=(text,)),
            target,
            "user" if n % 3 else "visit",
        )
        for n, (text, anchor, target) in enumerate(said)
    ]
    crawler = UserUtility(warmup=0, haste=1.0).learn(examples)
    for e in examples:
        assert 0 <= crawler.judge(e.page).score <= 1
        assert 0 <= crawler.rank([e.link])[0] <= 1
        assert crawler.explain(e.link)


def test_a_misspelt_learner_is_named() -> None:
    with pytest.raises(ConfigError, match=r"'aditive' is none of additive"):
        UserUtility(learners=("aditive",))
    with pytest.raises(ConfigError, match="share"):
        UserUtility(share=0.0)
