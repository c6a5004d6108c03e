"""URLs as people type them: without a scheme, or with slips."""

from __future__ import annotations

from pathlib import Path

from honeyguide.errors import ConfigError
from honeyguide.store.store import Store
from honeyguide.types import Url
from honeyguide.url import authority_of, canonical_url, host_of, is_ip


def possible_urls(text: str) -> list[Url]:
    """What the text may mean: itself, or, without a scheme, https and then http."""
    text = text.strip()
    bare = "://" not in text
    forms = [f"https://{text}", f"http://{text}"] if bare else [text]
    found = [url for form in forms if (url := canonical_url(form))]
    if not found or (bare and (text.startswith("/") or not _is_public(found[0]))):
        raise ConfigError(
            f"{text!r} is not an http or https address, such as https://example.org/page"
        )
    if "@" in authority_of(found[0]):
        raise ConfigError(f"{text!r} carries a user name or a password; leave them out")
    return found


def parse_seed_url(text: str, *, lab: bool = False) -> Url:
    """The address of a seed, or of an example: one that a crawl (of a lab) could reach."""
    if "://" not in text and _is_file(text.strip()):
        raise ConfigError(f"{text!r} is a file; --seeds reads a list of addresses from a file")
    url = possible_urls(text)[-1 if lab else 0]  # a lab knows no https
    if not _is_public(url):
        raise ConfigError(
            f"{text!r}: the host {host_of(url)!r} is not a full name, such as example.org"
        )
    return url


def resolve_url(store: Store, text: str, *, waiting: bool = False) -> Url:
    """The address meant, by what the journal (and the frontier) knows; else the likeliest."""
    urls = possible_urls(text)
    if len(urls) > 1:
        for url in urls:
            if store.visits.attempts_at(url):
                return url
        if waiting:
            from honeyguide.frontier.replay import find_logged_link

            for url in urls:
                with store.frontier_log_for(url) as log:
                    if find_logged_link(log, url):
                        return url
    return urls[0]


def _is_public(url: Url) -> bool:
    """Whether the host has a full name, or is this machine, or a number."""
    name = host_of(url)
    return "." in name.strip(".") or name == "localhost" or is_ip(name)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # longer than any name of a file
        return False
