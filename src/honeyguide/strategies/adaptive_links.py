"""Learn which links pay off from the crawl itself.

Barbosa & Freire 2007, "An adaptive crawler for locating hidden-web entry points", sections 3 and
4: a page model judges what every visited link led to, and a link classifier over the words of
address, anchor and surroundings is trained from that again and again, in one class or in levels
of distance. Where we depart from the paper: docs/strategies/adaptive_links.md.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from honeyguide.config.validation import check_within
from honeyguide.errors import ModelError
from honeyguide.models import logistic
from honeyguide.models.link_scores import describe_parents, memoised_map
from honeyguide.models.logistic import log_odds
from honeyguide.models.page_model import settle_examples
from honeyguide.models.svm import Linear, Rbf, cross_validate_svm, train_svm
from honeyguide.text.link_text import LinkField, LinkWords, choose_link_words
from honeyguide.text.relevance import keyword_relevance
from honeyguide.text.vectors import Floats, Lexicon, fit_lexicon, page_text
from honeyguide.types import (
    UNKNOWN_SCORE,
    Example,
    Link,
    Page,
    Reason,
    StrategyTraits,
    Url,
    Verdict,
)

_PEOPLE = ("seed", "user")
_LEVELS = 3
"""Levels 0, 1, 2: the target is relevant, or leads to a relevant page in one step, or in two."""
_STEP_WORDS = ("at once", "in two steps", "in three steps")
_NOWHERE = _LEVELS
_UNSURE = 0.2, 0.8
"""A link is no example where a trained page model's verdict on its target lies between these."""
_MAX_COUNT = 100.0
"""Words never count more often than this beside pages: log-odds would be no numbers."""
_MEMO = 20_000
"""Links whose words are remembered."""
_DIGITS = 9
"""Scores are rounded, so that a link's score never depends on its neighbours' in the batch."""


