"""The Label screen: questions, answers, agreement of annotators and the value of further labels."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from threading import Lock, Timer
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from honeyguide.api import labels as people
from honeyguide.api.generations import label_learning_curve
from honeyguide.api.user_urls import resolve_url
from honeyguide.config.loading import load_settings
from honeyguide.crawl import live_status
from honeyguide.crawl.rescore import apply_new_labels
from honeyguide.errors import HoneyguideError
from honeyguide.learning import label_queries
from honeyguide.parse.sanitise import make_layout_safe
from honeyguide.studio.page import ReasonItem, TextMark, mark_evidence, reason_items
from honeyguide.studio.routes import RequestContext, ResourceMissing, Route, copy_fields
from honeyguide.types import Reason, Url
from honeyguide.url import host_of

_log = logging.getLogger(__name__)

_PAUSE_S = 1.0


class LabelRecount:
    """Of one collection; shared by all requests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._urls: set[Url] = set()
        self._timer: Timer | None = None
        self._lock = Lock()
        self._turn = Lock()
        """One count at a time: it holds the collection's own lock."""

    def schedule_count(self, url: Url) -> None:
        with self._lock:
            self._urls.add(url)
            if self._timer is None:
                self._timer = Timer(_PAUSE_S, self._count_now)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        with self._lock:
            timer = self._timer
        if timer is not None:
            timer.cancel()
        self._count_now()

    def _count_now(self) -> None:
        with self._turn:
            with self._lock:
                urls, self._urls, self._timer = self._urls, set(), None
            if not urls:
                return
            try:
                apply_new_labels(self._folder, load_settings(self._folder / "topic.toml"), urls)
            except HoneyguideError as error:
                # The labels are kept; the end of the next crawl counts them.
                _log.warning("labels of %s are not counted yet: %s", self._folder.name, error)


# -- Annotators and the value of labels --


DEFAULT_LABELLER = "user"
"""Who labels where nobody said a name; as on the command line."""
_FRESH_S = 15.0
_PAIRS_SHOWN = 20
_POINTS_SHOWN = 200


class LabellerItem(msgspec.Struct, frozen=True):
    name: str
    good: int
    bad: int
    unsure: int
    skipped: int


class LabellerPair(msgspec.Struct, frozen=True):
    one: str
    other: str
    pages: int
    agreed: float
    kappa: float | None


class LabellerItems(msgspec.Struct, frozen=True):
    person: str
    people: list[LabellerItem]
    pairs: list[LabellerPair]
    agreed: float | None
    kappa: float | None
    contested: int


class LabelWorthPoint(msgspec.Struct, frozen=True):
    generation: int
    labels: int
    error: float
    before: float
    pages: int


class LabelWorth(msgspec.Struct, frozen=True):
    tried: list[LabelWorthPoint]
    per_ten: float | None
    unsure: float | None
    pages: int
    said: str


class NextLink(msgspec.Struct, frozen=True):
    url: str
    anchor: str
    score: float


class NextLinks(msgspec.Struct, frozen=True):
    at: float | None
    fresh: bool
    """Whether a crawl is telling it now."""
    generation: int | None
    top: list[NextLink]


def list_labellers(context: RequestContext) -> LabellerItems:
    """Who labelled how much, and how far they agree."""
    with context.read_store() as store:
        agreed = people.annotator_agreement(store)
        return LabellerItems(
            context.person or DEFAULT_LABELLER,
            [LabellerItem(*one) for one in people.annotator_stats(store)[:_PAIRS_SHOWN]],
            [LabellerPair(*pair) for pair in agreed.pairs[:_PAIRS_SHOWN]],
            agreed.agreed,
            agreed.kappa,
            people.count_contested_pages(context.collection_folder),
        )


def label_worth(context: RequestContext) -> LabelWorth:
    """What further labels would buy."""
    with context.read_store() as store:
        found = label_learning_curve(store)
        gain = label_queries.answer_gain(store)
    tried = [LabelWorthPoint(*one) for one in found.tried[-_POINTS_SHOWN:]]
    said = f"{gain} {found.said}" if gain else found.said
    return copy_fields(LabelWorth, found, tried=tried, said=said)


