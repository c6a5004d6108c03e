"""robots.txt: parsing, rules for this crawler, and a cache of both.

A robots.txt as text: which of its lines are said to us, and those alone written down again.

What is kept is small and bounded, so that the files of many thousand sites fit in memory. A
file with more rules than that might forbid anything in the rest of them: what the kept ones do
not allow is then disallowed.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import quote

from honeyguide.errors import FetchError
from honeyguide.types import Response, Url
from honeyguide.url import authority_of, canonical_url, domain_of, host_of, path_of

MAX_FILE_CHARS: Final = 512 * 1024
"""What is read of a file; the rest is ignored, as the standard allows."""
MAX_LINES: Final = 100_000
"""Most lines: with more in it, a file has no rules in most of them."""
MAX_RULES: Final = 5_000
"""Most rules for one agent."""
MAX_SITEMAPS: Final = 100
LONGEST_DELAY_S: Final = 86_400.0
"""The longest Crawl-delay that we understand."""
MAX_URL_CHARS: Final = 2_083
"""Longer addresses are never visited, so sitemaps that have one need not be kept …"""
_MAX_RULE_CHARS = 6 * MAX_URL_CHARS
"""… nor rules that only such could match: with an escape and an asterisk for each character."""

_AGENT_WORDS: Final = frozenset(("user-agent", "useragent", "user agent"))
_DISALLOW_WORDS: Final = frozenset(
    ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")
)
_SITEMAP_WORDS: Final = frozenset(("sitemap", "sitemaps", "site-map"))
_DELAY_WORDS: Final = frozenset(("crawl-delay", "crawldelay", "crawl delay"))
_KNOWN_WORDS: Final = _AGENT_WORDS | _DISALLOW_WORDS | _SITEMAP_WORDS | _DELAY_WORDS | {"allow"}

_REPLACE_ASTERISKS = re.compile(r"\*+").sub
_MATCH_TOKEN = re.compile(r"[A-Za-z_-]+").match
_MATCH_SPACED = re.compile(r"(user agent|crawl delay|[a-z-]+)[ \t]+(.*)", re.IGNORECASE).fullmatch


@dataclass(frozen=True, slots=True)
class RobotsGroup:
    """What a file says to one agent."""

    lines: tuple[tuple[bool, str], ...] = ()
    """Allow (True) or Disallow, and what; each once."""
    delay: float | None = None
    sitemaps: tuple[Url, ...] = ()

    @property
    def minimal_text(self) -> str:
        """The shortest robots.txt that says the same to everybody."""
        lines = [f"{'Allow' if allow else 'Disallow'}:{value}" for allow, value in self.lines]
        if self.delay is not None:
            lines.append(f"Crawl-delay:{self.delay!r}")
        if lines:
            lines.insert(0, "User-agent:*")
        lines += (f"Sitemap:{url}" for url in self.sitemaps)
        return "\n".join(lines)


@dataclass(slots=True, eq=False)
class _GroupBuilder:
    """One agent's group while the file is read."""

    lines: dict[tuple[bool, str], None] = field(default_factory=dict)
    delay: float | None = None
    full: bool = False

    def add_line(self, word: str, value: str) -> None:
        if "**" in value:
            value = _REPLACE_ASTERISKS("*", value)
        line = word == "allow", value
        if value and len(value) <= _MAX_RULE_CHARS and line not in self.lines:
            self.full = self.full or len(self.lines) >= MAX_RULES
            if not self.full:
                self.lines[line] = None


