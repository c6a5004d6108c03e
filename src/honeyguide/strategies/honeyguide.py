"""Our own: a critic judges pages, and an apprentice learns from it which links lead to good ones.

The division of labour is that of Chakrabarti, Punera & Subramanyam 2002. The critic is a linear
model of a page's words that starts from keywords, a description, concepts or examples. The
apprentice is a logistic regression around a prior that was learned on other webs: what the critic
thinks of the link's own words, verdicts of the pages it stands on, and what came of its siblings,
its place on the page and its host so far. Only what this crawl shows beyond the prior is learned.
docs/strategies/honeyguide.md tells why each part is there, and what it brought.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError
from honeyguide.models import logistic, sound
from honeyguide.models.examples import both_kinds, settled
from honeyguide.models.platt import platt
from honeyguide.models.svm import Linear, folds
from honeyguide.text.link_signs import Signs, said, signs_of
from honeyguide.text.relevance import Relevance, relevance
from honeyguide.text.vectors import Lexicon, fit
from honeyguide.types import (
    UNKNOWN,
    Concept,
    Example,
    Habits,
    Link,
    Page,
    Reason,
    Verdict,
    Yields,
)
from honeyguide.url import authority, fingerprint, path

Floats = NDArray[np.floating[Any]]

_SHOWN = 20_000
"""Characters of a page that the critic reads."""
_TITLE, _HEADINGS = 3, 2
"""A word in the title counts as so many in the text."""
_CERTAIN = 6.0
"""Log-odds beyond which nothing is surer."""
_KEYWORD = 4.0
"""What the surest keywords in a link's words are worth, in the critic's log-odds."""
_WEIGHT = {"user": 3.0, "seed": 2.0, "judge": 1.0, "visit": 1.0}
"""How much an example counts: a person's word more than our own."""
_SELDOM = 2
"""A sign must have been seen so often to be learned from."""
_STRICT, _STRICT_SIGNS = 4.0, 1.0
"""How hard it is to move away from the prior, and for a sign to count at all."""
_PAGE_STRICT = 0.1
_DIGITS = 9
_REASONS = 8
_NAME = "a saved generation"
_LARGE = 1e9
_KINDS = frozenset({"a ", "s ", "u ", "h ", "t "})
_PRAISE = 10
"""More relevant pages than this say no more for a link: a site can make as many as it likes."""
_MEMO = 50_000
"""Links whose words are remembered."""
_NEVER = math.exp(-_CERTAIN)
_CHANCES = [Yields._fields.index(n) for n in ("best", "parents", "group", "siblings", "host")]
_RELEVANT, _BARREN = Yields._fields.index("relevant"), Yields._fields.index("barren")


class Evidence(NamedTuple):
    """What the apprentice knows of a link, apart from its particular words."""

    best: float
    parents: float
    anchor: float
    around: float
    address: float
    group: float
    siblings: float
    inlinks: float
    relevant: float
    host: float
    barren: float
    inside: float
    bias: float = 1.0


class _Words(NamedTuple):
    """What the words of a link say, and where it leads."""

    anchor: float
    around: float
    address: float
    inside: float
    signs: float


PRIOR = Evidence(
    best=0.56,
    parents=1.17,
    anchor=1.39,
    around=0.69,
    address=0.0,
    group=0.24,
    siblings=0.71,
    inlinks=0.0,
    relevant=0.70,
    host=0.0,
    barren=-0.20,
    inside=0.33,
    bias=-0.59,
)
"""Log-odds, learned on the embedded web (bench/prior.py)."""
_SAID = (
    "the best page it stands on",
    "the pages it stands on",
    "the words of its anchor",
    "the words around it",
    "the words of its address",
    "what links in this place brought",
    "what other links on these pages brought",
    "how many pages link to it",
    "how many relevant pages link to it",
    "what its host brought",
    "steps since the last relevant page",
    "it stays on its host",
    "to begin with",
)
"""The same for people."""


_LEFT_OUT = {
    "parents": ("best", "parents", "barren"),
    "siblings": ("siblings",),
    "group": ("group",),
    "host": ("host",),
    "inlinks": ("inlinks", "relevant"),
}


