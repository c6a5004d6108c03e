"""What a watch list of another program gives: pages, and what could not be carried over."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from honeyguide.types import Url
from honeyguide.url import authority, canonical, host, is_ip
from honeyguide.watch.telling.escaping import clean

MOST = 200_000
"""Pages of one list."""
_NAME = 300
_TAGS = 50
_LONGEST = 2083
_UNITS = {
    "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600,
    "d": 86400, "day": 86400, "w": 604800, "week": 604800,
}  # fmt: skip
_PIECE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([a-z]+[\s,]*|$)").match


@dataclass(frozen=True, slots=True)
class Imported:
    """One page to watch."""

    url: Url
    name: str = ""
    interval_s: float | None = None
    """How often the other program looked; None: it did not say."""
    tags: tuple[str, ...] = ()
    paused: bool = False


class Left(NamedTuple):
    """Something that could not be carried over."""

    where: str
    """``line 12``, ``job 3 (line 20)``, or the page's address."""
    what: str
    why: str


@dataclass(slots=True)
class Basket:
    """What was read so far; every page once."""

    pages: dict[Url, Imported] = field(default_factory=dict)
    left: list[Left] = field(default_factory=list)

    def add(
        self,
        where: str,
        address: str,
        name: str = "",
        interval_s: float | None = None,
        tags: Iterable[str] = (),
        *,
        paused: bool = False,
    ) -> bool:
        """Take a page in; if that cannot be, say why, and False."""
        url, why = located(address)
        shown = clean(address, _NAME)
        if len(self.pages) >= MOST:
            self.leave(where, shown, f"a list may hold {MOST:,} pages; split the file")
        elif url is None:
            # Of what may hold a password, nothing is repeated.
            self.leave(where, "an address" if "@" in shown else shown, why)
        elif url in self.pages:
            self.leave(where, shown, "the same page was there before; it is watched once")
        else:
            marks = dict.fromkeys(mark for tag in tags if (mark := clean(tag, _NAME)))
            chosen = tuple(islice(marks, _TAGS))
            self.pages[url] = Imported(url, clean(name, _NAME), interval_s, chosen, paused)
            return True
        return False

    def leave(self, where: str, what: str, why: str) -> None:
        if len(self.left) < MOST:
            self.left.append(Left(where, what, why))


def located(address: str) -> tuple[Url | None, str]:
    """The page's canonical address; or None and, in words, why there is none."""
    text = address.strip().removeprefix("source:")
    if "{{" in text or "{%" in text:
        return None, "the address is computed by a template; write the address itself"
    bare = "://" not in text
    url = canonical(f"https://{text}" if bare else text)
    if not url or (bare and not _is_named(url)):
        return None, "this is no http or https address, such as https://example.org/page"
    if "@" in authority(url):
        return None, "the address carries a user name or a password; such pages are not watched"
    if len(url) > _LONGEST:
        return None, f"the address is longer than {_LONGEST} characters"
    return url, ""


def interval(text: str) -> float | None:
    """``30m``, ``6 hours``, ``1d 12h``, or seconds; None if it is nothing of the kind."""
    rest, total = text.strip().lower(), 0.0
    while rest:
        found = _PIECE(rest) if len(text) < 60 else None
        if not found:
            return None
        unit = found[2].rstrip(" \t,") or "s"
        size = _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s"))
        if size is None:
            return None
        total += float(found[1]) * size
        rest = rest[found.end() :]
    return total or None


def _is_named(url: Url) -> bool:
    """Whether the host has a full name, or is this machine, or a number."""
    name = host(url)
    return "." in name.strip(".") or name == "localhost" or is_ip(name)