def parse_group(text: str, agent: str, origin: str) -> RobotsGroup:
    """What the file says to the agent of this name: its own group, or else everybody's."""
    own, everybody = _GroupBuilder(), _GroupBuilder()
    sitemaps: dict[Url, None] = {}
    # Rules alone begin the next group (RFC 9309, section 2.2.1). A Crawl-delay does not, and is
    # meant for the agents named since the last line of either kind.
    named: set[_GroupBuilder] = set()
    delayed: set[_GroupBuilder] = set()
    found_own = ruled = told = False
    # Twice as much, because our own way of writing may be longer than what was read first.
    text = text[: 2 * MAX_FILE_CHARS]
    # Half a byte-order mark decodes to replacement characters; both kinds are skipped.
    for line in text.lstrip("\ufeff\ufffd").replace("\r", "\n").split("\n", MAX_LINES)[:MAX_LINES]:
        word, value = _parse_directive(line)
        if word in _AGENT_WORDS:
            named = set() if ruled else named
            delayed = set() if told else delayed
            ruled = told = False
            token = _MATCH_TOKEN(value)
            if value.startswith("*") and value[1:2] in ("", " ", "\t"):
                named.add(everybody)
                delayed.add(everybody)
            elif token is not None and token[0].lower() == agent.lower():
                found_own = True
                named.add(own)
                delayed.add(own)
        elif word in _SITEMAP_WORDS:
            url = canonical_url(value, Url(f"{origin}/")) if len(value) <= MAX_URL_CHARS else None
            if url is not None and len(url) <= MAX_URL_CHARS and len(sitemaps) < MAX_SITEMAPS:
                sitemaps[url] = None
        elif word in _DELAY_WORDS:
            told = True
            for group in delayed:
                group.delay = _parse_delay(value, group.delay)
        elif word:
            ruled = told = True
            for group in named:
                group.add_line(word, value)
    chosen = own if found_own else everybody
    lines = tuple(chosen.lines)
    if chosen.full:
        lines = tuple(dict.fromkeys((*lines[: MAX_RULES - 1], (False, "/"))))
    return RobotsGroup(lines, chosen.delay, tuple(sitemaps))


def _parse_directive(line: str) -> tuple[str, str]:
    """A line's word and value; the word is '' if it is not one that we know."""
    line = line.partition("#")[0].strip()
    if not line:
        return "", ""
    word, colon, value = line.partition(":")
    word = word.strip().lower()
    if colon and word in _KNOWN_WORDS:
        return word, value.strip()
    spaced = _MATCH_SPACED(line)  # the colon forgotten
    if spaced is not None and spaced[1].lower() in _KNOWN_WORDS:
        return spaced[1].lower(), spaced[2].strip()
    return "", ""


def _parse_delay(value: str, before: float | None) -> float | None:
    try:
        seconds = float(value[:100])
    except ValueError:
        return before
    return min(seconds, LONGEST_DELAY_S) if math.isfinite(seconds) and seconds >= 0 else before


# --------------------------------------------------------------------------------------------------
# What a robots.txt says to one crawler: RFC 9309, with the mistakes that everybody forgives.
#
# Matching takes time in proportion to the length of the address and of the file, whatever the
# wildcards. (Measured before writing our own: the usual library takes 14 s to read a 90 KB file
# of many agents and many rules.)
# --------------------------------------------------------------------------------------------------


_ANY_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_NEEDLESS_ESCAPE = re.compile(r"%(?:2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])")
"""Escapes of letters, digits and ``-._~``."""
_PRINTABLE_ASCII = "".join(map(chr, range(33, 127)))


