"""Pages of a made web, written out.

Every host has one of four designs, which differ in the elements that links stand in. A page
is navigation, paragraphs of real sentences with links in them, related pages, and a footer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from honeyguide.lab.made import forum
from honeyguide.lab.made.links import Chance, Roads, Target
from honeyguide.lab.made.parameters import MadePlan
from honeyguide.lab.made.seeded_random import Dice
from honeyguide.lab.made.topology import Ground

SHOWN = 20
"""Entries on one page of a listing."""

_WORDS = 50
"""Of a paragraph, about."""
_SENTENCE = 16.0
"""Words of a sentence, about."""
_SITE = ("Home", "About us", "Archive", "Recent", "Popular", "Contact", "Calendar", "Sign in")


class Design(NamedTuple):
    """The elements around each part."""

    menu: str
    text: str
    paragraph: str
    related: str


_DESIGNS = (
    Design(
        "<nav><ul>{}</ul></nav>", "<main><article>{}</article></main>", "<p>{}</p>",
        '<aside><h2>Related</h2><ul class="related">{}</ul></aside>',
    ),
    Design(
        '<div class="nav"><ul>{}</ul></div>', '<div id="content">{}</div>',
        '<div class="text"><p>{}</p></div>',
        '<div class="sidebar"><h3>See also</h3><ul>{}</ul></div>',
    ),
    Design(
        '<table class="top"><tr><td><ul>{}</ul></td></tr></table>',
        '<table><tr><td class="body">{}</td></tr></table>', "<p>{}</p>",
        '<div class="links"><ul>{}</ul></div>',
    ),
    Design(
        '<header><nav class="menu"><ul>{}</ul></nav></header>',
        '<section class="post">{}</section>', "<blockquote><p>{}</p></blockquote>",
        '<section class="more"><ul>{}</ul></section>',
    ),
)  # fmt: skip

Mark = Callable[[str], str]
"""How an address on this host is written on this page: session numbers are put in here."""


class Writer:
    """Writes the pages of one web. Host and page are numbers."""

    def __init__(self, plan: MadePlan, dice: Dice, ground: Ground, roads: Roads) -> None:
        self._plan = plan
        self._dice = dice
        self._ground = ground
        self._roads = roads
        self._books = roads.books

    def page(self, host: int, page: int, version: int, mark: Mark) -> bytes:
        """An ordinary page, or a bridge, after so many changes."""
        design, subject = self._design(host), self._ground.subject(host, page)
        title, original = self._roads.title(host, page), self._roads.original(host, page)
        if self._ground.front(host, page):
            return self._front(host, title, mark)
        text = [f"<h1>{title}</h1>"]
        paragraphs = self._paragraphs(host, original, version, mark)
        if host in self._ground.scattered:
            chance = self._dice.stream("posts", host, original).random
            text += forum.posts(list(paragraphs), self._dice.number("design", host), chance)
        else:
            text += map(design.paragraph.format, paragraphs)
        if original != page:
            text.append(f"<p>Copy number {page}.</p>")
        chance = self._dice.stream("related", host, original).random
        related = [
            self._link(host, original, subject, chance) for _ in range(self._plan.links // 2)
        ]
        items = [_item(target, mark) for target in (*related, *self._ways(host, page))]
        shelf = int(chance() * self.listings(host))
        items.append(f'<li><a href="{mark(f"/list/{shelf}")}">More like this</a></li>')
        body = design.text.format("\n".join(text)) + design.related.format("\n".join(items))
        return self._whole(host, title, self._books[subject].language, body, mark)

    def listing(self, host: int, shelf: int, sheet: int, mark: Mark) -> bytes:
        """One page of a listing; its entries stay the same while pages change."""
        slots = self._ground.slots(host)
        subject = slots[shelf % len(slots)]
        titles = self._books[subject].titles
        title = titles[self._dice.number("listing", host, shelf) % len(titles)]
        chance = self._dice.stream("entries", host, shelf, sheet).random
        local = 1.0 if self._plan.hubs_only else self._plan.locality
        items = [
            _item(self._roads.choose(host, -1, subject, chance() < local, chance), mark)
            for _ in range(SHOWN)
        ]
        turns = [
            f'<a href="{mark(sheet_path(shelf, number))}">{word}</a>'
            for word, number in (("previous", sheet - 1), ("next", sheet + 1))
            if 1 <= number <= self.sheets(host, shelf)
        ]
        body = self._design(host).text.format(
            f'<h1>{title}</h1>\n<ul class="list">{chr(10).join(items)}</ul>\n'
            f'<p class="pages">Page {sheet} {" ".join(turns)}</p>'
        )
        return self._whole(host, title, self._books[subject].language, body, mark)

    def _front(self, host: int, title: str, mark: Mark) -> bytes:
        """The front page of a forum or blog: its software's words, and the first threads."""
        chance = self._dice.stream("front", host).random
        pages = range(1, min(SHOWN, self._ground.sizes[host]))
        threads = [_anchor(self._roads.target(host, host, page, chance), mark) for page in pages]
        inside = forum.front(title, threads, self._dice.number("design", host), chance)
        language = self._books[self._ground.main[host]].language
        body = self._design(host).text.format(inside)
        return self._whole(host, title, language, body, mark)

    def plain(self, host: int, title: str, inside: str, mark: Mark) -> bytes:
        """A page without a subject."""
        body = self._design(host).text.format(f"<h1>{title}</h1>\n{inside}")
        return self._whole(host, title, "en", body, mark)

    def month(self, host: int, month: int, day: int, mark: Mark) -> bytes:
        """A page of a calendar that has neither beginning nor end worth speaking of."""
        here = month_path(month)
        if day:
            inside = f'<p>No entries. <a href="{mark(here)}">The whole month</a></p>'
            return self.plain(host, f"Day {day} of {here[5:]}", inside, mark)
        links = [("earlier", month_path(max(12, month - 1))), ("later", month_path(month + 1))]
        links += [(f"day {n}", f"{here}/{n:02}") for n in range(1, 29, 7)]
        items = "".join(f'<li><a href="{mark(path)}">{word}</a></li>' for word, path in links)
        return self.plain(host, f"Calendar {here[5:]}", f"<ul>{items}</ul>", mark)

    def listings(self, host: int) -> int:
        """How many listings a host has; a listing has 2 to 5 pages."""
        return max(1, min(100_000, round(self._plan.hubs * self._ground.sizes[host] / 3.5)))

    def sheets(self, host: int, shelf: int) -> int:
        return 2 + self._dice.number("sheets", host, shelf) % 4

    def calendar(self, host: int) -> bool:
        return self._dice.share("calendar", host) < self._plan.traps

    def _design(self, host: int) -> Design:
        return _DESIGNS[self._dice.number("design", host) % len(_DESIGNS)]

    def _link(self, host: int, page: int, subject: int, chance: Chance) -> Target:
        local = 0.0 if self._plan.hubs_only else self._plan.locality
        return self._roads.choose(host, page, subject, chance() < local, chance)

    def _paragraphs(self, host: int, page: int, version: int, mark: Mark) -> Iterator[str]:
        """The page's text. Each change rewrites one paragraph, in turn."""
        draw = self._dice.lognormal
        length = draw(f"length {page}", host, self._plan.words, self._plan.words_spread)
        length = min(400.0, max(40.0, length))
        count = math.ceil(length / _WORDS)
        for place in range(count):
            written = (version + count - 1 - place) // count
            chance = self._dice.stream("text", host, page, place, written).random
            yield self._paragraph(host, page, length / count, chance, mark)

    def _paragraph(self, host: int, page: int, length: float, chance: Chance, mark: Mark) -> str:
        subject = self._ground.subject(host, page)
        sentences = self._books[subject].sentences
        parts, words = [], 0.0
        while words < length - _SENTENCE / 2:
            parts.append(sentences[int(chance() * len(sentences))])
            words += parts[-1].count(" ") + 1 if " " in parts[-1] else _SENTENCE
        links = (self._plan.links + 1) // 2 * _WORDS / self._plan.words
        for _ in range(int(links + chance())):
            target = self._link(host, page, subject, chance)
            parts.insert(1 + int(chance() * len(parts)), f"See {_anchor(target, mark)}.")
        return " ".join(parts)

    def _ways(self, host: int, page: int) -> Iterator[Target]:
        """Links that belong to bridges: the way in, the next step, the far end."""
        chance = self._dice.stream("ways", host, page).random
        write = self._roads.target
        if page < self._ground.sizes[host]:
            for first in self._ground.entrances(host, page):
                yield write(host, host, first, chance)
        elif bridge := self._ground.bridge(host, page):
            island, left = bridge
            if left > 1:
                yield write(host, host, page + 1, chance)
                return
            yield write(host, island, 0, chance)
            for _ in range(3):
                goal = int(chance() * self._ground.sizes[island])
                yield write(host, island, goal, chance)

    def _whole(self, host: int, title: str, language: str, body: str, mark: Mark) -> bytes:
        design, name = self._design(host), self._ground.name(self._ground.source[host])
        others = self._roads.others(host, language).items()
        other = [f'<link rel="alternate" hreflang="{t}" href="{mark(p)}">' for t, p in others]
        paths = ["/", "/about", *(f"/list/{n}" for n in range(min(3, self.listings(host))))]
        menu = [f'<li><a href="{mark(path)}">{_SITE[n]}</a></li>' for n, path in enumerate(paths)]
        if self.calendar(host):
            menu.append(f'<li><a href="{mark("/cal/2031/05")}">Calendar</a></li>')
        chance = self._dice.stream("friends", host).random
        friends = {self._ground.everywhere.pick(chance()) for _ in range(2)} - {host}
        foot = [
            f'<a href="http://{self._ground.name(friend)}/">Friends of ours</a>'
            for friend in sorted(friends)
        ]
        foot.append('<a href="/private/login" rel="nofollow">Sign in</a>')
        return (
            f'<!DOCTYPE html>\n<html lang="{self._declared(host, language)}">'
            f'<head><meta charset="utf-8">'
            f"<title>{title}</title>{''.join(other)}</head>\n<body>{design.menu.format(''.join(menu))}\n{body}\n"
            f"<footer><p>{name} — all rights reserved. {' '.join(foot)}</p></footer>"
            "</body></html>\n"
        ).encode()

    def _declared(self, host: int, language: str) -> str:
        """What a page says of its language: a host may use one template for all of them."""
        source, share = self._ground.source[host], self._plan.tongue_lies
        if not share or self._dice.share("tongue lies", source) >= share:
            return language
        known = sorted({book.language for book in self._books})
        return known[self._dice.number("declared", source) % len(known)]


def sheet_path(shelf: int, sheet: int) -> str:
    return f"/list/{shelf}?page={sheet}" if sheet > 1 else f"/list/{shelf}"


def month_path(month: int) -> str:
    return f"/cal/{month // 12}/{month % 12 + 1:02}"


def _anchor(target: Target, mark: Mark) -> str:
    said = f' hreflang="{target.hreflang}"' if target.hreflang else ""
    return f'<a href="{_address(target.href, mark)}"{said}>{target.anchor}</a>'


def _item(target: Target, mark: Mark) -> str:
    return f"<li>{_anchor(target, mark)} {target.blurb}</li>"


def _address(href: str, mark: Mark) -> str:
    return mark(href) if href.startswith("/") else href
