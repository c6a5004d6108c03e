"""Two learners: what a page is worth to this user, and what a link promises of it.

Xu, Yoon & Tourassi, the user-oriented crawler with a two-tier utility learner. The first tier, Φ,
learns a page's utility from pages that people rated; the second, Υ, learns from every visit to
tell Φ before the page is fetched, by the words of its link. Links are drawn by chance, in
proportion to Υ and to how far it can be trusted; with ``house``, the best goes first, and Υ comes
to what the pages of a link are worth. What we decided where the paper is silent, and where we
depart from it: docs/strategies/user_utility.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from honeyguide.config.validation import check_within
from honeyguide.errors import ConfigError
from honeyguide.models.feature_selection import (
    admit_features,
    admit_features_fast,
    count_features,
    cross_validated_score,
    feature_table,
    rank_features,
)
from honeyguide.models.link_promise import Promise, fit_promise
from honeyguide.models.link_scores import Haste, describe_parents, mean_response_times, memoised_map
from honeyguide.models.regressors import (
    REGRESSOR_FITS,
    FloatArray,
    Regressor,
    assign_folds,
    choose_regressor,
    feature_contributions,
    predict_clipped,
)
from honeyguide.text.keywords import (
    ZONES,
    ZonePhrase,
    ZonePhraseFinder,
    min_phrase_support,
    page_zones,
    phrase_odds,
    phrase_vocabulary,
    zone_phrase_finder,
)
from honeyguide.text.link_text import binary_rows, describe_stem, frequent_words, link_stems
from honeyguide.text.normalise import readable_address
from honeyguide.text.relevance import keyword_relevance
from honeyguide.types import UNKNOWN_SCORE, Example, Link, Page, Reason, StrategyTraits, Verdict
from honeyguide.url import host_of, path_of, url_fingerprint

_MIN_EACH, _MAX_LABELS, _MAX_VISITS, _MAX_WORDS = 2, 1500, 3000, 1000
"""Least good and bad labels; most labels, visits and words of links that are learned from."""
_FEWEST = 10
"""Visits before Υ says anything."""
_REASONS, _SHOWN = 6, 0.005
"""Most reasons, and the least weight that is told: less would read 0."""
_MEMO = 20_000
"""Links whose promises are remembered."""
_DRAWN_ONLY = ("warmup", "temperature", "confidence")
"""What only matters where links are drawn by chance."""


@dataclass(frozen=True, slots=True, eq=False)
class Phi:
    """The first tier: phrases that count, and what they are worth."""

    features: tuple[ZonePhrase, ...]
    model: Regressor
    learner: str
    error: float
    """Root of the mean squared error of the cross-validation that chose the learner.

    Rosier than the truth: all labels had a say in which phrases were admitted.
    """

    def feature_row(self, page: Page, finder: ZonePhraseFinder) -> FloatArray:
        row = np.zeros(len(self.features))
        row[finder.find_features(page_zones(page))] = 1.0
        return row


@dataclass(frozen=True, slots=True, eq=False)
class Upsilon:
    """The second tier: words of links, and what they promise."""

    words: tuple[str, ...]
    promise: Promise
    links: int = 0
    """Of how many links they are."""


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """All that :meth:`UserUtility.learn` adds."""

    phi: Phi | None = None
    upsilon: Upsilon | None = None
    labels: str = ""
    """Stands for the labels that Φ was fitted to; the same labels need no new Φ."""
    visits: int = 0
    read: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    utilities: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    """What this Φ said of the pages that it has read."""
    hosts: Haste = field(default_factory=Haste)
    note: str = "nothing learned yet"


@dataclass(frozen=True)
class UserUtility:
    """Learn a page's utility from rated pages; draw links by it or, with ``house``, best first.

    Until pages were rated good and bad, the topic's keywords stand in for Φ.

    Parameters
    ----------
    keywords, description, language
        The topic's words, and the language they are in.
    warmup
        While fewer pages than this were visited, every link has the same chance.
    confidence
        Whose errors say how far a prediction is trusted: of predictions alike (``binned``), of all
        (``global``), of the nearest (``knn``).
    temperature
        β: links are drawn in proportion to q^β.
    haste
        ρ: q is divided by (seconds the host takes)^ρ; 1 is utility per second.
    threshold
        τ: a label of at least this much is a good one, for the odds of a phrase.
    against
        Rank phrases by |ln ψ|, so that what speaks against a page counts too.
    share
        Share of a zone's phrases that are key phrases.
    features, fast
        Most phrases that are considered; admit them in growing steps, not one by one.
    blanks
        Bad pages for each good one; where fewer were rated, blank pages are added. 0: never.
    learners
        Candidates for Φ; cross-validation chooses, the first wins a tie.
    link_learner
        Regressor of Υ.
    prefixes
        Distinguish a word of the address from the same word in the anchor.
    house
        Ours: the best link first, from the first page on, by what its pages are worth and by what
        it promises more or less than others; with ``prefixes`` and ``against``.
    neighbours
        With ``house``: outcomes of the links beside a link count with its pages, unless
        ``learn.teacher`` is none (links/parent_pages.py).

    Examples
    --------
    >>> from honeyguide.types import Link, Url
    >>> links = [Link(Url(f"http://a.example/{verdict}"), parent=verdict) for verdict in (0.2, 0.8)]
    >>> bad, good = UserUtility(keywords=("honey",), house=True).rank(links)
    >>> bad < good
    True

    References
    ----------
    Xu, Yoon & Tourassi 2014, the user-oriented crawler with a two-tier utility learner.
    """

    traits: ClassVar[StrategyTraits] = StrategyTraits(
        order="proportional",
        learns=True,
        learns_from_visits=True,
        reads_outlinks=True,
        learns_on_growth=True,
    )

    keywords: tuple[str, ...] = ()
    description: str = ""
    language: str = "en"
    warmup: int = 1000
    confidence: Literal["binned", "global", "knn"] = "binned"
    temperature: float = 1.0
    haste: float = 0.0
    threshold: float = 0.5
    against: bool = False
    share: float = 1 / 3
    features: int = 200
    blanks: float = 3.0
    fast: bool = False
    learners: tuple[str, ...] = ("additive", "stumps", "ridge", "bagging", "kernel")
    link_learner: Literal["ridge", "additive"] = "ridge"
    prefixes: bool = False
    house: bool = False
    neighbours: bool = True
    learned: Learned = field(default_factory=Learned, compare=False)

    def __post_init__(self) -> None:
        for name in self.learners or ("",):
            if name not in REGRESSOR_FITS:
                raise ConfigError(
                    f"strategy.learners: {name!r} is none of {', '.join(REGRESSOR_FITS)}"
                )
        check_within(self, "share", 0, 1, above=True)
        check_within(self, "threshold", 0, 1)
        check_within(self, "temperature blanks", 0, 100)
        check_within(self, "haste", 0, 10)
        check_within(self, "features", 1)
        if self.house:  # the class's traits are those of its defaults
            for one in fields(self):
                if one.name in _DRAWN_ONLY and getattr(self, one.name) != one.default:
                    raise ConfigError(
                        f"strategy.{one.name}: with house = true no link is drawn by chance; leave "
                        "one of the two out"
                    )
            traits = self.traits._replace(
                order="best", parent_score="all", uses_neighbours=self.neighbours
            )
            object.__setattr__(self, "traits", traits)

    @property
    def note(self) -> str:
        """What the last lesson came to, in words."""
        learned = self.learned
        if learned.upsilon is not None:
            return f"{learned.note}; what words of links promise, from {learned.upsilon.links}"
        if learned.phi is None or learned.visits < self._blind_visits:
            return learned.note
        return f"{learned.note}; nothing from the words of links yet"

    def judge(self, page: Page) -> Verdict:
        phi = self.learned.phi
        if phi is None:
            return self._keyword_verdict(page)
        row = phi.feature_row(page, zone_phrase_finder(phi.features, self.language))
        parts = sorted(feature_contributions(phi.model, row), key=lambda part: -abs(part[1]))
        reasons = tuple(
            Reason(f"{ZONES[phi.features[f][0]]}: “{phi.features[f][2]}”", round(weight, 3))
            for f, weight in parts[:_REASONS]
        )
        score = float(predict_clipped(phi.model, row[None, :])[0])
        if not reasons:
            reasons = (Reason(f"none of {_count_phrases(len(phi.features))} is on it", score),)
        return Verdict(score, reasons)

    def rank(self, links: Sequence[Link]) -> list[float]:
        if self.learned.visits < self._blind_visits:
            return [0.5] * len(links)
        if not links:
            return []
        worth = self._link_worth(self.learned.upsilon, links)
        return [
            float(each) * self._speed_factor(link) for each, link in zip(worth, links, strict=True)
        ]

    def explain(self, link: Link) -> tuple[Reason, ...]:
        score = self.rank((link,))[0]
        if self.learned.visits < self._blind_visits:
            return (Reason(f"every link has the same chance for {self.warmup} pages", score),)
        upsilon = self.learned.upsilon
        pages = (
            describe_parents(link)
            if self.house
            else f"found on a page with verdict {link.parent:.2f}"
        )
        if upsilon is None:
            return (Reason(f"{pages}; its words are not used yet", score),)
        rows, familiar = binary_rows(upsilon.words, [self._link_snippet(link)])
        said = upsilon.promise.predict(rows)
        parts = sorted(
            feature_contributions(upsilon.promise.model, rows[0]), key=lambda p: -abs(p[1])
        )
        if self.house:
            usual = f"links usually reach {upsilon.promise.usual:.2f}"
            words = f"its words promise {said[0]:.2f}, where {usual}"
            reasons = [Reason(pages, link.parent), Reason(words, score)]
        else:
            trust = float(upsilon.promise.confidence.factors_of(said, familiar)[0])
            reasons = [Reason(f"promises {said[0]:.2f}, trusted by {trust:.2f}", score)]
        reasons += [
            Reason(describe_stem(upsilon.words[word]), round(weight, 3))
            for word, weight in parts[:_REASONS]
            if abs(weight) >= _SHOWN
        ]
        if self.haste:
            reasons.append(Reason("how soon its host answers", self._speed_factor(link)))
        return tuple(reasons)

    def learn(self, examples: Sequence[Example]) -> Self:
        """A new Φ if the labels changed; its word on every visit; and a new Υ."""
        if not examples:
            return self
        labels = _last_ratings(examples)
        mark = _ratings_digest(labels)
        learned = self.learned
        if mark != learned.labels:
            phi, note = self._learn_phi(labels)
            learned = Learned(phi, labels=mark, note=note)
        pairs = list({example.link.url: example for example in examples}.values())
        if learned is self.learned and len(pairs) < self._blind_visits:
            # No new Φ, and links are drawn blindly: a new generation would say the same.
            return self
        learned = self._score_visits(learned, pairs[-_MAX_VISITS:], labels)
        learned = replace(
            learned,
            visits=len(pairs),
            hosts=mean_response_times(
                (host_of(e.link.url), e.elapsed) for e in examples if self.haste
            ),
            upsilon=None
            if len(pairs) < self._blind_visits
            else self._learn_upsilon(learned, pairs[-_MAX_VISITS:]),
        )
        return replace(self, learned=learned)

    def learn_links(self, examples: Sequence[Example]) -> Self:
        """Υ alone: another strategy says what pages are worth, and Φ is not asked."""
        taught = self.learn([replace(example, by="visit") for example in examples])
        if taught is self:
            return self
        learned = replace(taught.learned, note=f"links of {taught.learned.visits} pages")
        return replace(taught, learned=learned)

    def _learn_phi(self, labels: Sequence[Example]) -> tuple[Phi | None, str]:
        """Φ, or None and why."""
        target = np.array([min(1.0, max(0.0, label.target)) for label in labels])
        good = target >= self.threshold
        if min(good.sum(), (~good).sum()) < _MIN_EACH:
            return None, (
                f"{good.sum()} good and {(~good).sum()} bad labels: at least {_MIN_EACH} of each "
                "are needed; the topic's keywords judge until then"
            )
        texts = [page_zones(label.page) for label in labels]
        features = [
            (zone, key, name)
            for zone in range(len(ZONES))
            for key, name in phrase_vocabulary(
                [text[zone] for text in texts], self.language, share=self.share, most=100
            ).items()
        ]
        finder = ZonePhraseFinder(features, self.language)
        found = [finder.find_features(text) for text in texts]
        with_good, with_bad = (count_features(found, side, len(features)) for side in (good, ~good))
        psi = phrase_odds(with_good, with_bad, int(good.sum()), int((~good).sum()))
        least = min_phrase_support(len(labels))
        order = rank_features(psi, with_good + with_bad, least, both=self.against or self.house)
        order = order[: self.features]
        rows = feature_table(found, order)
        admit = admit_features_fast if self.fast else admit_features
        count = admit(cross_validated_score(rows, target, assign_folds(target)), len(order))
        if not count:
            return None, "the labelled pages have no phrase in common; the keywords judge"
        # Few labels are mostly good ones, and would call every page good that says nothing.
        blanks = max(0, round(self.blanks * good.sum() - (~good).sum()))
        padded = np.vstack((rows[:, :count], np.zeros((blanks, count))))
        choice = choose_regressor(self.learners, padded, np.append(target, np.zeros(blanks)))
        kept = tuple(features[f] for f in order[:count])
        note = f"{choice.name} on {_count_phrases(count)} of {len(labels)} labelled pages"
        return Phi(kept, choice.model, choice.name, choice.error), note

    def _score_visits(
        self, learned: Learned, pairs: list[Example], labels: list[Example]
    ) -> Learned:
        """What Φ says of the visits; those it has read already are not read again."""
        rated = {label.link.url: label.target for label in labels}
        known = dict(zip(learned.read.tolist(), learned.utilities.tolist(), strict=True))
        marks = [url_fingerprint(pair.link.url) for pair in pairs]
        phi = learned.phi
        # Not the finder that judge uses: learning runs beside it, and finders remember words.
        finder = ZonePhraseFinder(phi.features if phi else (), self.language)
        said = []
        for mark, pair in zip(marks, pairs, strict=True):
            utility = rated.get(pair.link.url, known.get(mark))
            if pair.foreign:
                utility = pair.target
            elif utility is None and phi and (pair.page.text or pair.page.headings):
                utility = float(phi.model.predict(phi.feature_row(pair.page, finder)[None, :])[0])
            said.append(min(1.0, max(0.0, pair.target if utility is None else utility)))
        utilities = np.array(said, np.float32)
        return replace(learned, read=np.array(marks, np.uint64), utilities=utilities)

    def _learn_upsilon(self, learned: Learned, pairs: Sequence[Example]) -> Upsilon | None:
        # Beside its pages only what stands on one can promise: what a person gave, or where that
        # leads, has no words but its address.
        kept = [n for n, pair in enumerate(pairs) if pair.link.depth or not self.house]
        target = learned.utilities.astype(np.float64)[kept]
        if len(kept) < _FEWEST or float(np.ptp(target)) < 1e-6:
            return None
        snippets = [self._link_snippet(pairs[n].link) for n in kept]
        words = frequent_words(snippets, _MAX_WORDS)
        if not words:
            return None
        rows, familiar = binary_rows(words, snippets)
        learner, trust = self.link_learner, self.confidence
        made = fit_promise(rows, target, familiar, learner=learner, confidence=trust)
        return Upsilon(words, made, len(kept))

    def _keyword_verdict(self, page: Page) -> Verdict:
        if not self.keywords and not self.description:
            return Verdict(
                UNKNOWN_SCORE, (Reason("nothing is known of the topic yet", UNKNOWN_SCORE),)
            )
        return keyword_relevance(self.keywords, self.description, self.language).judge(page)

    def _link_worth(
        self, upsilon: Upsilon | None, links: Sequence[Link]
    ) -> Sequence[float] | FloatArray:
        if upsilon is None:
            return self._guess_worth(links)
        promised = self._link_promises(upsilon, links)
        if self.house:
            pages = np.array([link.parent for link in links])
            return upsilon.promise.combine_with_pages(pages, promised[:, 0])
        return np.asarray(
            upsilon.promise.trusted_value(promised[:, 0], promised[:, 1]) ** self.temperature
        )

    def _guess_worth(self, links: Sequence[Link]) -> list[float]:
        """Before Υ: by the pages of the links, and unless these are all known, by keywords."""
        parents = [min(1.0, max(0.0, link.parent)) for link in links]
        if self.house or not (self.keywords or self.description):
            return parents
        texts = [
            f"{k.anchor} {k.before} {k.after} {readable_address(path_of(k.url)[:300])}"
            for k in links
        ]
        found = keyword_relevance(self.keywords, self.description, self.language).score_texts(texts)
        return [1 - (1 - 0.7 * e) * (1 - 0.3 * p) for e, p in zip(found, parents, strict=True)]

    @property
    def _blind_visits(self) -> int:
        """Visits in which every link has the same chance."""
        return 0 if self.house else self.warmup

    def _link_promises(self, upsilon: Upsilon, links: Sequence[Link]) -> FloatArray:
        """Υ of each link, and the share of its words that are known; remembered, because where the
        best goes first, links are ranked again and again."""

        def read_promises(new: Sequence[Link]) -> list[tuple[float, float]]:
            rows, familiar = binary_rows(upsilon.words, [self._link_snippet(link) for link in new])
            promises = upsilon.promise.predict(rows)
            return list(zip(promises.tolist(), familiar.tolist(), strict=True))

        keys = [link[:5] for link in links]
        return np.array(memoised_map(self._promise_memo, keys, links, read_promises, _MEMO))

    @cached_property
    def _promise_memo(self) -> dict[tuple[str | None, ...], tuple[float, float]]:
        """By address, page, anchor, and what stands before and after."""
        return {}

    def _link_snippet(self, link: Link) -> tuple[str, ...]:
        return link_stems(link, self.language, prefixes=self.prefixes or self.house)

    def _speed_factor(self, link: Link) -> float:
        return (
            self.learned.hosts.relative_speed(host_of(link.url)) ** self.haste
            if self.haste
            else 1.0
        )


def _count_phrases(count: int) -> str:
    return "1 phrase" if count == 1 else f"{count} phrases"


def _last_ratings(examples: Sequence[Example]) -> list[Example]:
    """People's ratings: the last word on each page, a user's before a seed's."""
    ordered = sorted((e for e in examples if e.by in ("seed", "user")), key=lambda e: e.by)
    return list({example.link.url: example for example in ordered}.values())[-_MAX_LABELS:]


def _ratings_digest(labels: Sequence[Example]) -> str:
    told = sorted(f"{e.link.url} {e.target} {len(e.page.text)}" for e in labels)
    return f"{url_fingerprint(chr(10).join(told)):016x}"
