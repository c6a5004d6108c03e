"""A lab's web as an honest reader sees it: pages through our own parser, robots.txt respected."""

from __future__ import annotations

from honeyguide.errors import ParseError
from honeyguide.fetch.robots import Robots
from honeyguide.lab.responses import Desk
from honeyguide.lab.web import without_scheme
from honeyguide.parse.read import read
from honeyguide.types import Link, Page, Response, Url
from honeyguide.url import origin


class Reader:
    """Reads the pages of one desk, without a network and without a clock."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._robots = Robots()

    def answer(self, url: Url) -> Response:
        """What the desk says, as a fetcher would bring it."""
        answer = self._desk.answer(without_scheme(url))
        lines = answer.head.decode("latin-1").split("\r\n")[1:]
        headers = tuple((k, v) for k, _, v in (line.partition(": ") for line in lines) if k)
        body = answer.body
        return Response(url, answer.status, headers, body, body, b"", b"", "", 0.0, 0.0)

    def page(self, response: Response) -> Page | None:
        """The page in an answer; None for redirects, errors and what cannot be parsed."""
        if response.status != 200:
            return None
        try:
            return read(response, Link(response.url))
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
