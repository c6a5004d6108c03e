"""Two support vector machines: one reads pages, one reads the words around links.

Iliou et al., section 4.1: a link's score is w1·(page classifier on the page it
stood on) + w2·(link classifier on anchor and surroundings), equation 1; parameters from their
experiments. Where we depart from the paper: docs/strategies/hybrid_svm.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np

from honeyguide.config.validation import check_within
from honeyguide.errors import ConfigError
from honeyguide.models.link_scores import describe_parents, memoised_map
from honeyguide.models.page_model import settle_examples
from honeyguide.models.svm import Linear, Rbf, train_svm
from honeyguide.text.normalise import readable_address
from honeyguide.text.relevance import Relevance, keyword_relevance
from honeyguide.text.vectors import (
    Floats,
    Ints,
    Lexicon,
    SparseRows,
    fit_lexicon,
    largest_shares,
    page_text,
)
from honeyguide.types import UNKNOWN_SCORE, Example, Link, Page, Reason, StrategyTraits, Verdict
from honeyguide.url import path_of

_DIGITS = 9
"""Scores are rounded, so that a link's score never depends on its neighbours' in the batch."""
_ORIGINAL = 2.0
"""Weight of an example given with the topic: later ones may be wrong, and must not drown it."""
_MEMO = 20_000
"""Words of links that are remembered."""
_CONTEXT = 1_000
"""Characters of a link's context that are read."""