@dataclass(frozen=True)
class Honeyguide:
    """Learn what the topic is and which links lead to it, from anything you can say about it."""

    habits: ClassVar[Habits] = Habits(learns=True, visits=True, grows=True, yields=True)

    keywords: tuple[str, ...] = ()
    description: str = ""
    language: str = "en"
    concepts: tuple[Concept, ...] = ()
    explore: float = 0.0
    """How much more a link to a little-known host is worth; the one dial for curiosity."""
    few: int = 10
    """With fewer good pages than this from people, the critic's own clear verdicts teach it, too;
    and the keywords keep as much weight as half as many good pages."""
    use_prior: bool = True
    use_words: bool = True
    use_signs: bool = True
    without: Literal["", "parents", "siblings", "group", "host", "inlinks"] = ""
    """Parts that can be left out, to see what they bring."""
    page_words: Lexicon | None = None
    page_machine: Linear | None = None
    page_slope: float = 1.0
    page_shift: float = 0.0
    """What makes the log-odds of a critic with few examples chances."""
    page_good: int = 0
    """Good pages that the critic learned from."""
    page_basis: int = 0
    """Stands for the examples that the critic learned from."""
    moved: tuple[float, ...] = ()
    """How far from the prior the crawl moved the apprentice."""
    sign_names: str = ""
    """One to a line."""
    sign_weights: Floats | None = None

    def __post_init__(self) -> None:
        """A saved generation may come from a stranger."""
        numbers: tuple[Any, ...] = (*self.moved, self.page_slope, self.page_shift, self.explore)
        if not all(isinstance(n, int | float) and abs(n) < _LARGE for n in numbers):
            raise ModelError(f"{_NAME} is damaged: not all of its numbers are finite")
        if self.moved and len(self.moved) != len(PRIOR):
            raise ModelError(f"{_NAME} is damaged: its apprentice has other evidence")
        names = self.sign_names.split("\n") if self.sign_names else []
        if not all(name[:2] in _KINDS for name in names):
            raise ModelError(f"{_NAME} is damaged: it has signs of no known kind")
        if self.sign_weights is not None:
            sound.numbers(_NAME, self.sign_weights)
        if len(names) != (0 if self.sign_weights is None else len(self.sign_weights)):
            raise ModelError(f"{_NAME} is damaged: its signs lack weights")
        if (self.page_words is None) != (self.page_machine is None):
            raise ModelError(f"{_NAME} is damaged: half of its critic is missing")
        if self.page_words is not None and self.page_machine is not None:
            parts: tuple[Any, Any] = (self.page_words, self.page_machine)
            if not (isinstance(parts[0], Lexicon) and isinstance(parts[1], Linear)):
                raise ModelError(f"{_NAME} is damaged: its critic is none")
            sound.numbers(_NAME, self.page_words.rarity, np.array([self.page_machine.offset]))
            sound.equal(_NAME, len(self.page_words), len(self.page_machine.weights))
        if self.few < 1 or self.page_good < 0:
            raise ModelError("strategy.few must be at least 1")

    # -- the critic ------------------------------------------------------------------------------

    def judge(self, page: Page) -> Verdict:
        topic = self._topic
        if self.page_words is None or self.page_machine is None:
            return topic.judge(page) if topic else Verdict(UNKNOWN)
        rows = self.page_words.rows((_zoned(page),))
        values, places = rows.row()
        score = _chance(
            self.page_slope * _logit(self.page_machine.scores(rows)[0]) + self.page_shift
        )
        reasons = self.page_words.telling(places, values * self.page_machine.weights[places])
        if topic:
            # What people asked for in words fades as they show what they mean.
            hint, share = topic.judge(page), self._keyword_share
            score = _chance((1 - share) * _logit(score) + share * _logit(hint.score))
            reasons = (*reasons, *(r._replace(weight=share * r.weight) for r in hint.reasons[:2]))
        return Verdict(round(score, _DIGITS), reasons)

    # -- the apprentice --------------------------------------------------------------------------

    def rank(self, links: Sequence[Link]) -> list[float]:
        words = self._words_say(links)
        # Not a matrix product: a link's score must not depend on its neighbours'.
        sums = (self._evidence(links, words) * self._coefficients).sum(axis=1)
        sums += [word.signs for word in words]
        if self.explore:
            sums += [self._hope(link) for link in links]
        scores = np.round(logistic.sigmoid(sums), _DIGITS).tolist()
        return [
            1.0 if link.source is None else score for link, score in zip(links, scores, strict=True)
        ]

    def explain(self, link: Link) -> tuple[Reason, ...]:
        if link.source is None:
            return (Reason("a seed", 1.0),)
        rows = self.evidence((link,)) * self._coefficients
        evidence: list[float] = rows[0].tolist()
        shares = list(zip(evidence, _SAID, strict=True))
        if hope := self._hope(link):
            shares.append((hope, "its host is little known"))
        (sign,) = signs_of((link,), self.language)
        shares += [
            (weight / sign.size, said(kind, what))
            for kind, whats in sign.kinds()
            for what in whats
            if (weight := self._sign_weights.get(kind, {}).get(what))
        ]
        shares.sort(key=lambda share: -abs(share[0]))
        told = [Reason(what, round(share, 3)) for share, what in shares[:_REASONS]]
        if rest := round(sum(share for share, _ in shares[_REASONS:]), 3):
            told.append(Reason("everything else", rest))
        return tuple(reason for reason in told if reason.weight)

    def learn(self, examples: Sequence[Example]) -> Self:
        """The critic from people's examples (and its own, while these are few), the apprentice
        from every link that was followed."""
        critic = self._criticise(examples)
        return critic._apprentice(examples, anew=critic is not self)

    def _criticise(self, examples: Sequence[Example]) -> Self:
        people = [e for e in examples if e.by in ("seed", "user")]
        good = sum(e.target >= 0.5 for e in people)
        told = people if good >= self.few else [e for e in examples if e.by != "visit"]
        known = settled(told)
        basis = fingerprint(" ".join(f"{url} {e.target:.3f}" for url, e in known.items()))
        if basis == self.page_basis or not both_kinds(list(known.values())):
            return self
        words, rows = fit([_zoned(e.page) for e in known.values()], self.language)
        targets = np.array([e.target for e in known.values()])
        weights = np.array([_WEIGHT[e.by] for e in known.values()])
        for side in (targets >= 0.5, targets < 0.5):
            weights[side] *= len(targets) / (2 * weights[side].sum())
        columns = _matrix(rows.values, rows.places, rows.starts, len(words) + 1, bias=True)
        penalties = np.full(len(words) + 1, _PAGE_STRICT)
        penalties[-1] = 1e-6

        def fitted(part: Any) -> Floats:
            nothing = np.zeros(len(part))
            return logistic.fit(
                columns[part],
                targets[part],
                weights=weights[part],
                offsets=nothing,
                penalties=penalties,
            )

        slope, shift = 1.0, 0.0
        if good < self.few:
            # Few pages make it timid: pages that it has not learned from tell how much.
            outside = np.zeros(len(targets))
            for train, test in folds(targets >= 0.5):
                outside[test] = columns[test] @ fitted(train)
            slope, shift = platt(outside, targets >= 0.5, weights)
        found = fitted(np.arange(len(targets)))
        return replace(
            self,
            page_words=words,
            page_machine=Linear(found[:-1], float(found[-1])),
            # Folds of a handful of pages may tell them apart the wrong way round.
            page_slope=slope if slope > 0 else 1.0,
            page_shift=shift if slope > 0 else 0.0,
            page_good=good,
            page_basis=basis,
        )

    def _apprentice(self, examples: Sequence[Example], anew: bool) -> Self:
        """``anew``: the critic changed its mind, so what was followed is judged again."""
        told = {e.page.url: e for e in examples if e.by in ("seed", "user")}
        newest: dict[tuple[str, str | None], Example] = {}
        for example in examples:
            if example.link.yields is not None:
                newest[example.page.url, example.link.source] = example
        followed = list(newest.values())
        if not followed:
            return self
        targets, weights = [], []
        for example in followed:
            person = told.get(example.page.url)
            if person is not None:
                targets.append(person.target)
            elif anew:
                targets.append(self.judge(example.page).score)
            else:
                targets.append(example.target)
            weights.append(_WEIGHT["user" if person else "visit"])
        signs = signs_of([e.link for e in followed], self.language)
        links = [e.link for e in followed]
        evidence = self._evidence(links, self._said_by(links, signs))
        names, columns = _columns(signs) if self.use_signs else ([], None)
        count = len(PRIOR)
        both = evidence if columns is None else _beside(evidence, columns)
        penalties = np.full(both.shape[1], _STRICT_SIGNS)
        penalties[:count] = _STRICT
        before = [self._sign_weights.get(n[0], {}).get(n[2:], 0.0) for n in names]
        start = np.array([*(self.moved or [0.0] * count), *before])
        found = logistic.fit(
            both,
            np.array(targets),
            weights=np.array(weights),
            offsets=evidence @ np.array(self._prior),
            penalties=penalties,
            start=start,
        )
        return replace(
            self,
            moved=tuple(found[:count].tolist()),
            sign_names="\n".join(names),
            sign_weights=found[count:] if names else None,
        )

    def evidence(self, links: Sequence[Link]) -> Floats:
        """What is known of each link: a row, its columns those of :class:`Evidence`."""
        return self._evidence(links, self._words_say(links))

    def _evidence(self, links: Sequence[Link], words: Sequence[_Words]) -> Floats:
        yields = np.array([link.yields or _unknown(link) for link in links], np.float64)
        yields = yields.reshape(len(links), len(Yields._fields))
        chances = yields[:, _CHANCES]
        odds = np.log(np.maximum(chances, _NEVER) / np.maximum(1 - chances, _NEVER)) / 3
        said = np.array(words, np.float64).reshape(len(links), len(_Words._fields))
        inlinks = np.array([link.inlinks for link in links], np.float64)
        rows: Floats = np.column_stack(
            (
                odds[:, :2],
                said[:, :3] / 2,
                odds[:, 2:4],
                np.log1p(inlinks),
                np.log1p(np.minimum(yields[:, _RELEVANT], _PRAISE)),
                odds[:, 4],
                np.minimum(yields[:, _BARREN], 4) / 2,
                said[:, 3],
                np.ones(len(links)),
            )
        )
        for name in _LEFT_OUT.get(self.without, ()):
            rows[:, Evidence._fields.index(name)] = 0.0
        return rows

    def _words_say(self, links: Sequence[Link]) -> list[_Words]:
        """What only a new generation changes is remembered: links are ranked again and again."""
        memo = self._memo
        keys = [(link.url, link.source) for link in links]
        new = {key: link for key, link in zip(keys, links, strict=True) if key not in memo}
        if len(memo) + len(new) > _MEMO:
            memo.clear()
            new = dict(zip(keys, links, strict=True))
        unknown = list(new.values())
        memo.update(zip(new, self._said_by(unknown, signs_of(unknown, self.language)), strict=True))
        return [memo[key] for key in keys]

    def _said_by(self, links: Sequence[Link], signs: Sequence[Signs]) -> list[_Words]:
        worth = self._worth.get
        found = [
            _Words(
                *_worths(sign, worth),
                float(link.source is not None and authority(link.source) == sign.host),
                self._signs_say(sign),
            )
            for link, sign in zip(links, signs, strict=True)
        ]
        topic = self._topic if self.use_words else None
        if topic is None or not links:
            return found
        # Keywords as phrases: their single words say little.
        weight = _KEYWORD * (self._keyword_share if self.page_machine else 1.0)
        fields = (
            topic.of_each([link.anchor for link in links]),
            topic.of_each([f"{link.before} {link.after}" for link in links]),
            topic.of_each([path(link.url) for link in links]),
        )
        return [
            _Words(
                words.anchor + weight * anchor,
                words.around + weight * around,
                words.address + weight * address,
                words.inside,
                words.signs,
            )
            for words, anchor, around, address in zip(found, *fields, strict=True)
        ]

    def _signs_say(self, sign: Signs) -> float:
        weights = self._sign_weights
        if not weights:
            return 0.0
        total = 0.0
        for kind, whats in sign.kinds():
            if known := weights.get(kind):
                for what in whats:
                    total += known.get(what, 0.0)
        return total / sign.size

    def _hope(self, link: Link) -> float:
        """Optimism about what is little known (as in UCB): it shrinks as its host is visited."""
        if not self.explore or link.yields is None:
            return 0.0
        visits, hosted = link.yields.visits, link.yields.hosted
        return self.explore * math.sqrt(math.log(1 + visits) / (1 + hosted))

    @property
    def _keyword_share(self) -> float:
        half = self.few / 2
        return half / (half + self.page_good)

    @cached_property
    def _prior(self) -> Evidence:
        return PRIOR if self.use_prior else Evidence(*[0.0] * len(PRIOR))

    @cached_property
    def _coefficients(self) -> Floats:
        moved = self.moved or (0.0,) * len(PRIOR)
        return np.array([prior + move for prior, move in zip(self._prior, moved, strict=True)])

    @cached_property
    def _sign_weights(self) -> dict[str, dict[str, float]]:
        """By kind and sign."""
        found: dict[str, dict[str, float]] = {}
        if self.sign_weights is not None:
            names = self.sign_names.split("\n")
            for name, weight in zip(names, self.sign_weights.tolist(), strict=True):
                found.setdefault(name[0], {})[name[2:]] = weight
        return found

    @cached_property
    def _memo(self) -> dict[tuple[str, str | None], _Words]:
        return {}

    @cached_property
    def _worth(self) -> Mapping[str, float]:
        """What the critic thinks of each stem, wherever it stands."""
        if not self.use_words:
            return {}
        worth: dict[str, float] = {}
        if self.page_words is not None and self.page_machine is not None:
            weights = (self.page_machine.weights * self.page_words.rarity).tolist()
            worth = dict(zip(self.page_words.names, weights, strict=True))
        return worth

    @cached_property
    def _topic(self) -> Relevance | None:
        near = (c for c in self.concepts if c.distance <= 1)
        names = tuple(name for concept in near for name in (concept.name, *concept.synonyms))
        if self.keywords or names or self.description:
            return relevance((*self.keywords, *names), self.description, self.language)
        return None