class RobotsPattern(NamedTuple):
    """One Allow or Disallow line that is more than a prefix."""

    allow: bool
    length: int
    parts: tuple[str, ...]
    """What stands between the asterisks."""
    whole: bool
    """It must reach to the address's end ($)."""

    def matches(self, where: str) -> bool:
        first, *rest = self.parts
        if not where.startswith(first):
            return False
        if not rest:
            return not self.whole or len(where) == len(first)
        place = len(first)
        *middle, last = rest
        # Taking the earliest place for each part is enough, so there is nothing to retry.
        for part in middle:
            found = where.find(part, place)
            if found < 0:
                return False
            place = found + len(part)
        if self.whole:
            return len(where) - len(last) >= place and where.endswith(last)
        return where.find(last, place) >= 0


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """A site's wishes. Without any, everything is allowed."""

    allowed: tuple[str, ...] = ()
    disallowed: tuple[str, ...] = ()
    """Prefixes, longest first."""
    patterns: tuple[RobotsPattern, ...] = ()
    """Longest first, Allow before Disallow."""
    crawl_delay: float | None = None
    sitemaps: tuple[Url, ...] = ()
    expires: float = math.inf
    closed: bool = False
    """Everything is disallowed: robots.txt itself could not be had."""

    def allows(self, url: Url) -> bool:
        if not (self.disallowed or self.patterns or self.closed):
            return True  # as most sites do
        where = path_of(url)
        if where == "/robots.txt":
            return True
        if self.closed:
            return False
        # The standard and its first implementation differ over needless escapes (%61 for a):
        # we take the stricter reading of each, so that Disallow matches either spelling.
        where = _upper_escapes(where)
        bare = _undo_escapes(where)
        allow = _longest_prefix(self.allowed, where)
        disallow = _longest_prefix(self.disallowed, bare)
        for pattern in self.patterns:
            if pattern.length < max(allow, disallow):
                break
            if pattern.matches(where if pattern.allow else bare):
                if pattern.allow:
                    return True
                disallow = pattern.length
                break
        return allow >= disallow


def parse_robots(text: str, agent: str, origin: str, expires: float = math.inf) -> RobotsRules:
    """The rules of a robots.txt for one agent, named by its product token."""
    return rules_from_group(parse_group(text, agent, origin), expires)


def rules_from_group(group: RobotsGroup, expires: float = math.inf) -> RobotsRules:
    plain: dict[bool, set[str]] = {True: set(), False: set()}
    patterns: set[RobotsPattern] = set()
    for allow, value in group.lines:
        pattern = _make_pattern(allow, value)
        if len(pattern.parts) > 1 or pattern.whole:
            patterns.add(pattern)
        else:
            plain[allow].add(pattern.parts[0])
        if allow and pattern.parts[-1].endswith("/index.html") and not pattern.whole:
            # Who allows a folder's index page means the folder's own address as well.
            folder = value[: value.rindex("index.html")]
            patterns.add(_make_pattern(True, f"{folder}$"))
    return RobotsRules(
        allowed=tuple(sorted(plain[True], key=_longest_first)),
        disallowed=tuple(sorted(plain[False], key=_longest_first)),
        patterns=tuple(sorted(patterns, key=lambda p: (-p.length, not p.allow, p))),
        crawl_delay=group.delay,
        sitemaps=group.sitemaps,
        expires=expires,
    )


def _longest_first(prefix: str) -> tuple[int, str]:
    return -len(prefix), prefix


def _make_pattern(allow: bool, value: str) -> RobotsPattern:
    whole = value.endswith("$")
    text = quote(_upper_escapes(value.removesuffix("$")), safe=_PRINTABLE_ASCII)
    parts = tuple((text if allow else _undo_escapes(text)).split("*"))
    if whole and parts[-1] == "" and len(parts) > 1:  # "*$" says no more than "*"
        whole = False
    return RobotsPattern(allow, sum(map(len, parts)) + len(parts) - 1 + whole, parts, whole)


def _upper_escapes(text: str) -> str:
    """Escapes in capitals."""
    return _ANY_ESCAPE.sub(lambda match: match[0].upper(), text) if "%" in text else text


def _undo_escapes(text: str) -> str:
    """The escapes undone that no address needs."""
    if "%" not in text:
        return text
    return _NEEDLESS_ESCAPE.sub(lambda match: chr(int(match[0][1:], 16)), text)


def _longest_prefix(prefixes: tuple[str, ...], where: str) -> int:
    """The length of the longest prefix that fits, -1 if none does."""
    if not where.startswith(prefixes):
        return -1
    return next(len(prefix) for prefix in prefixes if where.startswith(prefix))


