"""A text beside its former self, word by word."""

from __future__ import annotations

import time

import pytest

from honeyguide.watch.version_diff import diff_words


def test_words_that_stayed_went_and_came() -> None:
    assert diff_words("the price is 12 euros today", "the price was 15 euros") == [
        ("same", "the price"),
        ("removed", "is 12"),
        ("added", "was 15"),
        ("same", "euros"),
        ("removed", "today"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "pieces"),
    [
        ("", "", []),
        ("a b", "a  b\n", [("same", "a b")]),
        ("", "a b", [("added", "a b")]),
        ("a b", "", [("removed", "a b")]),
        ("a", "b", [("removed", "a"), ("added", "b")]),
        ("a b", "a x b", [("same", "a"), ("added", "x"), ("same", "b")]),
    ],
)
def test_small_texts(old: str, new: str, pieces: list[tuple[str, str]]) -> None:
    assert diff_words(old, new) == pieces


def test_a_long_text_is_matched_where_it_can_be() -> None:
    words = [f"word{n}" for n in range(5_000)]
    pieces = diff_words(" ".join(words), " ".join([*words[:2_000], "new", *words[2_001:]]))
    assert pieces[1:3] == [("removed", "word2000"), ("added", "new")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a b " * 25_000, "b a " * 25_000),
        ("a a b " * 133, "a b b " * 133),
        ("x " * 400, "y x " * 400),
        (" ".join(map(str, range(20_000))), " ".join(map(str, range(20_000, 0, -1)))),
        ("a" * 5_000_000, "b" * 5_000_000),
    ],
)
def test_hostile_texts_are_bounded(old: str, new: str) -> None:
    begun = time.process_time()
    pieces = diff_words(old, new)
    assert time.process_time() - begun < 4
    assert pieces
