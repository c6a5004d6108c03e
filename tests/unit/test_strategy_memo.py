"""What is remembered between two generations."""

from __future__ import annotations

from honeyguide.models.link_scores import memoised_map


def test_only_what_is_new_is_asked_for_and_never_too_much_is_kept() -> None:
    memo: dict[str, int] = {}
    asked: list[list[str]] = []

    def sizes(things: list[str]) -> list[int]:
        asked.append(things)
        return [len(thing) for thing in things]

    def look(*words: str) -> list[int]:
        return memoised_map(memo, words, words, sizes, 3)

    assert look("a", "bb", "a") == [1, 2, 1]
    assert look("bb", "ccc") == [2, 3]
    assert asked == [["a", "bb"], ["ccc"]]
    assert look("a", "dddd") == [1, 4], "a fourth: it begins anew, and knows all it is asked"
    assert (asked[-1], len(memo)) == (["a", "dddd"], 2)
    assert look() == []
    before = dict(memo)
    assert look("v", "w", "x", "y") == [1, 1, 1, 1]
    assert memo == before, "too many at once: none is remembered"