def _zoned(page: Page) -> str:
    """What a page says; what stands out is said more than once."""
    zones = (*((page.title,) * _TITLE), *(page.headings[:40] * _HEADINGS), page.description)
    return "\n".join((*zones, page.text))[:_SHOWN]


def _unknown(link: Link) -> Yields:
    """A link of which nobody told what came of its like."""
    middling = 0.1
    relevant = int(link.parent >= 0.5)
    return Yields(
        middling, 0, middling, 0, middling, link.parent, link.parent, relevant, 1 - relevant, 0
    )


def _worths(sign: Signs, worth: Callable[[str, float], float]) -> tuple[float, float, float]:
    """What the critic thinks of the words of each field."""
    anchor = around = address = 0.0
    for stem in sign.anchor:
        anchor += worth(stem, 0.0)
    for stem in sign.around:
        around += worth(stem, 0.0)
    for stem in sign.address:
        address += worth(stem, 0.0)
    return (
        anchor / math.sqrt(len(sign.anchor) + 1),
        around / math.sqrt(len(sign.around) + 1),
        address / math.sqrt(len(sign.address) + 1),
    )


def _logit(chance: float) -> float:
    if chance <= 0.0:
        return -_CERTAIN
    if chance >= 1.0:
        return _CERTAIN
    return min(max(math.log(chance / (1 - chance)), -_CERTAIN), _CERTAIN)


