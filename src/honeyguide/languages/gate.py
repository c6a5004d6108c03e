"""The language gate: pages in other languages score 0, and links to them wait longer.

With ``topic.language`` the language of every page is detected. A page in another language keeps its
words and its links, but its verdict is 0 and says why. The score of a link is that of the strategy
times the probability that it leads to a wanted language (``language.predict``).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from honeyguide.config.settings import Settings
from honeyguide.language_codes import language_name, language_names
from honeyguide.languages.detection import (
    DETECTABLE,
    DetectedLanguage,
    LanguageDetector,
    primary_code,
)
from honeyguide.protocols import Strategy
from honeyguide.types import Example, Link, Page, Reason, StrategyTraits, Verdict, Visit

if TYPE_CHECKING:
    from honeyguide.languages.prediction import LinkLanguagePredictor
    from honeyguide.store.store import Store


_MIN_CHANCE = 0.02
"""Least probability of a wanted language: no link is hopeless."""
_RERANK_GROWTH = 1.1
_RERANK_MIN = 10
"""Waiting links are ranked again when a tenth more links, and at least ten more, were followed."""
_RESTORED_VISITS = 20_000
"""Newest visits that a resumed crawl learns from again."""


class LanguageGate:
    """Language detection and prediction of one crawl; its state is what the predictor learned."""

    def __init__(
        self,
        wanted: tuple[str, ...],
        detector: LanguageDetector,
        predictor: LinkLanguagePredictor | None = None,
    ) -> None:
        self.wanted = wanted
        self._declared = frozenset(wanted) - DETECTABLE
        """Wanted languages that cannot be detected: the declaration of the page decides."""
        self._detector = detector
        self._predictor = predictor
        self._followed = 0
        self._ranked = 0
        """Links that had been followed when the waiting links were last ranked again."""

    @property
    def predicts_links(self) -> bool:
        """Whether scores of links depend on the language of their target."""
        return self._predictor is not None

    def judge(self, strategy: Strategy, page: Page) -> tuple[Page, Verdict]:
        """The page with its detected language, and the verdict on it."""
        detected = self._detect_language(page)
        verdict = strategy.judge(page)
        if not self._wants_language(detected):
            verdict = _gate_verdict(verdict, detected, self.wanted)
        return replace(page, detected_language=detected.code), verdict

    def _detect_language(self, page: Page) -> DetectedLanguage:
        declared = primary_code(page.language)
        return (
            DetectedLanguage(declared, 1.0)
            if declared in self._declared
            else self._detector.detect_page(page)
        )

    def _wants_language(self, detected: DetectedLanguage) -> bool:
        if not self._declared:
            return self._detector.is_wanted(detected)
        # An ear that is asked for none of them would want everything.
        known = (
            self._detector.is_wanted(detected)
            if detected.code in self.wanted
            else not detected.code
        )
        return detected.code in self._declared or known

    def record_page(self, page: Page) -> None:
        """Record the language of a page whose links are about to be ranked."""
        if self._predictor is not None and page.detected_language:
            self._predictor.add_page(page.url, DetectedLanguage(page.detected_language, 1.0))

    def record_visit(self, visit: Visit) -> bool:
        """Learn from a followed link. Returns whether enough was learned to rank the waiting links
        again."""
        if visit.page is not None and visit.verdict is not None:
            self._learn_outcome(
                visit.link, visit.page.detected_language, wanted=visit.verdict.ungated is None
            )
        if self._followed < max(_RERANK_GROWTH * self._ranked, self._ranked + _RERANK_MIN):
            return False
        self._ranked = self._followed
        return True

    def restore(self, store: Store) -> None:
        """Learn from the visits of earlier runs, in their order."""
        if self._predictor is None:
            return
        for row in store.visits.iter_visits(
            page=True, since=max(0, store.counter.read_counts().visits - _RESTORED_VISITS)
        ):
            if row.tongue:
                self._predictor.add_page(row.url, DetectedLanguage(row.tongue, 1.0))
                self._learn_outcome(row.link, row.tongue, wanted=row.tongue in self.wanted)
        self._ranked = self._followed

    def weigh_scores(self, links: Sequence[Link], scores: list[float]) -> list[float]:
        """Scores times the probability that a link leads to a wanted language."""
        if self._predictor is None or not links:
            return scores
        chances = self._predictor.predict_links(links)
        return [
            score * (chance if chance > _MIN_CHANCE else _MIN_CHANCE)
            for score, chance in zip(scores, chances, strict=True)
        ]

    def explain_chance(self, link: Link) -> tuple[Reason, ...]:
        """Why a link is expected to lead to a wanted language, or not."""
        if self._predictor is None:
            return ()
        (chance,) = self._predictor.predict_links((link,))
        meaning = (
            f"times the chance of a page in {language_names(self.wanted)}, estimated from the "
            "visits so far"
        )
        signs = (
            Reason(f"… log-odds of it: {what}", weight)
            for what, weight in self._predictor.explain_link(link)
        )
        return (Reason(meaning, round(max(chance, _MIN_CHANCE), 3)), *signs)

    def _learn_outcome(self, link: Link, language: str, *, wanted: bool) -> None:
        # What a person gave says nothing about links, and a page too short to tell says nothing.
        if self._predictor is not None and language and link.source is not None:
            self._predictor.learn_link(link, wanted)
            self._followed += 1


def build_language_gate(settings: Settings) -> LanguageGate | None:
    """The gate for these settings; None if any language is wanted."""
    wanted, rules = wanted_languages(settings), settings.language
    if not wanted:
        return None
    predictor = None
    if rules.predict:
        from honeyguide.languages.prediction import LinkLanguagePredictor

        predictor = LinkLanguagePredictor(wanted)
    detectable = tuple(code for code in wanted if code in DETECTABLE)
    return LanguageGate(wanted, LanguageDetector(detectable, rules.threshold), predictor)


def wanted_languages(settings: Settings) -> tuple[str, ...]:
    """The languages that pages must be in, by the codes of the detector."""
    return tuple(dict.fromkeys(primary_code(code) or code for code in settings.topic.language))


def undetectable_note(code: str) -> str:
    """A note about a language that cannot be detected; '' if it can."""
    if (primary_code(code) or code) in DETECTABLE:
        return ""
    return (
        f"there is no way to detect whether a page is written in {language_name(code)}, so only "
        "pages that declare it (html lang) count as written in it"
    )


def worth_to_links(verdict: Verdict, languages: LanguageGate | None) -> float:
    """What a page is worth to its links. With language prediction the score before the gate counts,
    since the language of the links is predicted by itself; else the score after it."""
    if languages is None or not languages.predicts_links or verdict.ungated is None:
        return verdict.score
    return verdict.ungated


def judge_page(
    strategy: Strategy, page: Page, languages: LanguageGate | None
) -> tuple[Page, Verdict]:
    """The page and the verdict on it, through the gate if there is one."""
    return (page, strategy.judge(page)) if languages is None else languages.judge(strategy, page)


def language_notes(store: Store, settings: Settings) -> Iterator[str]:
    """What a user should know about the languages that are wanted now."""
    yield from filter(None, map(undetectable_note, settings.topic.language))
    wanted, known = ",".join(settings.topic.language), store.get_meta("languages")
    if known != wanted and (known or wanted):
        store.set_meta("languages", wanted)
        if store.counter.read_counts().pages:
            judge = f"honeyguide judge {shlex.quote(str(store.folder))}"
            yield (
                "topic.language has changed: pages that were visited before keep their verdicts "
                f"until they are scored again, with: {judge}"
            )


@dataclass(frozen=True)
class GatedStrategy:
    """A strategy behind the gate, for callers that only judge and rank."""

    strategy: Strategy
    gate: LanguageGate

    @property
    def traits(self) -> StrategyTraits:
        return self.strategy.traits

    def judge(self, page: Page) -> Verdict:
        return self.gate.judge(self.strategy, page)[1]

    def rank(self, links: Sequence[Link]) -> list[float]:
        return self.gate.weigh_scores(links, self.strategy.rank(links))

    def explain(self, link: Link) -> tuple[Reason, ...]:
        return (*self.strategy.explain(link), *self.gate.explain_chance(link))

    def learn(self, examples: Sequence[Example]) -> Self:
        return replace(self, strategy=self.strategy.learn(examples))


def _gate_verdict(verdict: Verdict, detected: DetectedLanguage, wanted: tuple[str, ...]) -> Verdict:
    """A verdict with score 0 for a page in another language; the score before is kept in it."""
    if detected.code in wanted:
        sure = int(100 * detected.confidence)  # not rounded up to the threshold that it missed
        why = f"possibly written in {language_name(detected.code)}, but that is only {sure}% sure"
    else:
        why = f"written in {language_name(detected.code)}, not in {language_names(wanted)}"
        why += " (topic.language)"
    reasons = (Reason(why, 0.0 - round(verdict.score, 4)), *verdict.reasons)
    return Verdict(0.0, reasons, (0.0,) * len(verdict.topics), verdict.score)
