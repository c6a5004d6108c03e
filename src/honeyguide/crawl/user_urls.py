"""Addresses as people write them: without a scheme, or by mistake."""

from __future__ import annotations

from pathlib import Path

from honeyguide.errors import ConfigError
from honeyguide.store.store import Store
from honeyguide.types import Url
from honeyguide.url import authority, canonical, host, is_ip


def possible(text: str) -> list[Url]:
    """What the text may mean: itself, or, without a scheme, https and then http."""
    text = text.strip()
    bare = "://" not in text
    forms = [f"https://{text}", f"http://{text}"] if bare else [text]
    found = [url for form in forms if (url := canonical(form))]
    if not found or (bare and (text.startswith("/") or not _is_public(found[0]))):
        raise ConfigError(f"{text!r} is no http or https address, such as https://example.org/page")
    if "@" in authority(found[0]):
        raise ConfigError(f"{text!r} carries a user name or a password; leave them out")
    return found


def starting(text: str, *, lab: bool = False) -> Url:
    """The address of a seed, or of an example: one that a crawl (of a lab) could reach."""
    if "://" not in text and _is_file(text.strip()):
        raise ConfigError(f"{text!r} is a file; --seeds reads a list of addresses from a file")
    url = possible(text)[-1 if lab else 0]  # a lab knows no https
    if not _is_public(url):
        raise ConfigError(f"{text!r}: the host {host(url)!r} is no full name, such as example.org")
    return url


def known(store: Store, text: str, *, waiting: bool = False) -> Url:
    """The address meant, by what the journal (and the frontier) knows; else the likeliest."""
    urls = possible(text)
    if len(urls) > 1:
        for url in urls:
            if store.visit(url):
                return url
        if waiting:
            from honeyguide.frontier.lookup import find
            from honeyguide.store.shards import log_for

            for url in urls:
                with log_for(store, url) as log:
                    if find(log, url):
                        return url
    return urls[0]


def _is_public(url: Url) -> bool:
    """Whether the host has a full name, or is this machine, or a number."""
    name = host(url)
    return "." in name.strip(".") or name == "localhost" or is_ip(name)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # longer than any name of a file
        return False
