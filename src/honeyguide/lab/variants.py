"""A strategy as a comparison names it: ``hybrid_svm:teacher=none,kernel=linear``.

Two strategies as one are a pair, ``topic_cnn+honeyguide``, or the same in words,
``critic=topic_cnn,links=honeyguide``; parameters of a half are ``critic.threshold=0.3``. ``order``
is that of the frontier. Parameters that are lists join their values: ``fields=url+anchor``.

``teacher`` is ``none`` (static: it learns from the topic's examples and never again),
``automatic``, or ``labels``: a person who answers truthfully for one visited page in five, fifty
times at most (``one_in``, ``answers``). ``asks`` says which pages: ``passing`` (as they come by),
or one after every five, ``chosen`` as ``honeyguide ask`` does or at ``random`` from the same
pages. ``every`` is the pages between two generations (0: labels alone bring one). ``language``
names the languages that pages must be in (``tr``, ``tr+az``), and ``predict=false`` lets them be
heard only after the download. The rest are the strategy's own parameters.

``engine=lab`` puts a search engine at the crawler's side, and then these are read as well:
``reach`` (the share of the web that the engine knows), ``thinks`` (simulated seconds until it
answers), ``queries`` (how many a person asks: out of the topic's keywords), and ``mode``,
``compose``, ``per_minute``, ``per_month`` and ``most_queries`` as they stand in ``[search]``.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self, get_origin, get_type_hints

from xxhash import xxh3_64_intdigest

from honeyguide import registry
from honeyguide.config.settings import Settings
from honeyguide.errors import ConfigError
from honeyguide.lab.search_engine import LAB_ENGINE_URL
from honeyguide.lab.synthetic.topology import parse_value
from honeyguide.lab.web import without_scheme
from honeyguide.learning.label_queries import label_questions, unlabelled_rows
from honeyguide.protocols import Strategy
from honeyguide.store.store import Store
from honeyguide.types import Example, Label, Link, Page, Reason, StrategyTraits, Url, Verdict
from honeyguide.url import url_fingerprint

ONE_IN = 5
TEACHERS = {"none": "none", "automatic": "automatic", "labels": "interactive", "both": "both"}
_ASK_MODES = ("passing", "chosen", "random")
_OWN_KEYS = ("teacher", "every", "asks", "answers", "one_in", "language", "predict", "order")
_HALVES = ("critic", "links")
_ORDERS = ("strategy", "best", "breadth", "proportional")
_SEARCH_KEYS = ("mode", "compose", "per_minute", "per_month", "most_queries")


@dataclass(frozen=True, slots=True)
class EngineVariant:
    """How a search engine is asked."""

    reach: float = 1.0
    """Share of the web that the engine knows."""
    latency_s: float = 0.0
    """Simulated seconds until it answers."""
    queries: int = 0
    """How many a person asks."""
    settings: tuple[tuple[str, Any], ...] = ()
    """Others of ``[search]``."""

    def search_settings(self, keywords: Sequence[str]) -> dict[str, Any]:
        """The settings of that name."""
        own = keyword_queries(keywords)[: self.queries]
        return {"engine": "searxng", "url": LAB_ENGINE_URL, "queries": own, **dict(self.settings)}


@dataclass(frozen=True, slots=True)
class StrategyVariant:
    name: str
    teacher: str = "automatic"
    every: int = 14
    asks: str = "passing"
    answers: int = 50
    one_in: int = ONE_IN
    """Of the pages that come by, one in so many is spoken of."""
    language: tuple[str, ...] = ()
    """Languages that pages must be in."""
    predict: bool = True
    order: str = "strategy"
    parameters: tuple[tuple[str, Any], ...] = ()
    engine: EngineVariant | None = None
    """None: no engine is asked."""

    @property
    def has_person(self) -> bool:
        """Whether a person answers."""
        return self.teacher in ("labels", "both")


def parse_variant(text: str) -> StrategyVariant:
    name, _, rest = text.partition(":")
    if "=" in name:
        name, rest = "", text
    own: dict[str, Any] = {}
    parameters: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, mark, value = part.partition("=")
        if not mark:
            raise ConfigError(f"{text!r}: {part!r} should be key=value")
        if key == "gate" and value not in ("true", "false"):
            key = "language"  # its old name, which is that of a parameter of hybrid_svm as well
        (own if key in _OWN_KEYS else parameters)[key] = _parse_field(text, key, value)
    if not name:
        if not all(key in parameters for key in _HALVES):
            raise ConfigError(f"{text!r}: name a strategy, or both critic=… and links=…")
        name = registry.PAIR_MARK.join(str(parameters.pop(key)) for key in _HALVES)
    engine = _parse_engine(text, parameters)
    return StrategyVariant(name, **own, engine=engine, parameters=tuple(parameters.items()))


def strategy_table(variant: StrategyVariant) -> dict[str, Any]:
    """What stands under ``[strategy]``: parameters of a half in a table of their own, and those
    that are lists as lists."""
    found: dict[str, Any] = {}
    pair = registry.PAIR_MARK in variant.name
    names = dict(zip(_HALVES, registry.halves_of(variant.name), strict=True)) if pair else {}
    for key, value in variant.parameters:
        half, mark, rest = key.partition(".")
        table, name, key = found, variant.name, key
        if mark and half in names:
            table, name, key = found.setdefault(half, {}), names[half], rest
        hint = get_type_hints(registry.find_strategy(name)).get(key)
        table[key] = str(value).split("+") if get_origin(hint) is tuple else value
    return found


def _parse_field(text: str, key: str, value: str) -> Any:
    if known := {"teacher": tuple(TEACHERS), "asks": _ASK_MODES, "order": _ORDERS}.get(key):
        if value not in known:
            raise ConfigError(f"{text!r}: {key} is one of {', '.join(known)}")
        return value
    if key in ("every", "answers", "one_in"):
        least = 1 if key == "one_in" else 0
        if not value.isdecimal() or int(value) < least:
            raise ConfigError(f"{text!r}: {key} is a whole number from {least} on, not {value!r}")
        return int(value)
    if key == "language":
        return tuple(value.split("+"))
    return bool(parse_value(value)) if key == "predict" else parse_value(value)


def _parse_engine(text: str, parameters: dict[str, Any]) -> EngineVariant | None:
    """Takes what belongs to the engine out of the parameters, where there is one."""
    engine = parameters.pop("engine", "")
    if not engine:
        return None
    if engine != "lab":
        raise ConfigError(f"{text!r}: a comparison has one engine, engine=lab")
    reach, thinks = parameters.pop("reach", 1.0), parameters.pop("thinks", 0.0)
    own = parameters.pop("queries", 0)
    for key, value, least, most in (("reach", reach, 1e-6, 1), ("thinks", thinks, 0, 3600)):
        if not isinstance(value, int | float) or not least <= value <= most:
            raise ConfigError(f"{text!r}: {key} must lie between {least:g} and {most}")
    if not isinstance(own, int) or own < 0:
        raise ConfigError(f"{text!r}: queries is how many a person asks")
    rest = tuple((key, parameters.pop(key)) for key in _SEARCH_KEYS if key in parameters)
    return EngineVariant(float(reach), float(thinks), own, rest)


def keyword_queries(keywords: Sequence[str]) -> list[str]:
    """What a person would ask: the topic's name, then the name with each further word."""
    return [" ".join(dict.fromkeys((keywords[0], word))) for word in keywords]


