"""Settings: one ``topic.toml`` per collection, one frozen dataclass per table, read strictly.

An unknown key, a wrong type or a value out of range is a :class:`ConfigError` that names the
key and the nearest right one, before anything is opened or fetched.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from honeyguide import language_codes
from honeyguide.config import toml_file, validation
from honeyguide.config.search_settings import SearchSettings as SearchSettings
from honeyguide.config.search_settings import has_bang_command
from honeyguide.config.validation import build_dataclass as build_dataclass
from honeyguide.config.watch_settings import NotifySettings as NotifySettings
from honeyguide.config.watch_settings import WatchSettings as WatchSettings
from honeyguide.errors import ConfigError
from honeyguide.types import MAX_TOPICS

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """What the user is after. Further topics of the same crawl are ``[[topics]]`` tables: a name of
    their own, and the keys of this table but seeds, language, keyword_language and threshold."""

    name: str = ""
    """For people; the folder's name if not given."""
    description: str = ""
    """The topic in a sentence; its words help a little, or stand in for keywords."""
    keywords: tuple[str, ...] = ()
    """Words and phrases of the topic, found by their stems."""
    seeds: tuple[str, ...] = ()
    """Addresses to start from."""
    good: tuple[str, ...] = ()
    """Addresses of pages that are what you want."""
    bad: tuple[str, ...] = ()
    """Addresses of pages that are not."""
    good_files: tuple[str, ...] = ()
    """Files (HTML or text) in the collection's folder that are what you want; patterns."""
    bad_files: tuple[str, ...] = ()
    """Files that are not."""
    language: tuple[str, ...] = ()
    """Languages that pages must be written in, such as ["tr"]; none given: any. Pages in other
    languages are stored, but do not count as relevant."""
    keyword_language: str = ""
    """Language of the keywords: it chooses stemmer and stop words; not given: the first of
    language, else en."""
    threshold: float = 0.5
    """A page whose verdict reaches this is relevant."""
    ontology: str = ""
    """File or folder of an ontology, looked for beside topic.toml first; ours: cell, mammal."""
    concept: str = ""
    """Which concept of the ontology the topic is: its name or identifier."""
    distance: int = 3
    """Concepts so many edges away from it belong to the topic."""
    relations: tuple[str, ...] = ()
    """Kinds of edges to walk: is-a, inst, prop; none given: all of them."""
    model: str = ""
    """Folder of a model from ``honeyguide train``, looked for beside topic.toml first."""
    categories: tuple[str, ...] = ()
    """Which of the model's categories the topic is."""

    def __post_init__(self) -> None:
        if not self.keyword_language:
            code = self.language[0] if self.language else "en"
            object.__setattr__(self, "keyword_language", code)


@dataclass(frozen=True, slots=True)
class FurtherTopic:
    """Another topic of the same crawl; seeds, languages and threshold are those of the first."""

    name: str = ""
    """What it is called in labels, status and exports. Required."""
    description: str = ""
    keywords: tuple[str, ...] = ()
    good: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    good_files: tuple[str, ...] = ()
    bad_files: tuple[str, ...] = ()
    ontology: str = ""
    concept: str = ""
    distance: int = 3
    relations: tuple[str, ...] = ()
    model: str = ""
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    strategy: str = "honeyguide"
    """How to decide: the name of a strategy."""
    order: Literal["strategy", "best", "breadth", "proportional"] = "strategy"
    """Who goes first; ``strategy``: what the strategy is used to."""
    pages: int = 1000
    """Stop after so many visits in the collection; 0: no limit."""
    hours: float = 0.0
    """Stop after so many hours in one run; 0: no limit."""
    depth: int = 0
    """Follow at most so many links away from a seed; 0: no limit."""
    concurrency: int = 32
    """Most visits in progress at once, in each shard; fewer while CPU or memory is short."""
    patience_s: float = 600.0
    """Stop when no host will be ready for so long; a later run goes on."""
    random_seed: int = 1
    """Seed of the random number generator, so that a crawl can be repeated."""


@dataclass(frozen=True, slots=True)
class ScopeSettings:
    rule: Literal["everything", "domain", "host", "prefix"] = "everything"
    """How far from the seeds: anywhere, or only their domains, hosts, or folders."""
    include: tuple[str, ...] = ()
    """Regular expressions, searched in the whole address; one of them must match, if any."""
    exclude: tuple[str, ...] = ()
    """Regular expressions, searched in the whole address; none of them may match."""
    strip_tracking: bool = True
    """Take utm_source and its kind out of addresses."""
    sitemaps: Literal["relevant", "always", "never"] = "relevant"
    """Read a host's sitemaps once it gave a relevant page, at once, or not at all."""
    feeds: bool = True
    """Follow RSS and Atom feeds."""
    outlinks: int = 500
    """Most links taken from one page."""
    pages_per_domain: int = 5000
    """Most visits to one registrable domain, robots.txt included; 20 more for every relevant page
    it gave. 0: no limit."""
    hosts_per_domain: int = 1000
    """Most hosts of one registrable domain; the names of a domain may be endless. 0: no limit."""
    links_per_domain: int = 1_000_000
    """Most links of one registrable domain that are remembered. 0: no limit."""


