"""Our own: a page model judges pages, a link model learns from it which links lead to good ones.

The division of labour is that of Chakrabarti, Punera & Subramanyam 2002. The page model is a linear
model of a page's words that starts from keywords, a description, concepts or examples. The link
model is a logistic regression around a prior that was learned on other webs. Its features: the page
model's score of the link's own words, verdicts of the pages it stands on, and outcomes of its
siblings, its place on the page and its host so far. Only the difference from the prior is learned.
docs/strategies/honeyguide.md says why each part is there, and what it brought.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from honeyguide.config.validation import check_within
from honeyguide.errors import ModelError
from honeyguide.models import link_model, logistic, page_model, untrusted
from honeyguide.models.anchor_meaning import AnchorMeaning, RatedText, train_anchor_meaning
from honeyguide.models.link_model import (
    FEATURE_FIRMNESS,
    FEATURE_PRIOR,
    LinkFeatures,
    LinkWordScores,
    feature_rows,
    logit,
)
from honeyguide.models.link_model import feature_names as meant
from honeyguide.models.link_scores import memoised_map
from honeyguide.models.logistic import logistic_chance
from honeyguide.models.svm import Linear
from honeyguide.text import word_vectors
from honeyguide.text.link_text import (
    LinkSigns,
    collect_signs,
    describe_sign,
    link_fields,
    score_fields,
)
from honeyguide.text.relevance import Relevance, TermCount, term_worths, topic_relevance
from honeyguide.text.vectors import Lexicon, fit_lexicon
from honeyguide.text.word_vectors import text_vectors
from honeyguide.types import (
    UNKNOWN_SCORE,
    Concept,
    Example,
    Link,
    Page,
    Reason,
    StrategyTraits,
    Verdict,
)
from honeyguide.url import authority_of, url_fingerprint

Floats = NDArray[np.floating[Any]]

_PAGE_CHARS = 20_000
"""Characters of a page that the page model reads."""
_TITLE, _HEADINGS = 3, 2
"""A word in the title counts as so many in the text."""
_LEAD, _LEAD_CHARS = 3, 500
"""A word among the first ones counts as so many more: they say what kind of thing it is."""
_KEYWORD = 4.0
"""Weight of the topic's keywords in a link's words, in the page model's log-odds."""
_WEIGHT = {"user": 3.0, "seed": 2.0, "judge": 1.0, "visit": 1.0}
"""How much an example counts: a person's word more than our own."""
_MEANING = 1.0
"""Weight of the log-odds that the meaning of an anchor has."""
_TITLE_WEIGHTS = 0.75, 1.5
"""How much the title of a bad and of a good example counts beside the anchor of a visit."""
_DIGITS = 9
_REASONS = 8
_NAME = "a saved generation"
_LARGE = 1e9
_KINDS = frozenset({"a ", "s ", "u ", "h ", "t "})
_MEMO = 50_000
"""Links whose words are remembered."""


