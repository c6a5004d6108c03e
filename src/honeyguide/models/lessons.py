"""Which examples a strategy is trained with."""

from __future__ import annotations

from collections.abc import Sequence

from honeyguide.types import Example, Url


def settled(examples: Sequence[Example], most: int) -> list[Example]:
    """One example a page, at most so many: people's words first, then the newest verdicts.

    ``visit`` examples are left out: they repeat what the strategy itself said, sure or not.
    """
    told: dict[Url, Example] = {}
    for example in examples:
        if example.by == "visit":
            continue
        before = told.get(example.page.url)
        if before is None or before.by == "judge" or example.by != "judge":
            told.pop(example.page.url, None)
            told[example.page.url] = example
    people = [e for e in told.values() if e.by != "judge"][-most:]
    judged = [e for e in told.values() if e.by == "judge"]
    room = most - len(people)
    return people + (judged[-room:] if room else [])


def both_kinds(examples: Sequence[Example]) -> bool:
    """Whether there is something to tell apart."""
    return len({example.target >= 0.5 for example in examples}) == 2