@dataclass(frozen=True, slots=True)
class FetchSettings:
    contact: str = ""
    """An e-mail address or web page where a site's owner reaches you. Required."""
    connect_s: float = 10.0
    """Longest time until a connection stands."""
    read_s: float = 30.0
    """Longest silence while a body arrives."""
    total_s: float = 60.0
    """Longest time for one answer."""
    html_mb: float = 10.0
    """Largest page, unpacked."""
    document_mb: float = 50.0
    """Largest sitemap or other document, unpacked."""
    inflate_ratio: float = 200.0
    """A body that grows more than so many times when inflated is a bomb (beyond 1 MB)."""
    redirects: int = 5
    """Most redirects in a row."""
    proxy: str = ""
    """http://host:port or socks5h://host:port."""
    lab: str = ""
    """Address of a running ``honeyguide lab serve``; nothing else is contacted then."""
    private_addresses: bool = False
    """Allow loopback, private and link-local addresses."""
    cookies: bool = True
    """Send cookies back to the site that set them."""


@dataclass(frozen=True, slots=True)
class PolitenessSettings:
    """Robots.txt is always obeyed: there is no key for it."""

    delay_s: float = 1.0
    """Shortest rest of a host between two requests; never under 1 second."""
    max_delay_s: float = 30.0
    """Longest rest that a slow answer earns a host; Crawl-delay may ask for more."""
    response_factor: float = 2.0
    """Rest at least so many times as long as the host took to answer."""
    loopback_delay_s: float = 1.0
    """The same rest for this machine itself and for the lab, where 0 is allowed."""
    concurrent_hosts_per_domain: int = 4
    """Most hosts of one registrable domain that are requested from at the same time."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    warc: bool = True
    """Keep every answer as it came, in WARC files."""
    warc_mb: int = 1000
    """Start a new WARC file at this size."""
    keep_text: Literal["read", "all"] = "read"
    """Store the text of pages and detect near duplicates: ``read``: where the strategy reads text;
    ``all``: always. A breadth-first crawl only reads links."""
    min_free_mb: int = 200
    """Stop cleanly when the disk has less room than this."""


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    save_s: float = 5.0
    """How often a shard saves what it did to the vault: so much is lost with a machine."""
    lease_s: float = 30.0
    """How long a shard goes on that does not reach the vault; whoever takes its place waits a
    little longer."""
    warc_mb: int = 64
    """Start a new WARC file at this size …"""
    warc_s: float = 300.0
    """… or after so long: files are brought to the vault when they are closed."""


@dataclass(frozen=True, slots=True)
class LearnSettings:
    teacher: Literal["none", "interactive", "automatic", "both"] = "both"
    """Whose word a strategy that learns believes: people's labels, its own verdicts, or both. With
    ``none`` it learns from the topic's examples alone; ``honeyguide`` still counts what came of
    links."""
    every: int = 14
    """Pages between two generations, unless the strategy learns whenever its examples grew; 0: only
    people's labels bring a new one."""
    eager: bool = True
    """Learn from people's labels at once, not only when the next generation is due."""
    budget: int = 0
    """Most labels that ``honeyguide ask`` asks for, those given otherwise counted; 0: no limit."""


@dataclass(frozen=True, slots=True)
class LanguageSettings:
    """How ``topic.language`` is applied; without it, these settings have no effect."""

    threshold: float = 0.6
    """Least confidence that a page is in a wanted language. Pages too short to tell pass."""
    predict: bool = True
    """Predict from a link, before it is followed, which language it leads to; false: languages are
    detected only after the download."""


@dataclass(frozen=True, slots=True)
class StopSettings:
    """When the topic counts as exhausted (an estimate); the budget is ``crawl.pages``."""

    precision: float = 0.0
    """Stop when less than this share of the last 200 visits was relevant, say 0.02; 0: never."""
    coverage: float = 0.0
    """Stop when about this share of the relevant pages in reach is found, say 0.9; 0: never."""
    min_visits: int = 200
    """Least visits before either rule may stop the crawl."""