def _chance(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0


def _columns(signs: Sequence[Signs]) -> tuple[list[str], Any]:
    """The signs that were seen more than once, and which link shows which."""
    named = [[f"{k} {what}" for k, whats in s.kinds() for what in whats] for s in signs]
    seen = Counter(name for names in named for name in names)
    names = [name for name, times in seen.items() if times >= _SELDOM]
    places = {name: place for place, name in enumerate(names)}
    values: list[float] = []
    found: list[int] = []
    starts = [0]
    for sign, some in zip(signs, named, strict=True):
        known = [places[name] for name in some if name in places]
        found += known
        values += [1 / sign.size] * len(known)
        starts.append(len(found))
    matrix = _matrix(np.array(values), np.array(found, np.int64), np.array(starts), len(names))
    return names, matrix


def _matrix(values: Any, places: Any, starts: Any, size: int, bias: bool = False) -> Any:
    from scipy.sparse import csr_array, hstack

    rows = len(starts) - 1
    matrix = csr_array((values, places, starts), shape=(rows, size - bias))
    return hstack((matrix, csr_array(np.ones((rows, 1)))), format="csr") if bias else matrix


def _beside(dense: Floats, sparse: Any) -> Any:
    from scipy.sparse import csr_array, hstack

    return hstack((csr_array(dense), sparse), format="csr")
