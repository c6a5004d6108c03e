"""Topology of a synthetic web: its hosts, their sizes, the topic of each page.

A subject is a topic or a foreign language, by number. Pages of a host take its sixteen slots
in turn and a slot has one subject, so that the subject of a page, and a page of a subject, are
both found at once, however large the web.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from heapq import heapify, heapreplace
from itertools import accumulate

from honeyguide.lab.synthetic.parameters import SyntheticPlan
from honeyguide.lab.synthetic.seeded_random import SeededRandom
from honeyguide.lab.synthetic.text import FOREIGN_LANGUAGES, MANUAL_HOSTS

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
