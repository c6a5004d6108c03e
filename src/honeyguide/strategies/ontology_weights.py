"""Ontology weights: count a topic's concepts on a page, the near ones more than the far ones.

The ontology-focused crawler of Ehrig & Maedche 2003 in the form in which Zheng, Kang & Kim 2008
compare with it: Σ δ^d(t, c) · tf over the concepts c near the topic t; a page is relevant from θ
on. Both papers leave δ and θ to the reader: δ is 0.5 here, and θ is learned from labelled pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from honeyguide.models.examples import both_kinds, chosen
from honeyguide.models.focus import inheritance, inherited
from honeyguide.models.threshold import best_f1
from honeyguide.parameter_checks import within
from honeyguide.text.ontology.lexicon import Lexicon, lexicon
from honeyguide.types import Concept, Example, Habits, Link, Page, Reason, Verdict

_ENOUGH = 30
"""Pages that people named before θ is settled."""


@dataclass(frozen=True)
class OntologyWeights:
    """A page's score s becomes the verdict s / (s + θ); its links inherit it."""

    habits: ClassVar[Habits] = Habits(
        learns=True, needs=("ontology", "keywords"), parents="best", learned=("heard",)
    )

    concepts: tuple[Concept, ...] = ()
    language: str = "en"
    decay: float = 0.5
    """δ: what a word is worth, for each step between its concept and the topic."""
    theta: float = 4.0
    """θ: the score from which a page is relevant; learned where there are labels of both kinds."""
    per_words: int = 0
    """Count so many words' worth of a page, not the whole page; 0: raw counts, as the papers."""
    phrases: bool = False
    """Whole names and synonyms count besides single words; not in the papers."""
    hard_focus: bool = False
    """Links of irrelevant pages get 0 and not the little that their page has."""
    heard: int = 0
    """Learned: how many pages θ rests on."""

    def __post_init__(self) -> None:
        within(self, "decay", 0, 1)
        within(self, "theta per_words heard")

    def judge(self, page: Page) -> Verdict:
        words = self._words()
        return words.verdict(words.count(page), self.decay, self.theta, self.per_words)

    def rank(self, links: Sequence[Link]) -> list[float]:
        return inherited(links, self.hard_focus)

    def explain(self, link: Link) -> tuple[Reason, ...]:
        return inheritance(link, self.hard_focus)

    def learn(self, examples: Sequence[Example]) -> Self:
        """θ anew, if people named pages of both kinds: own verdicts say where the line is, and
        not where it should be. With another θ the links of old pages and of new ones are worth
        different things, so it stays where it is once it rests on enough pages."""
        lessons = [example for example in chosen(examples, 1000) if example.by != "judge"]
        if self.heard >= _ENOUGH or not both_kinds(lessons):
            return self
        words = self._words()
        scores = [words.weigh(words.count(e.page), self.decay, self.per_words) for e in lessons]
        theta = best_f1(scores, [e.target >= 0.5 for e in lessons], self.theta)
        return replace(self, theta=theta, heard=len(lessons))

    def _words(self) -> Lexicon:
        return lexicon(self.concepts, self.language, self.phrases)
