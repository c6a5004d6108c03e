"""A collection's generations from outside: list them, compare two, go back to one."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from honeyguide import registry
from honeyguide.errors import ConfigError
from honeyguide.learning.gate import HELD_BACK, Trial, errors
from honeyguide.protocols import Strategy
from honeyguide.store.generations import Generation
from honeyguide.store.store import Store
from honeyguide.types import Example

_PAGES = 500
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Listed:
    generation: Generation
    live: bool
    visits: int
    """Pages it decided about."""
    relevant: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A page that two generations judge differently."""

    url: str
    one: float
    other: float
    label: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two generations on the same pages: the labelled ones, and the newest visits."""

    one: int
    other: int
    labels: int
    errors: tuple[float, float] | None
    """Mean squared errors on labelled pages; None without labels."""
    pages: int
    changed: int
    """Pages that one calls relevant and the other does not."""
    moved: tuple[Moved, ...]
    """Where they differ most."""


def listed(store: Store) -> list[Listed]:
    live, decided = store.live(), store.decided()
    return [
        Listed(g, g.number == live, *decided.get(g.number, (0, 0))) for g in store.generations()
    ]


def trial_of(generation: Generation) -> Trial | None:
    """How it did on labels that were held back; None: it was not tried."""
    return Trial.told(generation.note)


def held_back(generation: Generation) -> bool:
    """Whether the gate did not let it decide."""
    return generation.note.startswith(HELD_BACK)


def compare(store: Store, one: int, other: int, threshold: float) -> Comparison:
    """Judge the same pages by two generations, here and now."""
    first, second = (_load(store, number) for number in (one, other))
    labels = {label.url: label.value for _, label in store.labels()}
    labelled: list[Example] = []
    moved: list[Moved] = []
    changed = pages = 0
    newest = store.counts().visits
    rows = [row for url in labels for row in store.visit(url)[-1:] if row.has_page]
    rows += [
        row
        for row in store.visits(page=True, since=max(0, newest - _PAGES))
        if row.url not in labels
    ]
    for row in rows:
        page = store.page(row.url)
        label = labels.get(row.url)
        foreign = row.ungated is not None and label is None  # neither of the two decided
        if page is None or row.verdict is None or foreign:
            continue
        if label is not None:
            labelled.append(Example(row.link, page, label, "user"))
        a, b = first.judge(page).score, second.judge(page).score
        pages += 1
        changed += (a >= threshold) != (b >= threshold)
        moved.append(Moved(row.url, a, b, label))
    moved.sort(key=lambda m: -abs(m.one - m.other))
    told = (fmean(errors(first, labelled)), fmean(errors(second, labelled))) if labelled else None
    return Comparison(
        one, other, len(labelled), told, pages, changed, tuple(m for m in moved[:_SHOWN])
    )


def use(store: Store, number: int, strategy: str) -> None:
    """Go back, or forward, to this generation; a crawl that runs takes it up at once."""
    _load(store, number)
    chosen = next(g for g in store.generations() if g.number == number)
    if chosen.name != strategy:
        raise ConfigError(
            f"generation {number} is one of the strategy {chosen.name!r}, but this topic uses "
            f"{strategy!r}; set crawl.strategy in topic.toml to go back to it"
        )
    with store.transaction():
        store.use_generation(number)
        if held_back(chosen):  # who insists on it means what the labels say now
            store.set_meta("taught", str(max((n for n, _ in store.labels()), default=0)))


def _load(store: Store, number: int) -> Strategy:
    known = [generation.number for generation in store.generations()]
    if number not in known:
        raise ConfigError(
            f"there is no generation {number}; known: {known[0]} to {known[-1]}"
            if known
            else "there are no generations yet; crawl first"
        )
    strategy: Strategy = store.load_generation(number, registry.find)
    return strategy
