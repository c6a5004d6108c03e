"""Xu, Yoon & Tourassi: the two-tier utility learner, by its worked cases."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.errors import ConfigError
from honeyguide.frontier.order import ProportionalOrder
from honeyguide.models.feature_selection import (
    admit_features,
    admit_features_fast,
    pearson_r,
    rank_features,
    roc_auc,
)
from honeyguide.models.link_promise import (
    LEVELS,
    binned_confidence,
    confidence_factor,
    error_percentiles,
    fit_promise,
    nearest_confidence,
    pooled_confidence,
    relative_errors,
)
from honeyguide.models.regressors import prepare_ridge
from honeyguide.store.generations import pack_strategy, unpack_strategy
from honeyguide.strategies.user_utility import UserUtility
from honeyguide.text.keywords import phrase_odds
from honeyguide.types import UNKNOWN_SCORE, Example, Link, Page, Url

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
    link = Link(seen.url, Url("http://e.org/"), anchor=anchor, depth=1)
    return Example(link, seen, float(good), "user" if by == "user" else "visit", 0.1 + number % 7)


LABELS = [example(n, "user", good=n % 3 == 0) for n in range(60)]
VISITS = [replace(example(n), target=0.5) for n in range(100, 400)]


def trained(**parameters: object) -> UserUtility:
    made = UserUtility(warmup=0, **parameters)  # type: ignore[arg-type]
    return made.learn([*LABELS, *VISITS])


# Tier 1: feature screening


def test_psi_with_empty_cells_is_finite_and_orders_phrases() -> None:
    good, bad = np.array([5.0, 5.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0, 5.0])
    psi = phrase_odds(good, bad, 10, 10)
    assert psi.tolist() == pytest.approx(
        [5.5 * 10.5 / (5.5 * 0.5), 5.5 * 9.5 / (5.5 * 1.5), 1.5 * 10.5 / (9.5 * 0.5), 1 / 21]
    )
    assert rank_features(psi, good + bad, 1).tolist() == [0, 1, 2, 3]
    assert rank_features(psi, good + bad, 5).tolist() == [0, 1, 3], "too rare to count"
    assert rank_features(psi, good + bad, 1, both=True).tolist() == [0, 3, 1, 2], (
        "against counts too"
    )


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
    assert admit_features(score, len(values)) == 12  # type: ignore[arg-type]
    assert asked[-1] == 15, "0.79 is 4.8 % below the best, 0.788 is 5.06 %"


def test_admission_does_not_stop_before_ten_phrases() -> None:
    values = [0.9, *[0.5] * 9, 0.95, 0.9]
    asked, score = scores(*values)
    assert admit_features(score, len(values)) == 11  # type: ignore[arg-type]
    assert asked == list(range(1, 13))


def test_of_equal_scores_the_fewest_phrases_are_kept() -> None:
    for admit in (admit_features, admit_features_fast):
        assert admit(lambda n: 0.7 if n >= 3 else 0.6, 40) == 3
        assert admit(lambda n: 0.5, 0) == 0


@pytest.mark.parametrize("peak", [1, 4, 17, 50, 100])
def test_fast_admission_comes_near_the_peak_with_few_questions(peak: int) -> None:
    asked: list[int] = []

    def score(count: int) -> float:
        asked.append(count)
        return 1 - 0.002 * abs(count - peak)

    found = admit_features_fast(score, 100)
    assert abs(found - peak) <= max(1, peak // 50)
    assert len(asked) <= 45


def test_scores_by_hand() -> None:
    assert roc_auc(np.array([1.0, 1, 0, 0]), np.array([0.9, 0.4, 0.4, 0.1])) == 0.875
    assert roc_auc(np.ones(3), np.ones(3)) == 0.5
    assert pearson_r(np.array([0.0, 1, 2]), np.array([1.0, 3, 5])) == pytest.approx(1)
    assert pearson_r(np.array([0.0, 1]), np.array([1.0, 1])) == 0


# Tier 1: the learner


def test_phi_tells_good_from_bad_pages_and_says_why() -> None:
    crawler = trained()
    assert crawler.learned.phi is not None
    fresh = [example(n, good=n % 2 == 0) for n in range(1000, 1060)]
    said = np.array([crawler.judge(e.page).score for e in fresh])
    assert roc_auc(np.array([e.target for e in fresh]), said) > 0.95
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
        exact = prepare_ridge(rows, target).leave_one_out(2.0)
        for out in range(25):
            rest = np.arange(25) != out
            refitted = prepare_ridge(rows[rest], target[rest]).fit(2.0)
            assert exact[out] == pytest.approx(refitted.predict(rows[out : out + 1])[0])


def test_ten_levels_of_confidence() -> None:
    assert LEVELS.tolist() == [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05]
    errors = np.arange(101) / 100
    assert error_percentiles(errors) == pytest.approx(LEVELS), "ψ is the η-percentile of the errors"


def test_q_by_hand() -> None:
    psi = np.array([0.5, 0.4, 0.4, 0.3, 0.2, 0.2, 0.1, 0.1, 0.0, 0.0])
    summed = sum(eta * (1 - p) for eta, p in zip(LEVELS, psi, strict=True))
    assert confidence_factor(psi) == pytest.approx(summed / 4.55), (
        "4.55 is the most that the sum can be"
    )
    assert confidence_factor(np.zeros(10)) == 1
    assert confidence_factor(np.ones(10)) == 0
    assert relative_errors(np.array([0.5, 1.0, 0.1]), np.array([0.4, 0.2, 0.0])).tolist() == (
        pytest.approx([0.25, 1.0, 1.0])
    )


def test_confidence_to_the_letter_cancels_in_the_chance_of_a_link() -> None:
    chance = np.random.default_rng(5)
    rows = (chance.random((200, 8)) < 0.5).astype(float)
    target = np.clip(rows @ chance.random(8) / 4 + 0.1 * chance.random(200), 0, 1)
    familiar = chance.random(200)
    literal = fit_promise(rows, target, familiar, learner="ridge", confidence="global")
    said = literal.predict(rows)
    q = literal.trusted_value(said, familiar)
    assert q / q.sum() == pytest.approx(said / said.sum())
    local = fit_promise(rows, target, familiar, learner="ridge", confidence="binned")
    q = local.trusted_value(said, familiar)
    assert q / q.sum() != pytest.approx(said / said.sum(), rel=1e-3)


def test_a_bin_is_drawn_to_the_whole_as_by_twenty_errors() -> None:
    # Ten errors of 1 at Υ = 0.9, 90 of 0 at Υ = 0.1: the whole has ψ = 0 up to η = 0.9.
    said = np.array([0.1] * 90 + [0.9] * 10)
    truth = np.array([0.1] * 90 + [0.0] * 10)
    one = binned_confidence(truth, said, np.ones(100))
    everywhere = error_percentiles(relative_errors(truth, said))
    expected = confidence_factor((10 * np.ones(10) + 20 * everywhere) / 30)
    assert one.factors_of(np.array([0.95]), np.ones(1))[0] == pytest.approx(expected)
    assert pooled_confidence(truth, said).factors_of(np.array([0.95]), np.ones(1))[
        0
    ] == confidence_factor(everywhere)


def test_links_of_unknown_words_have_a_confidence_of_their_own() -> None:
    # The same promises: kept where the words are known, broken where they are not.
    said, familiar = np.full(200, 0.5), np.repeat([1.0, 0.0], 100)
    truth = np.where(familiar > 0, 0.5, 1.0)
    for one in (
        binned_confidence(truth, said, familiar),
        nearest_confidence(truth, said, familiar),
    ):
        known, strange = one.factors_of(np.array([0.5, 0.5]), np.array([0.5, 0.49]))
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
    told, *words = crawler.explain(links()[0])
    assert told.weight == said[0]
    assert all(abs(word.weight) >= 0.005 for word in words), "less would read 0"
    if learner == "ridge":  # stumps ask whether a bad word is missing, which no word can tell
        assert "“stori”" in [word.what for word in words]


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
    assert UserUtility.traits.order == "proportional"
    assert UserUtility.traits.learns_on_growth
    assert UserUtility.traits.learns_from_visits
    order = ProportionalOrder(1)
    first = [order.sort_key(0.8, 0) > order.sort_key(0.2, 0) for _ in range(4000)]
    assert np.mean(first) == pytest.approx(0.8, abs=0.03), "p = q ÷ Σq"


def test_temperature_sharpens_and_haste_prefers_fast_hosts() -> None:
    plain, hot = trained(), trained(temperature=2.0)
    assert np.array(hot.rank(links())) == pytest.approx(np.array(plain.rank(links())) ** 2)
    quick = trained(haste=1.0)
    ratio = np.array(quick.rank(links(7))) / np.array(plain.rank(links(7)))
    seconds = [0.1 + n % 7 for n in range(2000, 2007)]
    assert ratio == pytest.approx(0.1 / np.array(seconds))
    assert any("host" in reason.what for reason in quick.explain(links()[0]))


# Ours: the best first, beside what its pages are worth


def test_the_house_serves_the_best_first_and_wants_all_pages() -> None:
    made = UserUtility(house=True)
    assert made.traits.order == "best"
    assert (made.traits.parent_score, made.traits.uses_neighbours) == ("all", True)
    assert not UserUtility(house=True, neighbours=False).traits.uses_neighbours
    assert UserUtility.traits == UserUtility().traits == UserUtility(neighbours=False).traits
    assert UserUtility().traits.parent_score == "first", "the paper's"
    again = unpack_strategy(pack_strategy("it", made), lambda _: UserUtility)
    assert again.traits == made.traits


@pytest.mark.parametrize(
    "drawn", [{"warmup": 20}, {"temperature": 2.0}, {"confidence": "global"}], ids=str
)
def test_what_only_chance_has_is_no_part_of_the_house(drawn: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=f"strategy.{next(iter(drawn))}: with house = true"):
        UserUtility(house=True, **drawn)  # type: ignore[arg-type]


def test_a_promise_comes_to_what_the_pages_are_worth() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 1.0]] * 20)
    target = np.array([0.6, 0.2] * 20)
    made = fit_promise(rows, target, np.ones(40), learner="ridge", confidence="binned")
    assert made.usual == pytest.approx(0.4)
    # Odds of 1:1 for the pages; the promise has 4:1, and 2:3 is usual: 6:1 together.
    assert made.combine_with_pages(np.array([0.5]), np.array([0.8]))[0] == pytest.approx(6 / 7)
    assert made.combine_with_pages(np.array([0.3]), np.array([0.4]))[0] == pytest.approx(0.3), (
        "as usual"
    )
    ends = made.combine_with_pages(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0]))
    assert ((ends > 0) & (ends < 1)).all()
    assert (np.argsort(ends) == [0, 1, 2, 3]).all() or (np.argsort(ends) == [0, 2, 1, 3]).all()


def test_before_promises_the_house_goes_by_pages_and_then_by_both() -> None:
    new = UserUtility(house=True, keywords=("personal stories",)).learn(LABELS[:6])
    poor, fair = (links()[0]._replace(parent=p) for p in (0.1, 0.6))
    assert new.learned.upsilon is None
    assert new.rank([poor, fair]) == [0.1, 0.6], "keywords in the anchor have no say"
    assert "0.60" in new.explain(fair)[0].what
    crawler = UserUtility(house=True).learn([*LABELS, *VISITS])
    for parent in (0.1, 0.6):
        good, bad = (
            np.array(crawler.rank([e._replace(parent=parent) for e in kind]))
            for kind in (links()[::2], links()[1::2])
        )
        assert good.min() > bad.max(), "of equal pages the promising links"
        assert good.min() > parent > bad.max()
    same = [links()[0]._replace(parent=p) for p in (0.2, 0.5, 0.8)]
    assert np.all(np.diff(crawler.rank(same)) > 0), "of equal words those of better pages"
    one = links()[0]._replace(parent=0.6)
    place, words, *each = crawler.explain(one)
    assert place == ("the pages that it is on score 0.60", 0.6)
    assert words.what.startswith("its words promise 0.")
    assert ", where links usually reach 0." in words.what
    assert words.weight == crawler.rank([one])[0]
    assert "“stori” in the anchor" in [reason.what for reason in each]
    assert all(abs(reason.weight) >= 0.005 for reason in each)


@pytest.mark.parametrize("moved", [False, True])
def test_beside_pages_only_links_on_pages_teach(moved: bool) -> None:
    """Nor those that an example or a seed redirects to."""
    bare = [
        replace(e, link=Link(e.link.url, Url("http://old.org/") if moved else None, hops=moved))
        for e in VISITS
    ]
    assert UserUtility(house=True).learn([*LABELS[:6], *bare]).learned.upsilon is None
    assert UserUtility(warmup=0).learn([*LABELS[:6], *bare]).learned.upsilon is not None


def test_the_house_prefers_fast_hosts_before_promises_too() -> None:
    quick = UserUtility(house=True, haste=1.0)
    for taught in (LABELS[:6], [*LABELS, *VISITS]):
        made, plain = (one.learn(taught) for one in (quick, UserUtility(house=True)))
        some = [link._replace(parent=0.6) for link in links(4)]
        expected = [made._speed_factor(link) for link in some]
        assert len(set(expected)) > 1
        assert np.array(made.rank(some)) / plain.rank(some) == pytest.approx(expected)


def test_no_number_is_no_promise() -> None:
    crawler = UserUtility(house=True).learn([*LABELS, *VISITS])
    nothing = links()[0]._replace(parent=float("nan"))
    assert crawler.rank([nothing]) == crawler.rank([nothing._replace(parent=0.0)])


def test_what_was_learned_is_noted() -> None:
    made = UserUtility(house=True).learn(LABELS[:6])
    assert "nothing from the words of links yet" in made.note
    assert "from 360" in made.learn([*LABELS, *VISITS]).note
    assert "words of links" not in UserUtility().learn(LABELS).note, "drawn blindly"
    one = UserUtility(features=1).learn(LABELS)
    assert " on 1 phrase of 60 labelled pages" in one.note
    blank = Page(Url("http://e.org/blank"), text="Nothing at all")
    (reason,) = one.judge(blank).reasons
    assert reason.what == "none of 1 phrase is on it"


def test_the_house_reads_what_speaks_against_a_page() -> None:
    plain, house = (UserUtility(house=h).learn(LABELS).learned.phi for h in (False, True))
    against = UserUtility(against=True).learn(LABELS).learned.phi
    assert plain is not None
    assert house is not None
    assert against is not None
    assert house.features == against.features != plain.features


def test_promises_are_made_once_a_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    crawler = UserUtility(house=True).learn([*LABELS, *VISITS])
    first, asked = crawler.rank(links()), []
    real = UserUtility._link_snippet
    monkeypatch.setattr(UserUtility, "_link_snippet", lambda s, k: asked.append(k) or real(s, k))
    assert crawler.rank(links()[::-1]) == first[::-1]
    assert not asked
    # Another place of the same link has words of its own.
    other = links()[1]._replace(before="personal stories")
    crawler.rank([other])
    assert asked == [other]
    asked.clear()
    # Other labels, other promises.
    turned = [replace(label, target=1 - label.target) for label in LABELS]
    assert crawler.learn([*turned, *VISITS]).rank(links()) != first
    assert asked


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
    assert made.judge(LABELS[0].page).score == UNKNOWN_SCORE
    assert made.rank([links()[0]._replace(parent=0.3)]) == [0.3]


@pytest.mark.parametrize("learner", ["additive", "bagging", "kernel", "ridge", "stacking"])
def test_what_was_learned_survives_saving(learner: str) -> None:
    crawler = trained(learners=(learner,))
    again = unpack_strategy(pack_strategy("it", crawler), lambda _: UserUtility)
    assert again.judge(VISITS[0].page) == crawler.judge(VISITS[0].page)
    assert again.rank(links()) == crawler.rank(links())
    assert again.learn([*LABELS, *VISITS]).rank(links()) == crawler.rank(links())
    alone = [crawler.rank([link])[0] for link in links()]
    assert alone == crawler.rank(links()), "a link's score is its own"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=60), st.text(max_size=20), st.floats(0, 1)), max_size=30)
)
def test_whatever_the_web_says_it_is_borne(said: list[tuple[str, str, float]]) -> None:
    examples = [
        Example(
            Link(
                Url(f"http://e.org/{n // 2}"),
                Url("http://e.org/") if n % 5 else None,
                anchor=anchor,
                before=text,
                after=text,
            ),
            Page(Url(f"http://e.org/{n // 2}"), title=anchor, text=text, headings=(text,)),
            target,
            "user" if n % 3 else "visit",
        )
        for n, (text, anchor, target) in enumerate(said)
    ]
    for crawler in (UserUtility(warmup=0, haste=1.0), UserUtility(house=True, haste=1.0)):
        crawler = crawler.learn(examples)
        for e in examples:
            assert 0 <= crawler.judge(e.page).score <= 1
            assert 0 <= crawler.rank([e.link._replace(parent=e.target)])[0] <= 1
            assert crawler.explain(e.link)


def test_a_misspelt_learner_is_named() -> None:
    with pytest.raises(ConfigError, match=r"'aditive' is none of additive"):
        UserUtility(learners=("aditive",))
    with pytest.raises(ConfigError, match="share"):
        UserUtility(share=0.0)
