"""A collection from the outside: crawl it, read it, judge it. The Python API."""

from __future__ import annotations

import asyncio
import math
import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from honeyguide import language_codes as tongues
from honeyguide import registry
from honeyguide.config import Settings, load
from honeyguide.crawl import topics as several
from honeyguide.crawl.open_store import existing
from honeyguide.crawl.user_urls import known
from honeyguide.errors import ConfigError
from honeyguide.multi_topic import topics_of
from honeyguide.store.effective_labels import Topics
from honeyguide.store.visits import VisitRow
from honeyguide.types import Label

if TYPE_CHECKING:
    # Few commands need more than one of them, and loading takes as long as some forty pages.
    from honeyguide.crawl.explain import Explanation
    from honeyguide.crawl.generations import Comparison, Listed
    from honeyguide.crawl.label_queries import Asked, Asking
    from honeyguide.crawl.labels import Labelled
    from honeyguide.crawl.progress import Observer, Report
    from honeyguide.crawl.rescore_pages import Judged, Told
    from honeyguide.crawl.status import Status
    from honeyguide.store.export import Exported


class Collection:
    """A folder with a topic and what a crawl found for it.

    The folder may be named by its topic.toml, or by its own name from inside it.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = _found(Path(folder))
        if not self.folder.is_dir():
            raise ConfigError(
                f"there is no collection {str(folder)!r} here; make it with: "
                f"honeyguide new {shlex.quote(str(folder))}"
            )
        self.settings: Settings = load(self.folder / "topic.toml")

    def __repr__(self) -> str:
        return f"Collection({str(self.folder)!r})"

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def learns(self) -> bool:
        """Whether its strategy learns from labels."""
        return bool(registry.find(self.settings.crawl.strategy).habits.learns)

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of its topics in their order; none where there is but one."""
        return several.names(self.settings)

    def crawl(
        self,
        *,
        pages: int | None = None,
        hours: float | None = None,
        observer: Observer | None = None,
    ) -> Report:
        """Crawl, or go on where the last crawl ended. Ctrl-C stops cleanly.

        A collection with shards is crawled by :func:`honeyguide.cluster.crawl.crawl_here`.
        """
        from honeyguide.crawl.run import run

        return asyncio.run(run(self.folder, self.limited(pages, hours), observer))

    def limited(self, pages: int | None, hours: float | None) -> Settings:
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
        with existing(self.folder, "write") as store:
            return store.shards

    def status(self, *, hosts: int = 10) -> Status:
        """How it stands; also while it is being crawled."""
        from honeyguide.crawl import status as standing

        with existing(self.folder, "read") as store:
            found = standing.status(store, self.settings, hosts)
            if not self.topics:
                return found
            return replace(found, topics=several.counted(store, self.settings))

    def pages(self, *, relevant: bool | None = True) -> Iterator[VisitRow]:
        """The pages found, oldest first."""
        with existing(self.folder, "read") as store:
            yield from store.visits(relevant=relevant, page=True)

    def text(self, row: VisitRow) -> str:
        with existing(self.folder, "read") as store:
            return store.text(row.id)[1]

    def explain(self, url: str) -> Explanation:
        """Why an address was fetched, or why not."""
        with existing(self.folder, "read") as store:
            meant = known(store, url, waiting=True)
        from honeyguide.crawl import explain as explaining

        return explaining.explain(self.folder, self.settings, meant, time.time())

    def label(
        self, url: str, value: float, *, by: str = "user", topic: str | None = ""
    ) -> Labelled:
        """A person's judgement of a page, from 0 (not what I want) to 1; also while it crawls."""
        return self.label_all([(url, value)], by=by, topic=topic)

    def label_all(
        self, judged: Iterable[tuple[str, float]], *, by: str = "user", topic: str | None = ""
    ) -> Labelled:
        """Several judgements, all kept or none. Of several topics, they are about the one that is
        named; '': the first; None: each about the one that its page was judged best for."""
        from honeyguide.crawl import labels

        return labels.label(self.folder, self.settings, judged, by, topic)

    def ask(self, count: int = 5, *, by: str = "", choice: Asking = "mixed") -> Asked:
        """Pages whose labels would help most, or of the kind that is chosen; not those that this
        person would not judge before."""
        from honeyguide.crawl import label_queries as asking

        with existing(self.folder, "read") as store:
            scope = asking.Scope(by, choice)
            return asking.ask(store, self.folder, self.settings, count, scope)

    def labels(self, url: str) -> dict[str, Label]:
        """The newest label of a page for each topic, by its name; with one topic, under ''."""
        with existing(self.folder, "read") as store:
            said = store.labels_about(known(store, url))
        first = self.topics[0] if self.topics else ""
        return {label.topic or first: label for label in said.values()}

    def generations(self) -> list[Listed]:
        """What the strategy learned, generation by generation."""
        from honeyguide.crawl import generations

        with existing(self.folder, "read") as store:
            return generations.listed(store)

    def compare(self, one: int, other: int) -> Comparison:
        """Two generations on the same pages."""
        from honeyguide.crawl import generations

        with existing(self.folder, "read") as store:
            return generations.compare(store, one, other, self.settings.topic.threshold)

    def judge(self, told: Told = lambda _done, _of: None) -> Judged:
        """Judge all pages anew by the generation that decides now."""
        from honeyguide.crawl import rescore_pages as judging

        return judging.judge(self.folder, self.settings, told)

    def use(self, generation: int) -> None:
        """Go back, or forward, to a generation; also while it crawls."""
        from honeyguide.crawl import generations

        with existing(self.folder, "write") as store:
            if generation in {known.number for known in store.generations()}:
                found = store.load_generation(generation, registry.find)
                if topics_of(found) != self.topics:
                    raise ConfigError(f"generation {generation} knows other topics than topic.toml")
            generations.use(store, generation, self.settings.crawl.strategy)

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
    ) -> Exported:
        """Write the relevant pages, or every visit, to a file; its ending says the format.

        ``topic``: only pages that are relevant for this one, of several. ``language``: only pages
        in this one, or in ``all``; also where it is not among ``topic.language``.
        """
        from honeyguide.store.export import export

        several.chosen(self.settings, topic)
        if language and language != "all":
            tongues.check(language, "language")
        threshold = self.settings.topic.threshold
        wanted = Topics(self.topics, threshold, topic) if self.topics else None
        with existing(self.folder, "read") as store:
            return export(
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


def _found(folder: Path) -> Path:
    if folder.name == "topic.toml":
        folder = folder.parent
    if not folder.exists() and Path("topic.toml").is_file() and Path.cwd().name == str(folder):
        return Path()
    return folder
