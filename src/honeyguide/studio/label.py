"""The Label screen: the questions that help most, people's answers, and what came of them."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from honeyguide.crawl import annotators as people
from honeyguide.crawl import label_queries as asking
from honeyguide.crawl import labels
from honeyguide.crawl.user_urls import known
from honeyguide.parse.control_chars import eased
from honeyguide.studio import labellers
from honeyguide.studio.evidence import Marked, Why, marked, told
from honeyguide.studio.labellers import NOBODY
from honeyguide.studio.recount import Counting
from honeyguide.studio.routes import Here, Missing, Route
from honeyguide.types import Reason
from honeyguide.url import host

_SCOPE = asking.Scope(rows=1_000, pages=150, labels=80, anew=40)
"""What a question is chosen from: nobody likes to wait for it."""
_TITLE, _TEXT = 500, 60_000
"""Characters of a title, and of a text, that are shown."""
_REMEMBERED = 500

Address = Annotated[str, Meta(min_length=1, max_length=4_096)]
TopicName = Annotated[str, Meta(max_length=60)]


class Asking(msgspec.Struct, frozen=True):
    choice: Literal["mixed", "uncertainty", "disagreement", "novelty", "agreement"] = "mixed"
    count: Annotated[int, Meta(ge=1, le=50)] = 8


class Question(msgspec.Struct, frozen=True):
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
    reasons: list[Why]
    snippet: str


class Questions(msgspec.Struct, frozen=True):
    left: int | None
    """Labels that the budget still has; None: it has no limit."""
    budget: int
    learns: bool
    """Whether the strategy learns from labels."""
    person: str
    threshold: float
    questions: list[Question]


class Which(msgspec.Struct, frozen=True):
    visit: Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]


class Text(msgspec.Struct, frozen=True):
    visit: int
    url: str
    title: str
    headings: list[str]
    text: str
    cut: bool
    """Whether the text goes on."""
    marks: list[Marked]
    """Where the evidence stands; offsets in characters."""


class Answer(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    url: Address
    say: Literal["relevant", "not", "unsure", "skip"]
    topic: TopicName = ""


class Kept(msgspec.Struct, frozen=True):
    labels: int
    left: int | None
    against: str
    """Who says the opposite; '': nobody does."""
    counts: bool
    """Whether the page is now what this person says."""


class Undo(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    url: Address
    topic: TopicName = ""


class Undone(msgspec.Struct, frozen=True):
    undone: bool
    was: str
    now: str
    """What this person says of it now; '': nothing."""
    left: int | None = None
    """Of the budget; None: it has no limit."""


class Lately:
    """Why the questions of late are judged as they are: by the generation that decides now, which
    may not be the one that judged the page when it was fetched."""

    def __init__(self, _folder: Path) -> None:
        self._reasons: dict[int, tuple[Reason, ...]] = {}
        self._lock = Lock()

    def keep(self, asked: list[asking.Question]) -> None:
        with self._lock:
            for each in asked:
                self._reasons.pop(each.row.id, None)
                self._reasons[each.row.id] = each.reasons
            for visit in list(self._reasons)[:-_REMEMBERED]:
                del self._reasons[visit]

    def of(self, visit: int) -> tuple[Reason, ...] | None:
        with self._lock:
            return self._reasons.get(visit)


def questions(here: Here, query: Asking) -> Questions:
    collection = here.collection()
    settings, by = collection.settings, here.person or NOBODY
    scope = _SCOPE._replace(by=by, choice=query.choice)
    with here.store() as store:
        left, found = asking.ask(store, collection.folder, settings, query.count, scope)
    here.kept(Lately).keep(found)
    return Questions(
        left,
        settings.learn.budget,
        collection.learns,
        by,
        settings.topic.threshold,
        [_question(each, asking.topic_of(settings, each.row)) for each in found],
    )


def _question(asked: asking.Question, topic: str) -> Question:
    row = asked.row
    return Question(
        row.id,
        row.url,
        host(row.url)[:255],
        eased(row.title[:_TITLE]),
        asked.verdict,
        asked.relevant,
        row.score,
        topic,
        asked.why,
        asked.because,
        told(asked.reasons),
        asked.snippet,
    )


def text(here: Here, query: Which) -> Text:
    settings = here.collection().settings
    with here.store() as store:
        row = store.visit_at(query.visit)
        if row is None or not row.has_page:
            raise Missing(f"there is no page of visit {query.visit}")
        headings, whole = store.text(row.id)
    shown = eased(whole[:_TEXT])
    why = here.kept(Lately).of(row.id)
    return Text(
        row.id,
        row.url,
        eased(row.title[:_TITLE]),
        [eased(heading[:_TITLE]) for heading in headings[:20]],
        shown,
        len(whole) > _TEXT,
        marked(settings, shown, row.why if why is None else why),
    )


def answer(here: Here, body: Answer) -> Kept:
    collection, by = here.collection(), here.person or NOBODY
    folder, settings = collection.folder, collection.settings
    against, counts = "", True
    if body.say in ("unsure", "skip"):
        word: Literal["unsure", "skip"] = "unsure" if body.say == "unsure" else "skip"
        people.pass_over(folder, settings, body.url, by, word, body.topic)
    else:
        said = [(body.url, float(body.say == "relevant"))]
        _, opposed = labels.label_openly(folder, settings, said, by, body.topic, count=False)
        against = ", ".join(sorted({each.theirs.by for each in opposed}))
        counts = all(each.counts for each in opposed)
    with here.store() as store:
        given = store.counts().labels
        here.kept(Counting).soon(known(store, body.url))
    budget = settings.learn.budget
    return Kept(given, _left(given, budget), against, counts)


def undo(here: Here, body: Undo) -> Undone:
    collection = here.collection()
    by = here.person or NOBODY
    folder, settings = collection.folder, collection.settings
    done = people.undo(folder, settings, body.url, by, body.topic, count=False)
    with here.store() as store:
        left = _left(store.counts().labels, settings.learn.budget)
        if done is None:
            return Undone(False, "", "", left)
        here.kept(Counting).soon(known(store, body.url))
    was = done.was if isinstance(done.was, str) else _word(done.was.value)
    return Undone(True, was, "" if done.now is None else _word(done.now.value), left)


def _left(given: int, budget: int) -> int | None:
    return max(0, budget - given) if budget else None


def _word(value: float) -> str:
    return "relevant" if value >= 0.5 else "not"


_HERE = "/api/c/{name}/label"
ROUTES: tuple[Route, ...] = (
    Route(
        "GET", f"{_HERE}/questions", questions, query=Asking, returns=Questions,
        summary="Pages whose labels would help most",
    ),
    Route(
        "GET", f"{_HERE}/text", text, query=Which, returns=Text,
        summary="The text of a visited page, and where the evidence stands in it",
    ),
    Route("POST", _HERE, answer, body=Answer, returns=Kept, summary="A person's answer"),
    Route(
        "POST", f"{_HERE}/undo", undo, body=Undo, returns=Undone,
        summary="Take back this person's last word on a page",
    ),
    *labellers.ROUTES,
)  # fmt: skip