@dataclass(frozen=True, slots=True)
class Settings:
    topic: TopicSettings = field(default_factory=TopicSettings)
    topics: tuple[FurtherTopic, ...] = ()
    """Further topics of the same crawl."""
    crawl: CrawlSettings = field(default_factory=CrawlSettings)
    scope: ScopeSettings = field(default_factory=ScopeSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    politeness: PolitenessSettings = field(default_factory=PolitenessSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
    learn: LearnSettings = field(default_factory=LearnSettings)
    stop: StopSettings = field(default_factory=StopSettings)
    language: LanguageSettings = field(default_factory=LanguageSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    watch: WatchSettings = field(default_factory=WatchSettings)
    notify: tuple[NotifySettings, ...] = ()
    strategy: dict[str, Any] = field(default_factory=dict)
    """Parameters of the chosen strategy, checked against its own fields."""


def load_settings(path: Path) -> Settings:
    try:
        settings = parse_settings(toml_file.read_toml(path), str(path))
    except FileNotFoundError:
        raise ConfigError(
            f"{path} does not exist. Make a collection with: honeyguide new NAME"
        ) from None
    except RecursionError as error:
        raise ConfigError(f"{path} cannot be read: it is nested too deeply") from error
    return replace(
        settings,
        topic=_resolve_paths(settings.topic, path.parent),
        topics=tuple(_resolve_paths(topic, path.parent) for topic in settings.topics),
    )


T = TypeVar("T", TopicSettings, FurtherTopic)


def _resolve_paths(topic: T, folder: Path) -> T:
    """An ontology, or a model, is looked for beside topic.toml first."""
    if topic.ontology and toml_file.path_exists(ontology := folder / topic.ontology):
        topic = replace(topic, ontology=str(ontology))
    if topic.model and toml_file.path_exists(model := folder / topic.model):
        topic = replace(topic, model=str(model))
    return topic


RENAMED_KEYS = {
    "topic.words": "keyword_language",
    "crawl.seed": "random_seed",
    "politeness.domain_hosts": "concurrent_hosts_per_domain",
    "store.texts": "keep_text",
    "stop.after": "min_visits",
    "search.private": "allow_private_text",
    "watch.value": "objective",
    "watch.shortest_s": "min_interval_s",
    "watch.longest_days": "max_interval_days",
    "notify.quiet": "quiet_hours",
    "notify.zone": "time_zone",
}
"""Old name of a key, with its table → the new name. Files with old names are still read."""


def with_current_keys(raw: dict[str, Any], where: str) -> dict[str, Any]:
    """The same settings with renamed keys under their new names."""
    found = dict(raw)
    for path, new in RENAMED_KEYS.items():
        table, _, old = path.partition(".")
        one = found.get(table)
        if isinstance(one, dict):
            found[table] = _rename_key(one, table, old, new, where)
        elif isinstance(one, list | tuple):
            found[table] = [
                _rename_key(each, table, old, new, where) if isinstance(each, dict) else each
                for each in one
            ]
    return found


def _rename_key(table: dict[str, Any], name: str, old: str, new: str, where: str) -> dict[str, Any]:
    if old not in table:
        return table
    if new in table:
        raise ConfigError(
            f"{where}: {name}.{old} is the old name of {name}.{new}, and both are set; "
            f"remove {name}.{old}"
        )
    _hint_renamed(where, f"{name}.{old}", f"{name}.{new}")
    return {new if key == old else key: value for key, value in table.items()}


@cache
def _hint_renamed(where: str, old: str, new: str) -> None:
    """Log it once for a file and key."""
    _log.warning("%s: %s is now called %s; the old name still works", where, old, new)


def parse_settings(raw: dict[str, Any], where: str = "settings") -> Settings:
    """Settings from nested dictionaries, every key and value checked."""
    if isinstance(raw.get("topics"), dict):
        raise ConfigError(f"{where}: further topics are a list of tables; write [[topics]]")
    if isinstance(raw.get("notify"), dict):
        raise ConfigError(f"{where}: each channel is a table of its own; write [[notify]]")
    topic = raw.get("topic")
    if isinstance(topic, dict) and isinstance(topic.get("language"), str):
        code = topic["language"]
        raise ConfigError(
            f"{where}: topic.language is a list of the languages that pages must be written in. "
            f"Write language = [{json.dumps(code)}] to keep only such pages, or "
            f"keyword_language = {json.dumps(code)} if it is the language of the keywords"
        )
    raw = with_current_keys(raw, where)
    settings = cast("Settings", build_dataclass(Settings, raw, where, ""))
    check_settings(settings, where)
    return settings


# --------------------------------------------------------------------------------------------------
# Settings that could not work: values out of range, and combinations that exclude each other.
# --------------------------------------------------------------------------------------------------


_NAME_CHARS = 60
"""Characters of a topic's name."""
_MAX_LANGUAGES = 20
"""Languages that may be wanted at once."""
_QUERY_CHARS = 400
"""Characters of a query."""


def check_settings(settings: Settings, where: str) -> None:
    """Ranges, and combinations that could not work."""
    for table in fields(settings):
        group = getattr(settings, table.name)
        if not is_dataclass(group):
            continue
        for item in fields(group):
            value = getattr(group, item.name)
            if type(value) in (int, float):
                validation.check_number(f"{where}: {table.name}.{item.name}", value)
    _check_languages(settings, where)
    _check_topics(settings, where)
    _check_search(settings, where)
    if settings.politeness.delay_s < 1.0:
        raise ConfigError(
            f"{where}: politeness.delay_s must be at least 1 second; for this machine itself "
            "and for the lab, set politeness.loopback_delay_s"
        )
    if settings.politeness.max_delay_s < settings.politeness.delay_s:
        raise ConfigError(f"{where}: politeness.max_delay_s is less than politeness.delay_s")
    if settings.crawl.concurrency < 1:
        raise ConfigError(f"{where}: crawl.concurrency must be at least 1")
    validation.check_number(f"{where}: topic.threshold", settings.topic.threshold, 0, 1, above=True)
    for key in ("precision", "coverage"):
        if getattr(settings.stop, key) > 1:
            raise ConfigError(f"{where}: stop.{key} is a share and must not be more than 1")
    if settings.fetch.lab and settings.fetch.proxy:
        raise ConfigError(f"{where}: fetch.lab and fetch.proxy exclude each other")
    for key in ("connect_s", "read_s", "total_s", "html_mb", "document_mb", "inflate_ratio"):
        if getattr(settings.fetch, key) <= 0:
            raise ConfigError(f"{where}: fetch.{key} must be more than 0")
    cluster = settings.cluster
    if not 0 < cluster.save_s <= cluster.lease_s / 2:
        raise ConfigError(
            f"{where}: cluster.save_s must be more than 0 and at most half of cluster.lease_s"
        )


def _check_languages(settings: Settings, where: str) -> None:
    topic = settings.topic
    for place, code in enumerate(topic.language):
        language_codes.check_language_code(code, f"{where}: topic.language[{place}]")
    if len(set(topic.language)) < len(topic.language) or len(topic.language) > _MAX_LANGUAGES:
        raise ConfigError(
            f"{where}: topic.language names a language twice, or more than {_MAX_LANGUAGES}"
        )
    language_codes.check_language_code(topic.keyword_language, f"{where}: topic.keyword_language")
    if settings.language.threshold > 1:
        raise ConfigError(f"{where}: language.threshold is a share and must not be more than 1")


def _check_search(settings: Settings, where: str) -> None:
    search = settings.search
    if search.mode == "search_only" and not search.engine:
        raise ConfigError(
            f'{where}: search.mode = "search_only" visits what an engine finds: set search.engine'
        )
    for place, query in enumerate(search.queries):
        if not query.strip() or len(query) > _QUERY_CHARS:
            raise ConfigError(
                f"{where}: search.queries[{place}] must be a query of at most {_QUERY_CHARS} characters"
            )
        if has_bang_command(query):
            raise ConfigError(
                f"{where}: search.queries[{place}] has a word that begins with !!, which sends the "
                "question to another engine; leave the !! out"
            )


def _check_topics(settings: Settings, where: str) -> None:
    """Several topics need names, and something to know them by from the start: what nobody knows
    anything of would be worth 0.49, which is more than a bad page for all the others."""
    if not settings.topics:
        return
    if len(settings.topics) >= MAX_TOPICS:
        raise ConfigError(f"{where}: more than {MAX_TOPICS} topics are too many for one crawl")
    topics: tuple[TopicSettings | FurtherTopic, ...] = (settings.topic, *settings.topics)
    seen: set[str] = set()
    for place, topic in enumerate(topics):
        key, name = f"topics[{place - 1}]" if place else "topic", topic.name
        if not name or name != name.strip() or len(name) > _NAME_CHARS or not name.isprintable():
            raise ConfigError(
                f"{where}: {key}.name must be a name of at most {_NAME_CHARS} characters, because there "
                f"are several topics, not {name!r}"
            )
        if name.casefold() in seen:
            raise ConfigError(f"{where}: two topics have the name {name!r}")
        seen.add(name.casefold())
        validation.check_number(f"{where}: {key}.distance", topic.distance)
        stated = (topic.keywords, topic.description, topic.good, topic.good_files, topic.ontology)
        if not any((*stated, topic.model)):
            raise ConfigError(
                f"{where}: nothing says what the topic {name!r} is: add {key}.keywords, "
                "description, good, ontology or model"
            )
