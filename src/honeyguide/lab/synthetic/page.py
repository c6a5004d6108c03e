"""Pages of a synthetic web as HTML.

Every host has one of four designs, which differ in the elements that links stand in. A page
is navigation, paragraphs of real sentences with links in them, related pages, and a footer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from honeyguide.lab.synthetic import text as forum
from honeyguide.lab.synthetic.links import LinkChooser, SyntheticLink, UnitDraw
from honeyguide.lab.synthetic.parameters import SyntheticPlan
from honeyguide.lab.synthetic.seeded_random import SeededRandom
from honeyguide.lab.synthetic.topology import HostTopology

ENTRIES_PER_PAGE = 20
"""Entries on one page of a listing."""

_PARAGRAPH_WORDS = 50
"""Of a paragraph, about."""
_SENTENCE_WORDS = 16.0
"""Words of a sentence, about."""
_MENU_LABELS = (
    "Home",
    "About us",
    "Archive",
    "Recent",
    "Popular",
    "Contact",
    "Calendar",
    "Sign in",
)


class PageDesign(NamedTuple):
    """The elements around each part."""

    menu: str
    text: str
    paragraph: str
    related: str


_PAGE_DESIGNS = (
    PageDesign(
        "<nav><ul>{}</ul></nav>", "<main><article>{}</article></main>", "<p>{}</p>",
        '<aside><h2>Related</h2><ul class="related">{}</ul></aside>',
    ),
    PageDesign(
        '<div class="nav"><ul>{}</ul></div>', '<div id="content">{}</div>',
        '<div class="text"><p>{}</p></div>',
        '<div class="sidebar"><h3>See also</h3><ul>{}</ul></div>',
    ),
    PageDesign(
        '<table class="top"><tr><td><ul>{}</ul></td></tr></table>',
        '<table><tr><td class="body">{}</td></tr></table>', "<p>{}</p>",
        '<div class="links"><ul>{}</ul></div>',
    ),
    PageDesign(
        '<header><nav class="menu"><ul>{}</ul></nav></header>',
        '<section class="post">{}</section>', "<blockquote><p>{}</p></blockquote>",
        '<section class="more"><ul>{}</ul></section>',
    ),
)  # fmt: skip

RewriteHref = Callable[[str], str]
"""How an address on this host is written on this page: session numbers are put in here."""


class PageWriter:
    """Writes the pages of one web. Host and page are numbers."""

    def __init__(
        self, plan: SyntheticPlan, dice: SeededRandom, ground: HostTopology, roads: LinkChooser
    ) -> None:
        self._plan = plan
        self._dice = dice
        self._ground = ground
        self._roads = roads
        self._books = roads.books

    def write_page(self, host: int, page: int, version: int, mark: RewriteHref) -> bytes:
        """An ordinary page, or a bridge, after so many changes."""
        design, subject = self._design_of(host), self._ground.page_subject(host, page)
        title, original = self._roads.page_title(host, page), self._roads.original_page(host, page)
        if self._ground.is_front(host, page):
            return self._write_front(host, title, mark)
        text = [f"<h1>{title}</h1>"]
        paragraphs = self._write_paragraphs(host, original, version, mark)
        if host in self._ground.scattered:
            chance = self._dice.random_stream("posts", host, original).random
            text += forum.thread_posts(
                list(paragraphs), self._dice.draw_number("design", host), chance
            )
        else:
            text += map(design.paragraph.format, paragraphs)
        if original != page:
            text.append(f"<p>Copy number {page}.</p>")
        chance = self._dice.random_stream("related", host, original).random
        related = [
            self._choose_link(host, original, subject, chance) for _ in range(self._plan.links // 2)
        ]
        items = [_item_html(target, mark) for target in (*related, *self._bridge_links(host, page))]
        shelf = int(chance() * self.count_listings(host))
        items.append(f'<li><a href="{mark(f"/list/{shelf}")}">More like this</a></li>')
        body = design.text.format("\n".join(text)) + design.related.format("\n".join(items))
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
        inside = forum.front_page_html(
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
        here = month_path(month)
        if day:
            inside = f'<p>No entries. <a href="{mark(here)}">The whole month</a></p>'
            return self.write_plain(host, f"Day {day} of {here[5:]}", inside, mark)
        links = [("earlier", month_path(max(12, month - 1))), ("later", month_path(month + 1))]
        links += [(f"day {n}", f"{here}/{n:02}") for n in range(1, 29, 7)]
        items = "".join(f'<li><a href="{mark(path)}">{word}</a></li>' for word, path in links)
        return self.write_plain(host, f"Calendar {here[5:]}", f"<ul>{items}</ul>", mark)

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
            parts.append(sentences[int(chance() * len(sentences))])
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
            f'<li><a href="{mark(path)}">{_MENU_LABELS[n]}</a></li>' for n, path in enumerate(paths)
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
    said = f' hreflang="{target.hreflang}"' if target.hreflang else ""
    return f'<a href="{_rewrite_href(target.href, mark)}"{said}>{target.anchor}</a>'


def _item_html(target: SyntheticLink, mark: RewriteHref) -> str:
    return f"<li>{_anchor_html(target, mark)} {target.blurb}</li>"


def _rewrite_href(href: str, mark: RewriteHref) -> str:
    return mark(href) if href.startswith("/") else href