@dataclass(frozen=True)
class AdaptiveLinks:
    """Rank a link by its pages, and by what links with such words led to so far.

    Parameters
    ----------
    keywords, description, language
        The topic's words, and the language they are in.
    fields
        Which words of a link are read.
    classes
        ``binary``: relevant or not; ``levels``: how many steps before a relevant page.
    url_words, anchor_words, around_words
        The most frequent words that are read of each field.
    fewest_links
        Links to relevant pages before links are learned from (ours: the public code waits for 500
        pages of any kind).
    alone
        True, as in the paper: once links were learned from, their words alone count. False: they
        are added to what the pages of a link are worth, by how well they predicted links left out
        (ours).
    believes
        So many of its own good verdicts in fourteen pages train the page model, the most
        confident, and three times as many bad ones (ours; learning/self_training.py). 0: only
        people's labels do.
    neighbours
        Outcomes of the links beside a link count with its pages, unless ``learn.teacher`` is none
        (ours; links/parent_pages.py).
    once
        Learn from links only once, as the static crawler that the paper compares itself with (FFC,
        Barbosa & Freire 2005); it had neither neighbours nor own verdicts.
    most
        Links of one class that are learned from; a random sample, if there are more.
    seed
        Seed of the random sample.

    Examples
    --------
    >>> from honeyguide.types import Link, Url
    >>> links = [Link(Url(f"http://a.example/{verdict}"), parent=verdict) for verdict in (0.2, 0.8)]
    >>> bad, good = AdaptiveLinks(keywords=("honey",)).rank(links)
    >>> bad < good
    True

    References
    ----------
    Barbosa & Freire 2007, "An adaptive crawler for locating hidden-web entry points", sections 3
    and 4.
    """

    traits: ClassVar[StrategyTraits] = StrategyTraits(
        learns=True,
        learns_from_visits=True,
        needs=("keywords", "description", "good"),
        parent_score="all",
        uses_neighbours=True,
        learned_fields=("link_levels", "words_count"),
    )

    keywords: tuple[str, ...] = ()
    description: str = ""
    language: str = "en"
    fields: tuple[LinkField, ...] = ("url", "anchor", "around")
    classes: Literal["binary", "levels"] = "binary"
    url_words: int = 150
    anchor_words: int = 150
    around_words: int = 100
    fewest_links: int = 20
    alone: bool = False
    believes: int = 1
    neighbours: bool = True
    once: bool = False
    most: int = 5_000
    seed: int = 1
    page_words: Lexicon | None = None
    page_machine: Linear | Rbf | None = None
    """Learned: the page model, once there are labels of both kinds."""
    link_words: LinkWords | None = None
    link_machines: tuple[Linear, ...] = ()
    link_levels: tuple[int, ...] = ()
    """Learned, not set: one machine a class, and the level each stands for."""
    words_count: float = 1.0
    """Learned, not set: what the words of a link count beside its pages."""

    def __post_init__(self) -> None:
        if not self.neighbours:  # the class's traits are those of its defaults
            object.__setattr__(self, "traits", self.traits._replace(uses_neighbours=False))
        check_within(self, "believes")
        check_within(self, "words_count", 0, _MAX_COUNT)
        check_within(self, "most", 1)
        known = len(self.link_levels) == len(self.link_machines)
        if not (known and all(level in range(_LEVELS + 1) for level in self.link_levels)):
            raise ModelError("a saved generation is damaged: its levels are invalid")
        if self.link_levels and min(self.link_levels) == _NOWHERE:
            raise ModelError("a saved generation is damaged: its links lead nowhere")

    def judge(self, page: Page) -> Verdict:
        if self.page_words is not None and self.page_machine is not None:
            rows = self.page_words.to_rows((page_text(page),))
            values, places = rows.row()
            if len(places):
                score = round(self.page_machine.scores(rows)[0], _DIGITS)
                shares = values * self.page_machine.weights[places]
                return Verdict(score, self.page_words.top_reasons(places, shares))
        if self.keywords or self.description:
            return keyword_relevance(self.keywords, self.description, self.language).judge(page)
        return Verdict(UNKNOWN_SCORE if self.page_machine is None else 0.0)

    def rank(self, links: Sequence[Link]) -> list[float]:
        if self.link_words is None:
            return [link.parent for link in links]
        chances = self._link_chances(self.link_words, links)
        return [
            1.0
            if link.source is None
            else round(self._class_and_score(each, link.parent)[1], _DIGITS)
            for link, each in zip(links, chances, strict=True)
        ]

    def explain(self, link: Link) -> tuple[Reason, ...]:
        if link.source is None:
            return (Reason("a seed", self.rank((link,))[0]),)
        if self.link_words is None:
            return (Reason(describe_parents(link), link.parent),)
        rows = self.link_words.to_rows((link,))
        chances = [machine.scores(rows)[0] for machine in self.link_machines]
        best, score = self._class_and_score(chances, link.parent)
        level = self.link_levels[best]
        where = "nowhere" if level == _NOWHERE else f"to a relevant page {_STEP_WORDS[level]}"
        said = Reason(
            f"its words predict that it leads {where}, probability {chances[best]:.2f}",
            round(score, 4),
        )
        _, places = rows.row()
        shares = self.link_machines[best].weights[places]
        if self.alone:
            return said, *self.link_words.top_reasons(places, shares)
        pages = Reason(describe_parents(link), round(log_odds(link.parent), 4))
        return said, pages, *self.link_words.top_reasons(places, self.words_count * shares)

    def learn(self, examples: Sequence[Example]) -> Self:
        known = settle_examples(examples)
        taught = self._learn_page_model(known)
        if self.once and self.link_words is not None:
            return taught
        level = self._page_levels(known)
        found = [e for e in known.values() if e.link.source is not None]
        if taught.page_machine is not None:  # keywords are seldom that sure
            found = [e for e in found if _is_clear(e, level)]
        classes = [level.get(e.page.url, _NOWHERE) for e in found]
        if sum(one != _NOWHERE for one in classes) < self.fewest_links:
            return taught
        drawn = self._draw_places(classes)
        links = [found[place].link for place in drawn]
        told = np.array([classes[place] for place in drawn])
        sizes: dict[LinkField, int] = {
            "url": self.url_words, "anchor": self.anchor_words, "around": self.around_words,
        }  # fmt: skip
        words = choose_link_words(links, self.fields, sizes, self.language)
        rows = words.to_rows(links)
        # With two classes one machine says it all; its level is 0.
        wanted = (0,) if self.classes == "binary" else range(_LEVELS + 1)
        machines = {one: cross_validate_svm(rows, len(words), told == one) for one in wanted}
        kept = {one: trial.machine for one, trial in machines.items() if trial}
        if not any(one < _LEVELS for one in kept):
            return taught
        first = machines[0]
        count = _words_worth(first.outside, links, told == 0) if first else 1.0
        return replace(
            taught,
            link_words=words,
            link_machines=tuple(kept.values()),
            link_levels=tuple(kept),
            words_count=count,
        )

    def _learn_page_model(self, known: Mapping[Url, Example]) -> Self:
        """With a page model from people's labels, if there are some of both kinds; and own
        verdicts teach it, too."""
        if len({e.target >= 0.5 for e in known.values() if e.by in _PEOPLE}) < 2:
            return self
        heard = (*_PEOPLE, "judge") if self.believes else _PEOPLE
        labels = [e for e in known.values() if e.by in heard]
        good = np.array([e.target >= 0.5 for e in labels], dtype=bool)
        words, rows = fit_lexicon([page_text(e.page) for e in labels], self.language)
        machine = train_svm(rows, len(words), good)
        return replace(self, page_words=words, page_machine=machine) if machine else self

    def _page_levels(self, known: Mapping[Url, Example]) -> dict[Url, int]:
        """Pages by their distance from a relevant one, along the links that were followed."""
        level = {url: 0 for url, e in known.items() if e.target >= 0.5}
        for step in range(1, _LEVELS if self.classes == "levels" else 1):
            for url in [url for url, before in level.items() if before == step - 1]:
                source = known[url].link.source
                if source is not None and source in known:
                    # Nearest first: what has a level keeps it.
                    level.setdefault(source, step)
        return level

    def _draw_places(self, classes: Sequence[int]) -> list[int]:
        """Places of the links to learn from: so many a class, and no more bad ones than good."""
        dice = random.Random(self.seed)
        places: list[int] = []
        for one in range(_LEVELS):
            places += self._sample_places(
                [p for p, c in enumerate(classes) if c == one], self.most, dice
            )
        bad = [p for p, c in enumerate(classes) if c == _NOWHERE]
        places += self._sample_places(bad, min(self.most, len(places)), dice)
        return sorted(places)

    def _sample_places(self, places: list[int], most: int, dice: random.Random) -> list[int]:
        return places if len(places) <= most else dice.sample(places, most)

    def _link_chances(self, words: LinkWords, links: Sequence[Link]) -> list[tuple[float, ...]]:
        """What the words of each link say; remembered, because links are ranked again and again."""

        def score_links(new: Sequence[Link]) -> list[tuple[float, ...]]:
            rows = words.to_rows(new)
            return list(zip(*(machine.scores(rows) for machine in self.link_machines), strict=True))

        return memoised_map(
            self._chance_memo, [link[:5] for link in links], links, score_links, _MEMO
        )

    @cached_property
    def _chance_memo(self) -> dict[tuple[str | None, ...], tuple[float, ...]]:
        """By address, page, anchor, and what stands before and after."""
        return {}

    def _class_and_score(self, chances: Sequence[float], parent: float) -> tuple[int, float]:
        """Which class it is, and the score: the nearer level first, within a level the surer, and
        of equals the one on the better page."""
        best = max(range(len(chances)), key=chances.__getitem__)
        if self.classes == "binary":
            return best, self._join_parent(chances[best], parent)
        levels = [place for place, level in enumerate(self.link_levels) if level != _NOWHERE]
        near = best if best in levels else max(levels, key=chances.__getitem__)
        # What leads nowhere stands among the last, by its best chance.
        level = self.link_levels[near] if near == best else _LEVELS - 1
        chance = min(self._join_parent(chances[near], parent), 0.99)
        return best, (_LEVELS - 1 - level + chance) / _LEVELS

    def _join_parent(self, chance: float, parent: float) -> float:
        """A chance of one half, of words that say nothing, leaves what the pages are worth."""
        if self.alone:
            return chance
        return 1 / (1 + math.exp(-(log_odds(parent) + self.words_count * log_odds(chance))))


def _is_clear(example: Example, level: Mapping[Url, int]) -> bool:
    """Whether it is known what came of its link."""
    low, high = _UNSURE
    steps = level.get(example.page.url, 0)
    return bool(steps) or example.by in _PEOPLE or not low < example.target < high


def _words_worth(outside: Floats, links: Sequence[Link], good: NDArray[np.bool_]) -> float:
    """How much of the log-odds that words were given by machines that had not seen their links is
    to be believed beside the links' pages; how many of these links are good is no matter."""
    found = logistic.fit_logistic(
        np.column_stack([outside, np.ones(len(links))]),
        good.astype(np.float64),
        weights=np.ones(len(links)),
        offsets=np.array([log_odds(link.parent) for link in links]),
        penalties=np.array([1.0, 0.0]),
    )
    return min(max(0.0, float(found[0])), _MAX_COUNT)
