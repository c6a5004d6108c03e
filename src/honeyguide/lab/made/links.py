"""Where the links of a made web lead, and how its addresses are written.

A page has a number on its host. Numbers beyond those in use are old addresses of the same
pages: some redirect, some are dead. So nothing in an address says which is which.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from honeyguide.lab.made import forum
from honeyguide.lab.made.parameters import MadePlan
from honeyguide.lab.made.seeded_random import Dice
from honeyguide.lab.made.text import Book
from honeyguide.lab.made.topology import SLOTS, Ground

Chance = Callable[[], float]
Kind = Literal["page", "bridge", "moved", "gone", "broken", "busy"]

_HOPS = 4
"""Most redirects in a row; old numbers of the first 1 to 4 rounds redirect to the round before."""
_DEAD: tuple[Kind, ...] = ("gone", "broken", "busy")
_ROUNDS = 1 + _HOPS + len(_DEAD)
_NUMBER = re.compile(
    r"(?:[a-z]{2}/)?(?:[a-z]+(?:/|\?id=))?(\d{1,15})(?:-[a-z0-9]+)?(?:\.html)?\Z"
).match
_SLUG = re.compile(r"[A-Za-z]{4,}").findall
_SECTIONS = ("pages", "articles", "notes", "items", "node", "view", "entry", "text")
_NOISE = (
    "click here", "here", "more", "read more", "this page", "continue", "link", "details",
    "next", "see this",
)  # fmt: skip


class Place(NamedTuple):
    """What a number on a host stands for."""

    kind: Kind
    page: int
    onward: int = 0
    """The number that a moved one leads to."""


class Target(NamedTuple):
    """A link as it is written."""

    href: str
    anchor: str
    blurb: str
    hreflang: str = ""


class Roads:
    """Chooses targets and writes addresses."""

    def __init__(self, plan: MadePlan, dice: Dice, ground: Ground, books: list[Book]) -> None:
        self._plan = plan
        self._dice = dice
        self._ground = ground
        self.books = books

    def title(self, host: int, page: int) -> str:
        """Two real headings of the topic, joined: few pages share one."""
        host = self._ground.source[host]
        if self._ground.front(host, page):
            return forum.front_title(self._dice.number("design", host))
        original = self.original(host, page)
        titles = self.books[self._ground.subject(host, page)].titles
        draw = self._dice.number("title", host, original)
        first, second = titles[draw % len(titles)], titles[(draw >> 32) % len(titles)]
        copy = "" if original == page else f" ({page})"
        return f"{first}: {second}{copy}" if draw & 1 << 31 else first + copy

    def language(self, host: int, page: int) -> str:
        """What a page is written in."""
        return self.books[self._ground.subject(host, page)].language

    def tells(self, host: int) -> bool:
        """Whether the host's addresses name languages."""
        share = self._plan.tongue_urls
        return share > 0 and self._dice.share("tongues", self._ground.source[host]) < share

    def others(self, host: int, language: str) -> dict[str, str]:
        """Other languages of a host that tells, each with the address of a page in it."""
        found: dict[str, str] = {}
        if self.tells(host):
            for page in range(len(self._ground.slots(host))):
                found.setdefault(self.language(host, page), self.path(host, page))
            found.pop(language, None)
        return found

    def original(self, host: int, page: int) -> int:
        """The page that a near copy repeats; every other page itself."""
        if page < SLOTS or page >= self._ground.sizes[host] or not self._copies(host, page):
            return page
        # The original has the same slot and so the same subject, and is no copy itself.
        return page - SLOTS if not self._copies(host, page - SLOTS) else page

    def _copies(self, host: int, page: int) -> bool:
        if page < SLOTS:
            return False
        place = self._ground.source[host]
        return self._dice.share("near copy", place, page) < self._plan.near_copies

    def path(self, host: int, number: int) -> str:
        """The address of a number, from its slash on."""
        if number == 0:
            return "/"
        host = self._ground.source[host]
        style = self._dice.number("style", host)
        slug = ""
        if self._dice.share("telling", host, number) < self._plan.telling_urls:
            slug = self._slug(host, number)
        section = _SECTIONS[(style >> 8) % len(_SECTIONS)]
        root = "/"
        if self.tells(host):
            root = f"/{self.language(host, number % self._ground.numbers(host))}/"
        match style & 3:
            case 0:
                return f"{root}{section}/{number}{slug}"
            case 1:
                return f"{root}{section}/{number}{slug}.html"
            case 2:
                return f"{root}{number}{slug}"
        return f"{root}{section}?id={number}{slug}"

    def _slug(self, host: int, number: int) -> str:
        words = _SLUG(self.title(host, number % self._ground.numbers(host)))
        return f"-{max(words, key=len).lower()}" if words else ""

    def number(self, host: int, rest: str) -> int | None:
        """The number that an address on this host stands for; ``rest`` follows the first slash."""
        if not rest:
            return 0
        match = _NUMBER(rest)
        if match is None:
            return None
        number = int(match[1])
        return number if number and self.path(host, number) == "/" + rest else None

    def place(self, host: int, number: int) -> Place | None:
        used = self._ground.numbers(host)
        past, page = divmod(number, used)
        if page >= self._ground.sizes[host] and not self._ground.bridge(host, page):
            return None
        if past == 0:
            return Place("page" if page < self._ground.sizes[host] else "bridge", page)
        if past <= _HOPS:
            return Place("moved", page, number - used)
        return Place(_DEAD[past - _HOPS - 1], page) if past < _ROUNDS else None

    def choose(self, host: int, page: int, subject: int, same: bool, chance: Chance) -> Target:
        """A link from a page (or, with page -1, a listing) of this subject; it may be stale."""
        goal, found = self._goal(host, page, subject, same, chance)
        draw, past = chance(), 0
        if draw < self._plan.errors + self._plan.redirects:
            past = _past(draw < self._plan.errors, chance())
        return self.target(host, goal, found, chance, past)

    def target(self, host: int, goal: int, page: int, chance: Chance, past: int = 0) -> Target:
        """How a link from a host to a page is written; ``past``: by which old address."""
        title = self.title(goal, page)
        titles = self.books[self._ground.subject(goal, page)].titles
        noisy = chance() < self._plan.noisy_anchors
        return Target(
            self.href(host, goal, page + past * self._ground.numbers(goal)),
            _NOISE[int(chance() * len(_NOISE))] if noisy else title,
            titles[int(chance() * len(titles))],
            self.language(goal, page) if self.tells(host) else "",
        )

    def href(self, host: int, goal: int, number: int) -> str:
        path = self.path(goal, number)
        return path if goal == host else f"http://{self._ground.name(goal)}{path}"

    def _goal(
        self, host: int, page: int, subject: int, same: bool, chance: Chance
    ) -> tuple[int, int]:
        if host in self._ground.scattered:
            if chance() >= self._plan.internal / 10 + 0.9:  # ten times fewer lead away …
                homes, same = self._ground.everywhere, False  # … and never to the topic
                goal = homes.pick(chance())
                return goal, self._on(goal, subject, same, chance) or 0
            return host, self._on(host, subject, same, chance) or 0
        if chance() < self._plan.internal:
            found = self._on(host, subject, same, chance)
            if found is not None and found != page:
                return host, found
        homes = self._ground.homes[subject] if same else self._ground.everywhere
        goal, found = 0, None
        for _ in range(8):  # a host may have no other subject, or be the one we stand on
            goal = (homes or self._ground.everywhere).pick(chance())
            found = self._on(goal, subject, same, chance) if goal != host else None
            if found is not None:
                break
        return goal, found or 0

    def _on(self, host: int, subject: int, same: bool, chance: Chance) -> int | None:
        """A page of the host that is, or is not, about the subject. The first are favoured."""
        slots = self._ground.slots(host)
        fitting = [slot for slot, what in enumerate(slots) if (what == subject) is same]
        if not fitting:
            return None
        slot = fitting[int(chance() * len(fitting))]
        pages = (self._ground.sizes[host] - slot + SLOTS - 1) // SLOTS
        skew = chance() if chance() < 0.5 else 1.0
        return slot + SLOTS * int(pages * chance() * skew)


def _past(dead: bool, draw: float) -> int:
    if dead:
        return 1 + _HOPS + int(draw * len(_DEAD))
    return 1 if draw < 0.7 else 2 + int((draw - 0.7) / 0.3 * (_HOPS - 1))
