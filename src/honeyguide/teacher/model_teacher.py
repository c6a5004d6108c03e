"""A language model as a teacher: it judges the pages whose labels would help most.

Its answers are labels by ``model:NAME``. They weigh less than a person's: their value is what the
model's answer and the crawl's own verdict say together (Bayes), by how often this model agreed with
people so far. Where relevant pages are rare, most pages that an erring model calls relevant are
not; so an answer against a clear verdict is no label, and is left to people. Where a person
labelled a page, the model's label does not count (store/labels.py). Questions and answers are kept
in ``model_answers.jsonl`` in the collection's folder: nothing is asked and paid for twice.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from honeyguide.config.settings import Settings
from honeyguide.errors import HoneyguideError, SearchError
from honeyguide.learning import label_queries, topics
from honeyguide.learning.label_queries import LabelQueryScope
from honeyguide.search.credentials import is_private_url
from honeyguide.store.collection_files import open_regular
from honeyguide.store.store import Store, open_existing_store
from honeyguide.store.visits import VisitRow
from honeyguide.teacher.chat_model import ChatModel
from honeyguide.teacher.page_questions import (
    MIN_CONFIDENCE,
    TopicBrief,
    TopicProposals,
    build_page_question,
    build_proposal_question,
    question_digest,
    read_judgement,
    read_proposals,
)
from honeyguide.types import MODEL_LABELLER, Label, Page, Url

JOURNAL_NAME = "model_answers.jsonl"
_MAX_JOURNAL_BYTES = 50_000_000
_AGREED, _COMPARED = 8.0, 10.0
"""Before a person labelled what the model labelled, it is taken to be right so often."""
_LEAST_RIGHT, _MOST_RIGHT = 0.6, 0.95
_SURE_VALUE = 0.6
"""What both together must say at least for a label."""
_MAX_ODDS, _VERDICT_WEIGHT = 8.0, 0.25
"""Log-odds of a verdict, bounded, and how much they count: verdicts are surer than right."""
_LIVE_SCOPE = LabelQueryScope(rows=2_000, pages=300, labels=200, anew=0)
"""What is looked at for questions while a crawl runs, which must not wait."""
_POLL_S = 1.0
_NAME_CHARS = 60
_MAX_MODELS = 20
"""Models that are told of by name."""
_Text = Annotated[str, Meta(max_length=1_000)]
_Tokens = Annotated[int, Meta(ge=0, le=10**12)]
_MAX_GARBAGE = 3
"""Useless answers in a row after which a round ends."""


class TeacherAnswer(msgspec.Struct, frozen=True):
    """One line of the journal: a page that the model was asked about. A stranger's is held to the
    same bounds as ours."""

    at: float
    url: str
    topic: str
    model: _Text
    digest: _Text
    relevant: bool
    confidence: Annotated[float, Meta(ge=0, le=1)]
    reason: _Text
    tokens_in: _Tokens
    tokens_out: _Tokens
    counted: bool
    cost: Annotated[float, Meta(ge=0, le=1e15)]


class TeachingReport(NamedTuple):
    """What a model was asked, and what came of it."""

    model: str
    asked: int = 0
    """Questions that were answered; those that the journal answered are not counted."""
    relevant: int = 0
    """Pages that it called relevant …"""
    other: int = 0
    """… and not relevant; the rest it was not sure of."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    estimated: int = 0
    """Answers whose tokens the server did not count."""
    against: int = 0
    """Answers against a clear verdict of the crawl, which are no labels."""
    trouble: str = ""
    """Why it was asked no more."""

    def __str__(self) -> str:
        unsure = self.asked - self.relevant - self.other - self.against
        parts = [
            f"the model {self.model} judged {self.asked} pages: {self.relevant} relevant, "
            f"{self.other} not" + (f", {unsure} it is not sure of" if unsure > 0 else ""),
            f"{self.tokens_in + self.tokens_out:,} tokens",
        ]
        if self.cost:
            parts.append(f"cost {self.cost:.4f}")
        if self.against:
            parts.append(f"{self.against} against clear verdicts are left to people")
        if self.estimated:
            parts.append(f"tokens of {self.estimated} answers estimated")
        return "; ".join(parts) + (f"; then: {self.trouble}" if self.trouble else "")