def next_links(context: RequestContext) -> NextLinks:
    """The links that go first now."""
    seen = live_status.read_live_status(context.collection_folder)
    if seen is None:
        return NextLinks(None, False, None, [])
    fresh = not seen.ended and time.time() - seen.at < _FRESH_S
    front = [copy_fields(NextLink, link) for link in seen.frontier.top]
    return NextLinks(seen.at, fresh, seen.generation, front)


# -- Questions and answers --


_QUESTION_SCOPE = label_queries.LabelQueryScope(rows=1_000, pages=150, labels=80, anew=40)
"""What a question is chosen from: nobody likes to wait for it."""
_TITLE_CHARS, _TEXT_CHARS = 500, 60_000
"""Characters of a title, and of a text, that are shown."""
_REASONS_KEPT = 500

Address = Annotated[str, Meta(min_length=1, max_length=4_096)]
TopicName = Annotated[str, Meta(max_length=60)]


class QuestionsQuery(msgspec.Struct, frozen=True):
    choice: Literal["mixed", "uncertainty", "disagreement", "novelty", "agreement"] = "mixed"
    count: Annotated[int, Meta(ge=1, le=50)] = 8


class QuestionItem(msgspec.Struct, frozen=True):
    visit: int
    url: str
    host: str
    title: str
    verdict: float
    relevant: bool
    promise: float
    """What its link was worth before it was fetched."""
    topic: str
    """Of several topics, the one it is asked about."""
    why: str
    because: str
    reasons: list[ReasonItem]
    snippet: str


class QuestionItems(msgspec.Struct, frozen=True):
    left: int | None
    """Labels that the budget still has; None: it has no limit."""
    budget: int
    learns: bool
    """Whether the strategy learns from labels."""
    person: str
    threshold: float
    questions: list[QuestionItem]


class LabelTextQuery(msgspec.Struct, frozen=True):
    visit: Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]


class LabelText(msgspec.Struct, frozen=True):
    visit: int
    url: str
    title: str
    headings: list[str]
    text: str
    cut: bool
    """Whether the text goes on."""
    marks: list[TextMark]
    """Where the evidence stands; offsets in characters."""


