"""A collection from the outside: make one, crawl it, read it. The Python API."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from honeyguide.config import Settings, load, parse
from honeyguide.crawl.build import fence_of, opened, strategy_of
from honeyguide.crawl.progress import Progress, Report
from honeyguide.crawl.ring import Ring
from honeyguide.errors import ConfigError
from honeyguide.fetch.http import user_agent
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow

Observer = Callable[[Progress], None]


class Collection:
    """A folder with a topic and what a crawl found for it."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise ConfigError(
                f"there is no collection {str(folder)!r} here; make it with: "
                f"honeyguide new {folder}"
            )
        self.settings: Settings = load(self.folder / "topic.toml")

    def crawl(
        self,
        *,
        pages: int | None = None,
        hours: float | None = None,
        observer: Observer | None = None,
    ) -> Report:
        """Crawl, or go on where the last crawl ended. Ctrl-C stops cleanly."""
        limits = self.settings.crawl
        if pages is not None:
            limits = replace(limits, pages=pages)
        if hours is not None:
            limits = replace(limits, hours=hours)
        settings = replace(self.settings, crawl=limits)
        return asyncio.run(_crawl(self.folder, settings, observer))

    def pages(self, *, relevant: bool | None = True) -> Iterator[VisitRow]:
        """The pages found, oldest first."""
        with Store.open(self.folder, "read") as store:
            yield from store.visits(relevant=relevant, page=True)

    def text(self, row: VisitRow) -> str:
        with Store.open(self.folder, "read") as store:
            return store.text(row.id)[1]


def create(
    folder: str | Path,
    *,
    seeds: Sequence[str],
    contact: str,
    keywords: Sequence[str] = (),
    description: str = "",
    good: Sequence[str] = (),
    bad: Sequence[str] = (),
    language: str = "en",
    strategy: str = "",
    pages: int = 1000,
    **tables: dict[str, object],
) -> Collection:
    """A new collection with its topic.toml; further tables (``scope={…}``) as in the file."""
    folder = Path(folder)
    if (folder / "topic.toml").exists():
        raise ConfigError(
            f"{folder} is a collection already; crawl it with: honeyguide crawl {folder}"
        )
    topic: dict[str, object] = {
        "name": folder.name,
        "description": description,
        "keywords": list(keywords),
        "seeds": list(seeds),
        "good": list(good),
        "bad": list(bad),
        "language": language,
    }
    strategy = strategy or ("keyword" if keywords or description else "breadth")
    raw: dict[str, dict[str, object]] = {
        "topic": topic,
        "crawl": {"strategy": strategy, "pages": pages},
        "fetch": {"contact": contact},
    }
    for name, table in tables.items():
        raw.setdefault(name, {}).update(table)
    settings = parse(raw)
    user_agent(settings.fetch.contact, "0")
    fence_of(settings)
    strategy_of(settings)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "topic.toml").write_text(_toml(raw), "utf-8")
    return Collection(folder)


_HEAD = """\
# What this collection is about and how it is crawled.
# Every key, its unit and its default: docs/reference/settings.md. Unknown keys are errors.
"""


def _toml(raw: dict[str, dict[str, object]]) -> str:
    lines = [_HEAD]
    for name, table in raw.items():
        lines.append(f"[{name}]")
        lines.extend(f"{key} = {_value(value)}" for key, value in table.items())
        lines.append("")
    return "\n".join(lines)


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        if len(value) > 1:
            return "[\n" + "".join(f"  {_value(item)},\n" for item in value) + "]"
        return f"[{', '.join(map(_value, value))}]"
    # JSON's strings, numbers and truth values are TOML's too.
    return json.dumps(value, ensure_ascii=False)


async def _crawl(folder: Path, settings: Settings, observer: Observer | None) -> Report:
    async with opened(folder, settings) as ring:
        with _stoppable(ring):
            watching = asyncio.create_task(_observe(ring, observer)) if observer else None
            try:
                return await ring.run()
            finally:
                if watching is not None:
                    watching.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await watching


async def _observe(ring: Ring, observer: Observer) -> None:
    while True:
        observer(ring.progress())
        await asyncio.sleep(0.25)


@contextlib.contextmanager
def _stoppable(ring: Ring) -> Iterator[None]:
    """Ctrl-C asks the ring to finish; a second one is the ordinary KeyboardInterrupt."""
    loop = asyncio.get_running_loop()
    caught = (signal.SIGINT, signal.SIGTERM)

    def ask() -> None:
        ring.stop()
        for number in caught:
            loop.remove_signal_handler(number)

    try:
        for number in caught:
            loop.add_signal_handler(number, ask)
    except (ValueError, RuntimeError):
        # Not in the main thread, as inside a notebook's worker: its owner handles signals.
        yield
        return
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
