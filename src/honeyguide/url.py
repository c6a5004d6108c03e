"""One canonical form per address, and the names inside it.

The form is what the WHATWG URL standard's parser serialises (through ada), without the
fragment. Everything else in the house compares addresses as plain strings.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path

from ada_url import join_url, normalize_url
from publicsuffixlist import PSLFILE, PublicSuffixList
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from honeyguide.types import Url

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_\-]*(?:\.[A-Za-z0-9_\-]+)*\Z").match
"""A relative name that no rule of the standard touches: ``page-2.html``."""

_TRACKING = re.compile(
    r"(?:utm_[a-z_]+|fbclid|gclid|dclid|gbraid|wbraid|msclkid|yclid|igshid|twclid|ttclid"
    r"|mc_[ce]id|_hs(?:enc|mi)|vero_id|wickedid|oly_(?:anon|enc)_id)\Z"
).match


@lru_cache(maxsize=1)
def _suffix_list() -> PublicSuffixList:
    """Read when first asked: it takes as long as a hundred pages."""
    return PublicSuffixList()


def suffix_list_digest() -> str:
    """Which list of public suffixes is used here: registrable domains depend on it."""
    return xxh3_64_hexdigest(Path(PSLFILE).read_bytes())


def canonical_url(text: str, base: Url | None = None) -> Url | None:
    """The canonical form of a link's text, or None if it is no http(s) address.

    >>> canonical("HTTP://Example.org:80/a/../b#c")
    'http://example.org/b'
    """
    if base is not None and _PLAIN_NAME(text) and "?" not in base:
        return Url(base[: base.rindex("/") + 1] + text)
    try:
        href = join_url(base, text) if base is not None else normalize_url(text)
    except ValueError:
        return None
    if not href.startswith(("http://", "https://")):
        return None
    cut = href.find("#")
    return Url(href if cut < 0 else href[:cut])


def without_tracking(url: Url) -> Url:
    """The same address without the parameters that only say who sent the visitor."""
    path, mark, query = url.partition("?")
    if not mark:
        return url
    kept = [p for p in query.split("&") if not _TRACKING(p.partition("=")[0].lower())]
    return Url(f"{path}?{'&'.join(kept)}" if kept else path)


def authority_of(url: str) -> str:
    """``user@host:port`` of a canonical address."""
    return url.split("/", 3)[2]


@lru_cache(maxsize=128)
def host_of(url: str) -> str:
    """The host's name, without port: what politeness is kept for.

    Remembered for a moment: on its way round the ring an address is asked for it eight times.
    """
    name = authority_of(url)
    if "@" in name:
        name = name.rpartition("@")[2]
    if name.startswith("["):
        return name[: name.index("]") + 1]
    # example.org. with its final dot is the same host, and must not get a second turn.
    plain = name.partition(":")[0]
    return plain.rstrip(".") or plain


@lru_cache(maxsize=128)
def site_origin(url: str) -> str:
    """Scheme, host and port: what a robots.txt speaks for. Remembered like the host."""
    scheme, _, _ = url.partition("//")
    place = authority_of(url).rpartition("@")[2]
    name, colon, port = place.partition(":")
    if name.endswith("."):
        place = (name.rstrip(".") or name) + colon + port
    return f"{scheme}//{place}"


def path_of(url: str) -> str:
    """Path and query, as robots.txt rules see them."""
    return url[url.index("/", url.index("//") + 2) :]


@lru_cache(maxsize=65_536)
def domain_of(name: str) -> str:
    """The registrable domain of a host: ``bbc.co.uk`` of ``news.bbc.co.uk``.

    Addresses in numbers and names without a public suffix stand for themselves.
    """
    if is_ip(name):
        return name
    return str(_suffix_list().privatesuffix(name) or name)


@lru_cache(maxsize=4_096)
def is_ip(name: str) -> bool:
    # Few names end like an address; asking the library costs more than all the rest of a lookup.
    if not (name[-1:].isdigit() or name.endswith("]") or ":" in name):
        return False
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def url_fingerprint(url: str) -> int:
    """64 bits that stand for the address in the frontier's seen-set."""
    return xxh3_64_intdigest(url.encode())
