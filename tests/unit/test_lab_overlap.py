"""Two crawls' results compared: sites, documents, key words."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.lab.overlap import (
    MIN_COSINE,
    ComparedDocument,
    SharedCounts,
    compare_documents,
    rank_phrases,
    to_document,
)

WORDS = [
    f"{a}{b}" for a in ("bee", "hive", "wax", "comb", "moth") for b in ("lark", "stone", "mill")
]


def page(number: int, host: str = "a.org", seed: int = 0) -> ComparedDocument:
    dice = random.Random(number * 7919 + seed)
    return to_document(f"http://{host}/{number}", " ".join(dice.choices(WORDS, k=60)))


def test_a_crawl_is_all_of_itself() -> None:
    pages = [page(n, f"h{n % 3}.org") for n in range(10)]
    found = compare_documents(pages, pages)
    assert found.sites == SharedCounts(3, 3, 3, 3)
    assert found.documents.shares == found.words.shares == (1.0, 1.0)


def test_strangers_share_nothing_and_nothing_is_no_error() -> None:
    one = [to_document("http://a.org/", "honey hive nectar")]
    two = [to_document("http://b.org/", "engine copper market"), to_document("http://c.org/", "")]
    found = compare_documents(one, two)
    assert {found.sites.shares, found.documents.shares, found.words.shares} == {(0.0, 0.0)}
    assert compare_documents([], []).documents.shares == (0.0, 0.0)


def test_shares_are_of_each_side() -> None:
    both = page(1, "www.same.org")
    others = to_document("http://news.same.org/", "engine"), to_document("http://o.org/", "copper")
    found = compare_documents([both], [both, *others])
    assert found.sites == SharedCounts(1, 2, 1, 1), "a site is a registrable domain"
    assert found.documents.shares == (1.0, 1 / 3)
    assert found.words.shares == pytest.approx((1.0, 15 / 17))


def test_a_line_more_makes_no_other_document() -> None:
    text = " ".join(random.Random(1).choices(WORDS, k=200))
    one, two = to_document("http://a.org/", text), to_document("http://b.org/", text + " copyright")
    assert compare_documents([one], [two, page(5)]).documents.first_shared == 1


def test_stop_words_and_endings_do_not_count() -> None:
    assert to_document("http://a.org/", "The bees and the hives, 2007").counts == {
        "bee": 1,
        "hive": 1,
    }


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12))
def test_none_that_is_alike_is_missed(seed: int, first: int, second: int) -> None:
    dice = random.Random(seed)
    some = [
        to_document("http://a.org/", " ".join(dice.choices(WORDS[:6], k=dice.randint(0, 30))))
        for _ in range(first + second)
    ]
    ours, theirs = some[:first], some[first:]
    rarity = {
        term: math.log(1 + len(some) / sum(term in d.counts for d in some))
        for one in some
        for term in one.counts
    }

    def cosine(one: ComparedDocument, two: ComparedDocument) -> float:
        x, y = ({t: (1 + math.log(n)) * rarity[t] for t, n in d.counts.items()} for d in (one, two))
        sizes = math.sqrt(sum(v * v for v in x.values()) * sum(v * v for v in y.values()))
        return sum(v * y.get(t, 0) for t, v in x.items()) / sizes if sizes else 0.0

    scores = [[cosine(one, two) for two in theirs] for one in ours]
    if any(abs(score - MIN_COSINE) < 1e-9 for row in scores for score in row):
        return  # too close to call
    expected = sum(any(score >= MIN_COSINE for score in row) for row in scores)
    assert compare_documents(ours, theirs).documents.first_shared == expected


@pytest.mark.parametrize("text", ["", "\x00" * 50, "ş" * 100_000, "<" * 1000])
def test_odd_texts_do_no_harm(text: str) -> None:
    one = [to_document("http://a.org/", text)]
    assert compare_documents(one, one).documents.first == 1


def test_phrases_are_ranked_by_the_pages_that_have_them() -> None:
    def document(*phrases: str) -> ComparedDocument:
        return ComparedDocument("a.org", Counter(), {phrase: phrase for phrase in phrases})

    ours = [document("wax moth", "queen"), document("wax moth"), document("honey")]
    theirs = [document("honey"), document("honey", "hive")]
    assert rank_phrases(ours, theirs) == (["wax moth", "queen", "honey"], ["honey", "hive"])
    assert rank_phrases([], []) == ([], [])
