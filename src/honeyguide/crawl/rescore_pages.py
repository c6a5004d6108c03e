"""Judge a collection's pages anew: what was learned late holds for what was found early, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, cast

from honeyguide import registry
from honeyguide.config import Settings
from honeyguide.crawl import topics
from honeyguide.crawl.active_generation import decide, readable
from honeyguide.crawl.from_settings import strategy_of
from honeyguide.errors import ConfigError, ModelError
from honeyguide.multi_topic import topics_of
from honeyguide.protocols import Strategy
from honeyguide.store.store import Store

_BATCH = 200

Told = Callable[[int, int], None]
"""Pages done, of how many."""


class Judged(NamedTuple):
    generation: int
    pages: int
    before: int
    """Relevant pages before …"""
    after: int
    """… and now."""
    warning: str = ""
    """The live generation is damaged, and which one decides."""


def judge_of(folder: Path, settings: Settings) -> tuple[Strategy, int]:
    """Who judges in this collection now: its live generation, and that generation's number; behind
    the language gate, where there is one."""
    strategy, number = _live(folder, settings)
    if not settings.topic.language:
        return strategy, number
    from honeyguide.crawl.languages import Gated, languages_of

    languages = languages_of(settings)
    if languages is None:
        return strategy, number
    if (folder / "collection.db").exists():
        with Store.open(folder, "read") as store:
            languages.recall(store)
    return cast("Strategy", Gated(strategy, languages)), number


def _live(folder: Path, settings: Settings) -> tuple[Strategy, int]:
    if (folder / "collection.db").exists():
        with Store.open(folder, "read") as store:
            found, live, _ = readable(store, topics.names(settings))
            if found is not None:
                return found, live
    return strategy_of(settings), 0


def judge(folder: Path, settings: Settings, told: Told = lambda _done, _of: None) -> Judged:
    """Replace the stored verdicts by those of the live generation; labels stay as they are.

    Nobody may crawl meanwhile. Interrupted, it leaves whole batches, old or new.
    """
    from honeyguide.crawl import stopping as exhausted
    from honeyguide.crawl.languages import judged, languages_of
    from honeyguide.crawl.rescoring import overrule

    threshold, languages = settings.topic.threshold, languages_of(settings)
    with Store.open(folder, "crawl", settings.store) as store:
        strategy, live, warning = _deciding(store, settings)
        counts = store.counts()
        before, of, pages, last = counts.relevant, counts.pages, 0, 0
        try:
            while batch := list(store.visits(page=True, since=last, limit=_BATCH)):
                last = batch[-1].id
                with store.transaction():
                    for row in batch:
                        page = store.page_of(row)
                        if row.verdict is not None and (page.text or page.headings):
                            page, verdict = judged(strategy, page, languages)
                            store.rejudge(row.id, verdict, page.tongue)
                            pages += 1
                told(min(pages, of), of)
        finally:
            with store.transaction():
                store.recount(threshold)
                exhausted.keep(store, exhausted.recall(store))
            after = overrule(store, settings)
        return Judged(live, pages, before, after, warning)


def _deciding(store: Store, settings: Settings) -> tuple[Strategy, int, str]:
    """The live generation, or the one that decides instead of it if it is damaged."""
    live = store.live()
    if live is None:
        raise ConfigError(f"{store.folder} has no generation yet; crawl it first")
    names = topics.names(settings)
    try:
        found: Strategy = store.load_generation(live, registry.find)
    except ModelError:
        earlier, number, warning = readable(store, names)
        if earlier is None:
            raise
        decide(store, number)
        return earlier, number, warning
    if topics_of(found) != names:
        raise ConfigError(
            f"generation {live} knows other topics than topic.toml; crawl a little first, so "
            "that there is one that knows these"
        )
    return found, live, ""