@dataclass(frozen=True)
class Honeyguide:
    """Learn what the topic is and which links lead to it, from anything you can say about it.

    Parameters
    ----------
    keywords, description, language
        The topic's words, and the language they are in.
    concepts
        Concepts of the topic's ontology.
    seeds_are_doors
        Seeds are only where the crawl starts, and say nothing about the topic.
    explore
        How much more a link to a little-known host is worth (an upper confidence bound).
    few
        With fewer good pages than this from people, the topic's keywords count more in the words
        of links than what the page model learned.
    use_prior, use_words, use_signs
        The prior learned on other webs; what the page model says of a link's words; single words
        of links. Each can be switched off, to see what it brings.
    use_meanings
        What the anchors of links mean; only for topics in English.
    without
        One group of features that the link model leaves out, to see what it brings.

    Examples
    --------
    >>> from honeyguide.types import Link, Url
    >>> place = Url("http://a.example/")
    >>> honey = Link(Url("http://a.example/1"), source=place, anchor="Honey", parent=0.5)
    >>> other = Link(Url("http://a.example/2"), source=place, anchor="Contact", parent=0.5)
    >>> strategy = Honeyguide(keywords=("honey",))
    >>> first, second = strategy.rank([honey, other])
    >>> first > second
    True
    >>> strategy.explain(honey)[0].what
    'the words of its anchor'

    References
    ----------
    Chakrabarti, Punera & Subramanyam 2002: a page model that trains a link model.
    docs/strategies/honeyguide.md.
    """

    traits: ClassVar[StrategyTraits] = StrategyTraits(
        learns=True,
        judges_in_chances=True,
        learns_from_visits=True,
        learns_on_growth=True,
        uses_link_stats=True,
        learned_fields=(
            "page_slope", "page_shift", "page_hint", "page_good", "page_basis", "term_worths",
            "moved", "sign_names",
        ),
    )  # fmt: skip

    keywords: tuple[str, ...] = ()
    description: str = ""
    language: str = "en"
    concepts: tuple[Concept, ...] = ()
    seeds_are_doors: bool = False
    explore: float = 0.0
    few: int = 10
    use_prior: bool = True
    use_words: bool = True
    use_signs: bool = True
    use_meanings: bool = True
    without: Literal[
        "",
        "parents",
        "siblings",
        "group",
        "host",
        "inlinks",
        "surprise",
        "beside",
        "anchor",
        "around",
        "address",
    ] = ""
    page_words: Lexicon | None = None
    page_machine: Linear | None = None
    page_slope: float = 1.0
    page_shift: float = 0.0
    """Slope and shift that make probabilities of the page model's log-odds."""
    page_hint: float = 0.0
    """How much the words that state the topic count beside what it learned."""
    page_good: int = 0
    """Good pages that the page model learned from."""
    page_basis: int = 0
    """Fingerprint of the examples that the page model learned from."""
    term_worths: tuple[float, ...] = ()
    """How much each word that states the topic tells, by the pages that the crawl started from."""
    moved: tuple[float, ...] = ()
    """Difference of the link model's weights from the prior."""
    sign_names: str = ""
    """One to a line."""
    sign_weights: Floats | None = None
    meaning: AnchorMeaning | None = None
    """Learned of anchors and titles."""

    def __post_init__(self) -> None:
        """A saved generation may come from elsewhere: nothing in it is trusted."""
        check_within(self, "explore", 0, _LARGE)
        check_within(self, "few", 1, _LARGE)
        numbers: tuple[Any, ...] = (
            *self.moved, *self.term_worths, self.page_slope, self.page_shift, self.page_hint,
        )  # fmt: skip
        if not all(isinstance(n, int | float) and abs(n) < _LARGE for n in numbers):
            raise ModelError(f"{_NAME} is damaged: not all of its numbers are finite")
        if not all(0 <= worth <= 1 for worth in self.term_worths):
            raise ModelError(f"{_NAME} is damaged: the worth of a word is not between 0 and 1")
        if self.moved and len(self.moved) == len(FEATURE_PRIOR) - 1:
            # Saved before neighbours counted: nothing was learned of them.
            object.__setattr__(self, "moved", (*self.moved, 0.0))
        if self.moved and len(self.moved) != len(FEATURE_PRIOR):
            raise ModelError(f"{_NAME} is damaged: its link model has other features")
        names = self.sign_names.split("\n") if self.sign_names else []
        if not all(name[:2] in _KINDS for name in names):
            raise ModelError(f"{_NAME} is damaged: it has signs of no known kind")
        if self.sign_weights is not None:
            untrusted.check_numbers(_NAME, self.sign_weights)
        if len(names) != (0 if self.sign_weights is None else len(self.sign_weights)):
            raise ModelError(f"{_NAME} is damaged: its signs lack weights")
        if (self.page_words is None) != (self.page_machine is None):
            raise ModelError(f"{_NAME} is damaged: half of its page model is missing")
        if self.page_words is not None and self.page_machine is not None:
            parts: tuple[Any, Any] = (self.page_words, self.page_machine)
            if not (isinstance(parts[0], Lexicon) and isinstance(parts[1], Linear)):
                raise ModelError(f"{_NAME} is damaged: its page model is not one")
            untrusted.check_numbers(
                _NAME, self.page_words.rarity, np.array([self.page_machine.offset])
            )
            untrusted.check_lengths(_NAME, len(self.page_words), len(self.page_machine.weights))
        if self.meaning is not None:
            if not isinstance(self.meaning, AnchorMeaning):
                raise ModelError(f"{_NAME} is damaged: what it learned of meanings is not that")
            directions = len(self.meaning.weights) - 1
            untrusted.check_lengths(_NAME, directions, word_vectors.DIMENSIONS)
        if not 0 <= self.page_good < _LARGE:
            raise ModelError(f"{_NAME} is damaged: it counts its good pages wrongly")
        stated: tuple[Any, ...] = (self.keywords, self.concepts)
        kinds = ((self.keywords, str), (self.concepts, Concept))
        if not all(isinstance(part, tuple) for part in stated) or not all(
            isinstance(one, kind) for part, kind in kinds for one in part
        ):
            raise ModelError(f"{_NAME} is damaged: it has no topic words")

    # -- the page model --------------------------------------------------------------------------

    def judge(self, page: Page) -> Verdict:
        topic = self._topic_relevance
        hint = topic.judge(page) if topic else Verdict(UNKNOWN_SCORE)
        if self.page_words is None or self.page_machine is None:
            return hint  # too few pages were visited yet
        rows = self.page_words.to_rows((_zoned_text(page),))
        values, places = rows.row()
        shares = values * self.page_machine.weights[places]
        z = float(shares.sum()) + self.page_machine.offset
        reasons = self.page_words.top_reasons(places, shares)
        if topic:
            z += self.page_hint * _hint_log_odds(hint)
            reasons = (*reasons, *hint.reasons[:2])
        return Verdict(
            round(logistic_chance(self.page_slope * z + self.page_shift), _DIGITS), reasons
        )

    # -- the link model --------------------------------------------------------------------------

    def rank(self, links: Sequence[Link]) -> list[float]:
        words = self._link_words(links)
        # Not a matrix product: a link's score must not depend on its neighbours'.
        sums = (feature_rows(links, words, self.without) * self._coefficients).sum(axis=1)
        sums += [word.signs + word.meaning for word in words]
        if self.explore:
            sums += [self._exploration_bonus(link) for link in links]
        scores = np.round(logistic.sigmoid(sums), _DIGITS).tolist()
        return [
            1.0 if link.source is None else score for link, score in zip(links, scores, strict=True)
        ]

    def explain(self, link: Link) -> tuple[Reason, ...]:
        if link.source is None:
            return (Reason("a seed", 1.0),)
        row = self.link_evidence((link,))[0]
        evidence: list[float] = (row * self._coefficients).tolist()
        shares = list(zip(evidence, meant(row.tolist()), strict=True))
        if hope := self._exploration_bonus(link):
            shares.append((hope, "its host is little known"))
        if meaning := self._meaning:
            share = _MEANING * meaning.log_odds(text_vectors((link.anchor,))).item()
            shares.append((share, meaning.describe(link.anchor, share, text_vectors)))
        (sign,) = collect_signs((link,), self.language)
        shares += [
            (weight / sign.size, describe_sign(kind, what))
            for kind, whats in sign.by_kind()
            for what in whats
            if (weight := self._sign_weights.get(kind, {}).get(what))
        ]
        shares.sort(key=lambda share: -abs(share[0]))
        told = [Reason(what, round(share, 3)) for share, what in shares[:_REASONS]]
        if rest := round(sum(share for share, _ in shares[_REASONS:]), 3):
            told.append(Reason("everything else", rest))
        return tuple(reason for reason in told if reason.weight)

    def learn(self, examples: Sequence[Example]) -> Self:
        """The page model from people's examples and unjudged pages, the link model from every link
        that was followed."""
        taught = self.learn_verdicts(examples)
        return taught._learn_link_model(examples, anew=taught is not self)

    def learn_links(self, examples: Sequence[Example]) -> Self:
        """The link model from the verdicts of another strategy, which also stand in for the
        topic's words where a page model learns what words are worth."""
        training, taught = page_model.select_training_set(examples, seeds_are_doors=True), self
        texts = [_zoned_text(e.page) for e in (*training.labelled, *training.unjudged)]
        words, rows = fit_lexicon(texts, self.language, least=2, digits=False)
        said = [_hint_log_odds(Verdict(e.target)) for e in training.unjudged]
        hints = np.array([0.0] * len(training.labelled) + said)
        found = page_model.train_page_model(rows, len(words), training, hints)
        if training.is_sufficient and found is not None:
            good = training.good_count
            taught = replace(self, page_words=words, page_machine=found.machine, page_good=good)
        return taught._learn_link_model(examples, anew=False)

    def learn_verdicts(self, examples: Sequence[Example]) -> Self:
        """The page model alone."""
        training = page_model.select_training_set(examples, self.seeds_are_doors)
        basis = url_fingerprint(training.basis_text)
        if basis == self.page_basis:
            return self
        pages = [e.page for e in (*training.labelled, *training.unjudged)]
        stated = topic_relevance(*self._stated_topic)
        counts = [stated.page_terms(page) for page in pages] if stated else []
        worths = self._learn_term_worths(stated, training, counts) if stated else ()
        taught = self if worths == self.term_worths else replace(self, term_worths=worths)
        if not training.is_sufficient:
            return taught
        texts = [_zoned_text(page) for page in pages]
        words, rows = fit_lexicon(texts, self.language, least=2, digits=False)
        hints: Floats | None = None
        if topic := taught._topic_relevance:
            hints = np.array([_hint_log_odds(topic.judge_terms(*count)) for count in counts])
        found = page_model.train_page_model(rows, len(words), training, hints)
        if found is None:
            return taught
        return replace(
            taught,
            page_words=words,
            page_machine=found.machine,
            page_slope=found.slope,
            page_shift=found.shift,
            page_hint=found.hint,
            page_good=training.good_count,
            page_basis=basis,
        )

    def _learn_term_worths(
        self,
        stated: Relevance,
        training: page_model.PageTrainingSet,
        counts: Sequence[tuple[TermCount, int]],
    ) -> tuple[float, ...]:
        """By the good pages, and those of the pages that the crawl started from whose title names
        the topic or that are among the best by the words as stated: others may be mere doors."""
        if self.concepts:
            return ()  # their distances say what they are worth
        unjudged = counts[len(training.labelled) :]
        scores = [stated.judge_terms(*count).score for count in unjudged]
        least = np.quantile(scores, page_model.SEED_RANK) if scores else 0.0
        good = [counts[n][0] for n, one in enumerate(training.labelled) if one.target >= 0.5]
        for n in np.flatnonzero(training.seeds).tolist():
            named = stated.names_topic(training.unjudged[n].page.title)
            if scores[n] and (scores[n] >= least or named):
                good.append(unjudged[n][0])
        return term_worths(len(stated.terms), [count for count, _ in unjudged], good)

    def _learn_link_model(self, examples: Sequence[Example], anew: bool) -> Self:
        """``anew``: the page model has changed, so followed links' pages are judged again."""
        told = {e.page.url: e for e in examples if e.by in ("seed", "user")}
        newest: dict[tuple[str, str | None], Example] = {}
        for example in examples:
            if example.link.yields is not None:
                newest[example.page.url, example.link.source] = example
        followed = list(newest.values())
        targets, weights = [], []
        for example in followed:
            person = told.get(example.page.url)
            if person is not None:
                targets.append(person.target)
            elif anew and not example.foreign:
                targets.append(self.judge(example.page).score)
            else:
                targets.append(example.target)
            weights.append(_WEIGHT["user" if person else "visit"])
        meaning = self._learn_meaning(told.values(), followed, targets)
        taught = self if meaning is self.meaning else replace(self, meaning=meaning)
        if not followed:
            return taught
        signs = collect_signs([e.link for e in followed], self.language)
        links = [e.link for e in followed]
        words = taught._read_words(links, signs)
        evidence = feature_rows(links, words, self.without)
        offsets = evidence @ np.array(self._prior_weights) + [word.meaning for word in words]
        found = link_model.train_link_model(
            evidence,
            [
                link_model.ShownSigns(sign.prefixed_names() if self.use_signs else (), sign.size)
                for sign in signs
            ],
            np.array(targets),
            np.array(weights),
            offsets,
            FEATURE_FIRMNESS,
            self.moved,
            self._known_signs,
        )
        return replace(
            taught,
            moved=found.moved,
            sign_names="\n".join(found.names),
            sign_weights=found.weights,
        )

    def _learn_meaning(
        self, told: Iterable[Example], followed: Sequence[Example], targets: Sequence[float]
    ) -> AnchorMeaning | None:
        """From followed anchors and titles of examples; where none is good, from stated words."""
        if not self._reads_meanings:
            return self.meaning
        rated = [RatedText(e.page.title, e.target, _TITLE_WEIGHTS[e.target >= 0.5]) for e in told]
        if not any(row.target >= 0.5 for row in rated):
            rated += self._stated_texts
        rated += [
            RatedText(e.link.anchor, target) for e, target in zip(followed, targets, strict=True)
        ]
        return train_anchor_meaning(rated, text_vectors, self.meaning) or self.meaning

    def link_evidence(self, links: Sequence[Link]) -> Floats:
        """What is known of each link: a row, its columns those of :class:`LinkFeatures`."""
        return feature_rows(links, self._link_words(links), self.without)

    def _link_words(self, links: Sequence[Link]) -> list[LinkWordScores]:
        """What only a new generation changes is remembered: links are ranked again and again."""
        keys = [(link.url, link.source) for link in links]
        return memoised_map(self._words_memo, keys, links, self._read_words, _MEMO)

    def _read_words(
        self, links: Sequence[Link], signs: Sequence[LinkSigns] | None = None
    ) -> list[LinkWordScores]:
        fields, count = link_fields(links), len(links)
        if signs is None:
            signs = collect_signs(links, self.language, fields)
        # Keywords as phrases: their single words say little.
        topic = self._topic_relevance if self.use_words else None
        stated = topic.score_texts(fields) if topic and fields else [0.0] * len(fields)
        weight = _KEYWORD * (self._keyword_share if self.page_machine else 1.0)
        worth = self._stem_worth.get
        meanings = [0.0] * count
        if self._meaning:
            meanings = (_MEANING * self._meaning.log_odds(text_vectors(fields[:count]))).tolist()
        found = []
        for at, (link, sign) in enumerate(zip(links, signs, strict=True)):
            anchor, around, address = score_fields(sign, worth)
            found.append(
                LinkWordScores(
                    anchor + weight * stated[at],
                    around + weight * stated[count + at],
                    address + weight * stated[2 * count + at],
                    float(link.source is not None and authority_of(link.source) == sign.host),
                    self._sign_score(sign),
                    meanings[at],
                )
            )
        return found

    def _sign_score(self, sign: LinkSigns) -> float:
        weights = self._sign_weights
        if not weights:
            return 0.0
        total = 0.0
        for kind, whats in sign.by_kind():
            if known := weights.get(kind):
                for what in whats:
                    total += known.get(what, 0.0)
        return total / sign.size

    def _exploration_bonus(self, link: Link) -> float:
        """Optimism about what is little known (as in UCB): it shrinks as its host is visited."""
        if not self.explore or link.yields is None:
            return 0.0
        visits, hosted = link.yields.visits, link.yields.host_count
        return self.explore * math.sqrt(math.log(1 + visits) / (1 + hosted))

    @cached_property
    def _meaning(self) -> AnchorMeaning | None:
        """What was learned of meanings; to begin with, what the stated words mean."""
        if not self._reads_meanings:
            return None
        return self.meaning or train_anchor_meaning(self._stated_texts, text_vectors)

    @property
    def _reads_meanings(self) -> bool:
        return self.use_meanings and self.language.partition("-")[0] in word_vectors.LANGUAGES

    @property
    def _stated_texts(self) -> list[RatedText]:
        texts = (*self.keywords, " ".join(self.keywords), self.description)
        return [RatedText(text, 1.0) for text in dict.fromkeys(texts)]

    @property
    def _keyword_share(self) -> float:
        half = self.few / 2
        return half / (half + self.page_good)

    @cached_property
    def _prior_weights(self) -> LinkFeatures:
        return FEATURE_PRIOR if self.use_prior else LinkFeatures(*[0.0] * len(FEATURE_PRIOR))

    @cached_property
    def _coefficients(self) -> Floats:
        moved = self.moved or (0.0,) * len(FEATURE_PRIOR)
        return np.array(
            [prior + move for prior, move in zip(self._prior_weights, moved, strict=True)]
        )

    @cached_property
    def _sign_weights(self) -> dict[str, dict[str, float]]:
        """By kind and sign."""
        found: dict[str, dict[str, float]] = {}
        for name, weight in self._known_signs.items():
            found.setdefault(name[0], {})[name[2:]] = weight
        return found

    @property
    def _known_signs(self) -> dict[str, float]:
        if self.sign_weights is None:
            return {}
        return dict(zip(self.sign_names.split("\n"), self.sign_weights.tolist(), strict=True))

    @cached_property
    def _words_memo(self) -> dict[tuple[str, str | None], LinkWordScores]:
        return {}

    @cached_property
    def _stem_worth(self) -> Mapping[str, float]:
        """The page model's weight of each stem, wherever it stands."""
        if not self.use_words:
            return {}
        worth: dict[str, float] = {}
        if self.page_words is not None and self.page_machine is not None:
            weights = (self.page_machine.weights * self.page_words.rarity).tolist()
            worth = dict(zip(self.page_words.names, weights, strict=True))
        return worth

    @cached_property
    def _topic_relevance(self) -> Relevance | None:
        return topic_relevance(*self._stated_topic, self.term_worths)

    @property
    def _stated_topic(self) -> tuple[tuple[str, ...], str, tuple[Concept, ...], str]:
        return self.keywords, self.description, self.concepts, self.language


def _hint_log_odds(hint: Verdict) -> float:
    """What the topic's words say of a page, in log-odds that examples can overrule."""
    return min(max(logit(hint.score), -page_model.MAX_STATED_ODDS), page_model.MAX_STATED_ODDS)


def _zoned_text(page: Page) -> str:
    """What a page says; what stands out is said more than once."""
    zones = (*((page.title,) * _TITLE), *(page.headings[:40] * _HEADINGS), page.description)
    lead = (page.text[:_LEAD_CHARS],) * _LEAD
    return "\n".join((*zones, *lead, page.text))[:_PAGE_CHARS]