@dataclass(frozen=True)
class HybridSvm:
    """Rank a link by its own words and by where it stands, both learned from examples.

    A link's score is ``page_weight`` · (page classifier on the page it stands on) +
    ``link_weight`` · (link classifier on anchor and surroundings); equation 1 of the paper.

    Parameters
    ----------
    keywords, description, language
        The topic's words, and the language they are in.
    kernel
        Kernel of both support vector machines.
    page_weight, link_weight
        w1 and w2 of equation 1.
    threshold
        t: a link must score more than this to be followed.
    gate
        True, as in the paper: links at or below the threshold lose their score, and are followed
        in the order of their discovery when no other is left. With few labels that is all of them.
    fewest_links
        Links of either kind before the link classifier is trained; until then the page classifier
        reads the words of links alone (ours; the paper had 58).
    alone
        True, as in the paper: once trained, the link classifier alone reads links. False: both
        read them, and the mean counts (ours): a page has seen many more words than a link.
    believes
        So many of its own good verdicts in fourteen pages become examples, the most confident, and
        three times as many bad ones (ours; learning/self_training.py). 0: every clear verdict, as
        in the paper, the newest first and within the caps against drift.
    neighbours
        Outcomes of the links beside a link count with the verdict of its page, unless
        ``learn.teacher`` is none (ours; links/parent_pages.py).
    use_url_terms
        Read the words of the address as well.

    Examples
    --------
    >>> from honeyguide.types import Example, Link, Page, Url
    >>> def example(number, words, target):
    ...     url = Url(f"http://a.example/{number}")
    ...     return Example(Link(url), Page(url, text=words * 30), target, "user")
    >>> good = [example(n, "honey wax comb hive ", 1.0) for n in range(5)]
    >>> bad = [example(n, "engine gear wheel brake ", 0.0) for n in range(5, 10)]
    >>> learned = HybridSvm(keywords=("honey",)).learn(good + bad)
    >>> learned.judge(good[0].page).score > 0.5 > learned.judge(bad[0].page).score
    True

    References
    ----------
    Iliou, Tsikrika, Kalpakis, Vrochidis & Kompatsiaris, "Adaptive focused crawling using online
    learning: a study on content related to Islamic extremism".
    """

    traits: ClassVar[StrategyTraits] = StrategyTraits(
        learns=True, parent_score="each", uses_neighbours=True
    )

    keywords: tuple[str, ...] = ()
    description: str = ""
    language: str = "en"
    kernel: Literal["rbf", "linear"] = "rbf"
    page_weight: float = 0.1
    link_weight: float = 0.9
    threshold: float = 0.5
    gate: bool = False
    fewest_links: int = 20
    alone: bool = False
    believes: int = 1
    neighbours: bool = True
    use_url_terms: bool = False
    page_words: Lexicon | None = None
    page_machine: Linear | Rbf | None = None
    link_words: Lexicon | None = None
    link_machine: Linear | Rbf | None = None
    """Learned, not set: the page classifier and the link classifier."""

    def __post_init__(self) -> None:
        if not self.neighbours:  # the class's traits are those of its defaults
            object.__setattr__(self, "traits", self.traits._replace(uses_neighbours=False))
        check_within(self, "page_weight link_weight threshold", 0, 1)
        check_within(self, "fewest_links believes")
        if not self.page_weight and not self.link_weight:
            raise ConfigError("strategy.page_weight and strategy.link_weight cannot both be 0")

    def judge(self, page: Page) -> Verdict:
        if self.page_words is None or self.page_machine is None:
            topic = self._topic_relevance()
            return topic.judge(page) if topic else Verdict(UNKNOWN_SCORE)
        rows = self.page_words.to_rows((page_text(page),))
        values, places = rows.row()
        if not len(places):
            # The machine has never seen the like: what it says of nothing is no evidence.
            topic = self._topic_relevance()
            return topic.judge(page) if topic else Verdict(0.0)
        score = round(self.page_machine.scores(rows)[0], _DIGITS)
        shares = values * self.page_machine.weights[places]
        return Verdict(score, self.page_words.top_reasons(places, shares))

    def rank(self, links: Sequence[Link]) -> list[float]:
        scores = [
            self._join_scores(link, words)
            for link, words in zip(links, self._word_scores(links), strict=True)
        ]
        if self.gate and self.page_machine is not None:
            # Nothing can be kept out of the frontier from here; at 0 it is served last.
            return [score if score > self.threshold else 0.0 for score in scores]
        return scores

    def explain(self, link: Link) -> tuple[Reason, ...]:
        if link.source is None:
            return (Reason("a seed", 1.0),)
        topic = self._topic_relevance()
        if self.page_machine is None and not topic:
            return (Reason(describe_parents(link), link.parent),)
        parent, local = (
            self.page_weight * link.parent,
            self.link_weight * self._word_scores((link,))[0],
        )
        reasons = [
            Reason("the words of the link", round(local, 4)),
            Reason(describe_parents(link), round(parent, 4)),
        ]
        if self.page_machine is not None and self.gate and parent + local <= self.threshold:
            reasons.append(Reason(f"at most {self.threshold:g}: not to be followed", 0.0))
        return (*reasons, *self._telling_words(link))

    def learn(self, examples: Sequence[Example]) -> Self:
        """A new one from all examples but mere visits; itself while one class is missing."""
        known = settle_examples(example for example in examples if example.by != "visit")
        page_words, rows = fit_lexicon([page_text(e.page) for e in known.values()], self.language)
        good = np.array([e.target >= 0.5 for e in known.values()], dtype=bool)
        weights = np.array([_example_weight(e) for e in known.values()])
        page_machine = train_svm(rows, len(page_words), good, weights, self.kernel)
        if page_machine is None:
            return self
        # A seed was found by nobody's link; every other example has one, with its page's target.
        found = [e for e in examples if e.by != "visit" and e.link.source is not None]
        good = np.array([known[e.page.url].target >= 0.5 for e in found], dtype=bool)
        link_words, link_machine = None, None
        if min(good.sum(), (~good).sum()) >= self.fewest_links:
            link_words, rows = fit_lexicon(
                [self._link_context(e.link) for e in found], self.language
            )
            weights = np.array([_example_weight(e) for e in found])
            link_machine = train_svm(rows, len(link_words), good, weights, self.kernel)
        return replace(
            self,
            page_words=page_words,
            page_machine=page_machine,
            link_words=link_words if link_machine else None,
            link_machine=link_machine,
        )

    def _join_scores(self, link: Link, words: float) -> float:
        if link.source is None:
            return 1.0
        if self.page_machine is None and not self._topic_relevance():
            return link.parent
        score = self.page_weight * link.parent + self.link_weight * words
        return round(min(max(score, 0.0), 1.0), _DIGITS)

    def _word_scores(self, links: Sequence[Link]) -> list[float]:
        """What the words of each link say; remembered, because links are ranked again and again."""
        texts = [self._link_context(link) for link in links]
        return memoised_map(self._text_memo, texts, texts, self._score_texts, _MEMO)

    def _score_texts(self, texts: Sequence[str]) -> list[float]:
        if readers := self._link_readers():
            said = [machine.scores(words.to_rows(texts)) for words, machine in readers]
            return [sum(scores) / len(scores) for scores in zip(*said, strict=True)]
        topic = self._topic_relevance()
        return topic.score_texts(texts) if topic else [0.0] * len(texts)

    @cached_property
    def _text_memo(self) -> dict[str, float]:
        return {}

    def _telling_words(self, link: Link) -> tuple[Reason, ...]:
        """Words of the link and what they counted: log-odds, or what the score loses without."""
        readers = self._link_readers()
        counted: defaultdict[str, float] = defaultdict(float)
        for words, machine in readers:
            rows = words.to_rows((self._link_context(link),))
            places, shares = _word_shares(machine, rows)
            for place, share in zip(places.tolist(), shares.tolist(), strict=True):
                counted[words.names[place]] += share / len(readers)
        said, shares = list(counted), np.array(list(counted.values()))
        most = largest_shares(np.arange(len(said)), shares)
        return tuple(Reason(f"“{said[place]}”", share) for place, share in most)

    def _link_readers(self) -> list[tuple[Lexicon, Linear | Rbf]]:
        """Who reads links: the page classifier, and the link classifier once there is one."""
        readers = []
        if self.link_words is not None and self.link_machine is not None:
            readers.append((self.link_words, self.link_machine))
        if self.page_words is not None and self.page_machine is not None:
            readers.append((self.page_words, self.page_machine))
        return readers[:1] if self.alone else readers

    def _link_context(self, link: Link) -> str:
        where = readable_address(path_of(link.url)) if self.use_url_terms else ""
        return f"{link.anchor} {link.before} {link.after} {where}"[:_CONTEXT]

    def _topic_relevance(self) -> Relevance | None:
        if self.keywords or self.description:
            return keyword_relevance(self.keywords, self.description, self.language)
        return None


def _word_shares(machine: Linear | Rbf, rows: SparseRows) -> tuple[Ints, Floats]:
    """The places of a text's words and what each counts."""
    values, places = rows.row()
    if isinstance(machine, Linear):
        return places, values * machine.weights[places]
    without = np.array(machine.scores(rows.without_each()))
    return places[: len(without)], machine.scores(rows)[0] - without


def _example_weight(example: Example) -> float:
    return _ORIGINAL if example.by == "seed" else 1.0
