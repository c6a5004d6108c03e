"""Cookies, separate for each site: RFC 6265 without the parts that only browsers need."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final

from honeyguide.url import domain_of, host_of, path_of

MAX_SITE_COOKIES: Final = 50
"""Most cookies of one site; the oldest goes first."""
MAX_COOKIE_BYTES: Final = 4096
"""Most bytes of one cookie's name and value."""
MAX_SITES: Final = 5_000
_MAX_HEADER_BYTES = 16_384
"""Most bytes of a Cookie header: beyond, servers answer 400."""
_UNSENDABLE = re.compile(r"[^\t -~]").search
"""Values that are not sent back: control characters and characters of an unknown encoding."""


@dataclass(frozen=True, slots=True)
class Cookie:
    name: str
    value: str
    host: str
    """Host that the cookie is sent to."""
    subdomains: bool
    """Whether it is sent to hosts below that host as well."""
    path: str
    secure: bool
    expires: float

    def matches_request(self, name: str, where: str, secure: bool, now: float) -> bool:
        return (
            self.expires > now
            and (secure or not self.secure)
            and (name == self.host or (self.subdomains and name.endswith(f".{self.host}")))
            and _path_matches(where, self.path)
        )


class CookieJar:
    """A jar per registrable domain, so that nobody sees or sets the cookies of another site.

    Below a public suffix or an address in numbers every host is a site of its own.
    Sites without cookies cost one dictionary lookup.
    """

    def __init__(self) -> None:
        self._sites: OrderedDict[str, dict[tuple[str, str, str], Cookie]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._sites.values()))

    def cookie_header(self, url: str, now: float) -> str:
        """The Cookie header for this address, or ''."""
        if not self._sites:
            return ""
        name = host_of(url)
        site = domain_of(name)
        cookies = self._sites.get(site)
        if cookies is None:
            return ""
        self._sites.move_to_end(site)
        where = path_of(url).partition("?")[0]
        secure = url.startswith("https:")
        fitting = [c for c in cookies.values() if c.matches_request(name, where, secure, now)]
        fitting.sort(key=lambda cookie: -len(cookie.path))
        text = "; ".join(f"{c.name}={c.value}" if c.name else c.value for c in fitting)
        return (
            text if len(text) <= _MAX_HEADER_BYTES else text[:_MAX_HEADER_BYTES].rpartition("; ")[0]
        )

    def store_cookies(self, url: str, lines: Iterable[str], now: float) -> None:
        """Take in the Set-Cookie headers of an answer from this address."""
        name = host_of(url)
        site = domain_of(name)
        for line in lines:
            cookie = parse_set_cookie(line, url, name, site, now)
            if cookie is None:
                continue
            cookies = self._sites.setdefault(site, {})
            self._sites.move_to_end(site)
            key = (cookie.name, cookie.host, cookie.path)
            old = cookies.pop(key, None)
            if old is not None and old.secure and not url.startswith("https:"):
                cookies[key] = old  # a plain-text answer must not replace a secure cookie
            elif cookie.expires > now:
                cookies[key] = cookie
            while len(cookies) > MAX_SITE_COOKIES:
                del cookies[next(iter(cookies))]
            if not cookies:
                del self._sites[site]
        while len(self._sites) > MAX_SITES:
            self._sites.popitem(last=False)


def parse_set_cookie(line: str, url: str, name: str, site: str, now: float) -> Cookie | None:
    """One Set-Cookie header, or None if it is malformed or meant for somebody else."""
    pair, *attributes = line[: 4 * MAX_COOKIE_BYTES].split(";")
    key, equals, value = pair.partition("=")
    if not equals:
        key, value = "", pair
    key, value = key.strip(" \t"), value.strip(" \t")
    if (not key and not value) or len(key) + len(value) > MAX_COOKIE_BYTES or _UNSENDABLE(pair):
        return None
    named: dict[str, str] = {}
    for attribute in attributes:
        word, _, text = attribute.partition("=")
        named[word.strip().lower()] = text.strip()
    secure = "secure" in named
    if secure and not url.startswith("https:"):
        return None
    wanted = named.get("domain", "").removeprefix(".").lower()
    if wanted and not _may_set_domain(wanted, name, site):
        return None
    where = named.get("path", "")
    if not where.startswith("/"):
        folder = path_of(url).partition("?")[0]
        where = folder[: folder.rindex("/")] or "/"
    if key.startswith("__Secure-") and not secure:
        return None
    if key.startswith("__Host-") and not (secure and not wanted and where == "/"):
        return None
    return Cookie(key, value, wanted or name, bool(wanted), where, secure, _expiry_time(named, now))


def _may_set_domain(wanted: str, name: str, site: str) -> bool:
    """May this host set cookies for that domain: one it lies in, not wider than its site?"""
    inside = name == wanted or name.endswith(f".{wanted}")
    return inside and (wanted == site or wanted.endswith(f".{site}"))


def _path_matches(where: str, folder: str) -> bool:
    return where == folder or (
        where.startswith(folder) and (folder.endswith("/") or where[len(folder)] == "/")
    )


def _expiry_time(attributes: dict[str, str], now: float) -> float:
    age = attributes.get("max-age", "")
    if re.fullmatch(r"-?[0-9]{1,12}", age):
        return now + int(age)
    if "expires" in attributes:
        try:
            return parsedate_to_datetime(attributes["expires"][:64].replace("-", " ")).timestamp()
        except (ValueError, TypeError, IndexError, OverflowError):
            pass
    return float("inf")
