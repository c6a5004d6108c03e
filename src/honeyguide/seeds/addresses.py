"""The engine's address, as the user wrote it, and the parameters that a question adds to it."""

from __future__ import annotations

import logging
import re
from urllib.parse import urlencode

from honeyguide.errors import ConfigError
from honeyguide.fetch.ip_policy import loopback
from honeyguide.seeds.api_keys import Key
from honeyguide.types import Url
from honeyguide.url import authority, canonical, host

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*").fullmatch
_log = logging.getLogger(__name__)


def checked(text: str, key: Key, example: str) -> Url:
    """The canonical form of ``search.url``; raises ConfigError."""
    url = canonical(text)
    if url is None or not host(url):
        shown = key.redacted(text)
        raise ConfigError(f"search.url: {shown!r} is no web address; write one such as {example}")
    if "@" in authority(url):
        raise ConfigError(
            "search.url: a user name or password has no place in the address. Set search.header "
            'to "Authorization", and keep the words "Basic …" as the key'
        )
    return url


def warn_open(place: str, *, proxied: bool) -> None:
    """Say that a key goes through networks that others can listen to. Through a proxy, also what
    is meant for this machine does."""
    if place.startswith("http:") and (proxied or not loopback(host(f"{place}/"))):
        via = " through fetch.proxy" if proxied else ""
        _log.warning("search.url: the key goes to %s unencrypted%s; use https://", place, via)


def asking(base: str, parameters: dict[str, str | int]) -> Url:
    """The address with these parameters behind those it has."""
    url = canonical(f"{base}{'&' if '?' in base else '?'}{urlencode(parameters)}")
    assert url is not None, "parameters cannot spoil an address"
    return url


def language(code: str) -> str:
    """The language to tell the engine, or ''."""
    if code and not _LANGUAGE(code):
        raise ConfigError(f"search.language: {code!r} is no language code, such as en or tr")
    return code.replace("_", "-")