@dataclass
class ModelTeacher:
    """Asks a model about pages of one collection; see :meth:`teach`."""

    folder: Path
    settings: Settings
    model: ChatModel
    clock: Callable[[], float] = time.time
    report: TeachingReport = field(init=False)
    """Of everything since it was made."""
    labelled: list[Url] = field(default_factory=list)
    """Pages that it labelled."""

    def __post_init__(self) -> None:
        self.report = TeachingReport(self.model.model_name)
        self._labeller = labeller_name(self.model.model_name)
        self._read_journal()

    def _read_journal(self) -> None:
        """Anew before each question: another process may be asking, too."""
        self._journal = read_journal(self.folder)
        self._known = {answer.digest: answer for answer in self._journal}

    @property
    def questions_left(self) -> int:
        """Questions left in ``teacher.most``."""
        return max(0, self.settings.teacher.most - len(self._journal))

    @property
    def _used_up(self) -> str:
        return f"the {self.settings.teacher.most} questions of teacher.most are used up"

    async def teach(
        self,
        count: int,
        progress: Callable[[int, int], None] = lambda _done, _of: None,
        *,
        live: bool = False,
    ) -> None:
        """Ask about at most ``count`` pages, and label them. ``live``: a crawl runs meanwhile.

        Never raises for what the model does: ``report.trouble`` says why it ended early.
        """
        if not self.questions_left:
            self.note_trouble(self._used_up)
            return
        self.note_trouble("")
        questions = await asyncio.to_thread(
            self._choose_pages, min(count, self.questions_left), live
        )
        garbage = 0
        for place, (page, verdict, topic, brief) in enumerate(questions):
            progress(place, len(questions))
            try:
                answer = await self._judge_page(page, topic, brief)
            except SearchError as error:
                garbage += 1
                self.note_trouble(f"{error.kind}: {error.detail}" if error.detail else error.kind)
                if error.kind != "garbage" or error.wait or garbage >= _MAX_GARBAGE:
                    return
                continue
            garbage = 0
            await asyncio.to_thread(self._label_page, page.url, verdict, topic, answer)
        progress(len(questions), len(questions))

    async def propose_words(self) -> list[tuple[str, TopicProposals]]:
        """What the model proposes for each topic; raises SearchError."""
        briefs = self._briefs(None)
        if (self.folder / "collection.db").exists():
            with open_existing_store(self.folder, "read") as store:
                briefs = self._briefs(store)
        found = []
        for one in topics.settings_per_topic(self.settings):
            brief = briefs[topics.resolve_topic(self.settings, one.topic.name)]
            answer = await self.model.ask_question(*build_proposal_question(brief))
            self._count_usage(answer.tokens_in, answer.tokens_out, answer.cost, answer.counted)
            proposals = read_proposals(answer.text, one.topic.keywords, self.model.redact_key)
            found.append((one.topic.name, proposals))
        return found

    def _choose_pages(self, count: int, live: bool) -> list[tuple[Page, float, str, TopicBrief]]:
        """The pages that a person would be asked about, with their verdicts, but for private ones,
        which do not leave the user's own network."""
        scope = (_LIVE_SCOPE if live else LabelQueryScope())._replace(by=self._labeller)
        examples = topics.load_example_files(self.folder, self.settings)
        with open_existing_store(self.folder, "read") as store:
            briefs = self._briefs(store)
            asked = label_queries.label_questions(store, self.settings, count, examples, scope)
            found = []
            for question in asked:
                row = question.row
                if self._may_show(row):
                    best = label_queries.best_topic(self.settings, row)
                    topic = topics.resolve_topic(self.settings, best)
                    page = store.visits.rebuild_page(row)
                    found.append((page, question.verdict, topic, briefs[topic]))
            return found

    def _may_show(self, row: VisitRow) -> bool:
        """Whether that page may be shown to the model, which its address alone does not say: a
        public name may lead into the user's own network."""
        if self.settings.fetch.lab or is_private_url(self.settings.teacher.url):
            return True
        return not is_private_url(row.url, row.ip)

    def _briefs(self, store: Store | None) -> dict[str, TopicBrief]:
        """Each topic in words, with titles of pages that people labelled; by its name as labels
        have it."""
        titles: dict[str, dict[bool, list[str]]] = {}
        labels = [] if store is None else store.labels.everyone_after()
        for _, label in reversed(labels):
            known = titles.setdefault(label.topic, {}).setdefault(label.value >= 0.5, [])
            if not label.by.startswith(MODEL_LABELLER) and len(known) < 5 and store is not None:
                rows = store.visits.attempts_at(label.url)[-1:]
                known += [row.title for row in rows if row.title and self._may_show(row)]
        instructions = self.settings.teacher.instructions
        return {
            name: TopicBrief.of_topic(one.topic, instructions, titles.get(name, {}))
            for one in topics.settings_per_topic(self.settings)
            for name in [topics.resolve_topic(self.settings, one.topic.name)]
        }

    async def _judge_page(self, page: Page, topic: str, brief: TopicBrief) -> TeacherAnswer:
        """From the journal, or else from the model; raises SearchError."""
        most = self.settings.teacher.page_chars
        digest = question_digest(self.model.model_name, brief, page, most)
        await asyncio.to_thread(self._read_journal)
        if (known := self._known.get(digest)) is not None:
            return known
        if not self.questions_left:
            raise SearchError("spent", self._used_up, math.inf)
        said = await self.model.ask_question(*build_page_question(brief, page, most))
        self._count_usage(said.tokens_in, said.tokens_out, said.cost, said.counted)
        judgement = read_judgement(said.text, self.model.redact_key)
        answer = TeacherAnswer(
            self.clock(), page.url, topic, self.model.model_name, digest, *judgement,
            said.tokens_in, said.tokens_out, said.counted, said.cost,
        )  # fmt: skip
        await asyncio.to_thread(_append_journal, self.folder, answer)
        self._journal.append(answer)
        self._known[digest] = answer
        self.report = self.report._replace(asked=self.report.asked + 1)
        return answer

    def _label_page(self, url: Url, verdict: float, topic: str, answer: TeacherAnswer) -> None:
        now = self.clock()
        with open_existing_store(self.folder, "write") as store:
            own = (one for one in self._journal if one.model == self.model.model_name)
            agreed, compared = agreement_with_people(store, own)
            right = (agreed + _AGREED) / (compared + _COMPARED)
            right = min(max(right, _LEAST_RIGHT), _MOST_RIGHT)
            value = joint_chance(answer.relevant, right, verdict)
            sure = value if answer.relevant else 1 - value
            if answer.confidence < MIN_CONFIDENCE or sure < _SURE_VALUE:
                store.labels.pass_over(url, self._labeller, "unsure", now, topic)
                contradicts = answer.confidence >= MIN_CONFIDENCE
                self.report = self.report._replace(against=self.report.against + contradicts)
                return
            store.labels.add([Label(url, value, self._labeller, now, topic)])
        self.labelled.append(url)
        kind = "relevant" if answer.relevant else "other"
        self.report = self.report._replace(**{kind: getattr(self.report, kind) + 1})

    def _count_usage(self, tokens_in: int, tokens_out: int, cost: float, counted: bool) -> None:
        now = self.report
        self.report = now._replace(
            tokens_in=now.tokens_in + tokens_in,
            tokens_out=now.tokens_out + tokens_out,
            cost=now.cost + cost,
            estimated=now.estimated + (not counted),
        )

    def note_trouble(self, why: str) -> None:
        """Why it is asked no more."""
        self.report = self.report._replace(trouble=why)


