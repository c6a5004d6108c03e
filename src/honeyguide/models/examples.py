"""Which examples a strategy is trained with, where several speak of the same page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from honeyguide.types import Example, Url

_AUTHORITY = {"visit": 0, "judge": 1, "seed": 2, "user": 3}


def settled(examples: Iterable[Example]) -> dict[Url, Example]:
    """One example a page, the newest last: a person's word before our own, of equals the last."""
    best: dict[Url, Example] = {}
    for example in examples:
        known = best.get(example.page.url)
        if known is None or _AUTHORITY[example.by] >= _AUTHORITY[known.by]:
            best.pop(example.page.url, None)
            best[example.page.url] = example
    return best


def chosen(examples: Sequence[Example], most: int) -> list[Example]:
    """At most so many of them: people's words first, then the newest verdicts.

    ``visit`` examples are left out: they repeat what the strategy itself said, sure or not.
    """
    told = settled(example for example in examples if example.by != "visit")
    people = [e for e in told.values() if e.by != "judge"][-most:]
    judged = [e for e in told.values() if e.by == "judge"]
    room = most - len(people)
    return people + (judged[-room:] if room else [])


def both_kinds(examples: Sequence[Example]) -> bool:
    """Whether there is something to tell apart."""
    return len({example.target >= 0.5 for example in examples}) == 2
