"""A language model that judges pages: ask it, take its labels back, what it cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from honeyguide.api.topic_edit import change_topic_file
from honeyguide.config.settings import Settings, has_bang_command
from honeyguide.crawl.rescore import apply_new_labels
from honeyguide.crawl.signals import run_in_loop
from honeyguide.search import credentials
from honeyguide.search.credentials import EngineConsent
from honeyguide.search.http_client import MonthlyUsage
from honeyguide.store.store import open_existing_store
from honeyguide.teacher.chat_model import check_teacher, teacher_consent
from honeyguide.teacher.model_teacher import (
    ModelTeacher,
    TeachingReport,
    agreement_with_people,
    labeller_name,
    open_teacher,
    read_journal,
    summarise_journal,
)
from honeyguide.teacher.page_questions import TopicProposals
from honeyguide.types import MODEL_LABELLER

CountProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class TeacherOverview:
    """What models were asked about a collection so far."""

    models: tuple[TeachingReport, ...]
    agreed: int
    """Pages on which a model and people say the same …"""
    compared: int
    """… of those that both judged."""
    month: MonthlyUsage | None = None
    """What all collections with this key asked and paid this month; None: not known."""

    def __str__(self) -> str:
        lines = [str(report) for report in self.models] or ["no model was asked yet"]
        if self.compared:
            lines.append(f"it agrees with people on {self.agreed} of {self.compared} pages")
        return "; ".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {
            "models": [report._asdict() for report in self.models],
            "agreed": self.agreed,
            "compared": self.compared,
            "month": self.month and self.month._asdict(),
        }


def teach_with_model(
    folder: Path, settings: Settings, count: int, progress: CountProgress
) -> TeachingReport:
    """Have the model judge at most ``count`` pages, and count what it says at once."""

    async def ask_model() -> ModelTeacher:
        async with open_teacher(folder, settings) as teacher:
            await teacher.teach(count, progress)
            return teacher

    done = run_in_loop(ask_model())
    if done.labelled:
        apply_new_labels(folder, settings, done.labelled)
    return done.report


def propose_topic(
    folder: Path, settings: Settings
) -> tuple[TeachingReport, list[tuple[str, TopicProposals]]]:
    """Keywords and queries that the model proposes for each topic; raises SearchError."""

    async def ask_model() -> tuple[TeachingReport, list[tuple[str, TopicProposals]]]:
        async with open_teacher(folder, settings) as teacher:
            proposals = await teacher.propose_words()
            return teacher.report, proposals

    return run_in_loop(ask_model())


def accept_proposals(folder: Path, settings: Settings, proposals: TopicProposals) -> Settings:
    """Write the keywords, and the queries if a search engine is set, into topic.toml."""
    known, queries = settings.topic.keywords, settings.search.queries
    wanted: dict[str, dict[str, Any]] = {
        "topic": {"keywords": list(dict.fromkeys((*known, *proposals.keywords)))}
    }
    if settings.search.engine:
        fit = [query for query in proposals.queries if not has_bang_command(query)]
        wanted["search"] = {"queries": list(dict.fromkeys((*queries, *fit)))}
    return change_topic_file(folder, wanted)


def take_back_model_labels(folder: Path, settings: Settings) -> int:
    """Take back every label that a model gave; how many. What learned from them learns anew with
    the next labels, or by ``honeyguide learn``."""
    names = {labeller_name(one.model) for one in read_journal(folder)}
    with open_existing_store(folder, "write") as store:
        everyone = {label.by for _, label in store.labels.everyone_after()}
        names |= {name for name in everyone if name.startswith(MODEL_LABELLER)}
        urls = [url for name in names for url in store.labels.take_back_all(name)]
    if urls:
        apply_new_labels(folder, settings, urls)
    return len(urls)


def allow_teacher(folder: Path, settings: Settings) -> EngineConsent:
    """Note that the user wants this model asked for this collection; raises ConfigError."""
    wanted = teacher_consent(check_teacher(settings), folder)
    credentials.grant_consent(wanted)
    return wanted


def teacher_overview(folder: Path, settings: Settings) -> TeacherOverview | None:
    """What models were asked so far; None: none was, and none is set. Only reads."""
    journal = read_journal(folder)
    if not journal and not settings.teacher.url:
        return None
    agreed = compared = 0
    if (folder / "collection.db").exists():
        with open_existing_store(folder, "read") as store:
            agreed, compared = agreement_with_people(store, journal)
    return TeacherOverview(tuple(summarise_journal(journal)), agreed, compared)