def labeller_name(model: str) -> str:
    """The name under which the labels of a model are kept."""
    return f"{MODEL_LABELLER}{model}"[:_NAME_CHARS]


@asynccontextmanager
async def open_teacher(folder: Path, settings: Settings) -> AsyncIterator[ModelTeacher]:
    """The teacher that the settings name; raises ConfigError if it may not be asked."""
    model = ChatModel(settings, folder, time.time)
    try:
        yield ModelTeacher(folder, settings, model)
    finally:
        await model.aclose()


async def teach_while_crawling(teacher: ModelTeacher, visits: Callable[[], int]) -> None:
    """A round of questions after every ``teacher.every`` pages, until it is cancelled, or answers
    cannot be kept."""
    table, last = teacher.settings.teacher, visits()
    while table.every:
        await asyncio.sleep(_POLL_S)
        if visits() - last >= table.every and teacher.questions_left:
            last = visits()
            try:
                await teacher.teach(table.batch, live=True)
            except (HoneyguideError, OSError) as error:  # nothing that ends a crawl
                teacher.note_trouble(str(error))
                return


def joint_chance(relevant: bool, right: float, verdict: float) -> float:
    """The chance that a page is relevant, from a model's answer, which is right so often, and the
    crawl's own verdict."""
    verdict = min(max(verdict, 1e-9), 1 - 1e-9)
    odds = min(max(math.log(verdict / (1 - verdict)), -_MAX_ODDS), _MAX_ODDS) * _VERDICT_WEIGHT
    odds += math.log(right / (1 - right)) * (1 if relevant else -1)
    return min(max(1 / (1 + math.exp(-odds)), 1 - _MOST_RIGHT), _MOST_RIGHT)


