"""Ontology and neural network: learn which of a topic's concepts speak for a page.

Zheng, Kang & Kim 2008 ("Learnable focused crawling based on ontology"): the words of the
concepts near a topic are counted on a page, and a network with four hidden nodes, trained on
labelled pages, makes a relevance score of the counts.

The paper does not say how links are ordered: a link is worth what the pages it stands on are worth
together and, while it learns, what came of the links beside it (links/parent_pages.py), and links
of irrelevant pages wait at the end (soft focus). Until pages of both kinds are known there is no
network, and the weighted counts of Ehrig & Maedche 2003 judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np

from honeyguide.config.validation import check_within
from honeyguide.models.feature_selection import strongest_words
from honeyguide.models.link_scores import explain_inheritance, inherited_scores
from honeyguide.models.neural import Array, BackpropOptions, Network, train_network
from honeyguide.models.page_model import choose_examples, has_both_kinds
from honeyguide.text.ontology.lexicon import (
    ConceptCounts,
    ConceptLexicon,
    concept_lexicon,
    page_stems,
    term_lexicon,
)
from honeyguide.types import Concept, Example, Link, Page, Reason, StrategyTraits, Verdict


@dataclass(frozen=True)
class OntologyAnn:
    """Raw counts into a 4-1 sigmoid network; with ``house``, gentler counts and training.

    Parameters
    ----------
    concepts, language
        The topic's concepts with their distance, and the language of their names.
    inputs
        Words of the ontology; or as many words that separate labelled pages best, by χ².
    house
        True (ours): log(1 + count) and the rate in 1,000 words as inputs; early stopping and L2.
    hidden, rate, momentum, goal, epochs, seed
        Hidden nodes, learning rate, momentum, root of the mean squared error at which training
        ends, most epochs, and the seed of the first weights.
    decay, theta
        δ and θ of the weighted counts that judge before there is a network (see ontology_weights).
    phrases
        Whole names and synonyms count besides single words; not in the paper.
    hard_focus
        Links of irrelevant pages get 0, not the small score of their page.
    believes
        So many of its own good verdicts in fourteen pages become examples, the most confident, and
        three times as many bad ones (ours; learning/self_training.py). 0: every clear verdict, the
        newest first.
    neighbours
        Outcomes of the links beside a link count with its pages, unless ``learn.teacher`` is none
        (ours; links/parent_pages.py).

    Examples
    --------
    >>> from honeyguide.types import Concept, Example, Link, Page, Url
    >>> def example(number, words, target):
    ...     url = Url(f"http://a.example/{number}")
    ...     return Example(Link(url), Page(url, text=words * 5), target, "user")
    >>> good = [example(n, "honey insect ", 1.0) for n in range(5)]
    >>> bad = [example(n, "engine insect ", 0.0) for n in range(5, 10)]
    >>> strategy = OntologyAnn(concepts=(Concept("honey", 0), Concept("insect", 1)))
    >>> learned = strategy.learn(good + bad)
    >>> learned.judge(good[0].page).score > 0.5 > learned.judge(bad[0].page).score
    True

    References
    ----------
    Zheng, Kang & Kim 2008, "Learnable focused crawling based on ontology".
    """

    traits: ClassVar[StrategyTraits] = StrategyTraits(
        learns=True,
        needs=("ontology", "keywords"),
        learned_fields=("terms",),
        parent_score="all",
        uses_neighbours=True,
    )

    concepts: tuple[Concept, ...] = ()
    language: str = "en"
    inputs: Literal["concepts", "terms"] = "concepts"
    house: bool = False
    hidden: int = 4
    rate: float = 0.3
    momentum: float = 0.2
    goal: float = 0.01
    epochs: int = 5000
    seed: int = 1
    decay: float = 0.5
    theta: float = 4.0
    phrases: bool = False
    hard_focus: bool = False
    believes: int = 1
    neighbours: bool = True
    terms: tuple[str, ...] = ()
    """Learned: the stems that are counted where ``inputs`` are terms."""
    network: Network | None = None
    """Learned."""

    def __post_init__(self) -> None:
        if not self.neighbours:  # the class's traits are those of its defaults
            object.__setattr__(self, "traits", self.traits._replace(uses_neighbours=False))
        check_within(self, "hidden", 1, 1000)
        check_within(self, "rate", 0, 10, above=True)
        # From 1 on, each step is larger than the one before it, and weights grow without end.
        check_within(self, "momentum", 0, 1, below=True)
        check_within(self, "goal decay", 0, 1)
        check_within(self, "epochs", 1)
        check_within(self, "theta believes")

    def judge(self, page: Page) -> Verdict:
        if self.network is None:
            words = concept_lexicon(self.concepts, self.language, self.phrases)
            return words.verdict(words.count_page(page), self.decay, self.theta)
        words = self._topic_lexicon(self.terms)
        counts = words.count_page(page)
        row = self._network_input(counts, len(words))
        score = float(self.network.scores(row[np.newaxis, :])[0])
        # A word's weight is what the score would lose without it, in every block of the row.
        found = np.fromiter(counts.found, np.intp, len(counts.found))
        blocks = np.arange(0, len(row), len(words))
        lost = score - self.network.scores_without(row, found[:, np.newaxis] + blocks)
        weights = dict(zip(found.tolist(), lost.tolist(), strict=True))
        return Verdict(min(1.0, max(0.0, score)), words.top_reasons(counts, weights))

    def rank(self, links: Sequence[Link]) -> list[float]:
        return inherited_scores(links, self.hard_focus, several=True)

    def explain(self, link: Link) -> tuple[Reason, ...]:
        return explain_inheritance(link, self.hard_focus, several=True)

    def learn(self, examples: Sequence[Example]) -> Self:
        """A network for these pages, from the beginning; itself until people named both kinds."""
        lessons = choose_examples(examples, 1000)
        if not has_both_kinds([example for example in lessons if example.by != "judge"]):
            return self
        terms = self._strongest_terms(lessons) if self.inputs == "terms" else ()
        words = self._topic_lexicon(terms)
        if not len(words):
            return self
        rows = np.array(
            [self._network_input(words.count_page(e.page), len(words)) for e in lessons]
        )
        lesson = BackpropOptions(
            hidden=self.hidden,
            rate=self.rate,
            momentum=self.momentum,
            goal=self.goal,
            epochs=self.epochs,
            decay=0.001 if self.house else 0.0,
            early=self.house,
            seed=self.seed,
        )
        network = train_network(rows, np.array([e.target for e in lessons]), lesson)
        return replace(self, terms=terms, network=network)

    def _strongest_terms(self, lessons: Sequence[Example]) -> tuple[str, ...]:
        most = max(1, len(concept_lexicon(self.concepts, self.language)))
        pages = [page_stems(e.page, self.language) for e in lessons]
        return strongest_words(pages, [e.target >= 0.5 for e in lessons], most)

    def _topic_lexicon(self, terms: tuple[str, ...]) -> ConceptLexicon:
        if self.inputs == "terms":
            return term_lexicon(terms, self.language)
        return concept_lexicon(self.concepts, self.language, self.phrases)

    def _network_input(self, counts: ConceptCounts, wide: int) -> Array:
        """The network's input: raw counts, or the two blocks of ``house`` one behind the other."""
        row = np.zeros(wide)
        for number, n in counts.found.items():
            row[number] = n
        if not self.house:
            return row
        return np.concatenate([np.log1p(row), row * (1000.0 / max(counts.length, 50))])
