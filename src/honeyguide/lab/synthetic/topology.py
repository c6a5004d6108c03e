"""Parameters and topology of a synthetic web: its hosts, their sizes, the topic of each page.

A subject is a topic or a foreign language, by number. Pages of a host take its sixteen slots
in turn and a slot has one subject, so that the subject of a page, and a page of a subject, are
both found at once, however large the web.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, fields
from heapq import heapify, heapreplace
from itertools import accumulate
from typing import Any, cast

from honeyguide.config.validation import build_dataclass
from honeyguide.errors import ConfigError
from honeyguide.lab.synthetic.seeded_random import SeededRandom
from honeyguide.lab.synthetic.text import FOREIGN_LANGUAGES, FOREIGN_WORDS, MANUAL_HOSTS

_MAX_HOSTS = 1_000_000
_MAX_PAGES = 1_000_000_000_000
_AMOUNT_NAMES = ("zipf", "words_spread", "latency_s", "latency_spread", "changes")
"""Numbers that are no shares of something."""
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
    farm: int = 0
    """Pages of a spam farm beside all others: stuffed with a topic's words, without a label."""
    farm_topic: str = ""
    """The topic whose words it uses; empty: the most frequent."""
    farm_domains: int = 500
    farm_hosts: int = 0
    """Hosts of the farm, spread over its domains; at least one on each."""
    farm_entries: int = 8
    """Honest pages that link to it, as spammed comments do."""
    farm_good_entries: bool = False
    """These pages are on its topic; otherwise none is."""
    farm_stuffed: float = 0.7
    """Share of its sentences that only repeat words; the others are copied from the topic."""
    farm_designs: float = 0.0
    """Share of its domains with a design of their own; all others look alike."""
    farm_outward: float = 0.05
    """Share of its links that lead to honest pages, half of them on its topic."""

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self) if field.type == "float"):
            value, most = getattr(self, name), 1000 if name in _AMOUNT_NAMES else 1
            if not 0 <= value <= most:
                raise ConfigError(
                    f"synthetic web: {name} must lie between 0 and {most}, not {value}"
                )
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
        if not (0 <= self.farm <= _MAX_PAGES and 1 <= self.farm_domains <= max(self.farm, 1 << 20)):
            raise ConfigError("synthetic web: a farm has pages, and at least one domain")
        for topic in (*self.topics, *filter(None, (self.farm_topic,))):
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


# --------------------------------------------------------------------------------------------------
# Hosts and page numbers.
# --------------------------------------------------------------------------------------------------


SLOTS_PER_HOST = 16
BRIDGE_STEPS = 4
"""Page numbers set apart for each bridge; it takes 2 to 4 of them."""

_MAIN_SUBJECT = 255
_match_host_name = re.compile(r"(?:www|docs|blog|wiki)\.h(\d{1,7})\.example\Z").match
_SISTER_NAMES = ("docs", "blog", "wiki")


