"""The table of topic.toml for asking search engines: ``[search]``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from honeyguide.config.settings import TopicSettings


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Asking a search engine for pages that no link leads to. A key never stands here: only where
    it is to be found."""

    engine: str = ""
    """Which engine is asked: ``searxng``, ``brave``, ``json``, or a plug-in's name; none given: no
    engine is asked."""
    url: str = ""
    """Its address. searxng: https://host/search; brave: known; json: a template with {query} and,
    where it has them, {page}, {offset}, {count} and {key}."""
    key_env: str = "HONEYGUIDE_SEARCH_KEY"
    """Variable of the environment that holds the key; begins with HONEYGUIDE_."""
    key_file: str = ""
    """File that holds it, in ~/.config/honeyguide."""
    queries: tuple[str, ...] = ()
    """Your own queries; they are asked first."""
    compose: bool = True
    """Make further queries out of what good pages have in common."""
    private: bool = False
    """Words of your own files and of pages in private networks may be asked, too; otherwise only
    you ask them."""
    mode: Literal["joint", "search_only"] = "joint"
    """Follow links and ask, or visit only what the engine finds."""
    language: str = ""
    """Language that the engine is told; not given: that of the topic, if it has one."""
    per_minute: float = 10.0
    """Most requests to the engine in a minute; 0: no limit."""
    per_month: int = 0
    """Most requests in a calendar month; 0: no limit."""
    price: float = 0.0
    """What 1,000 requests cost, in your currency."""
    most_queries: int = 200
    """Most different queries in the collection, people's own included."""
    header: str = ""
    """json: the header that takes the key; not given: {key} in the template."""
    results: str = "results"
    """json: where the list of results is, such as ``web.results``."""
    link: str = "url"
    """json: where a result has its address."""
    title: str = "title"
    """json: where a result has its title."""
    snippet: str = "content"
    """json: where a result has its text."""

    @property
    def is_search_only(self) -> bool:
        """Whether only the engine brings pages."""
        return bool(self.engine) and self.mode == "search_only"


def has_bang_command(query: str) -> bool:
    """Whether a word of it begins with ``!!``, by which SearXNG sends whoever asks, and what he
    asks, to another engine or straight to the first result: no answer for a program."""
    return any(word.startswith("!!") for word in query.split())


def with_topic_language(search: SearchSettings, topic: TopicSettings) -> SearchSettings:
    """What the engine is told: the topic's language, where the search has none of its own."""
    spoken = topic.keyword_language if topic.language else ""
    return replace(search, language=search.language or spoken)
