"""The tables of ``topic.toml``: one frozen dataclass for each, with its defaults.

:mod:`honeyguide.config.loading` reads and checks the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from honeyguide.language_codes import RAW_SUFFIX

KEEP_WORDS = ("strict", "balanced", "generous")


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """What the user is after. Further topics of the same crawl are ``[[topics]]`` tables: a name of
    their own, and the keys of this table but those of seeds, language, keyword_language, normalise,
    keep and threshold."""

    name: str = ""
    """For people; the folder's name if not given."""
    description: str = ""
    """The topic in a sentence; its words help a little, or stand in for keywords."""
    keywords: tuple[str, ...] = ()
    """Words and phrases of the topic, found by their stems."""
    seeds: tuple[str, ...] = ()
    """Addresses to start from. One that resembles the topic is a weak example of it, too."""
    seeds_are_doors: bool = False
    """Seeds are only places to start from, and no examples."""
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
    normalise: bool = True
    """Repair words before they are counted, where the language of the keywords can do that
    (Turkish): gocmen, cooook. Keywords, pages, links and queries alike."""
    keep: str = "balanced"
    """How strict to be: ``strict`` (precision counts four times as much as recall), ``balanced``,
    ``generous`` (recall counts four times as much), or an expected precision, such as 0.8."""
    threshold: float = 0.5
    """Where it is set, a page whose verdict reaches it is relevant, and ``keep`` does not count."""
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

    @property
    def word_language(self) -> str:
        """The code by which words are read: that of the keywords, marked if nothing is repaired."""
        return self.keyword_language if self.normalise else f"{self.keyword_language}{RAW_SUFFIX}"


@dataclass(frozen=True, slots=True)
class FurtherTopic:
    """Another topic of the same crawl, with seeds, languages, keep and threshold of the first."""

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
    """How to decide: the name of a strategy; or of two, ``hybrid_svm+honeyguide``: the first judges
    pages, the second ranks links."""
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
    unproven_share: float = 0.1
    """Share of the visits for sites that lead to each other and that hardly any trusted site links
    to, as in a spam farm; their pages do not count as relevant until a person labels one as good.
    1: no limit, and all pages count."""


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


WatchConfiguration = Literal["adaptive", "1", "2", "3"]