class HostTopology:
    """Facts about hosts and page numbers. Host and page are numbers here."""

    def __init__(self, plan: SyntheticPlan, dice: SeededRandom) -> None:
        self._dice = dice
        topics = list(plan.topics or MANUAL_HOSTS)
        topics.sort(key=lambda topic: dice.draw_number(f"rank of {topic}", 0))
        self.subjects = (*topics, *(plan.tongues or FOREIGN_LANGUAGES))
        self.topics = len(topics) + len(plan.tongues)
        """Subjects that are labels: languages, too, if somebody named them."""
        ends = _subject_ends(len(topics), plan)
        mixed = 256 - round(256 * plan.focus)
        self._cast = bytes([*_spread_subjects(ends, mixed), *[_MAIN_SUBJECT] * (256 - mixed)])
        """A byte drawn at random → the subject of a slot, or 255 for the host's main one."""
        self.ordinary, self.islands, self.scattered, self.source = self._assign_roles(plan)
        self.sizes = self._assign_sizes(plan)
        self.main = self._assign_subjects(ends, len(topics) - 1)
        self.gateways = self._assign_gateways()
        self.everywhere = WeightedHosts(self.ordinary, self.sizes)
        homes: list[list[int]] = [[] for _ in self.subjects]
        for host in self.ordinary:
            homes[self.main[host]].append(host)
        self.homes = [WeightedHosts(hosts, self.sizes) for hosts in homes]
        """By subject: the hosts it is at home on, as far as links may lead there."""

    def host_number(self, name: str) -> int | None:
        match = _match_host_name(name)
        if match is None:
            return None
        number = int(match[1])
        if not name.startswith("www."):
            number += 1
        return number if number < len(self.sizes) and self.host_name(number) == name else None

    @staticmethod
    def host_name(host: int) -> str:
        """Every eighth host is a sister of the one before it, under the same domain."""
        if host % 8 == 7:
            return f"{_SISTER_NAMES[host // 8 % 3]}.h{host - 1}.example"
        return f"www.h{host}.example"

    def slot_subjects(self, host: int) -> bytes:
        """The subjects of the host's slots; a host with fewer pages has fewer slots."""
        main = self.main[host]
        table = self._dice.draw_16_bytes("slots", self.source[host]).translate(self._cast)
        table = bytes([main]) + table[1:].replace(b"\xff", bytes([main]))
        return table[: self.sizes[host]]

    def page_subject(self, host: int, page: int) -> int:
        if page >= self.sizes[host]:
            return self.main[host]  # a bridge
        return self.slot_subjects(host)[page % SLOTS_PER_HOST]

    def count_numbers(self, host: int) -> int:
        """Page numbers in use: pages, then bridges."""
        return self.sizes[host] + BRIDGE_STEPS * len(self.gateways.get(self.source[host], ()))

    def bridge_at(self, host: int, page: int) -> tuple[int, int] | None:
        """The island a bridge page leads to, and how many steps off it is; or None."""
        number = page - self.sizes[host]
        islands = self.gateways.get(self.source[host], ())
        if not 0 <= number < BRIDGE_STEPS * len(islands):
            return None
        island, step = islands[number // BRIDGE_STEPS], number % BRIDGE_STEPS
        length = self._bridge_length(island)
        return (island, length - step) if step < length else None

    def bridge_pages(self, host: int) -> list[int]:
        """Numbers of the host's bridge pages."""
        first, last = self.sizes[host], self.count_numbers(host)
        return [page for page in range(first, last) if self.bridge_at(host, page)]

    def bridge_entrances(self, host: int, page: int) -> list[int]:
        """First bridge pages that an ordinary page shows."""
        size = self.sizes[host]
        return [
            size + BRIDGE_STEPS * place
            for place, island in enumerate(self.gateways.get(self.source[host], ()))
            if page in (0, self._dice.draw_number("entrance", island) % size)
        ]

    def _bridge_length(self, island: int) -> int:
        return 2 + self._dice.draw_number("bridge", island) % 3

    def is_front(self, host: int, page: int) -> bool:
        """Whether it is the front page of a forum or blog, which looks like all of them."""
        return page == 0 and host in self.scattered

    def _assign_roles(
        self, plan: SyntheticPlan
    ) -> tuple[list[int], frozenset[int], frozenset[int], list[int]]:
        """Hosts that links may lead to, islands, scattered, and whose pages each host serves."""
        count = plan.hosts
        # Host 0 is always an ordinary one, so that a crawl can begin there.
        drawn = sorted(range(1, count), key=lambda host: self._dice.draw_number("role", host))
        mirrors = drawn[: round(plan.mirrors * count)]
        rest = drawn[len(mirrors) :]
        islands = frozenset(rest[: round(plan.islands * count)])
        rest = rest[len(islands) :]
        scattered = frozenset(rest[: round(plan.scattered * count)])
        apart = islands | scattered
        originals = sorted(set(range(count)) - apart - set(mirrors))
        source = list(range(count))
        for host in mirrors:
            source[host] = originals[self._dice.draw_number("mirror", host) % len(originals)]
        return [h for h in range(count) if h not in apart], islands, scattered, source

    def _assign_subjects(self, ends: list[float], rarest: int) -> list[int]:
        """The main subject of each host: whatever lacks most pages yet, the largest hosts first.

        So shares come out as planned, and every subject has a home if there are hosts enough.
        Among scattered hosts, the ordinary ones have the rarest topic: they are where links lead,
        and nobody should find there what the others are about.
        """
        starts = [0.0, *ends[:-1]]
        total = sum(self.sizes) / ends[-1]
        own = [host for host, source in enumerate(self.source) if host == source]
        main = [rarest] * len(self.source)
        if self.scattered:
            own = [host for host in own if host in self.scattered | self.islands]
        # A subject's lack is kept negative: the heap has the smallest number on top.
        lacking = [
            ((start - end) * total, n)
            for n, (start, end) in enumerate(zip(starts, ends, strict=True))
        ]
        heapify(lacking)
        # Of scattered hosts, a topic should have small ones as well as large ones.
        size = [0 if host in self.scattered else -size for host, size in enumerate(self.sizes)]
        own.sort(key=lambda host: (host in self.islands, size[host], host))
        for host in own:
            lack, main[host] = lacking[0]
            heapreplace(lacking, (lack + self.sizes[host], main[host]))
        return [main[source] for source in self.source]

    def _assign_sizes(self, plan: SyntheticPlan) -> list[int]:
        """Pages of each host: one for each, and the others by rank."""
        count = plan.hosts
        ranked = sorted(range(count), key=lambda host: self._dice.draw_number("size", host))
        weights = [0.0] * count
        for rank, host in enumerate(ranked, 1):
            weights[host] = rank**-plan.zipf
        weights = [weights[source] for source in self.source]
        share = (plan.pages - count) / sum(weights)
        sizes = [1 + int(weight * share) for weight in weights]
        copied = {source for host, source in enumerate(self.source) if host != source}
        single = next((h for h in ranked if self.source[h] == h and h not in copied), ranked[0])
        sizes[single] += plan.pages - sum(sizes)
        return [sizes[source] for source in self.source]

    def _assign_gateways(self) -> dict[int, tuple[int, ...]]:
        """Host → the islands that its bridges lead to."""
        shores = [h for h in self.ordinary if self.source[h] == h]
        found: dict[int, list[int]] = {}
        for island in sorted(self.islands):
            tries = [
                shores[self._dice.draw_number("gateway", island, n) % len(shores)]
                for n in range(12)
            ]
            foreign = [h for h in tries if self.main[h] != self.main[island]]
            found.setdefault((foreign or tries)[0], []).append(island)
        return {host: tuple(islands) for host, islands in found.items()}


class WeightedHosts:
    """Some hosts, chosen among in proportion to their pages."""

    def __init__(self, hosts: Sequence[int], sizes: Sequence[int]) -> None:
        self._hosts = hosts
        self._ends = list(accumulate(sizes[host] for host in hosts))

    def __bool__(self) -> bool:
        return bool(self._hosts)

    def pick(self, chance: float) -> int:
        return self._hosts[bisect(self._ends, int(chance * self._ends[-1]))]


def _subject_ends(topics: int, plan: SyntheticPlan) -> list[float]:
    """Where each subject's part of 0..1 ends: topics by rank, languages alike."""
    weights = [1 / (rank + 2) for rank in range(topics)]
    shares = [(1 - plan.languages) * weight / sum(weights) for weight in weights]
    tongues = len(plan.tongues or FOREIGN_LANGUAGES)
    shares += [plan.languages / tongues] * tongues
    return list(accumulate(shares))


def _spread_subjects(ends: list[float], places: int) -> list[int]:
    """The subjects in proportion, over so many places."""
    return [bisect(ends, (place + 0.5) / places * ends[-1]) for place in range(places)]
