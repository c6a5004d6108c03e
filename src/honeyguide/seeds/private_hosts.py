"""What belongs to this machine or its network, as far as an address tells."""

from __future__ import annotations

from honeyguide.fetch.ip_policy import forbidden, loopback
from honeyguide.url import host, is_ip

_INSIDE = ("local", "internal", "intranet", "lan", "corp", "home", "private", "home.arpa")
"""Ends of names that no public name server answers for (RFC 6762, RFC 8375, and custom)."""


def private(url: str, ip: str = "") -> bool:
    """Whether this address leads to a file or into a private network.

    ``ip``: where the answer came from, if that is known: a name may lead anywhere.
    """
    if not url.startswith(("http://", "https://")):
        return True
    if ip and forbidden(ip):
        return True
    name = host(url).rstrip(".").lower()
    if is_ip(name):
        return bool(forbidden(name))
    return "." not in name or loopback(name) or name.endswith(tuple(f".{end}" for end in _INSIDE))
