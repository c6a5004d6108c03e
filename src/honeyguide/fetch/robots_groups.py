"""A robots.txt as text: which of its lines are said to us, and those alone written down again.

What is kept is small and bounded, so that the files of many thousand sites fit in memory. A
file with more rules than that might forbid anything in the rest of them: what the kept ones do
not allow is then disallowed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Final

from honeyguide.types import Url
from honeyguide.url import canonical

CHARACTERS: Final = 512 * 1024
"""What is read of a file; the rest is ignored, as the standard allows."""
LINES: Final = 100_000
"""Most lines: with more in it, a file has no rules in most of them."""
RULES: Final = 5_000
"""Most rules for one agent."""
SITEMAPS: Final = 100
DAY: Final = 86_400.0
"""The longest Crawl-delay that we understand."""
ADDRESS: Final = 2_083
"""Longer addresses are never visited, so sitemaps that have one need not be kept …"""
_VALUE = 6 * ADDRESS
"""… nor rules that only such could match: with an escape and an asterisk for each character."""

_AGENT: Final = frozenset(("user-agent", "useragent", "user agent"))
_DISALLOW: Final = frozenset(
    ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")
)
_SITEMAP: Final = frozenset(("sitemap", "sitemaps", "site-map"))
_DELAY: Final = frozenset(("crawl-delay", "crawldelay", "crawl delay"))
_KNOWN: Final = _AGENT | _DISALLOW | _SITEMAP | _DELAY | {"allow"}

_ASTERISKS = re.compile(r"\*+").sub
_TOKEN = re.compile(r"[A-Za-z_-]+").match
_SPACED = re.compile(r"(user agent|crawl delay|[a-z-]+)[ \t]+(.*)", re.IGNORECASE).fullmatch


@dataclass(frozen=True, slots=True)
class Group:
    """What a file says to one agent."""

    lines: tuple[tuple[bool, str], ...] = ()
    """Allow (True) or Disallow, and what; each once."""
    delay: float | None = None
    sitemaps: tuple[Url, ...] = ()

    @property
    def text(self) -> str:
        """The shortest robots.txt that says the same to everybody."""
        said = [f"{'Allow' if allow else 'Disallow'}:{value}" for allow, value in self.lines]
        if self.delay is not None:
            said.append(f"Crawl-delay:{self.delay!r}")
        if said:
            said.insert(0, "User-agent:*")
        said += (f"Sitemap:{url}" for url in self.sitemaps)
        return "\n".join(said)


@dataclass(slots=True)
class _Heard:
    """One agent's group while the file is read."""

    lines: dict[tuple[bool, str], None] = field(default_factory=dict)
    delay: float | None = None
    full: bool = False

    def hear(self, word: str, value: str) -> None:
        if word in _DELAY:
            self.delay = _seconds(value, self.delay)
            return
        if "**" in value:
            value = _ASTERISKS("*", value)
        line = word == "allow", value
        if value and len(value) <= _VALUE and line not in self.lines:
            self.full = self.full or len(self.lines) >= RULES
            if not self.full:
                self.lines[line] = None


def read(text: str, agent: str, origin: str) -> Group:
    """What the file says to the agent of this name: its own group, or else everybody's."""
    own, everybody = _Heard(), _Heard()
    sitemaps: dict[Url, None] = {}
    ours = theirs = told = naming = False
    # Twice as much, because our own way of writing may be longer than what was read first.
    text = text[: 2 * CHARACTERS]
    # Half a byte-order mark decodes to replacement characters; both kinds are skipped.
    for line in text.lstrip("\ufeff\ufffd").replace("\r", "\n").split("\n", LINES)[:LINES]:
        word, value = _directive(line)
        if word in _AGENT:
            if not naming:
                ours = theirs = False
            naming = True
            token = _TOKEN(value)
            if value.startswith("*") and value[1:2] in ("", " ", "\t"):
                theirs = True
            elif token is not None and token[0].lower() == agent.lower():
                ours = told = True
        elif word in _SITEMAP:
            url = canonical(value, Url(f"{origin}/")) if len(value) <= ADDRESS else None
            if url is not None and len(url) <= ADDRESS and len(sitemaps) < SITEMAPS:
                sitemaps[url] = None
        elif word:
            naming = False
            if ours:
                own.hear(word, value)
            if theirs:
                everybody.hear(word, value)
    heard = own if told else everybody
    said = tuple(heard.lines)
    if heard.full:
        said = tuple(dict.fromkeys((*said[: RULES - 1], (False, "/"))))
    return Group(said, heard.delay, tuple(sitemaps))


def _directive(line: str) -> tuple[str, str]:
    """A line's word and value; the word is '' if it is not one that we know."""
    line = line.partition("#")[0].strip()
    if not line:
        return "", ""
    word, colon, value = line.partition(":")
    word = word.strip().lower()
    if colon and word in _KNOWN:
        return word, value.strip()
    spaced = _SPACED(line)  # the colon forgotten
    if spaced is not None and spaced[1].lower() in _KNOWN:
        return spaced[1].lower(), spaced[2].strip()
    return "", ""


def _seconds(value: str, before: float | None) -> float | None:
    try:
        seconds = float(value[:100])
    except ValueError:
        return before
    return min(seconds, DAY) if math.isfinite(seconds) and seconds >= 0 else before