class LabelAnswer(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    url: Address
    say: Literal["relevant", "not", "unsure", "skip"]
    topic: TopicName = ""


class LabelAnswerResult(msgspec.Struct, frozen=True):
    labels: int
    left: int | None
    against: str
    """Who says the opposite; '': nobody does."""
    counts: bool
    """Whether the page is now what this person says."""


class UndoAnswer(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    url: Address
    topic: TopicName = ""


class UndoAnswerResult(msgspec.Struct, frozen=True):
    undone: bool
    was: str
    now: str
    """What this person says of it now; '': nothing."""
    left: int | None = None
    """Of the budget; None: it has no limit."""


class RecentReasons:
    """Why the questions of late are judged as they are: by the generation that decides now, which
    may not be the one that judged the page when it was fetched."""

    def __init__(self, _folder: Path) -> None:
        self._reasons: dict[int, tuple[Reason, ...]] = {}
        self._lock = Lock()

    def remember_reasons(self, asked: list[label_queries.LabelQuestion]) -> None:
        with self._lock:
            for each in asked:
                self._reasons.pop(each.row.id, None)
                self._reasons[each.row.id] = each.reasons
            for visit in list(self._reasons)[:-_REASONS_KEPT]:
                del self._reasons[visit]

    def reasons_of(self, visit: int) -> tuple[Reason, ...] | None:
        with self._lock:
            return self._reasons.get(visit)


def list_questions(context: RequestContext, query: QuestionsQuery) -> QuestionItems:
    """Pages whose labels would help most."""
    collection = context.open_collection()
    settings, by = collection.settings, context.person or DEFAULT_LABELLER
    scope = _QUESTION_SCOPE._replace(by=by, choice=query.choice)
    with context.read_store() as store:
        left, found = label_queries.ask_for_labels(
            store, collection.folder, settings, query.count, scope
        )
        threshold = store.threshold
    context.shared_for(RecentReasons).remember_reasons(found)
    return QuestionItems(
        left,
        settings.learn.budget,
        collection.learns,
        by,
        threshold,
        [
            copy_fields(
                QuestionItem,
                each,
                visit=each.row.id,
                url=each.row.url,
                host=host_of(each.row.url)[:255],
                title=make_layout_safe(each.row.title[:_TITLE_CHARS]),
                promise=each.row.score,
                topic=label_queries.best_topic(settings, each.row),
                reasons=reason_items(each.reasons),
            )
            for each in found
        ],
    )


def label_text(context: RequestContext, query: LabelTextQuery) -> LabelText:
    """The text of a visited page, and where the evidence stands in it."""
    settings = context.open_collection().settings
    with context.read_store() as store:
        row = store.visits.visit_by_id(query.visit)
        if row is None or not row.has_page:
            raise ResourceMissing(f"there is no page of visit {query.visit}")
        headings, whole = store.visits.page_text(row.id)
    shown = make_layout_safe(whole[:_TEXT_CHARS])
    why = context.shared_for(RecentReasons).reasons_of(row.id)
    return LabelText(
        row.id,
        row.url,
        make_layout_safe(row.title[:_TITLE_CHARS]),
        [make_layout_safe(heading[:_TITLE_CHARS]) for heading in headings[:20]],
        shown,
        len(whole) > _TEXT_CHARS,
        mark_evidence(settings, shown, row.verdict_reasons if why is None else why),
    )


def answer_question(context: RequestContext, body: LabelAnswer) -> LabelAnswerResult:
    """A person's answer."""
    collection, by = context.open_collection(), context.person or DEFAULT_LABELLER
    folder, settings = collection.folder, collection.settings
    against, counts = "", True
    if body.say == "unsure" or body.say == "skip":
        people.record_skip(folder, settings, body.url, by, body.say, body.topic)
    else:
        labels = [(body.url, float(body.say == "relevant"))]
        _, opposed = people.label_with_conflicts(
            folder, settings, labels, by, body.topic, count=False
        )
        against = ", ".join(sorted({each.theirs.by for each in opposed}))
        counts = all(each.counts for each in opposed)
    with context.read_store() as store:
        count = store.counter.read_counts().labels
        context.shared_for(LabelRecount).schedule_count(resolve_url(store, body.url))
    budget = settings.learn.budget
    return LabelAnswerResult(count, _budget_left(count, budget), against, counts)


def undo_answer(context: RequestContext, body: UndoAnswer) -> UndoAnswerResult:
    """Take back this person's last word on a page."""
    collection = context.open_collection()
    by = context.person or DEFAULT_LABELLER
    folder, settings = collection.folder, collection.settings
    done = people.undo_label(folder, settings, body.url, by, body.topic, count=False)
    with context.read_store() as store:
        left = _budget_left(store.counter.read_counts().labels, settings.learn.budget)
        if done is None:
            return UndoAnswerResult(False, "", "", left)
        context.shared_for(LabelRecount).schedule_count(resolve_url(store, body.url))
    was = done.was if isinstance(done.was, str) else _label_word(done.was.value)
    now = "" if done.now is None else _label_word(done.now.value)
    return UndoAnswerResult(True, was, now, left)


def _budget_left(labels: int, budget: int) -> int | None:
    return max(0, budget - labels) if budget else None


def _label_word(value: float) -> str:
    return "relevant" if value >= 0.5 else "not"


_PATH = "/api/c/{name}/label"
ROUTES: tuple[Route, ...] = (
    Route("GET", f"{_PATH}/questions", list_questions),
    Route("GET", f"{_PATH}/text", label_text),
    Route("POST", _PATH, answer_question),
    Route("POST", f"{_PATH}/undo", undo_answer),
    Route("GET", f"{_PATH}/people", list_labellers),
    Route("GET", f"{_PATH}/worth", label_worth),
    Route("GET", f"{_PATH}/top", next_links),
)
