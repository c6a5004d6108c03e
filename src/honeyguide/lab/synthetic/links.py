"""Links of a synthetic web: where they lead, and how its URLs are written.

A page has a number on its host. Numbers beyond those in use are old addresses of the same
pages: some redirect, some are dead. So nothing in an address says which is which.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from honeyguide.lab.synthetic import text
from honeyguide.lab.synthetic.parameters import SyntheticPlan
from honeyguide.lab.synthetic.seeded_random import SeededRandom
from honeyguide.lab.synthetic.text import TopicText
from honeyguide.lab.synthetic.topology import SLOTS_PER_HOST, HostTopology

UnitDraw = Callable[[], float]
NumberKind = Literal["page", "bridge", "moved", "gone", "broken", "busy"]

_MAX_HOPS = 4
"""Most redirects in a row; old numbers of the first 1 to 4 rounds redirect to the round before."""
_DEAD_KINDS: tuple[NumberKind, ...] = ("gone", "broken", "busy")
_NUMBER_ROUNDS = 1 + _MAX_HOPS + len(_DEAD_KINDS)
_match_number = re.compile(
    r"(?:[a-z]{2}/)?(?:[a-z]+(?:/|\?id=))?(\d{1,15})(?:-[a-z0-9]+)?(?:\.html)?\Z"
).match
_find_slug_words = re.compile(r"[A-Za-z]{4,}").findall
_SECTIONS = ("pages", "articles", "notes", "items", "node", "view", "entry", "text")
_NOISY_ANCHORS = (
    "click here", "here", "more", "read more", "this page", "continue", "link", "details",
    "next", "see this",
)  # fmt: skip


class NumberedPage(NamedTuple):
    """What a number on a host stands for."""

    kind: NumberKind
    page: int
    onward: int = 0
    """The number that a moved one leads to."""


class SyntheticLink(NamedTuple):
    """A link as it is written."""

    href: str
    anchor: str
    blurb: str
    hreflang: str = ""


class LinkChooser:
    """Chooses targets and writes addresses."""

    def __init__(
        self, plan: SyntheticPlan, dice: SeededRandom, ground: HostTopology, books: list[TopicText]
    ) -> None:
        self._plan = plan
        self._dice = dice
        self._ground = ground
        self.books = books

    def page_title(self, host: int, page: int) -> str:
        """Two real headings of the topic, joined: few pages share one."""
        host = self._ground.source[host]
        if self._ground.is_front(host, page):
            return text.front_title(self._dice.draw_number("design", host))
        original = self.original_page(host, page)
        titles = self.books[self._ground.page_subject(host, page)].titles
        draw = self._dice.draw_number("title", host, original)
        first, second = titles[draw % len(titles)], titles[(draw >> 32) % len(titles)]
        copy = "" if original == page else f" ({page})"
        return f"{first}: {second}{copy}" if draw & 1 << 31 else first + copy

    def page_language(self, host: int, page: int) -> str:
        """What a page is written in."""
        return self.books[self._ground.page_subject(host, page)].language

    def names_languages(self, host: int) -> bool:
        """Whether the host's addresses name languages."""
        share = self._plan.tongue_urls
        return share > 0 and self._dice.draw_share("tongues", self._ground.source[host]) < share

    def other_languages(self, host: int, language: str) -> dict[str, str]:
        """Other languages of a host that tells, each with the address of a page in it."""
        found: dict[str, str] = {}
        if self.names_languages(host):
            for page in range(len(self._ground.slot_subjects(host))):
                found.setdefault(self.page_language(host, page), self.page_path(host, page))
            found.pop(language, None)
        return found

    def original_page(self, host: int, page: int) -> int:
        """The page that a near copy repeats; every other page itself."""
        if (
            page < SLOTS_PER_HOST
            or page >= self._ground.sizes[host]
            or not self._is_copy(host, page)
        ):
            return page
        # The original has the same slot and so the same subject, and is no copy itself.
        return page - SLOTS_PER_HOST if not self._is_copy(host, page - SLOTS_PER_HOST) else page

    def _is_copy(self, host: int, page: int) -> bool:
        if page < SLOTS_PER_HOST:
            return False
        place = self._ground.source[host]
        return self._dice.draw_share("near copy", place, page) < self._plan.near_copies

    def page_path(self, host: int, number: int) -> str:
        """The address of a number, from its slash on."""
        if number == 0:
            return "/"
        host = self._ground.source[host]
        style = self._dice.draw_number("style", host)
        slug = ""
        if self._dice.draw_share("telling", host, number) < self._plan.telling_urls:
            slug = self._title_slug(host, number)
        section = _SECTIONS[(style >> 8) % len(_SECTIONS)]
        root = "/"
        if self.names_languages(host):
            root = f"/{self.page_language(host, number % self._ground.count_numbers(host))}/"
        match style & 3:
            case 0:
                return f"{root}{section}/{number}{slug}"
            case 1:
                return f"{root}{section}/{number}{slug}.html"
            case 2:
                return f"{root}{number}{slug}"
        return f"{root}{section}?id={number}{slug}"

    def _title_slug(self, host: int, number: int) -> str:
        words = _find_slug_words(self.page_title(host, number % self._ground.count_numbers(host)))
        return f"-{max(words, key=len).lower()}" if words else ""

    def number_of_path(self, host: int, rest: str) -> int | None:
        """The number that an address on this host stands for; ``rest`` follows the first slash."""
        if not rest:
            return 0
        match = _match_number(rest)
        if match is None:
            return None
        number = int(match[1])
        return number if number and self.page_path(host, number) == "/" + rest else None

    def resolve_number(self, host: int, number: int) -> NumberedPage | None:
        used = self._ground.count_numbers(host)
        past, page = divmod(number, used)
        if page >= self._ground.sizes[host] and not self._ground.bridge_at(host, page):
            return None
        if past == 0:
            return NumberedPage("page" if page < self._ground.sizes[host] else "bridge", page)
        if past <= _MAX_HOPS:
            return NumberedPage("moved", page, number - used)
        return (
            NumberedPage(_DEAD_KINDS[past - _MAX_HOPS - 1], page) if past < _NUMBER_ROUNDS else None
        )

    def choose_link(
        self, host: int, page: int, subject: int, same: bool, chance: UnitDraw
    ) -> SyntheticLink:
        """A link from a page (or, with page -1, a listing) of this subject; it may be stale."""
        goal, found = self._choose_goal(host, page, subject, same, chance)
        draw, past = chance(), 0
        if draw < self._plan.errors + self._plan.redirects:
            past = _old_address_round(draw < self._plan.errors, chance())
        return self.write_link(host, goal, found, chance, past)

    def write_link(
        self, host: int, goal: int, page: int, chance: UnitDraw, past: int = 0
    ) -> SyntheticLink:
        """How a link from a host to a page is written; ``past``: by which old address."""
        title = self.page_title(goal, page)
        titles = self.books[self._ground.page_subject(goal, page)].titles
        noisy = chance() < self._plan.noisy_anchors
        return SyntheticLink(
            self.href_to(host, goal, page + past * self._ground.count_numbers(goal)),
            _NOISY_ANCHORS[int(chance() * len(_NOISY_ANCHORS))] if noisy else title,
            titles[int(chance() * len(titles))],
            self.page_language(goal, page) if self.names_languages(host) else "",
        )

    def href_to(self, host: int, goal: int, number: int) -> str:
        path = self.page_path(goal, number)
        return path if goal == host else f"http://{self._ground.host_name(goal)}{path}"

    def _choose_goal(
        self, host: int, page: int, subject: int, same: bool, chance: UnitDraw
    ) -> tuple[int, int]:
        if host in self._ground.scattered:
            if chance() >= self._plan.internal / 10 + 0.9:  # ten times fewer lead away …
                homes, same = self._ground.everywhere, False  # … and never to the topic
                goal = homes.pick(chance())
                return goal, self._page_on_host(goal, subject, same, chance) or 0
            return host, self._page_on_host(host, subject, same, chance) or 0
        if chance() < self._plan.internal:
            found = self._page_on_host(host, subject, same, chance)
            if found is not None and found != page:
                return host, found
        homes = self._ground.homes[subject] if same else self._ground.everywhere
        goal, found = 0, None
        for _ in range(8):  # a host may have no other subject, or be the one we stand on
            goal = (homes or self._ground.everywhere).pick(chance())
            found = self._page_on_host(goal, subject, same, chance) if goal != host else None
            if found is not None:
                break
        return goal, found or 0

    def _page_on_host(self, host: int, subject: int, same: bool, chance: UnitDraw) -> int | None:
        """A page of the host that is, or is not, about the subject. The first are favoured."""
        slots = self._ground.slot_subjects(host)
        fitting = [slot for slot, what in enumerate(slots) if (what == subject) is same]
        if not fitting:
            return None
        slot = fitting[int(chance() * len(fitting))]
        pages = (self._ground.sizes[host] - slot + SLOTS_PER_HOST - 1) // SLOTS_PER_HOST
        skew = chance() if chance() < 0.5 else 1.0
        return slot + SLOTS_PER_HOST * int(pages * chance() * skew)


def _old_address_round(dead: bool, draw: float) -> int:
    if dead:
        return 1 + _MAX_HOPS + int(draw * len(_DEAD_KINDS))
    return 1 if draw < 0.7 else 2 + int((draw - 0.7) / 0.3 * (_MAX_HOPS - 1))
