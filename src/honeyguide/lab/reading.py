"""A lab's web as an honest reader sees it: pages through our own parser, robots.txt respected."""

from __future__ import annotations

from honeyguide.errors import ParseError
from honeyguide.fetch.http import READABLE
from honeyguide.fetch.robots import Robots
from honeyguide.lab.serving import Desk
from honeyguide.lab.web import without_scheme
from honeyguide.parse.read import read
from honeyguide.types import Link, Page, Response, Url
from honeyguide.url import origin


class Reader:
    """Reads the pages of one desk, without a network and without a clock."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._robots = Robots()

    def page(self, url: Url) -> Page | None:
        """The page at an address; None for redirects, errors and what is no page."""
        answer = self._desk.answer(without_scheme(url))
        if answer.status != 200:
            return None
        lines = answer.head.decode("latin-1").split("\r\n")[1:]
        headers = tuple((k, v) for k, _, v in (line.partition(": ") for line in lines) if k)
        body = answer.body
        response = Response(url, 200, headers, body, body, b"", b"", "", 0.0, 0.0)
        if response.media_type not in READABLE:
            return None
        try:
            return read(response, Link(url))
        except ParseError:
            return None

    def may(self, url: Url) -> bool:
        """Whether robots.txt lets anybody ask for it."""
        place = origin(url)
        rules = self._robots.rules(place, 0.0)
        if rules is None:
            answer = self._desk.answer(without_scheme(place) + "/robots.txt")
            text = answer.body.decode("utf-8", "replace") if answer.status == 200 else ""
            rules = self._robots.load(place, 0.0, answer.status, text)
        return rules.allows(url)
