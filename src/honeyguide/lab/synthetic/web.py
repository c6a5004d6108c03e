"""A synthetic web: pages generated from a seed, with the truth about each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from copy import copy
from functools import cached_property
from itertools import chain
from typing import Literal, NamedTuple

from honeyguide.errors import ConfigError
from honeyguide.lab.synthetic import text
from honeyguide.lab.synthetic.page import (
    LinkChooser,
    NumberKind,
    PageWriter,
    RewriteHref,
    SyntheticLink,
)
from honeyguide.lab.synthetic.seeded_random import ChangeProcess, SeededRandom
from honeyguide.lab.synthetic.text import UnitDraw, load_texts
from honeyguide.lab.synthetic.topology import SLOTS_PER_HOST, HostTopology, SyntheticPlan
from honeyguide.lab.web import RecordedResponse, gzip_bytes, without_scheme
from honeyguide.types import Url
from honeyguide.url import canonical_url

ResourceKind = NumberKind | Literal["listing", "calendar", "about", "private", "robots"]

_FIXED_PATHS: dict[str, ResourceKind] = {
    "robots.txt": "robots",
    "about": "about",
    "private/login": "private",
}
_SESSIONLESS = ("robots", "about", "private", "calendar")
_find_session = re.compile(r"[?&]sid=([0-9a-f]{8})\Z").search
_match_listing = re.compile(r"list/(0|[1-9]\d{0,5})(?:\?page=([2-9]))?\Z").match
_match_calendar = re.compile(r"cal/([1-9]\d{0,8})/(0[1-9]|1[0-2])(?:/(0[1-9]|1\d|2[0-8]))?\Z").match


class SyntheticResource(NamedTuple):
    """What stands at an address. The host is the one that a mirror repeats."""

    kind: ResourceKind
    host: int
    number: int = 0
    """The page; of a listing, which one; of a calendar, the months since the year 0."""
    part: int = 0
    """Of a listing, its page; of a calendar, the day; of a moved address, where it leads."""
    session: str = ""

    @property
    def is_page(self) -> bool:
        """Whether it is a page that people write and change."""
        return self.kind in ("page", "bridge")


# --------------------------------------------------------------------------------------------------
# A spam farm beside the honest pages.
# --------------------------------------------------------------------------------------------------


_FARM_LINKS, _INSIDE_SHARE = 14, 0.25
"""Links of a page, and the share of them that stay on its host."""
_STUFFED_WORDS = 12
"""Words of the topic that are repeated."""
_FIRST_PAGES = 12
"""Entrances stand on the first pages of honest hosts, which most links lead to."""
_match_farm_host = re.compile(r"p(\d{1,7})\.s\d{1,7}\.example\Z").match
_match_farm_path = re.compile(r"(\d{1,9})\.html\Z").match
_is_word = re.compile(r"[a-z]{4,}\Z").match
_FARM_TAGS = ("div", "section", "article", "table", "ul", "p", "dl", "main", "center", "aside")


class SpamFarm:
    """Pages stuffed with one topic's words, on many domains; none has a label.

    They link to each other and to a few honest pages; some honest pages link to them, as spammed
    comments do. Hosts and pages are numbers; a page belongs to the host of its number modulo all.
    """

    def __init__(
        self, plan: SyntheticPlan, dice: SeededRandom, ground: HostTopology, roads: LinkChooser
    ) -> None:
        self._plan = plan
        self._dice = dice
        self._ground = ground
        self._roads = roads
        self._subject = ground.subjects.index(plan.farm_topic or ground.subjects[0])

    @staticmethod
    def host_names(plan: SyntheticPlan) -> Iterator[str]:
        hosts = max(plan.farm_hosts, plan.farm_domains) if plan.farm else 0
        return (f"p{host}.s{host % plan.farm_domains}.example" for host in range(hosts))

    def find_page(self, host: str, path: str) -> bytes | None:
        """The page at that path of that host, if both are the farm's."""
        named, at = _match_farm_host(host), _match_farm_path(path)
        if named is None or (path and at is None):
            return None
        number, hosts = int(named[1]), len(self._hosts)
        page = int(at[1]) if at else number
        known = number < hosts and self._hosts[number] == host
        return self._write_page(page) if known and page % hosts == number < hosts else None

    @cached_property
    def entrances(self) -> dict[tuple[int, int], SyntheticLink]:
        """Honest pages, as host and page, that link to the farm."""
        found: dict[tuple[int, int], SyntheticLink] = {}
        ground, tries = self._ground, 0
        while len(found) < self._plan.farm_entries and tries < 100_000:
            tries += 1
            place = self._dice.draw_number("farm entrance", tries)
            host = ground.ordinary[place % len(ground.ordinary)]
            page = (place >> 32) % min(_FIRST_PAGES, ground.sizes[host])
            about = ground.page_subject(host, page) == self._subject
            if ground.source[host] == host and about is self._plan.farm_good_entries:
                chance = self._dice.random_stream("farm comment", tries).random
                left = SyntheticLink(self._address(place >> 8), self._anchor(chance), "")
                found.setdefault((host, page), left)
        return found

    @cached_property
    def _hosts(self) -> list[str]:
        return list(self.host_names(self._plan))

    @cached_property
    def _words(self) -> list[str]:
        """What tells the topic from others: the words that a user would name."""
        counts = [
            Counter(word for line in book.titles + book.sentences for word in line.lower().split())
            for book in self._roads.books
        ]
        own, every = counts[self._subject], sum(counts, Counter[str]())
        telling = {word: n * n / every[word] for word, n in own.items() if _is_word(word)}
        most = sorted(telling, key=lambda word: (-telling[word], word))[:_STUFFED_WORDS]
        return [self._ground.subjects[self._subject], *most]

    def _address(self, draw: int) -> str:
        page = draw % self._plan.farm
        return f"http://{self._hosts[page % len(self._hosts)]}/{page}.html"

    def _write_page(self, page: int) -> bytes:
        chance = self._dice.random_stream("farm", page).random
        book, stuffed = self._roads.books[self._subject], self._plan.farm_stuffed
        title = self._anchor(chance)
        sentences = [
            self._stuffed_sentence(chance)
            if chance() < stuffed
            else text.pick_item(book.sentences, chance())
            for _ in range(6 + int(chance() * 10))
        ]
        links = [self._write_link(page, chance) for _ in range(_FARM_LINKS)]
        outer, inner, item = self._design(page)
        parts = "".join(f"<{inner}><p>{sentence}</p></{inner}>" for sentence in sentences)
        items = "".join(f"<{item}>{link}</{item}>" for link in links)
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"</head>\n<body><h1>{title}</h1><{outer}>{parts}</{outer}>\n"
            f"<{outer}>{items}</{outer}></body></html>\n"
        ).encode()

    def _design(self, page: int) -> tuple[str, str, str]:
        """Elements of a page: those of its domain, if it has a design of its own."""
        domain = page % len(self._hosts) % self._plan.farm_domains
        own = self._dice.draw_share("farm design", domain) < self._plan.farm_designs
        draw = self._dice.draw_number("farm elements", domain) if own else 0
        first, second, third = (
            _FARM_TAGS[(draw >> shift) % len(_FARM_TAGS)] for shift in (0, 16, 32)
        )
        return first, second, third

    def _stuffed_sentence(self, chance: UnitDraw) -> str:
        words = [text.pick_item(self._words, chance()) for _ in range(8 + int(chance() * 8))]
        return f"{' '.join(words).capitalize()}."

    def _write_link(self, page: int, chance: UnitDraw) -> str:
        draw = chance()
        if draw < self._plan.farm_outward:
            target = self._roads.choose_link(
                self._ground.ordinary[0], -1, self._subject, chance() < 0.5, chance
            )
            host = self._ground.host_name(self._ground.ordinary[0])
            href = target.href if "://" in target.href else f"http://{host}{target.href}"
        elif draw < self._plan.farm_outward + _INSIDE_SHARE:
            href = self._address(page + len(self._hosts) * int(chance() * 1000))
        else:
            href = self._address(int(chance() * self._plan.farm))
        return f'<a href="{href}">{self._anchor(chance)}</a>'

    def _anchor(self, chance: UnitDraw) -> str:
        title = text.pick_item(self._roads.books[self._subject].titles, chance())
        return f"{title} {text.pick_item(self._words, chance())}"


