from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from honeyguide.store import Store
from honeyguide.store.duplicates import KeyIndex, TextSketcher, estimate_resemblance
from honeyguide.types import DuplicateOf, Page, Url, Visit
from tests.unit.store_visits import good, prose

VOCABULARY = [f"{a}{b}{n}" for a in ("hon", "ka", "su") for b in "eyıöç" for n in range(60)]


def text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(VOCABULARY, k=words))


def changed(chance: random.Random, words: list[str], least: float) -> list[str]:
    """The words with as many changes as leave at least that Jaccard similarity of shingles."""
    before = shingles(words)
    result = words
    while True:
        next_ = list(result)
        next_[chance.randrange(len(next_))] = chance.choice(VOCABULARY)
        after = shingles(next_)
        if len(before & after) / len(before | after) < least:
            return result
        result = next_


def shingles(words: list[str]) -> set[tuple[str, ...]]:
    return set(zip(words, words[1:], words[2:], strict=False))


def see(store: Store, number: int, words: str) -> DuplicateOf | None:
    visit = good(number, text=words)
    found = store.duplicates.find_duplicate(visit.link.url, words)
    with store.transaction():
        store.append_visits([visit])
    return found


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path, "crawl") as opened:
        yield opened


def test_equal_texts_are_found_whatever_their_case_and_blanks(store: Store) -> None:
    assert see(store, 1, "Just a few  Words") is None
    copy = see(store, 2, "just a FEW\n\twords ")
    assert copy == DuplicateOf(good(1).link.url, exact=True)
    assert see(store, 3, "just a few other words") is None
    assert see(store, 4, "") is None
    assert see(store, 5, "  \n ") is None


def test_near_copies_are_found_and_others_are_not(store: Store) -> None:
    chance = random.Random(5)
    found = wrong = 0
    for n in range(150):
        words = text(chance, chance.choice([60, 120, 400])).split()
        assert see(store, 3 * n, " ".join(words)) is None
        copy = see(store, 3 * n + 1, " ".join(changed(chance, words, 0.9)))
        found += copy is not None and copy.of == good(3 * n).link.url
        wrong += see(store, 3 * n + 2, " ".join(changed(chance, words, 0.65))) is not None
    assert found >= 143
    assert wrong <= 3


def test_copies_are_found_after_reopening(tmp_path: Path) -> None:
    long, short = prose(7), "short text"
    with Store.open(tmp_path, "crawl") as store:
        see(store, 1, long)
        see(store, 2, short)
    with Store.open(tmp_path, "crawl") as store:
        assert see(store, 3, long + " indeed") == DuplicateOf(good(1).link.url, exact=False)
        assert see(store, 4, long) == DuplicateOf(good(1).link.url, exact=True)
        assert see(store, 5, short) == DuplicateOf(good(2).link.url, exact=True)


def test_copies_inside_a_batch_are_found(store: Store) -> None:
    words = prose(3)
    assert store.duplicates.find_duplicate(good(1).link.url, words) is None
    assert store.duplicates.find_duplicate(good(2).link.url, words) == DuplicateOf(
        good(1).link.url, exact=True
    )
    near = store.duplicates.find_duplicate(good(3).link.url, words + " more")
    assert near == DuplicateOf(good(1).link.url, exact=False)
    with store.transaction():
        store.append_visits([good(n, text=words) for n in (1, 2)] + [good(3, text=words + " more")])
    assert store.duplicates.find_duplicate(good(4).link.url, words) == DuplicateOf(
        good(1).link.url, exact=True
    )


def test_a_page_is_no_copy_of_its_own_past(store: Store) -> None:
    words = prose(3)
    for more in ("", " one", " two", ""):
        assert see(store, 1, words + more) is None
    assert see(store, 2, words) == DuplicateOf(good(1).link.url, exact=True)