class SimulatedPerson(Mapping[Url, tuple[float, Any]]):
    """Somebody who knows the truth, and has a limited mind to tell it."""

    def __init__(self, relevant: frozenset[str], answers: int, one_in: int = ONE_IN) -> None:
        self._relevant = relevant
        self._left = answers
        self._one_in = one_in
        self._answers: dict[Url, tuple[float, Any]] = {}

    def __getitem__(self, url: Url) -> tuple[float, Any]:
        if url not in self._answers:
            if not self._left or url_fingerprint(url) // 7 % self._one_in:
                raise KeyError(url)
            self._left -= 1
            self._answers[url] = (float(without_scheme(url) in self._relevant), "user")
        return self._answers[url]

    def __iter__(self) -> Iterator[Url]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)


# --------------------------------------------------------------------------------------------------
# A person in the lab who is asked about pages that were visited already, as `honeyguide ask` does.
#
# The answers go through the store, like everybody's labels.
# --------------------------------------------------------------------------------------------------


class SimulatedInterview(Mapping[Url, tuple[float, Any]]):
    """Says nothing of the page that comes by; after every fifth, one of those before is asked."""

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        relevant: frozenset[str],
        answers: int,
        examples: Sequence[Example],
        dice: random.Random | None = None,
    ) -> None:
        """``dice`` choose in place of ``honeyguide ask``: for comparison."""
        self._folder = folder
        self._settings = settings
        self._relevant = relevant
        self._left = answers
        self._examples = examples
        self._dice = dice
        self._pages = 0

    def __getitem__(self, url: Url) -> tuple[float, Any]:
        self._pages += 1
        if self._left and not self._pages % ONE_IN:
            with Store.open(self._folder, "write") as store:
                if chosen := self._choose_page(store):
                    self._left -= 1
                    store.labels.add(
                        [Label(chosen, float(without_scheme(chosen) in self._relevant))]
                    )
        raise KeyError(url)

    def _choose_page(self, store: Store) -> Url | None:
        if self._dice is None:
            found = label_questions(store, self._settings, 1, self._examples)
            return found[0].row.url if found else None
        rows = unlabelled_rows(store, [label.url for _, label in store.labels.effective_after()])
        return self._dice.choice(rows).url if rows else None

    def __iter__(self) -> Iterator[Url]:
        return iter(())

    def __len__(self) -> int:
        return 0