def agreement_with_people(store: Store, journal: Iterable[TeacherAnswer]) -> tuple[int, int]:
    """Pages on which the model and people say the same, of those that both judged."""
    people: dict[tuple[str, str], bool] = {}
    for _, label in store.labels.everyone_after():
        if not label.by.startswith(MODEL_LABELLER):
            people[label.url, label.topic] = label.value >= 0.5
    said = {(one.url, one.topic): one.relevant for one in journal}
    both = [said[page] == people[page] for page in said.keys() & people.keys()]
    return sum(both), len(both)


def summarise_journal(journal: Sequence[TeacherAnswer]) -> list[TeachingReport]:
    """All that was ever asked, by model."""
    found: dict[str, TeachingReport] = {}
    for one in journal:
        name = one.model if one.model in found or len(found) < _MAX_MODELS else "(others)"
        now = found.get(name, TeachingReport(name))
        sure = one.confidence >= MIN_CONFIDENCE
        found[name] = TeachingReport(
            name,
            now.asked + 1,
            now.relevant + (sure and one.relevant),
            now.other + (sure and not one.relevant),
            now.tokens_in + one.tokens_in,
            now.tokens_out + one.tokens_out,
            now.cost + one.cost,
            now.estimated + (not one.counted),
        )
    return list(found.values())


def read_journal(folder: Path) -> list[TeacherAnswer]:
    """Every answer in the folder's journal, oldest first; lines that make no sense are left out."""
    try:
        descriptor = open_regular(folder / JOURNAL_NAME, os.O_RDONLY)
    except FileNotFoundError:
        return []
    with os.fdopen(descriptor, "rb") as file:
        lines = file.read(_MAX_JOURNAL_BYTES).splitlines()
    found = []
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=TeacherAnswer))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
    return found


def _append_journal(folder: Path, answer: TeacherAnswer) -> None:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    with os.fdopen(open_regular(folder / JOURNAL_NAME, flags), "ab") as file:
        end = os.fstat(file.fileno()).st_size
        # Whoever wrote last may have been killed amid a line.
        torn = end > 0 and os.pread(file.fileno(), 1, end - 1) != b"\n"
        file.write(b"\n" * torn + msgspec.json.encode(answer) + b"\n")
        file.flush()
        os.fsync(file.fileno())