# --------------------------------------------------------------------------------------------------
# The robots.txt files of all sites: which are known, which to fetch, what they allow.
#
# Does no I/O: the ring asks :meth:`RobotsCache.get_rules`, fetches :meth:`RobotsCache.request_url`
# when it gets None, and hands the outcome to :meth:`RobotsCache.learn_outcome`, again while that
# returns None.
#
#     2xx            the file's rules                 24 hours
#     3xx            up to five hops; then as 4xx
#     3xx, astray    everything disallowed            1 hour
#     429, 5xx, 999  everything disallowed            1 hour
#     other 4xx      everything allowed               24 hours
#     no answer      everything disallowed            1 hour
#
# RFC 9309, section 2.3.1.2, has redirects followed even to other hosts. We follow them to a
# ``/robots.txt`` anywhere, and to any path of the same registrable domain (sites send everything
# to their new front page). Any other path of a stranger is not asked for: its own robots.txt might
# forbid it, and anybody could send us there at will.
# --------------------------------------------------------------------------------------------------


RULES_TTL_S: Final = 86_400.0
CLOSED_TTL_S: Final = 3_600.0
MAX_HOPS: Final = 5
MAX_ORIGINS: Final = 20_000
MAX_CHARACTERS: Final = 64 * 2**20
"""Most characters of robots.txt kept altogether."""
MAX_READY_BYTES: Final = 32 * 2**20
"""Most bytes of rules kept ready for use; others are made again from the text."""
UNREACHABLE_STATUS: Final = 0
"""The status under which a failed attempt is written down."""
_RULE_BYTES = 200
"""About what a rule costs in memory besides its text."""


class CachedRobotsFile(NamedTuple):
    fetched_at: float
    status: int
    text: str
    """Of a file, only what concerns us: see :mod:`honeyguide.net.robots`."""

    @property
    def expires(self) -> float:
        return self.fetched_at + (CLOSED_TTL_S if self.closed else RULES_TTL_S)

    @property
    def closed(self) -> bool:
        return self.status in (UNREACHABLE_STATUS, 429) or self.status >= 500

    @property
    def weight(self) -> int:
        """Bytes that its rules take, about."""
        return _RULE_BYTES + 2 * len(self.text) + _RULE_BYTES * self.text.count("\n")


