"""Parameters of a synthetic web."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, cast

from honeyguide.config.validation import build_dataclass
from honeyguide.errors import ConfigError
from honeyguide.lab.synthetic.text import FOREIGN_WORDS, MANUAL_HOSTS

_MAX_HOSTS = 1_000_000
_MAX_PAGES = 1_000_000_000_000
_SHARE_NAMES = (
    "focus", "locality", "internal", "hubs", "islands", "scattered", "traps", "near_copies",
    "mirrors", "errors", "redirects", "languages", "noisy_anchors", "telling_urls", "tongue_urls",
    "tongue_lies",
)  # fmt: skip
_LIST_NAMES = ("topics", "tongues")
"""Knobs with several values."""


@dataclass(frozen=True, slots=True)
class SyntheticPlan:
    """What a made web is like. The same plan makes the same bytes, everywhere."""

    seed: int = 1
    hosts: int = 200
    pages: int = 100_000
    topics: tuple[str, ...] = ()
    """Names of the manuals that the text is taken from; empty: all of them."""
    zipf: float = 1.0
    """How unequal hosts are: the r-th largest has pages ∝ 1 / r^zipf."""
    focus: float = 0.6
    """Share of a host's pages on its main topic, at least; the others mix all topics."""
    locality: float = 0.6
    """Share of content links that lead to a page of the same topic; 0: none does."""
    hubs_only: bool = False
    """Pages never link to their own topic, whatever ``locality`` says; listings always do."""
    internal: float = 0.7
    """Share of content links that stay on the host."""
    links: int = 12
    """Content links of a page of middling length; navigation comes on top."""
    hubs: float = 0.02
    """Listing pages as a share of the host's pages."""
    islands: float = 0.05
    """Share of hosts that only bridges of 2 to 4 off-topic pages lead to."""
    scattered: float = 0.0
    """Share of hosts that are forums and blogs which nobody links to: their links stay on the
    host, but for a few to ordinary hosts. One host, the first, is always an ordinary one."""
    traps: float = 0.1
    """Share of hosts with an endless calendar; as many write session numbers into links."""
    near_copies: float = 0.05
    """Share of pages that repeat another of their host but for a line."""
    mirrors: float = 0.02
    """Share of hosts that are another one, byte for byte."""
    errors: float = 0.03
    """Share of content links that end at 404, 500 or a 503 that comes and goes."""
    redirects: float = 0.04
    """Share of content links that are redirected, three in ten of them more than once."""
    languages: float = 0.1
    """Share of pages in Turkish, Russian, Greek, Arabic and Chinese; they have no label."""
    tongues: tuple[str, ...] = ()
    """Other languages for them, such as Turkish and Azerbaijani; then they are labels."""
    tongue_urls: float = 0.0
    """Share of hosts with the language in addresses (``/tr/…``) and in hreflang."""
    tongue_lies: float = 0.0
    """Share of hosts that declare one and the same language on every page."""
    noisy_anchors: float = 0.3
    """Share of links that say "click here" and the like."""
    telling_urls: float = 0.3
    """Share of pages with a word of their title in the address."""
    words: int = 150
    """Median length of a page, between 40 and 400 words."""
    words_spread: float = 0.6
    """Standard deviation of the logarithm of that length."""
    latency_s: float = 0.2
    """Median over the hosts of the seconds until a host answers."""
    latency_spread: float = 0.8
    """Standard deviation of its logarithm."""
    changes: float = 0.05
    """Mean over the pages of changes a day; heavy-tailed."""

    def __post_init__(self) -> None:
        for name in _SHARE_NAMES:
            if not 0 <= (value := getattr(self, name)) <= 1:
                raise ConfigError(f"synthetic web: {name} must lie between 0 and 1, not {value}")
        for name in ("zipf", "words_spread", "latency_s", "latency_spread", "changes"):
            if not 0 <= (value := getattr(self, name)) <= 1000:
                raise ConfigError(f"synthetic web: {name} must lie between 0 and 1000, not {value}")
        if not 0 <= self.seed < 1 << 64:
            raise ConfigError(f"synthetic web: seed must be a number of 64 bits, not {self.seed}")
        if not 1 <= self.hosts <= _MAX_HOSTS:
            raise ConfigError(f"synthetic web: hosts must lie between 1 and {_MAX_HOSTS:,}")
        if not self.hosts <= self.pages <= _MAX_PAGES:
            raise ConfigError("synthetic web: pages must be at least as many as hosts")
        if not (1 <= self.words <= 1000 and 0 <= self.links <= 100):
            raise ConfigError("synthetic web: words may be up to 1000, and links up to 100")
        if self.islands + self.mirrors > 0.9:
            raise ConfigError("synthetic web: islands and mirrors leave no ordinary hosts")
        if self.islands + self.mirrors + self.scattered > 1:
            raise ConfigError(
                "synthetic web: islands, mirrors and scattered are more than all hosts; try "
                "islands=0,mirrors=0 with it"
            )
        for topic in self.topics:
            if topic not in MANUAL_HOSTS:
                raise ConfigError(
                    f"synthetic web: no topic {topic!r}; known: {', '.join(MANUAL_HOSTS)}"
                )
        for tongue in self.tongues:
            if tongue not in FOREIGN_WORDS:
                raise ConfigError(
                    f"synthetic web: no language {tongue!r}; known: {', '.join(FOREIGN_WORDS)}"
                )


def parse_plan(spec: str) -> SyntheticPlan:
    """A plan from ``seed=7,pages=100_000,topics=borg+restic``."""
    raw: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in spec.split(","))):
        name, mark, value = (piece.strip() for piece in part.partition("="))
        if not mark:
            known = ", ".join(field.name for field in fields(SyntheticPlan))
            raise ConfigError(f"made web: {part!r} is not like knob=value; knobs: {known}")
        raw[name] = tuple(value.split("+")) if name in _LIST_NAMES else parse_value(value)
    return cast("SyntheticPlan", build_dataclass(SyntheticPlan, raw, "made web", ""))


def parse_value(text: str) -> bool | int | float | str:
    """A value as people type it: true, 7, 0.5, or a text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
