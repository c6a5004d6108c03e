"""A decoded response on its way to becoming a page, and what its headers say.

Directives for crawlers come from X-Robots-Tag and from meta robots, the canonical address from the
Link header.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from honeyguide.types import Page, Url

OWN_AGENTS = frozenset({"honeyguide", "robots", "*"})
"""Names by which a page may address this crawler."""

_VALUED = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)  # fmt: skip
"""Directives that contain a colon and are no names of agents."""

_MAX_DIRECTIVES = 2_000
"""Characters of directives that are read."""


@dataclass(frozen=True, slots=True)
class PageDirectives:
    """What a page allows."""

    index: bool = True
    follow: bool = True

    def and_also(self, words: str) -> PageDirectives:
        """These, restricted by a list of directives such as ``noindex, follow``."""
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
    """The directives of all X-Robots-Tag headers for this crawler."""
    wanted = PageDirectives()
    for name, value in headers:
        if name.lower() == "x-robots-tag":
            wanted = wanted.and_also(_own_clauses(value))
    return wanted


def _own_clauses(value: str) -> str:
    """The clauses of one header that concern this crawler.

    ``noindex, otherbot: nofollow, noarchive``: a name of an agent holds until the next one.
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


# --- Facts from headers ---


_TAG = re.compile(r"([a-z]{2,3})(?:-[a-z0-9]{1,8})*\Z").match
_LANGUAGE = 16
_LINK = re.compile(r"<([^<>]++)>([^<>]++)").findall
_HEADERS = 10
_MAX_LINK_HEADER = 2_000
"""Limits: Link headers, and characters of each."""


def language_tag(declared: str) -> str:
    """A declared language in lower case; '' if it cannot be one.

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


# --- The decoded response ---


TEXT_LIMIT = 200_000
"""Most characters of the text of one page."""

WantedFilter = Callable[[Collection[Url]], Collection[Url]]
"""Returns those of these addresses that would still be visited: on most pages few."""


def all_wanted(urls: Collection[Url]) -> Collection[Url]:
    return urls


@dataclass(frozen=True, slots=True)
class DecodedResponse:
    """What a reader of any format needs to know."""

    url: Url
    text: str
    charset: str
    media_type: str
    depth: int
    """Depth of the links on the page."""
    directives: PageDirectives
    """Directives of the headers; an HTML page may add some."""
    canonical: str = ""
    """rel=canonical of the Link header, as sent."""
    language: str = ""
    """Content-Language."""
    strip_tracking: bool = True
    outlinks: int = 500
    """Most links that are taken from the page."""
    words: bool = True
    """False: only its links with their anchors are wanted."""
    wanted: WantedFilter = all_wanted
    """Asked before details of a link are read."""
    utf8: bytes = b""
    """The text in UTF-8 if it came so, else empty."""

    def empty_page(self) -> Page:
        """A page with what the headers say, for the reader to fill."""
        allowed, media_type = self.directives, self.media_type
        return Page(
            self.url, language=self.language, index=allowed.index, follow=allowed.follow,
            media_type=media_type, charset=self.charset,
        )  # fmt: skip


def collapse_spaces(text: str) -> str:
    """The text with each run of whitespace as one space, and none at the ends."""
    return " ".join(text.split())
