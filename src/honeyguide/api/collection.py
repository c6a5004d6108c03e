"""The Python API: a collection on disk, with everything that the command line can do."""

from __future__ import annotations

import asyncio
import math
import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from honeyguide import language_codes, registry
from honeyguide.api.user_urls import resolve_url
from honeyguide.config.settings import Settings, load_settings
from honeyguide.errors import ConfigError
from honeyguide.learning import topics as several
from honeyguide.multi_topic import topic_names
from honeyguide.store.labels import TopicSelection
from honeyguide.store.open_store import open_existing_store
from honeyguide.store.visits import VisitRow
from honeyguide.types import Label

if TYPE_CHECKING:
    from honeyguide.api.explain import Explanation
    from honeyguide.api.generations import GenerationComparison, GenerationSummary
    from honeyguide.api.labels import LabelOutcome
    from honeyguide.crawl.rescore import RescoreProgress, RescoreResult
    from honeyguide.crawl.status import CollectionStatus, Report
    from honeyguide.learning.label_queries import LabelQueries, LabelQueryKind
    from honeyguide.run_status import StatusObserver
    from honeyguide.store.export import ExportResult


class Collection:
    """A folder with a topic and what a crawl found for it.

    The folder may be named by its topic.toml, or by its own name from inside it.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = _resolve_folder(Path(folder))
        if not self.folder.is_dir():
            raise ConfigError(
                f"there is no collection {str(folder)!r} here; make it with: "
                f"honeyguide new {shlex.quote(str(folder))}"
            )
        self.settings: Settings = load_settings(self.folder / "topic.toml")

    def __repr__(self) -> str:
        return f"Collection({str(self.folder)!r})"

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def learns(self) -> bool:
        """Whether its strategy learns from labels."""
        return bool(registry.find_strategy(self.settings.crawl.strategy).traits.learns)

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of its topics in their order; none where there is but one."""
        return several.topic_names(self.settings)

    def crawl(
        self,
        *,
        pages: int | None = None,
        hours: float | None = None,
        observer: StatusObserver | None = None,
    ) -> Report:
        """Crawl, or go on where the last crawl ended. Ctrl-C stops cleanly.

        A collection with shards is crawled by
        :func:`honeyguide.cluster.sharded_crawl.crawl_in_processes`.
        """
        from honeyguide.crawl.run import run_crawl

        return asyncio.run(run_crawl(self.folder, self.limited_settings(pages, hours), observer))

    def limited_settings(self, pages: int | None, hours: float | None) -> Settings:
        """Its settings, with other limits for one run."""
        limits = self.settings.crawl
        if pages is not None:
            if pages < 0:
                raise ConfigError(f"pages must be a number of visits, or 0 for no limit: {pages}")
            limits = replace(limits, pages=pages)
        if hours is not None:
            if not (0 <= hours < math.inf):
                raise ConfigError(f"hours must be a number of hours, or 0 for no limit: {hours}")
            limits = replace(limits, hours=hours)
        return replace(self.settings, crawl=limits)

    @property
    def shards(self) -> int:
        """In how many processes it was crawled last; 1 if it was not crawled yet."""
        if not (self.folder / "collection.db").exists():
            return 1
        with open_existing_store(self.folder, "write") as store:
            return store.shard_count

    def status(self, *, hosts: int = 10) -> CollectionStatus:
        """How it stands; also while it is being crawled."""
        from honeyguide.crawl import status as standing

        with open_existing_store(self.folder, "read") as store:
            found = standing.collection_status(store, self.settings, hosts)
            if not self.topics:
                return found
            return replace(found, topics=several.relevant_per_topic(store, self.settings))

    def pages(self, *, relevant: bool | None = True) -> Iterator[VisitRow]:
        """The pages found, oldest first."""
        with open_existing_store(self.folder, "read") as store:
            yield from store.visits.iter_visits(relevant=relevant, page=True)

    def text(self, row: VisitRow) -> str:
        with open_existing_store(self.folder, "read") as store:
            return store.visits.page_text(row.id)[1]

    def explain(self, url: str) -> Explanation:
        """Why an address was fetched, or why not."""
        with open_existing_store(self.folder, "read") as store:
            meant = resolve_url(store, url, waiting=True)
        from honeyguide.api import explain as explaining

        return explaining.explain_url(self.folder, self.settings, meant, time.time())

    def label(
        self, url: str, value: float, *, by: str = "user", topic: str | None = ""
    ) -> LabelOutcome:
        """A person's judgement of a page, from 0 (not what I want) to 1; also while it crawls."""
        return self.label_all([(url, value)], by=by, topic=topic)

    def label_all(
        self, judged: Iterable[tuple[str, float]], *, by: str = "user", topic: str | None = ""
    ) -> LabelOutcome:
        """Several judgements, all kept or none. Of several topics, they are about the one that is
        named; '': the first; None: each about the one that its page was judged best for."""
        from honeyguide.api import labels as labels_

        return labels_.add_labels(self.folder, self.settings, judged, by, topic)

    def ask(
        self, count: int = 5, *, by: str = "", choice: LabelQueryKind = "mixed"
    ) -> LabelQueries:
        """Pages whose labels would help most, or of the kind that is chosen; not those that this
        person would not judge before."""
        from honeyguide.learning import label_queries

        with open_existing_store(self.folder, "read") as store:
            scope = label_queries.LabelQueryScope(by, choice)
            return label_queries.ask_for_labels(store, self.folder, self.settings, count, scope)

    def labels(self, url: str) -> dict[str, Label]:
        """The newest label of a page for each topic, by its name; with one topic, under ''."""
        with open_existing_store(self.folder, "read") as store:
            said = store.labels.labels_by_topic(resolve_url(store, url))
        first = self.topics[0] if self.topics else ""
        return {label.topic or first: label for label in said.values()}

    def generations(self) -> list[GenerationSummary]:
        """What the strategy learned, generation by generation."""
        from honeyguide.api import generations as generations_

        with open_existing_store(self.folder, "read") as store:
            return generations_.list_generations(store)

    def compare(self, one: int, other: int) -> GenerationComparison:
        """Two generations on the same pages."""
        from honeyguide.api import generations as generations_

        with open_existing_store(self.folder, "read") as store:
            return generations_.compare_generations(
                store, one, other, self.settings.topic.threshold
            )

    def judge(self, told: RescoreProgress = lambda _done, _of: None) -> RescoreResult:
        """Judge all pages anew by the generation that decides now."""
        from honeyguide.crawl import rescore

        return rescore.rescore_pages(self.folder, self.settings, told)

    def use(self, generation: int) -> None:
        """Go back, or forward, to a generation; also while it crawls."""
        from honeyguide.api import generations as generations_

        with open_existing_store(self.folder, "write") as store:
            if generation in {known.number for known in store.generations.list_all()}:
                found = store.generations.load(generation, registry.find_strategy)
                if topic_names(found) != self.topics:
                    raise ConfigError(
                        f"generation {generation} was trained for other topics than "
                        "those in topic.toml"
                    )
            generations_.use_generation(store, generation, self.settings.crawl.strategy)

    def export(
        self,
        to: str | Path,
        *,
        format: str = "",
        everything: bool = False,
        text: bool = True,
        progress: Callable[[int], None] | None = None,
        topic: str = "",
        language: str = "",
    ) -> ExportResult:
        """Write the relevant pages, or every visit, to a file; its ending says the format.

        ``topic``: only pages that are relevant for this one, of several. ``language``: only pages
        in this one, or in ``all``; also where it is not among ``topic.language``.
        """
        from honeyguide.store.export import export_collection

        several.resolve_topic(self.settings, topic)
        if language and language != "all":
            language_codes.check_language_code(language, "language")
        threshold = self.settings.topic.threshold
        wanted = TopicSelection(self.topics, threshold, topic) if self.topics else None
        with open_existing_store(self.folder, "read") as store:
            return export_collection(
                store,
                Path(to),
                format,
                everything=everything,
                text=text,
                progress=progress,
                topics=wanted,
                language=language,
                threshold=threshold,
            )


def _resolve_folder(folder: Path) -> Path:
    if folder.name == "topic.toml":
        folder = folder.parent
    if not folder.exists() and Path("topic.toml").is_file() and Path.cwd().name == str(folder):
        return Path()
    return folder