# --------------------------------------------------------------------------------------------------
# A made web: generated page by page from a seed, with the truth about every page.
#
# It answers what a :class:`~honeyguide.lab.web.RecordedWeb` answers, and stores nothing: a web
# of tens of millions of pages costs as much as one of a thousand. Everything follows from the
# plan, in any order of asking and in any process.
# --------------------------------------------------------------------------------------------------


_MAX_LISTED_PAGES = 5_000_000
"""A larger web is not listed page by page."""
_BUSY_S = 60.0
"""A server that is busy now and then makes up its mind once a minute."""
_HTML_HEADERS = (("Content-Type", "text/html; charset=utf-8"),)
_TEXT_HEADERS = (("Content-Type", "text/plain; charset=utf-8"),)
_DEAD_STATUS = {"gone": 404, "broken": 500, "busy": 503}


class SyntheticWeb:
    """Address → made answer. ``now`` counts seconds since the web was new."""

    def __init__(self, plan: SyntheticPlan | None = None, now: float = 0.0) -> None:
        self.plan = plan or SyntheticPlan()
        self.now = now
        self._dice = SeededRandom(self.plan.seed)
        self._ground = HostTopology(self.plan, self._dice)
        self._changes = ChangeProcess(self._dice, self.plan.changes)
        honest = map(self._ground.host_name, range(self.plan.hosts))
        self.farm_hosts = frozenset(SpamFarm.host_names(self.plan))
        self.hosts = frozenset(honest) | self.farm_hosts

    # The books are read when the first page is asked for: that takes a second.

    @cached_property
    def _links(self) -> LinkChooser:
        known = load_texts()
        text = [known[subject] for subject in self._ground.subjects]
        return LinkChooser(self.plan, self._dice, self._ground, text)

    @cached_property
    def _writer(self) -> PageWriter:
        entrances = self._farm.entrances if self._farm is not None else None
        return PageWriter(self.plan, self._dice, self._ground, self._links, entrances)

    @cached_property
    def _farm(self) -> SpamFarm | None:
        parts = self.plan, self._dice, self._ground, self._links
        return SpamFarm(*parts) if self.plan.farm else None

    @property
    def topics(self) -> tuple[str, ...]:
        """Labels, the most frequent first."""
        return self._ground.subjects[: self._ground.topics]

    @cached_property
    def island_hosts(self) -> frozenset[str]:
        """Hosts that only bridges lead to."""
        return frozenset(map(self._ground.host_name, self._ground.islands))

    @cached_property
    def scattered_hosts(self) -> frozenset[str]:
        """Forums and blogs that nobody links to."""
        return frozenset(map(self._ground.host_name, self._ground.scattered))

    def home_hosts(self, topic: str) -> tuple[str, ...]:
        """Hosts that are about a topic before all others: where a crawl may begin."""
        subject, ground = self.topics.index(topic), self._ground
        return tuple(ground.host_name(h) for h, main in enumerate(ground.main) if main == subject)

    @cached_property
    def mirror_hosts(self) -> dict[str, str]:
        """Host → the host that it repeats."""
        name, pairs = self._ground.host_name, enumerate(self._ground.source)
        return {name(host): name(source) for host, source in pairs if host != source}

    def at_time(self, now: float) -> SyntheticWeb:
        """The same web at another time."""
        other = copy(self)  # what is alike at all times is shared
        other.now = now
        return other

    def find(self, url: str) -> RecordedResponse | None:
        """The answer for an address in any spelling, any scheme."""
        known = canonical_url(url)
        return None if known is None else self.lookup(without_scheme(known))

    def lookup(self, key: str) -> RecordedResponse | None:
        """The answer for ``host/path?query``; None: there is no such host or page."""
        name, _, path = key.partition("/")
        if name in self.farm_hosts and self._farm is not None:
            body = self._farm.find_page(name, path)
            return (
                RecordedResponse(f"http://{key}", 200, _HTML_HEADERS, gzip_bytes(body))
                if body
                else None
            )
        spot = self._resolve(key)
        return None if spot is None else self._make_response(key, spot)

    def resource_kind(self, url: str) -> ResourceKind | Literal["session"] | None:
        """What stands at an address; None for nothing."""
        spot = self._resolve_url(url)
        return "session" if spot and spot.session else spot and spot.kind

    def is_endless(self, url: str) -> bool:
        """Whether it is one of the traps' addresses: a month, or a page with a session number."""
        return self.resource_kind(url) in ("calendar", "session")

    def labels_of(self, url: str) -> tuple[str, ...]:
        """The topic of a page. Listings, traps, errors and session addresses have none, nor have
        the front pages of forums and blogs."""
        spot = self._resolve_url(url)
        return self._resource_labels(spot) if spot else ()

    def true_language(self, url: str) -> str:
        """What a page is written in, whatever it says itself; '' for what is no page."""
        spot = self._resolve_url(url)
        return self._links.page_language(spot.host, spot.number) if spot and spot.is_page else ""

    def urls_labelled(self, label: str) -> Iterator[str]:
        """Addresses of all pages of a topic; of a web that is not too large for it."""
        self._require_listable()
        if label not in self.topics:
            return
        subject, ground = self.topics.index(label), self._ground
        for host, size in enumerate(ground.sizes):
            slots = [
                slot for slot, what in enumerate(ground.slot_subjects(host)) if what == subject
            ]
            bridges = ground.bridge_pages(host) if ground.main[host] == subject else []
            for page in chain(*(range(slot, size, SLOTS_PER_HOST) for slot in slots), bridges):
                if not ground.is_front(host, page):
                    yield self._page_url(host, page)

    def __iter__(self) -> Iterator[RecordedResponse]:
        """The pages and bridges of a web that is not too large; no listings, no traps."""
        return (record for url in self.page_urls() if (record := self.find(url)))

    def page_urls(self) -> Iterator[str]:
        """Addresses of the same."""
        self._require_listable()
        for host, size in enumerate(self._ground.sizes):
            for page in chain(range(size), self._ground.bridge_pages(host)):
                yield self._page_url(host, page)

    def __len__(self) -> int:
        ground = self._ground
        return sum(ground.sizes) + sum(
            len(ground.bridge_pages(h)) for h in range(len(ground.sizes))
        )

    def random_page(self, number: int) -> Url:
        """The address of some page: any number does, so that pages can be drawn at random."""
        host = self._dice.draw_number("any host", number) % self.plan.hosts
        return self._page_url(
            host, self._dice.draw_number("any page", number) % self._ground.sizes[host]
        )

    def host_latency(self, host: str) -> float:
        """Seconds until a host answers."""
        number = self._ground.host_number(host)
        median, spread = self.plan.latency_s, self.plan.latency_spread
        return self._dice.draw_lognormal(
            "latency", -1 if number is None else number, median, spread
        )

    def original_url(self, url: str) -> str:
        """The address of the page that a near copy repeats; of any other page, its own."""
        spot = self._resolve_url(url)
        if spot is None or not spot.is_page:
            return url
        host = self._ground.host_number(url.split("/")[2])
        page = self._links.original_page(spot.host, spot.number)
        return url if host is None or page == spot.number else self._page_url(host, page)

    def change_rate(self, url: str) -> float:
        """Changes a day of a page; 0 for what never changes."""
        spot = self._resolve_url(url)
        return self._changes.change_rate(self._change_key(spot)) if spot and spot.is_page else 0.0

    def page_version(self, url: str, now: float | None = None) -> int:
        """How often a page has changed until ``now``, or until the time of this web."""
        spot = self._resolve_url(url)
        return self._version_at(spot, self.now if now is None else now) if spot else 0

    def _resolve_url(self, url: str) -> SyntheticResource | None:
        known = canonical_url(url)
        return self._resolve(without_scheme(known)) if known else None

    def _resolve(self, key: str) -> SyntheticResource | None:
        """What stands at ``host/path?query``."""
        name, _, rest = key.partition("/")
        asked = self._ground.host_number(name)
        if asked is None:
            return None
        host = self._ground.source[asked]
        session = _find_session(rest) if self._has_sessions(host) else None
        if session is None:
            return self._resolve_path(host, rest)
        spot = self._resolve_path(host, rest[: session.start()])
        if spot is None or spot.kind in _SESSIONLESS:
            return None
        return spot._replace(session=session[1])

    def _has_sessions(self, host: int) -> bool:
        """Whether the host writes session numbers into its links."""
        return self._dice.draw_share("sessions", host) < self.plan.traps

    def _resolve_path(self, host: int, rest: str) -> SyntheticResource | None:
        if what := _FIXED_PATHS.get(rest):
            return SyntheticResource(what, host)
        if match := _match_listing(rest):
            shelf, sheet = int(match[1]), int(match[2] or 1)
            if shelf < self._writer.count_listings(host) and sheet <= self._writer.count_sheets(
                host, shelf
            ):
                return SyntheticResource("listing", host, shelf, sheet)
            return None
        if match := _match_calendar(rest):
            if not self._writer.has_calendar(host):
                return None
            return SyntheticResource(
                "calendar", host, int(match[1]) * 12 + int(match[2]) - 1, int(match[3] or 0)
            )
        number = self._links.number_of_path(host, rest)
        place = None if number is None else self._links.resolve_number(host, number)
        return place and SyntheticResource(place.kind, host, place.page, place.onward)

    def _page_url(self, host: int, page: int) -> Url:
        return Url(f"http://{self._ground.host_name(host)}{self._links.page_path(host, page)}")

    def _resource_labels(self, spot: SyntheticResource) -> tuple[str, ...]:
        if not spot.is_page or spot.session or self._ground.is_front(spot.host, spot.number):
            return ()
        subject = self._ground.page_subject(spot.host, spot.number)
        return (self._ground.subjects[subject],) if subject < self._ground.topics else ()

    def _change_key(self, spot: SyntheticResource) -> int:
        # A near copy changes with its original: it would not stay one otherwise.
        page = self._links.original_page(spot.host, spot.number)
        return self._dice.draw_number("place", spot.host, page)

    def _version_at(self, spot: SyntheticResource, now: float) -> int:
        return (
            self._changes.version_at(self._change_key(spot), now) if spot.is_page and now > 0 else 0
        )

    def _make_response(self, key: str, spot: SyntheticResource) -> RecordedResponse:
        url = "http://" + key
        if spot.kind == "moved":
            name = key.partition("/")[0]
            goal = f"http://{name}{self._links.page_path(spot.host, spot.part)}"
            return RecordedResponse(url, 301, (("Location", goal),), b"")
        status = _DEAD_STATUS.get(spot.kind, 200)
        if (
            spot.kind == "busy"
            and self._dice.draw_number("busy", *spot[1:3], int(self.now // _BUSY_S)) & 1
        ):
            status = 200
        headers = _TEXT_HEADERS if spot.kind == "robots" else _HTML_HEADERS
        body = self._make_body(spot) if status == 200 else b"<!DOCTYPE html><title>Sorry</title>\n"
        return RecordedResponse(url, status, headers, gzip_bytes(body), self._resource_labels(spot))

    def _make_body(self, spot: SyntheticResource) -> bytes:
        writer, host, mark = self._writer, spot.host, self._session_rewriter(spot)
        match spot.kind:
            case "listing":
                return writer.write_listing(host, spot.number, spot.part, mark)
            case "calendar":
                return writer.write_month(host, spot.number, spot.part, mark)
            case "robots":
                return b"User-agent: *\nDisallow: /private/\n"
            case "about" | "private":
                return writer.write_plain(
                    host, spot.kind.capitalize(), "<p>Nothing here.</p>", mark
                )
        return writer.write_page(host, spot.number, self._version_at(spot, self.now), mark)

    def _session_rewriter(self, spot: SyntheticResource) -> RewriteHref:
        """Puts session numbers into links: into some, and into all once one was followed."""
        if not self._has_sessions(spot.host):
            return str
        seed = int(spot.session or "0", 16)
        chance = self._dice.random_stream("session", spot.host, spot.number, spot.part, seed).random

        def mark(path: str) -> str:
            number = f"{int(chance() * 2**32):08x}"
            if not (spot.session or chance() < 0.3) or path.startswith(("/cal", "/about")):
                return path
            return f"{path}{'&' if '?' in path else '?'}sid={number}"

        return mark

    def _require_listable(self) -> None:
        if self.plan.pages > _MAX_LISTED_PAGES:
            raise ConfigError(
                f"a synthetic web of {self.plan.pages:,} pages is not listed page by page; up to "
                f"{_MAX_LISTED_PAGES:,} are"
            )
