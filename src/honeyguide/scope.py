"""Which addresses belong to the crawl: the scope of the user, and spider traps."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from honeyguide.errors import ConfigError
from honeyguide.types import Link, Url
from honeyguide.url import domain_of, host_of, path_of

ScopeRule = Literal["everything", "domain", "host", "prefix"]
ScopeRefusal = tuple[Literal["scope", "trap"], str]
"""Kind of the refusal, and its reason."""


@dataclass(frozen=True, slots=True)
class ScopeRules:
    """The scope that the user sets. ``rule`` compares with the seeds; patterns are checked as
    well."""

    rule: ScopeRule = "everything"
    seeds: tuple[Url, ...] = ()
    include: tuple[re.Pattern[str], ...] = ()
    exclude: tuple[re.Pattern[str], ...] = ()
    names: frozenset[str] = frozenset()
    """Hosts or registrable domains of the seeds, as the rule needs them."""

    def refusal_reason(self, url: Url) -> str:
        """Why this address is out of scope; '' if it is in scope."""
        if self.rule == "domain" and domain_of(host_of(url)) not in self.names:
            return f"outside the seeds' domains ({_name_list(self.names)}; scope.rule)"
        if self.rule == "host" and _strip_www(host_of(url)) not in self.names:
            return f"outside the seeds' hosts ({_name_list(self.names)}; scope.rule)"
        if self.rule == "prefix" and not _host_and_path(url).startswith(tuple(self.names)):
            return f"outside the seeds' folders ({_name_list(self.names)}; scope.rule)"
        for pattern in self.exclude:
            if pattern.search(url):
                return f"excluded by the pattern {pattern.pattern!r} (scope.exclude)"
        for pattern in self.include:
            if pattern.search(url):
                return ""
        return "matches none of the include patterns (scope.include)" if self.include else ""


def make_scope(
    rule: ScopeRule,
    seeds: tuple[Url, ...],
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
) -> ScopeRules:
    return ScopeRules(
        rule,
        seeds,
        _compile_patterns("scope.include", include),
        _compile_patterns("scope.exclude", exclude),
        frozenset(_scope_name(rule, seed) for seed in seeds),
    )


@dataclass(frozen=True, slots=True)
class UrlTraps:
    """Addresses of spider traps."""

    length: int = 2083
    segments: int = 20
    repeats: int = 2
    """How often one path segment may occur in an address."""

    def refusal_reason(self, url: Url) -> str:
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
                return f"a path segment occurs more than {self.repeats} times"
        return ""


@dataclass(frozen=True, slots=True)
class ScopeFilter:
    """Scope and traps together: every link, seed and redirect must pass."""

    scope: ScopeRules
    traps: UrlTraps
    hosts: frozenset[str] = frozenset()
    """All hosts of a lab; empty: the whole web."""

    def find_refusal(self, link: Link) -> ScopeRefusal | None:
        if reason := self.traps.refusal_reason(link.url):
            return "trap", reason
        if self.hosts and host_of(link.url) not in self.hosts:
            return "scope", "outside the lab's web"
        if reason := self.scope.refusal_reason(link.url):
            return "scope", reason
        return None


def _strip_www(name: str) -> str:
    """example.org and www.example.org count as one; seeds redirect between them."""
    return name.removeprefix("www.")


def _host_and_path(url: Url) -> str:
    """Host without www, and path: schemes do not matter."""
    return _strip_www(host_of(url)) + path_of(url)


def _scope_name(rule: ScopeRule, seed: Url) -> str:
    match rule:
        case "domain":
            return domain_of(host_of(seed))
        case "host":
            return _strip_www(host_of(seed))
        case "prefix":
            return _host_and_path(seed)[: _host_and_path(seed).rindex("/") + 1]
        case "everything":
            return ""


def _name_list(names: frozenset[str]) -> str:
    shown = sorted(names)[:3]
    return ", ".join(shown) + (", …" if len(names) > len(shown) else "")


def _compile_patterns(key: str, patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    compiled = []
    for pattern in patterns:
        try:
            compiled.append(re.compile(pattern))
        except re.error as error:
            raise ConfigError(f"{key}: {pattern!r} is not a regular expression: {error}") from error
    return tuple(compiled)
