"""The table of topic.toml for asking search engines: ``[search]``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from honeyguide.config.settings import TopicSettings


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Asking a search engine for pages that no link leads to. The API key itself is never written
    here: only where to find it."""

    engine: str = ""
    """Which engine is asked: ``searxng``, ``brave``, ``json``, or a plug-in's name; none given: no
    engine is asked."""
    url: str = ""
    """Its address. searxng: https://host/search; brave: known; json: a template with {query} and,
    where it has them, {page}, {offset}, {count} and {key}."""
    key_env: str = "HONEYGUIDE_SEARCH_KEY"
    """Environment variable that holds the API key; begins with HONEYGUIDE_."""
    key_file: str = ""
    """File that holds the API key, in ~/.config/honeyguide."""
    queries: tuple[str, ...] = ()
    """Your own queries; they are asked first."""
    compose: bool = True
    """Compose further queries from phrases that relevant pages have in common."""
    allow_private_text: bool = False
    """Queries may contain words of your own files and of pages in private networks; otherwise only
    queries that you write do."""
    mode: Literal["joint", "search_only"] = "joint"
    """Follow links and query the engine, or visit only what the engine finds."""
    language: str = ""
    """Language to request from the engine; not given: that of the topic, if it has one."""
    per_minute: float = 10.0
    """Most requests to the engine in a minute; 0: no limit."""
    per_month: int = 0
    """Most requests in a calendar month; 0: no limit."""
    price: float = 0.0
    """What 1,000 requests cost, in your currency."""
    most_queries: int = 200
    """Most different queries in the collection, your own included."""
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
