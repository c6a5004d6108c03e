"""Which addresses belong to the crawl: the user's scope, and traps that nobody wants."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from honeyguide.errors import ConfigError
from honeyguide.types import Link, Url
from honeyguide.url import domain, host, path

Rule = Literal["everything", "domain", "host", "prefix"]
Refusal = tuple[Literal["scope", "trap"], str]
"""Of which kind it is, and why, in words."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The user's fence. ``rule`` compares with the seeds; patterns go on top of it."""

    rule: Rule = "everything"
    seeds: tuple[Url, ...] = ()
    include: tuple[re.Pattern[str], ...] = ()
    exclude: tuple[re.Pattern[str], ...] = ()
    names: frozenset[str] = frozenset()
    """Hosts or registrable domains of the seeds, as the rule needs them."""

    def refuses(self, url: Url) -> str:
        """Why this address lies outside, in words; '' if it lies inside."""
        if self.rule == "domain" and domain(host(url)) not in self.names:
            return f"outside the seeds' domains ({_some(self.names)})"
        if self.rule == "host" and _bare(host(url)) not in self.names:
            return f"outside the seeds' hosts ({_some(self.names)})"
        if self.rule == "prefix" and not _place(url).startswith(tuple(self.names)):
            return f"outside the seeds' folders ({_some(self.names)})"
        for pattern in self.exclude:
            if pattern.search(url):
                return f"excluded by the pattern {pattern.pattern!r}"
        for pattern in self.include:
            if pattern.search(url):
                return ""
        return "matches none of the include patterns" if self.include else ""


def make_scope(
    rule: Rule,
    seeds: tuple[Url, ...],
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
) -> Scope:
    return Scope(
        rule,
        seeds,
        _compiled("scope.include", include),
        _compiled("scope.exclude", exclude),
        frozenset(_name(rule, seed) for seed in seeds),
    )


@dataclass(frozen=True, slots=True)
class Traps:
    """Shapes of addresses that lead nowhere for ever."""

    length: int = 2083
    segments: int = 20
    repeats: int = 2
    """How often one path segment may stand in an address."""

    def refuses(self, url: Url) -> str:
        if len(url) > self.length:
            return f"longer than {self.length} characters"
        # Scheme, nothing, authority, and the steps of the path.
        steps = url.partition("?")[0].split("/")
        if "@" in steps[2]:
            return "carries a user name or password"
        if len(steps) > self.segments + 3:
            return f"more than {self.segments} path segments"
        if len(steps) - len(set(steps)) >= self.repeats:
            counts = Counter(step for step in steps[3:] if step)
            if counts and max(counts.values()) > self.repeats:
                return f"a path segment stands more than {self.repeats} times"
        return ""


@dataclass(frozen=True, slots=True)
class Fence:
    """Scope and traps together: what every link, seed and redirect must pass."""

    scope: Scope
    traps: Traps
    hosts: frozenset[str] = frozenset()
    """All the hosts there are, in a lab; empty: the whole web."""

    def refuses(self, link: Link) -> Refusal | None:
        if reason := self.traps.refuses(link.url):
            return "trap", reason
        if self.hosts and host(link.url) not in self.hosts:
            return "scope", "outside the lab's web"
        if reason := self.scope.refuses(link.url):
            return "scope", reason
        return None


def _bare(name: str) -> str:
    """example.org and www.example.org are one place to people; seeds redirect between them."""
    return name.removeprefix("www.")


def _place(url: Url) -> str:
    """Host and path without the scheme, for the same reason."""
    return _bare(host(url)) + path(url)


def _name(rule: Rule, seed: Url) -> str:
    match rule:
        case "domain":
            return domain(host(seed))
        case "host":
            return _bare(host(seed))
        case "prefix":
            return _place(seed)[: _place(seed).rindex("/") + 1]
        case "everything":
            return ""


def _some(names: frozenset[str]) -> str:
    shown = sorted(names)[:3]
    return ", ".join(shown) + (", …" if len(names) > len(shown) else "")


def _compiled(key: str, patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    compiled = []
    for pattern in patterns:
        try:
            compiled.append(re.compile(pattern))
        except re.error as error:
            raise ConfigError(f"{key}: {pattern!r} is no regular expression: {error}") from error
    return tuple(compiled)