# --------------------------------------------------------------------------------------------------
# Yardsticks that know the truth, or nothing: what a strategy can be measured against.
#
# They are strategies like any other, so that the same crawl loop runs them.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _TruthfulStrategy(ABC):
    """Judges by the truth, learns nothing; ranks as its subclass does."""

    traits: ClassVar[StrategyTraits] = StrategyTraits()
    reason: ClassVar[str]
    """By what links are ranked."""
    relevant: tuple[str, ...] = ()
    """Addresses without their scheme."""

    def judge(self, page: Page) -> Verdict:
        return Verdict(float(without_scheme(page.url) in _as_set(self.relevant)))

    @abstractmethod
    def rank(self, links: Sequence[Link]) -> list[float]: ...

    def explain(self, link: Link) -> tuple[Reason, ...]:
        return (Reason(self.reason, self.rank([link])[0]),)

    def learn(self, examples: Sequence[Example]) -> Self:  # noqa: ARG002
        return self


@dataclass(frozen=True)
class TrueParentStrategy(_TruthfulStrategy):
    """Best-first on the true relevance of the page that a link was first found on.

    A later parent changes nothing, and equals go in order of arrival: plain best-first, as it
    is done on graphs. It follows relevant pages further than one that lets the best parent
    count, because links that all pages share are met first on pages that do not matter.
    """

    reason: ClassVar[str] = "the first parent's true relevance"

    def __post_init__(self) -> None:
        # No strategy should remember; this yardstick must, and it lives for one crawl only.
        object.__setattr__(self, "_first", {})

    def rank(self, links: Sequence[Link]) -> list[float]:
        first: dict[str, float] = vars(self)["_first"]
        return [first.setdefault(link.url, link.parent) for link in links]


@dataclass(frozen=True)
class OracleStrategy(_TruthfulStrategy):
    """Best-first on the target's own true relevance, then on the parent's: an upper bound."""

    reason: ClassVar[str] = "the target's true relevance"

    def rank(self, links: Sequence[Link]) -> list[float]:
        known = _as_set(self.relevant)
        return [1.0 if without_scheme(link.url) in known else 0.5 * link.parent for link in links]


@dataclass(frozen=True)
class RandomStrategy(_TruthfulStrategy):
    """Any link, with equal chance."""

    reason: ClassVar[str] = "chance"
    seed: int = 1

    def rank(self, links: Sequence[Link]) -> list[float]:
        return [xxh3_64_intdigest(link.url.encode(), seed=self.seed) / 2**64 for link in links]


REFERENCE_STRATEGIES: dict[str, Callable[[tuple[str, ...], int], Strategy]] = {
    "random": lambda relevant, draw: RandomStrategy(relevant, draw + 1),
    "true-parent": lambda relevant, _: TrueParentStrategy(relevant),
    "oracle": lambda relevant, _: OracleStrategy(relevant),
}
"""Name → yardstick, from the relevant addresses and the number of the draw."""


@lru_cache(maxsize=4)
def _as_set(relevant: tuple[str, ...]) -> frozenset[str]:
    return frozenset(relevant)
