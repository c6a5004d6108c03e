"""Which pages of a collection to ask a person about: what ``learning/active_learning`` needs,
from the store.

Only reads, so it may be called while a crawl runs, with any strategy.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from honeyguide import registry
from honeyguide.config.settings import Settings
from honeyguide.errors import ModelError
from honeyguide.learning import active_learning, topics
from honeyguide.learning.relevance_cut import format_cut
from honeyguide.protocols import Strategy
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.text.highlights import unstem_reasons
from honeyguide.types import UNREQUESTED, Example, Page, Reason, Url, Verdict
from honeyguide.url import domain_of, host_of

_MAX_PAGES = 5_000
"""Newest pages that are considered."""
_MAX_ROWS = 20_000
"""Visits among which these are searched."""
_MAX_REJUDGED = 1_000
_MAX_LABELS = 1_000
_MAX_SNIPPET = 200
_MAX_COMPARED = 500
"""Newest pages on which two generations are compared."""
_REASON_TEXTS: dict[active_learning.QuestionReason, str] = {
    "above": "it is among the least sure that are kept, from {threshold} on",
    "below": "it is among the likeliest that are left out, below {threshold}",
    "typical": "it stands for many pages that nobody labelled",
    "unsure": "its verdict is among the nearest to the cut at {threshold}",
    "unknown": "no known feature of the topic counts for it or against it",
    "site": "it decides about a whole site: {alike} pages fetched",
    "sure": "it is among those that the strategy finds most relevant: is it right?",
    "missed": "the strategy finds it far from relevant, but it resembles pages that are",
    "split": "its link score was {promise:.2f}, and the page's verdict is {verdict:.2f}",
    "host": "nobody has labelled a page of {site} yet",
    "second": "another person labelled it: do you agree?",
}
LabelQueryKind = active_learning.QuestionKind | Literal["agreement"]
"""Kind of questions; agreement: pages that others labelled."""


class LabelQuestion(NamedTuple):
    """A page to ask about, and the present verdict on it."""

    row: VisitRow
    verdict: float
    relevant: bool
    reasons: tuple[Reason, ...]
    why: active_learning.QuestionReason
    because: str
    """The reason in words."""
    snippet: str


class LabelQueryScope(NamedTuple):
    """Who is asked, and which pages are considered."""

    by: str = ""
    """Pages that this person skipped are not asked about again; '': anybody."""
    choice: LabelQueryKind = "mixed"
    rows: int = _MAX_ROWS
    """Newest visits that are considered."""
    pages: int = _MAX_PAGES
    """Most pages among them, chosen by their verdicts."""
    labels: int = _MAX_LABELS
    """Newest labels whose pages are compared with the others."""
    anew: int = _MAX_REJUDGED
    """Most pages that are judged again because their verdict is of an older generation."""


ANY_ANNOTATOR = LabelQueryScope()


class AnswerGain(NamedTuple):
    """What a person's newest labels brought: two generations on the same pages, the one that
    decided before the first of these labels, and the one that decides now."""

    answers: int
    waiting: int
    """Of these, those that no generation learned from yet."""
    came_in: int = 0
    """Pages that are kept now and were not …"""
    went_out: int = 0
    """… and those that were kept and are not."""
    pages: int = 0
    """Pages that were compared; labelled ones are left out."""
    expected_precision: float | None = None
    """Of what is kept now; None: not known."""

    def __str__(self) -> str:
        answers = f"your {self.answers} answers" if self.answers > 1 else "your answer"
        if self.waiting == self.answers:
            return f"Nothing has learned from {answers} yet; do so with: honeyguide learn"
        if not self.pages:
            return f"There is no earlier generation to compare with since {answers}."
        said = (
            f"Since {answers}: {self.came_in} of {self.pages} other pages came in, "
            f"{self.went_out} went out"
        )
        if self.expected_precision is not None:
            said += f"; about {self.expected_precision:.0%} of what is kept is right"
        return f"{said}; {self.waiting} of them still wait." if self.waiting else f"{said}."


class LabelQueries(NamedTuple):
    """Questions for a person, and the remaining budget."""

    left: int | None
    """Labels left in ``learn.budget``; None: no limit."""
    questions: list[LabelQuestion]


def ask_for_labels(
    store: Store,
    folder: Path,
    settings: Settings,
    count: int,
    scope: LabelQueryScope = ANY_ANNOTATOR,
) -> LabelQueries:
    """At most ``count`` questions about a collection, within the budget."""
    budget = settings.learn.budget
    left = max(0, budget - store.counter.read_counts().labels) if budget else None
    count = count if left is None else min(count, left)
    if count < 1:
        return LabelQueries(left, [])
    examples = topics.load_example_files(folder, settings)
    return LabelQueries(left, label_questions(store, settings, count, examples, scope))


def label_questions(
    store: Store,
    settings: Settings,
    count: int,
    examples: Iterable[Example] = (),
    scope: LabelQueryScope = ANY_ANNOTATOR,
) -> list[LabelQuestion]:
    """The pages whose labels would help most; ``examples``: example files of the topic."""
    passed = {url for url, _, _ in store.labels.list_passes(scope.by)} if scope.by else set()
    threshold = store.threshold
    if scope.choice == "agreement":
        rows = list(islice(_labelled_by_others(store, scope.by, passed), count))
        seen = list(_judge_rows(store, rows, threshold, scope.anew))
        return [
            _build_question(store, *pair, "second", settings)
            for pair in zip(rows, seen, strict=True)
        ]
    labels = [label for _, label in store.labels.effective_after()]
    judged = topics.example_labels(settings) | {label.url: label.value for label in labels}
    labelled = [
        active_learning.LabelledText(_page_words(example.page), example.target, "-")
        for example in examples
    ]
    for url, value in list(judged.items())[-scope.labels :]:
        if (page := store.visits.latest_page(url)) is not None:
            labelled.append(
                active_learning.LabelledText(_page_words(page), value, domain_of(host_of(url)))
            )
    rows = [row for row in unlabelled_rows(store, judged, scope.rows) if row.url not in passed]
    rows = _sample_rows(rows, scope.pages, threshold)
    seen = list(_judge_rows(store, rows, threshold, scope.anew))
    pages = [
        active_learning.UnlabelledPage(
            one.verdict.score,
            one.words,
            domain_of(host_of(row.url)),
            bool(one.verdict.reasons),
            None if row.channel == "seed" else row.score,
        )
        for row, one in zip(rows, seen, strict=True)
    ]
    sites = Counter(page.site for page in pages)
    chosen = active_learning.choose_questions(
        pages, labelled, count, threshold=threshold, labels=len(labels), choice=scope.choice
    )
    return [
        _build_question(store, rows[place], seen[place], why, settings, sites[pages[place].site])
        for place, why in chosen
    ]


def answer_gain(store: Store, newest: int = 20) -> AnswerGain | None:
    """What the newest labels brought; None: there are no labels."""
    labels = [label for _, label in store.labels.effective_after()]
    last = sorted(labels, key=lambda label: label.at)[-newest:]
    live = store.generations.live_number()
    if not last or live is None:
        return AnswerGain(len(last), len(last)) if last else None
    known = {generation.number: generation for generation in store.generations.list_all()}
    waiting = sum(label.at > known[live].at for label in last) if live in known else len(last)
    before = max((n for n, g in known.items() if g.at < last[0].at and n < live), default=None)
    first, second = (_load_strategy(store, number) for number in (before, live))
    if waiting == len(last) or first is None or second is None:
        return AnswerGain(len(last), waiting)
    rows = unlabelled_rows(store, [label.url for label in labels])[-_MAX_COMPARED:]
    came = went = 0
    for row in rows:
        page = store.visits.rebuild_page(row)
        old, new = (one.judge(page).score >= store.threshold for one in (first, second))
        came, went = came + (new and not old), went + (old and not new)
    return AnswerGain(len(last), waiting, came, went, len(rows))


def _build_question(
    store: Store,
    row: VisitRow,
    seen: _JudgedView,
    why: active_learning.QuestionReason,
    settings: Settings,
    alike: int = 0,
) -> LabelQuestion:
    threshold = store.threshold
    because = _REASON_TEXTS[why].format(
        threshold=format_cut(threshold),
        alike=alike,
        promise=row.score,
        verdict=seen.verdict.score,
        site=domain_of(host_of(row.url)),
    )
    score = seen.verdict.score
    text = store.visits.readable_text(row)
    reasons = unstem_reasons(seen.verdict.reasons, text, settings.topic.word_language)
    return LabelQuestion(row, score, score >= threshold, reasons, why, because, seen.snippet)


def best_topic(settings: Settings, row: VisitRow) -> str:
    """Of several topics the one with the highest score for the page."""
    known = topics.topic_names(settings)
    scores = {name: score for name, score in row.topic_scores.items() if name in known}
    if scores:
        return max(scores, key=scores.__getitem__)
    return known[0] if known else ""


def _labelled_by_others(store: Store, by: str, passed: set[Url]) -> Iterator[VisitRow]:
    """Pages that others labelled and this person did not, those with the fewest labels first."""
    annotators: dict[Url, set[str]] = {}
    for _, label in store.labels.everyone_after():
        annotators.setdefault(label.url, set()).add(label.by)
    urls = [url for url, people in annotators.items() if by not in people and url not in passed]
    for url in sorted(urls, key=lambda url: len(annotators[url])):
        for row in store.visits.attempts_at(url)[-1:]:
            if row.has_page and row.verdict is not None:
                yield row


def _sample_rows(rows: list[VisitRow], most: int, threshold: float) -> list[VisitRow]:
    """At most so many rows: half of them the nearest to the threshold, the rest spread evenly over
    all others, so that certain pages and all sites have a chance."""
    if len(rows) <= most:
        return rows
    near = sorted(rows, key=lambda row: abs((row.verdict or 0.0) - threshold))
    rest = sorted(near[most // 2 :], key=lambda row: row.verdict or 0.0)
    room = most - most // 2
    chosen = {row.id for row in near[: most // 2]}
    chosen |= {rest[n * len(rest) // room].id for n in range(room)}
    return [row for row in rows if row.id in chosen]


def unlabelled_rows(store: Store, judged: Iterable[Url], most: int = _MAX_ROWS) -> list[VisitRow]:
    """The newest pages without a label, one of each group of near copies, oldest first. Pages in
    other languages are left out."""
    counts = store.counter.read_counts()
    newest = counts.visits + sum(counts.failures.get(kind, 0) for kind in UNREQUESTED)
    visits = store.visits.iter_visits(page=True, since=max(0, newest - most))
    latest = {
        row.url: row
        for row in deque(visits, maxlen=_MAX_PAGES)
        if row.verdict is not None and row.ungated is None
    }
    settled = set(judged)
    # A label speaks for the copies as well.
    settled |= {row.copy_of for row in latest.values() if row.url in settled and row.copy_of}
    found: dict[Url, VisitRow] = {}
    for row in latest.values():
        group = row.copy_of or row.url
        if row.url not in settled and group not in settled:
            found.setdefault(group, row)
    return list(found.values())


class _JudgedView(NamedTuple):
    """The parts of a page that are needed while thousands are compared."""

    verdict: Verdict
    words: str
    snippet: str


def _judge_rows(
    store: Store, rows: list[VisitRow], threshold: float, most: int
) -> Iterator[_JudgedView]:
    """The verdict on each page. Verdicts of older generations are renewed for pages near the
    threshold."""
    live = store.generations.live_number()
    stale = sorted(
        (row for row in rows if row.generation != live),
        key=lambda row: abs((row.verdict or 0.0) - threshold),
    )
    anew = {row.id for row in stale[:most]}
    strategy = _load_strategy(store, live) if anew else None
    for row in rows:
        page = store.visits.rebuild_page(row)
        verdict = Verdict(row.verdict or 0.0, row.verdict_reasons)
        if strategy is not None and row.id in anew and (page.text or page.headings):
            verdict = strategy.judge(page)
        yield _JudgedView(
            verdict, _page_words(page), (page.description or page.text)[:_MAX_SNIPPET]
        )


def _load_strategy(store: Store, live: int | None) -> Strategy | None:
    try:
        return None if live is None else store.generations.load(live, registry.find_strategy)
    except ModelError:
        return None  # what was said of the pages then will have to do


def _page_words(page: Page) -> str:
    """The words by which a page is compared; without text its title and address."""
    words = (
        page.title,
        page.description,
        *page.headings[:20],
        page.text[: active_learning.COMPARED_CHARS] or page.url,
    )
    return " ".join(words)[: active_learning.COMPARED_CHARS]