class RobotsCache:
    """A bounded cache of rules, by origin (scheme, host and port)."""

    def __init__(self, agent: str = "honeyguide") -> None:
        self._agent = agent
        self._entries: OrderedDict[str, CachedRobotsFile] = OrderedDict()
        self._ready: OrderedDict[str, RobotsRules] = OrderedDict()
        self._pending: OrderedDict[str, tuple[int, Url]] = OrderedDict()
        self._characters = 0
        self._weight = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get_rules(self, origin: str, now: float) -> RobotsRules | None:
        """The rules that hold now, or None: robots.txt must be fetched first."""
        entry = self._entries.get(origin)
        # A time of fetching that lies ahead means that somebody set the clock back.
        if entry is None or not entry.fetched_at <= now < entry.expires:
            return None
        self._entries.move_to_end(origin)
        rules = self._ready.get(origin)
        if rules is None:
            return self._prepare_rules(origin, entry)
        self._ready.move_to_end(origin)
        return rules

    def request_url(self, origin: str, now: float) -> Url:  # noqa: ARG002 - time is always told
        """What to fetch for this origin next: its robots.txt, or where a redirect led."""
        hops, url = self._pending.get(origin, (0, Url("")))
        return url if hops else Url(f"{origin}/robots.txt")

    def learn_outcome(
        self, origin: str, outcome: Response | FetchError, now: float
    ) -> RobotsRules | None:
        """Take in an answer or a failure; None: a redirect leads on, ask request_url again."""
        hops, _ = self._pending.pop(origin, (0, Url("")))
        if isinstance(outcome, FetchError):
            return self.load_text(origin, now, UNREACHABLE_STATUS, "")
        if outcome.status in (301, 302, 303, 307, 308) and hops < MAX_HOPS:
            location = outcome.header("location")
            target = canonical_url(location, outcome.url) if location else None
            if target is not None and not _may_follow(origin, target):
                return self.load_text(origin, now, UNREACHABLE_STATUS, "")
            if target is not None:
                self._pending[origin] = (hops + 1, target)
                if len(self._pending) > MAX_ORIGINS:
                    self._pending.popitem(last=False)
                return None
        text = ""
        if 200 <= outcome.status < 300:
            text = outcome.body[:MAX_FILE_CHARS].decode("utf-8", "replace")
        return self.load_text(origin, now, outcome.status, text)

    def load_text(self, origin: str, fetched_at: float, status: int, text: str) -> RobotsRules:
        """Take in what a site's robots.txt said, whole or as :meth:`dump_entry` gave it."""
        group = parse_group(text if 200 <= status < 300 else "", self._agent, origin)
        entry = self.restore_entry(origin, fetched_at, status, group.minimal_text)
        return self._prepare_rules(origin, entry, group)

    def restore_entry(
        self, origin: str, fetched_at: float, status: int, text: str
    ) -> CachedRobotsFile:
        """Take in an entry as :meth:`dump_entry` gave it, however old it is; read when first
        needed."""
        self._forget_origin(origin)
        entry = CachedRobotsFile(fetched_at, status, text if 200 <= status < 300 else "")
        self._entries[origin] = entry
        self._characters += len(entry.text)
        if len(self._entries) > MAX_ORIGINS:
            self._forget_origin(next(iter(self._entries)))
        while self._characters > MAX_CHARACTERS:
            self._forget_origin(self._eviction_candidate(origin))
        return entry

    def dump_entry(self, origin: str) -> tuple[str, float, int, str] | None:
        """An entry for the store: origin, time, status, text; None if it is forgotten."""
        entry = self._entries.get(origin)
        return None if entry is None else (origin, *entry)

    def _prepare_rules(
        self, origin: str, entry: CachedRobotsFile, group: RobotsGroup | None = None
    ) -> RobotsRules:
        if entry.closed:
            rules = RobotsRules(expires=entry.expires, closed=True)
        else:
            group = group or parse_group(entry.text, self._agent, origin)
            rules = rules_from_group(group, entry.expires)
        if origin in self._entries:
            self._ready[origin] = rules
            self._weight += entry.weight
            while self._weight > MAX_READY_BYTES and len(self._ready) > 1:
                self._drop_rules(next(iter(self._ready)))
        return rules

    def _eviction_candidate(self, newest: str) -> str:
        """Who goes when memory is short: the oldest of those that have more than their share.

        So that a few sites with huge files cannot drive out the many with small ones.
        """
        share = MAX_CHARACTERS // MAX_ORIGINS
        greedy = (o for o, e in self._entries.items() if len(e.text) > share and o != newest)
        return next(greedy, None) or next(iter(self._entries))

    def _drop_rules(self, origin: str) -> None:
        if self._ready.pop(origin, None) is not None:
            self._weight -= self._entries[origin].weight

    def _forget_origin(self, origin: str) -> None:
        self._drop_rules(origin)
        entry = self._entries.pop(origin, None)
        if entry is not None:
            self._characters -= len(entry.text)


def _may_follow(origin: str, target: Url) -> bool:
    """Whether robots.txt may be looked for there: under its own name, or on the same site."""
    if path_of(target) == "/robots.txt":
        return True
    home = f"{origin}/"
    port = authority_of(target).rpartition("@")[2].removeprefix(host_of(target))
    own_port = authority_of(home).removeprefix(host_of(home))
    return domain_of(host_of(target)) == domain_of(host_of(home)) and port in ("", own_port)
