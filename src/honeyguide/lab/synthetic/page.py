"""Pages of a synthetic web as HTML, where their links lead and how its URLs are written.

Every host has one of four designs, which differ in the elements that links stand in. A page
is navigation, paragraphs of real sentences with links in them, related pages, and a footer.

A page has a number on its host. Numbers beyond those in use are old addresses of the same
pages: some redirect, some are dead. So nothing in an address says which is which.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

from honeyguide.lab.synthetic import text
from honeyguide.lab.synthetic.seeded_random import SeededRandom
from honeyguide.lab.synthetic.text import TopicText, UnitDraw
from honeyguide.lab.synthetic.topology import SLOTS_PER_HOST, HostTopology, SyntheticPlan

NumberKind = Literal["page", "bridge", "moved", "gone", "broken", "busy"]

_MAX_HOPS = 4
"""Most redirects in a row; old numbers of the first 1 to 4 rounds redirect to the round before."""
_DEAD_KINDS: tuple[NumberKind, ...] = ("gone", "broken", "busy")
_NUMBER_ROUNDS = 1 + _MAX_HOPS + len(_DEAD_KINDS)
_match_number = re.compile(
    r"(?:[a-z]{2}/)?(?:[a-z]+(?:/|\?id=))?(\d{1,15})(?:-[a-z0-9]+)?(?:\.html)?\Z"
).match
_find_slug_words = re.compile(r"[A-Za-z]{4,}").findall


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
        if page >= self._ground.sizes[host] or not self._is_copy(host, page):
            return page
        # The original has the same slot and so the same subject, and is no copy itself.
        return page if self._is_copy(host, page - SLOTS_PER_HOST) else page - SLOTS_PER_HOST

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
        style, sections = self._dice.draw_number("style", host), text.FIXED_TEXTS["sections"]
        slug = ""
        if self._dice.draw_share("telling", host, number) < self._plan.telling_urls:
            slug = self._title_slug(host, number)
        section = sections[(style >> 8) % len(sections)]
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
        if draw < self._plan.errors:
            past = 1 + _MAX_HOPS + int(chance() * len(_DEAD_KINDS))
        elif draw < self._plan.errors + self._plan.redirects:
            hops = chance()
            past = 1 if hops < 0.7 else 2 + int((hops - 0.7) / 0.3 * (_MAX_HOPS - 1))
        return self.write_link(host, goal, found, chance, past)

    def write_link(
        self, host: int, goal: int, page: int, chance: UnitDraw, past: int = 0
    ) -> SyntheticLink:
        """How a link from a host to a page is written; ``past``: by which old address."""
        title = self.page_title(goal, page)
        titles = self.books[self._ground.page_subject(goal, page)].titles
        noisy, noise = chance() < self._plan.noisy_anchors, text.FIXED_TEXTS["noisy_anchors"]
        return SyntheticLink(
            self.href_to(host, goal, page + past * self._ground.count_numbers(goal)),
            text.pick_item(noise, chance()) if noisy else title,
            text.pick_item(titles, chance()),
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


# --------------------------------------------------------------------------------------------------
# Pages as HTML.
# --------------------------------------------------------------------------------------------------


ENTRIES_PER_PAGE = 20
"""Entries on one page of a listing."""

_PARAGRAPH_WORDS = 50
"""Of a paragraph, about."""
_SENTENCE_WORDS = 16.0
"""Words of a sentence, about."""


class PageDesign(NamedTuple):
    """The elements around each part."""

    menu: str
    text: str
    paragraph: str
    related: str


_PAGE_DESIGNS = [PageDesign(**design) for design in text.FIXED_TEXTS["page_designs"]]
RewriteHref = Callable[[str], str]
"""How an address on this host is written on this page: session numbers are put in here."""


class PageWriter:
    """Writes the pages of one web. Host and page are numbers."""

    def __init__(
        self,
        plan: SyntheticPlan,
        dice: SeededRandom,
        ground: HostTopology,
        roads: LinkChooser,
        spam: Mapping[tuple[int, int], SyntheticLink] | None = None,
    ) -> None:
        """``spam``: links that strangers left on pages, by host and page."""
        self._plan = plan
        self._dice = dice
        self._ground = ground
        self._roads = roads
        self._books = roads.books
        self._spam = spam or {}

    def write_page(self, host: int, page: int, version: int, mark: RewriteHref) -> bytes:
        """An ordinary page, or a bridge, after so many changes."""
        design, subject = self._design_of(host), self._ground.page_subject(host, page)
        title, original = self._roads.page_title(host, page), self._roads.original_page(host, page)
        if self._ground.is_front(host, page):
            return self._write_front(host, title, mark)
        parts = [f"<h1>{title}</h1>"]
        paragraphs = self._write_paragraphs(host, original, version, mark)
        if host in self._ground.scattered:
            chance = self._dice.random_stream("posts", host, original).random
            parts += text.thread_posts(
                list(paragraphs), self._dice.draw_number("design", host), chance
            )
        else:
            parts += map(design.paragraph.format, paragraphs)
        if original != page:
            parts.append(f"<p>Copy number {page}.</p>")
        chance = self._dice.random_stream("related", host, original).random
        related = [
            self._choose_link(host, original, subject, chance) for _ in range(self._plan.links // 2)
        ]
        items = [_item_html(target, mark) for target in (*related, *self._bridge_links(host, page))]
        shelf = int(chance() * self.count_listings(host))
        items.append(f'<li><a href="{mark(f"/list/{shelf}")}">More like this</a></li>')
        if (left := self._spam.get((host, page))) is not None:
            who = self._dice.draw_number("spammer", host, page) % 90
            parts.append(
                f'<div class="comment"><p>visitor{who} says: {_anchor_html(left, mark)}</p></div>'
            )
        body = design.text.format("\n".join(parts)) + design.related.format("\n".join(items))
        return self._wrap_page(host, title, self._books[subject].language, body, mark)

    def write_listing(self, host: int, shelf: int, sheet: int, mark: RewriteHref) -> bytes:
        """One page of a listing; its entries stay the same while pages change."""
        slots = self._ground.slot_subjects(host)
        subject = slots[shelf % len(slots)]
        titles = self._books[subject].titles
        title = titles[self._dice.draw_number("listing", host, shelf) % len(titles)]
        chance = self._dice.random_stream("entries", host, shelf, sheet).random
        local = 1.0 if self._plan.hubs_only else self._plan.locality
        items = [
            _item_html(self._roads.choose_link(host, -1, subject, chance() < local, chance), mark)
            for _ in range(ENTRIES_PER_PAGE)
        ]
        turns = [
            f'<a href="{mark(sheet_path(shelf, number))}">{word}</a>'
            for word, number in (("previous", sheet - 1), ("next", sheet + 1))
            if 1 <= number <= self.count_sheets(host, shelf)
        ]
        body = self._design_of(host).text.format(
            f'<h1>{title}</h1>\n<ul class="list">{chr(10).join(items)}</ul>\n'
            f'<p class="pages">Page {sheet} {" ".join(turns)}</p>'
        )
        return self._wrap_page(host, title, self._books[subject].language, body, mark)

    def _write_front(self, host: int, title: str, mark: RewriteHref) -> bytes:
        """The front page of a forum or blog: its software's words, and the first threads."""
        chance = self._dice.random_stream("front", host).random
        pages = range(1, min(ENTRIES_PER_PAGE, self._ground.sizes[host]))
        threads = [
            _anchor_html(self._roads.write_link(host, host, page, chance), mark) for page in pages
        ]
        inside = text.front_page_html(
            title, threads, self._dice.draw_number("design", host), chance
        )
        language = self._books[self._ground.main[host]].language
        body = self._design_of(host).text.format(inside)
        return self._wrap_page(host, title, language, body, mark)

    def write_plain(self, host: int, title: str, inside: str, mark: RewriteHref) -> bytes:
        """A page without a subject."""
        body = self._design_of(host).text.format(f"<h1>{title}</h1>\n{inside}")
        return self._wrap_page(host, title, "en", body, mark)

    def write_month(self, host: int, month: int, day: int, mark: RewriteHref) -> bytes:
        """A page of a calendar that has neither beginning nor end worth speaking of."""
        path = month_path(month)
        if day:
            inside = f'<p>No entries. <a href="{mark(path)}">The whole month</a></p>'
            return self.write_plain(host, f"Day {day} of {path[5:]}", inside, mark)
        links = [("earlier", month_path(max(12, month - 1))), ("later", month_path(month + 1))]
        links += [(f"day {n}", f"{path}/{n:02}") for n in range(1, 29, 7)]
        items = "".join(f'<li><a href="{mark(href)}">{word}</a></li>' for word, href in links)
        return self.write_plain(host, f"Calendar {path[5:]}", f"<ul>{items}</ul>", mark)

    def count_listings(self, host: int) -> int:
        """How many listings a host has; a listing has 2 to 5 pages."""
        return max(1, min(100_000, round(self._plan.hubs * self._ground.sizes[host] / 3.5)))

    def count_sheets(self, host: int, shelf: int) -> int:
        return 2 + self._dice.draw_number("sheets", host, shelf) % 4

    def has_calendar(self, host: int) -> bool:
        return self._dice.draw_share("calendar", host) < self._plan.traps

    def _design_of(self, host: int) -> PageDesign:
        return _PAGE_DESIGNS[self._dice.draw_number("design", host) % len(_PAGE_DESIGNS)]

    def _choose_link(self, host: int, page: int, subject: int, chance: UnitDraw) -> SyntheticLink:
        local = 0.0 if self._plan.hubs_only else self._plan.locality
        return self._roads.choose_link(host, page, subject, chance() < local, chance)

    def _write_paragraphs(
        self, host: int, page: int, version: int, mark: RewriteHref
    ) -> Iterator[str]:
        """The page's text. Each change rewrites one paragraph, in turn."""
        draw = self._dice.draw_lognormal
        length = draw(f"length {page}", host, self._plan.words, self._plan.words_spread)
        length = min(400.0, max(40.0, length))
        count = math.ceil(length / _PARAGRAPH_WORDS)
        for place in range(count):
            written = (version + count - 1 - place) // count
            chance = self._dice.random_stream("text", host, page, place, written).random
            yield self._write_paragraph(host, page, length / count, chance, mark)

    def _write_paragraph(
        self, host: int, page: int, length: float, chance: UnitDraw, mark: RewriteHref
    ) -> str:
        subject = self._ground.page_subject(host, page)
        sentences = self._books[subject].sentences
        parts, words = [], 0.0
        while words < length - _SENTENCE_WORDS / 2:
            parts.append(text.pick_item(sentences, chance()))
            words += parts[-1].count(" ") + 1 if " " in parts[-1] else _SENTENCE_WORDS
        links = (self._plan.links + 1) // 2 * _PARAGRAPH_WORDS / self._plan.words
        for _ in range(int(links + chance())):
            target = self._choose_link(host, page, subject, chance)
            parts.insert(1 + int(chance() * len(parts)), f"See {_anchor_html(target, mark)}.")
        return " ".join(parts)

    def _bridge_links(self, host: int, page: int) -> Iterator[SyntheticLink]:
        """Links that belong to bridges: the way in, the next step, the far end."""
        chance = self._dice.random_stream("ways", host, page).random
        write = self._roads.write_link
        if page < self._ground.sizes[host]:
            for first in self._ground.bridge_entrances(host, page):
                yield write(host, host, first, chance)
        elif bridge := self._ground.bridge_at(host, page):
            island, left = bridge
            if left > 1:
                yield write(host, host, page + 1, chance)
                return
            yield write(host, island, 0, chance)
            for _ in range(3):
                goal = int(chance() * self._ground.sizes[island])
                yield write(host, island, goal, chance)

    def _wrap_page(
        self, host: int, title: str, language: str, body: str, mark: RewriteHref
    ) -> bytes:
        design, name = self._design_of(host), self._ground.host_name(self._ground.source[host])
        others = self._roads.other_languages(host, language).items()
        other = [f'<link rel="alternate" hreflang="{t}" href="{mark(p)}">' for t, p in others]
        paths = ["/", "/about", *(f"/list/{n}" for n in range(min(3, self.count_listings(host))))]
        menu = [
            f'<li><a href="{mark(path)}">{label}</a></li>'
            for path, label in zip(paths, text.FIXED_TEXTS["menu_labels"], strict=False)
        ]
        if self.has_calendar(host):
            menu.append(f'<li><a href="{mark("/cal/2031/05")}">Calendar</a></li>')
        chance = self._dice.random_stream("friends", host).random
        friends = {self._ground.everywhere.pick(chance()) for _ in range(2)} - {host}
        foot = [
            f'<a href="http://{self._ground.host_name(friend)}/">Friends of ours</a>'
            for friend in sorted(friends)
        ]
        foot.append('<a href="/private/login" rel="nofollow">Sign in</a>')
        return (
            f'<!DOCTYPE html>\n<html lang="{self._declared_language(host, language)}">'
            f'<head><meta charset="utf-8">'
            f"<title>{title}</title>{''.join(other)}</head>\n<body>{design.menu.format(''.join(menu))}\n{body}\n"
            f"<footer><p>{name} — all rights reserved. {' '.join(foot)}</p></footer>"
            "</body></html>\n"
        ).encode()

    def _declared_language(self, host: int, language: str) -> str:
        """What a page says of its language: a host may use one template for all of them."""
        source, share = self._ground.source[host], self._plan.tongue_lies
        if not share or self._dice.draw_share("tongue lies", source) >= share:
            return language
        known = sorted({book.language for book in self._books})
        return known[self._dice.draw_number("declared", source) % len(known)]


def sheet_path(shelf: int, sheet: int) -> str:
    return f"/list/{shelf}?page={sheet}" if sheet > 1 else f"/list/{shelf}"


def month_path(month: int) -> str:
    return f"/cal/{month // 12}/{month % 12 + 1:02}"


def _anchor_html(target: SyntheticLink, mark: RewriteHref) -> str:
    language = f' hreflang="{target.hreflang}"' if target.hreflang else ""
    href = mark(target.href) if target.href.startswith("/") else target.href
    return f'<a href="{href}"{language}>{target.anchor}</a>'


def _item_html(target: SyntheticLink, mark: RewriteHref) -> str:
    return f"<li>{_anchor_html(target, mark)} {target.blurb}</li>"