def test_a_rolled_back_text_was_not_seen(tmp_path: Path) -> None:
    words = prose(4)
    with Store.open(tmp_path, "crawl") as store:

        def failing() -> None:
            with store.transaction():
                store.append_visits([good(1, text=words)])
                raise ZeroDivisionError

        store.duplicates.find_duplicate(good(1).link.url, words)
        with pytest.raises(ZeroDivisionError):
            failing()
        # Another visit takes the number that was free again; the text must not go with it.
        assert see(store, 5, prose(5)) is None
        with store.transaction():
            store.append_visits([good(1, text=words)])
        assert see(store, 2, words) == DuplicateOf(good(1).link.url, exact=True)
    with Store.open(tmp_path, "crawl") as store:
        assert see(store, 3, words) == DuplicateOf(good(1).link.url, exact=True)


def test_texts_that_were_asked_about_and_dropped_are_forgotten(store: Store) -> None:
    for n in range(3000):
        store.duplicates.find_duplicate(Url(f"https://e.org/{n}"), f"text number {n}")
    assert len(store.duplicates._waiting) <= 1024
    assert len(store.duplicates._keys) <= 1024


def test_another_algorithms_signatures_are_forgotten(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        see(store, 1, prose(1))
        store.set_meta("sketches", "something older")
    with Store.open(tmp_path, "crawl") as store:
        assert see(store, 2, prose(1) + " more") is None
        assert see(store, 3, prose(1)) == DuplicateOf(good(1).link.url, exact=True)


def test_scripts_without_spaces_can_resemble() -> None:
    sketcher = TextSketcher()
    chance = random.Random(1)
    signs = [chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(400)]
    one = sketcher.sketch_text("".join(signs))
    signs[200] = "蜜"
    two = sketcher.sketch_text("".join(signs))
    assert one is not None
    assert two is not None
    assert estimate_resemblance(one.signature, two.signature) > 0.9


@pytest.mark.parametrize(
    "words",
    [
        "a",
        "a b",
        "a b c",
        "x" * 1_000_000,
        "a b " * 200_000,
        "\ud800 " * 100,
        "蜜" * 50_000,
        "\x00" * 9,
    ],
)
def test_no_text_is_too_odd_for_a_sketch(words: str) -> None:
    sketch = TextSketcher().sketch_text(words)
    assert sketch is None or len(sketch.bands) in (0, 8)
    assert sketch == TextSketcher().sketch_text(words.replace(" ", "\n  "))


def test_many_texts_of_one_template_stay_cheap(store: Store) -> None:
    chance = random.Random(2)
    frame = text(chance, 300).split()
    for n in range(300):
        words = [*frame, *text(chance, 100).split()]
        page = Page(Url(f"https://e.org/{n}"), text=" ".join(words))
        store.duplicates.find_duplicate(page.url, page.text)
        with store.transaction():
            store.append_visits([Visit(good(n).link._replace(url=page.url), 1.0, page=page)])
    index = store.duplicates._index
    assert index is not None
    sketch = TextSketcher().sketch_text(" ".join([*frame, "new"]))
    assert sketch is not None
    assert len(index.find(sketch.bands, 8)) <= 64


def test_keys_find_what_was_added_through_all_merges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("honeyguide.store.duplicates._MAX_FRESH", 50)
    chance = random.Random(3)
    start = [(chance.randrange(-1000, 1000), n) for n in range(200)]
    arrays = np.array(start, np.int64).T
    keys = KeyIndex(arrays[0], arrays[1])
    expected: dict[int, set[int]] = {}
    for key, visit in start:
        expected.setdefault(key, set()).add(visit)
    for visit in range(200, 2000):
        some = [chance.randrange(-(2**63), 2**63) for _ in range(3)] + [chance.randrange(9)]
        keys.add(some, visit)
        for key in some:
            expected.setdefault(key, set()).add(visit)
    for key, visits in expected.items():
        assert keys.find([key], 10_000) == visits
        assert len(keys.find([key, 2**62 + 1], 2)) >= min(2, len(visits))
    assert keys.find([123_456_789], 5) == set()
    assert len(keys._runs) < 8