@dataclass(frozen=True, slots=True)
class TeacherSettings:
    """A language model that judges pages for you, where labels of people are too few. Its key is
    never written here: only where to find it."""

    url: str = ""
    """Base address of an API that speaks OpenAI's protocol, such as http://localhost:11434/v1
    (Ollama) or https://api.openai.com/v1; none given: no model is asked."""
    model: str = ""
    """The model's name there."""
    key_env: str = "HONEYGUIDE_TEACHER_KEY"
    """Environment variable that holds the API key; begins with HONEYGUIDE_."""
    key_file: str = ""
    """File that holds the API key, in ~/.config/honeyguide."""
    instructions: str = ""
    """What it should know of the topic beyond its description, keywords and examples."""
    every: int = 25
    """Pages between two rounds of questions while a crawl runs; 0: ``honeyguide teach`` alone
    asks."""
    batch: int = 5
    """Questions of one round."""
    most: int = 200
    """Most questions in the collection."""
    per_minute: float = 20.0
    """Most questions in a minute; 0: no limit."""
    per_month: int = 0
    """Most questions in a calendar month, of all collections with this key; 0: no limit."""
    most_cost: float = 0.0
    """Most that a calendar month may cost, of all collections with this key; 0: no limit."""
    price_in: float = 0.0
    """What a million tokens of a question cost, in your currency."""
    price_out: float = 0.0
    """What a million tokens of an answer cost."""
    page_chars: int = 4000
    """Most characters of a page that it is shown."""
    timeout_s: float = 120.0
    """Longest time for one answer."""


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """Revisiting pages to find changes: ``honeyguide watch``."""

    requests_per_hour: float = 500.0
    """Requests in all, robots.txt included; the delays between requests to a host are those of a
    crawl."""
    configuration: WatchConfiguration = "adaptive"
    """How pages are fetched and compared. ``adaptive``: one event loop, as many at once as the
    network bears. ``1``: one thread; ``2``: threads that fetch, that bring old versions, and that
    compare; ``3``: threads that fetch, and that bring and compare."""
    threads: tuple[int, ...] = ()
    """Threads of configuration 2 (three numbers) or 3 (two); not given: 78, 6, 6 and 78, 11."""
    queue: int = 500
    """Most pages that wait between the threads of configuration 2 or 3."""
    pages: int = 100_000
    """Most pages that the crawl adds by itself; pages that people add are not limited."""
    objective: Literal["age", "fresh", "sqrt"] = "age"
    """What the schedule optimises. ``age``: changes are found soon; ``fresh``: most copies are
    current; ``sqrt``: no change stays unknown for long."""
    min_interval_s: float = 300.0
    """Shortest time between two visits to a page."""
    max_interval_days: float = 60.0
    """Longest time between two visits to a page, if the budget allows."""
    discover: bool = True
    """Follow new links on watched pages, within the same budget."""
    second_look_s: float = 10.0
    """Fetch a new page a second time after so many seconds, to find out what differs at every
    visit; 0: do not."""
    gone_after: int = 3
    """A page that answers so many visits in a row with 404 or 410 is no longer watched."""
    keep: Literal["all", "last", "thin"] = "all"
    """Versions that are kept. ``all``; ``last``: the last ``keep_last`` of each page; ``thin``: all
    of the last 30 days and one a week from before."""
    keep_last: int = 50
    """How many, with ``keep = "last"``."""


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """Where notifications of changes are sent, for which changes, and when: a ``[[notify]]`` table
    for each channel. All of its conditions must hold."""

    to: str = ""
    """``stdout``, ``atom``, ``rss``, the address of a webhook, ``apprise:`` and its address, or
    ``env:NAME``: what that variable of the environment holds. Required."""
    name: str = ""
    """Name of the channel in status and messages; its kind if not given."""
    kinds: tuple[str, ...] = (
        "new", "content", "data", "moved", "gone", "back", "blocked", "soft_404",
    )  # fmt: skip
    """Kinds of change."""
    significance: float = 0.02
    """Least significance, 0 to 1."""
    words: tuple[str, ...] = ()
    """One of these words must have been added or removed."""
    pages: tuple[str, ...] = ()
    """Only these hosts or addresses; ``*`` stands for anything."""
    quiet_hours: str = ""
    """No message in these hours: ``22:00-07:00``."""
    time_zone: str = "UTC"
    """Time zone of quiet hours and digests: ``Europe/Istanbul``."""
    digest: Literal["each", "hourly", "daily", "weekly"] = "each"
    """Send each change at once, or collect them into one message."""
    hour: int = 8
    """Hour of day of daily and weekly digests."""
    weekday: Literal[
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"
    ] = "monday"
    """Day of weekly digests."""
    secret: str = ""
    """``env:NAME`` of a key that signs what a webhook is sent."""


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
    teacher: TeacherSettings = field(default_factory=TeacherSettings)
    watch: WatchSettings = field(default_factory=WatchSettings)
    notify: tuple[NotifySettings, ...] = ()
    strategy: dict[str, Any] = field(default_factory=dict)
    """Parameters of the chosen strategy, checked against its own fields; of two, in the tables
    ``[strategy.critic]`` and ``[strategy.links]``."""


def has_bang_command(query: str) -> bool:
    """Whether a word of it begins with ``!!``, by which SearXNG sends whoever asks, and what he
    asks, to another engine or straight to the first result: no answer for a program."""
    return any(word.startswith("!!") for word in query.split())


def with_topic_language(search: SearchSettings, topic: TopicSettings) -> SearchSettings:
    """What the engine is told: the topic's language, where the search has none of its own."""
    spoken = topic.keyword_language if topic.language else ""
    return replace(search, language=search.language or spoken)
