"""Ontology weights: count a topic's concepts on a page, the near ones more than the far ones.

The ontology-focused crawler of Ehrig & Maedche 2003 in the form in which Zheng, Kang & Kim 2008
compare with it: Σ δ^d(t, c) · tf over the concepts c near the topic t; a page is relevant from θ
on. Both papers leave δ and θ to the reader: δ is 0.5 here, and θ is learned from labelled pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from honeyguide.config.validation import check_within
from honeyguide.models import untrusted
from honeyguide.models.link_scores import explain_inheritance, inherited_scores
from honeyguide.models.logistic import best_f1_threshold
from honeyguide.models.page_model import choose_examples, has_both_kinds
from honeyguide.models.prior_correction import PriorCorrection, fit_correction
from honeyguide.text.ontology.lexicon import ConceptLexicon, concept_lexicon
from honeyguide.text.vectors import Lexicon, fit_lexicon, page_text
from honeyguide.types import Concept, Example, Link, Page, Reason, StrategyTraits, Verdict

_SETTLED_PAGES = 30
"""Pages that people named before θ is settled."""


@dataclass(frozen=True)
class OntologyWeights:
    """A page's score s becomes the verdict s / (s + θ); its links inherit it.

    Parameters
    ----------
    concepts, language
        The topic's concepts with their distance, and the language of their names.
    decay
        δ: weight of a word, for each step between its concept and the topic.
    theta
        θ: the score from which a page is relevant; learned where there are labels of both kinds.
    per_words
        Count so many words' worth of a page, not the whole page; 0: raw counts, as in the papers.
    phrases
        Whole names and synonyms count besides single words; not in the papers.
    hard_focus
        Links of irrelevant pages get 0, not the small score of their page.
    adapts
        True (ours): labels and own verdicts correct by all words what the ontology says of pages.

    Examples
    --------
    >>> from honeyguide.types import Concept, Page, Url
    >>> topic = (Concept("honey", 0), Concept("insect", 2))
    >>> strategy = OntologyWeights(concepts=topic, theta=4.0)
    >>> page = Page(Url("http://a.example/"), text="honey honey honey insect insect insect insect")
    >>> strategy.judge(page).score  # s = 3 + 4 / 4
    0.5

    References
    ----------
    Ehrig & Maedche 2003, in the form in which Zheng, Kang & Kim 2008 compare with it.
    """

    traits: ClassVar[StrategyTraits] = StrategyTraits(
        learns=True,
        needs=("ontology", "keywords"),
        parent_score="best",
        learned_fields=("heard",),
        cut_parameter="theta",
    )

    concepts: tuple[Concept, ...] = ()
    language: str = "en"
    decay: float = 0.5
    theta: float = 4.0
    per_words: int = 0
    phrases: bool = False
    hard_focus: bool = False
    adapts: bool = False
    heard: int = 0
    """Learned: how many pages θ rests on."""
    label_words: Lexicon | None = None
    correction: PriorCorrection | None = None
    """Learned: what labels add to the ontology."""

    def __post_init__(self) -> None:
        check_within(self, "decay", 0, 1)
        check_within(self, "theta per_words heard")
        if self.correction is not None:
            untrusted.check_lengths(
                "a saved generation", len(self.label_words or ()), len(self.correction.weights)
            )

    def judge(self, page: Page) -> Verdict:
        given = self._given_verdict(page)
        if self.correction is None or self.label_words is None:
            return given
        values, places = self.label_words.to_rows((page_text(page),)).row()
        return self.correction.correct_verdict(given, values, places, self.label_words.top_reasons)

    def _given_verdict(self, page: Page) -> Verdict:
        """By the ontology alone."""
        words = self._topic_lexicon()
        return words.verdict(words.count_page(page), self.decay, self.theta, self.per_words)

    def rank(self, links: Sequence[Link]) -> list[float]:
        return inherited_scores(links, self.hard_focus)

    def explain(self, link: Link) -> tuple[Reason, ...]:
        return explain_inheritance(link, self.hard_focus)

    def learn(self, examples: Sequence[Example]) -> Self:
        taught = self._learn_theta(examples)
        return taught._learn_correction(examples) if self.adapts else taught

    def _learn_correction(self, examples: Sequence[Example]) -> Self:
        lessons = choose_examples(examples, 1000)
        words, rows = fit_lexicon([page_text(e.page) for e in lessons], self.language)
        given = [self._given_verdict(e.page).score for e in lessons]
        found = fit_correction(lessons, rows, len(words), given)
        return self if found is None else replace(self, correction=found, label_words=words)

    def _learn_theta(self, examples: Sequence[Example]) -> Self:
        """θ anew, if people named pages of both kinds: own verdicts say where the line is, and
        not where it should be. With another θ the links of old pages and of new ones are worth
        different things, so it stays where it is once it rests on enough pages."""
        lessons = [example for example in choose_examples(examples, 1000) if example.by != "judge"]
        if self.heard >= _SETTLED_PAGES or not has_both_kinds(lessons):
            return self
        words = self._topic_lexicon()
        scores = [
            words.weighted_sum(words.count_page(e.page), self.decay, self.per_words)
            for e in lessons
        ]
        theta = best_f1_threshold(scores, [e.target >= 0.5 for e in lessons], self.theta)
        return replace(self, theta=theta, heard=len(lessons))

    def _topic_lexicon(self) -> ConceptLexicon:
        return concept_lexicon(self.concepts, self.language, self.phrases)
