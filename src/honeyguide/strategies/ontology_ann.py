"""Ontology and neural network: learn which of a topic's concepts speak for a page.

Zheng, Kang & Kim 2008 ("Learnable focused crawling based on ontology"): the words of the
concepts near a topic are counted on a page, and a network with four hidden nodes, trained on
labelled pages, makes a relevance score of the counts.

The paper does not say how links are ordered: a link is worth what the pages it stands on are worth
together and, while it learns, what came of the links beside it (crawl/parent_pages.py), and links
of irrelevant pages wait at the end (soft focus). Until pages of both kinds are known there is no
network, and the weighted counts of Ehrig & Maedche 2003 judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np

from honeyguide.models.chi2 import strongest
from honeyguide.models.examples import both_kinds, chosen
from honeyguide.models.focus import inheritance, inherited
from honeyguide.models.neural import Array, Lesson, Network, train
from honeyguide.parameter_checks import within
from honeyguide.text.ontology.lexicon import (
    Counts,
    Lexicon,
    lexicon,
    stems_of_page,
    term_lexicon,
)
from honeyguide.types import Concept, Example, Habits, Link, Page, Reason, Verdict


@dataclass(frozen=True)
class OntologyAnn:
    """Raw counts into a 4-1 sigmoid network; with ``house``, gentler counts and training."""

    habits: ClassVar[Habits] = Habits(
        learns=True,
        needs=("ontology", "keywords"),
        learned=("terms",),
        parents="all",
        beside=True,
    )

    concepts: tuple[Concept, ...] = ()
    language: str = "en"
    inputs: Literal["concepts", "terms"] = "concepts"
    """Words of the ontology; or as many words that tell labelled pages apart best, by χ²."""
    house: bool = False
    """log(1 + count) and the rate in 1,000 words as inputs; early stopping and L2."""
    hidden: int = 4
    rate: float = 0.3
    momentum: float = 0.2
    goal: float = 0.01
    """RMSE at which training ends."""
    epochs: int = 5000
    seed: int = 1
    """Where the first weights come from."""
    decay: float = 0.5
    theta: float = 4.0
    """δ and θ of the weighted counts that judge before there is a network."""
    phrases: bool = False
    """Whole names and synonyms count besides single words; not in the paper."""
    hard_focus: bool = False
    """Links of irrelevant pages get 0 and not the little that their page has."""
    believes: int = 1
    """Of its own verdicts, so many good ones in fourteen pages teach it, the surest, and three
    times as many bad ones (ours; learning/self_training.py). 0: whatever is clear, the newest
    first."""
    neighbours: bool = True
    """What came of the links beside a link counts with its pages, unless ``learn.teacher`` is none
    (ours; crawl/parent_pages.py)."""
    terms: tuple[str, ...] = ()
    """Learned: the stems that are counted where ``inputs`` are terms."""
    network: Network | None = None
    """Learned."""

    def __post_init__(self) -> None:
        if not self.neighbours:  # the class's habits are those of its defaults
            object.__setattr__(self, "habits", self.habits._replace(beside=False))
        within(self, "hidden", 1, 1000)
        within(self, "rate", 0, 10, above=True)
        # From 1 on, each step is larger than the one before it, and weights grow without end.
        within(self, "momentum", 0, 1, below=True)
        within(self, "goal decay", 0, 1)
        within(self, "epochs", 1)
        within(self, "theta believes")

    def judge(self, page: Page) -> Verdict:
        if self.network is None:
            words = lexicon(self.concepts, self.language, self.phrases)
            return words.verdict(words.count(page), self.decay, self.theta)
        words = self._words(self.terms)
        counts = words.count(page)
        row = self._row(counts, len(words))
        score = float(self.network.scores(row[np.newaxis, :])[0])
        # A word's weight is what the score would lose without it, in every block of the row.
        found = np.fromiter(counts.found, np.intp, len(counts.found))
        blocks = np.arange(0, len(row), len(words))
        lost = score - self.network.without(row, found[:, np.newaxis] + blocks)
        weights = dict(zip(found.tolist(), lost.tolist(), strict=True))
        return Verdict(min(1.0, max(0.0, score)), words.reasons(counts, weights))

    def rank(self, links: Sequence[Link]) -> list[float]:
        return inherited(links, self.hard_focus, several=True)

    def explain(self, link: Link) -> tuple[Reason, ...]:
        return inheritance(link, self.hard_focus, several=True)

    def learn(self, examples: Sequence[Example]) -> Self:
        """A network for these pages, from the beginning; itself until people named both kinds."""
        lessons = chosen(examples, 1000)
        if not both_kinds([example for example in lessons if example.by != "judge"]):
            return self
        terms = self._strongest(lessons) if self.inputs == "terms" else ()
        words = self._words(terms)
        if not len(words):
            return self
        rows = np.array([self._row(words.count(e.page), len(words)) for e in lessons])
        lesson = Lesson(
            hidden=self.hidden,
            rate=self.rate,
            momentum=self.momentum,
            goal=self.goal,
            epochs=self.epochs,
            decay=0.001 if self.house else 0.0,
            early=self.house,
            seed=self.seed,
        )
        network = train(rows, np.array([e.target for e in lessons]), lesson)
        return replace(self, terms=terms, network=network)

    def _strongest(self, lessons: Sequence[Example]) -> tuple[str, ...]:
        most = max(1, len(lexicon(self.concepts, self.language)))
        pages = [stems_of_page(e.page, self.language) for e in lessons]
        return strongest(pages, [e.target >= 0.5 for e in lessons], most)

    def _words(self, terms: tuple[str, ...]) -> Lexicon:
        if self.inputs == "terms":
            return term_lexicon(terms, self.language)
        return lexicon(self.concepts, self.language, self.phrases)

    def _row(self, counts: Counts, wide: int) -> Array:
        """The network's input: raw counts, or the two blocks of ``house`` one behind the other."""
        row = np.zeros(wide)
        for number, n in counts.found.items():
            row[number] = n
        if not self.house:
            return row
        return np.concatenate([np.log1p(row), row * (1000.0 / max(counts.length, 50))])
