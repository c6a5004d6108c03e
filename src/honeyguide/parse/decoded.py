"""What a page asks of crawlers beside robots.txt: meta robots and X-Robots-Tag."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from honeyguide.types import Page, Url

OWN_AGENTS = frozenset({"honeyguide", "robots", "*"})
"""The names under which a page may speak to us."""

_VALUED = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)  # fmt: skip
"""Directives with a colon of their own: no agent's name."""

_MAX_DIRECTIVES = 2_000
"""Characters looked at; nobody honest writes more."""


@dataclass(frozen=True, slots=True)
class PageDirectives:
    """What a page allows."""

    index: bool = True
    follow: bool = True

    def and_also(self, words: str) -> PageDirectives:
        """These, made stricter by a list of directives such as ``noindex, follow``."""
        # What has a colon is another directive's value: ``max-image-preview: none``.
        clauses = words[:_MAX_DIRECTIVES].lower().split(",")
        asked = {word for clause in clauses if ":" not in clause for word in clause.split()}
        if asked.isdisjoint(("none", "noindex", "nofollow")):
            return self
        return PageDirectives(
            self.index and asked.isdisjoint(("none", "noindex")),
            self.follow and asked.isdisjoint(("none", "nofollow")),
        )


def header_directives(headers: Iterable[tuple[str, str]]) -> PageDirectives:
    """What every X-Robots-Tag together asks; words for other agents are skipped."""
    wanted = PageDirectives()
    for name, value in headers:
        if name.lower() == "x-robots-tag":
            wanted = wanted.and_also(_own_clauses(value))
    return wanted


def _own_clauses(value: str) -> str:
    """The part of one header that is said to us.

    ``noindex, otherbot: nofollow, noarchive``: an agent's name holds until the next one.
    """
    own = []
    listening = True
    for word in value[:_MAX_DIRECTIVES].lower().split(","):
        agent, colon, rest = word.partition(":")
        if colon and agent.strip() not in _VALUED:
            listening = agent.strip() in OWN_AGENTS
            word = rest
        if listening:
            own.append(word)
    return ",".join(own)


# --------------------------------------------------------------------------------------------------
# What the HTTP headers say about a page, and the sanity of what it says about itself.
# --------------------------------------------------------------------------------------------------


_TAG = re.compile(r"([a-z]{2,3})(?:-[a-z0-9]{1,8})*\Z").match
_LANGUAGE = 16
_LINK = re.compile(r"<([^<>]++)>([^<>]++)").findall
_HEADERS = 10
_MAX_LINK_HEADER = 2_000
"""Most Link headers, and characters of each, that are looked at."""


def language_tag(declared: str) -> str:
    """A language as declared, lower case; '' if it cannot be one.

    >>> language_tag("tr_TR")
    'tr-tr'
    """
    if not declared:
        return ""
    tag = declared[:100].partition(",")[0].strip().lower().replace("_", "-")
    match = _TAG(tag)
    if match is None:
        return ""
    return tag if len(tag) <= _LANGUAGE else match[1]


def header_canonical(headers: Iterable[tuple[str, str]]) -> str:
    """The address of ``Link: <…>; rel="canonical"``, or ''."""
    values = [value for name, value in headers if name.lower() == "link"]
    for value in values[:_HEADERS]:
        for address, parameters in _LINK(value[:_MAX_LINK_HEADER]):
            if any(map(_is_canonical, parameters.split(";"))):
                return str(address)
    return ""


def _is_canonical(parameter: str) -> bool:
    """Whether it is ``rel=canonical``, perhaps quoted and among other relations."""
    name, _, value = parameter.partition("=")
    return name.strip().lower() == "rel" and "canonical" in value.strip(' \t",').lower().split()


# --------------------------------------------------------------------------------------------------
# A decoded response, on its way to becoming a page.
# --------------------------------------------------------------------------------------------------


TEXT_LIMIT = 200_000
"""Most characters of text kept of one page."""

WantedFilter = Callable[[Collection[Url]], Collection[Url]]
"""Those of these addresses that would still be visited: on most pages few."""


def all_wanted(urls: Collection[Url]) -> Collection[Url]:
    return urls


@dataclass(frozen=True, slots=True)
class DecodedResponse:
    """What every reader needs to know besides the text itself."""

    url: Url
    text: str
    charset: str
    media_type: str
    depth: int
    """Of the links that stand on it."""
    directives: PageDirectives
    """What the headers ask; an HTML page may ask for more."""
    canonical: str = ""
    """The Link header's rel=canonical, as sent."""
    language: str = ""
    """As Content-Language says."""
    strip_tracking: bool = True
    outlinks: int = 500
    """Most links taken from it."""
    words: bool = True
    """False: only its links are wanted, with their anchors."""
    wanted: WantedFilter = all_wanted
    """Asked before more than its address is found out about a link."""
    utf8: bytes = b""
    """The text in UTF-8, where it came so; empty: nobody has it."""

    def empty_page(self) -> Page:
        """A page with what the headers say, for the reader to fill."""
        allowed, media_type = self.directives, self.media_type
        return Page(
            self.url, language=self.language, index=allowed.index, follow=allowed.follow,
            media_type=media_type, charset=self.charset,
        )  # fmt: skip


def collapse_spaces(text: str) -> str:
    """The text with every run of whitespace as one space, none at the ends."""
    return " ".join(text.split())
