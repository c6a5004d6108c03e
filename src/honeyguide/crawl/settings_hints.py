"""What is worth saying about settings that are in order, and where a lab may be."""

from __future__ import annotations

from collections.abc import Iterator

from honeyguide.config import TopicSettings
from honeyguide.crawl.languages import unheard
from honeyguide.errors import ConfigError
from honeyguide.fetch.ip_policy import loopback
from honeyguide.text.tokens import stop_words
from honeyguide.url import authority, canonical, host


def remarks(topic: TopicSettings) -> Iterator[str]:
    """What holds where we know little of a language."""
    code = topic.spoken
    if not stop_words(code):
        yield (
            f"Honeyguide has no list of stop words for the language {code!r}, and perhaps "
            "no stemmer; words count as they are written. Codes are such as en, de, tr."
        )
    for wanted in topic.language:
        if note := unheard(wanted):
            yield note


def lab_address(lab: str) -> str:
    """A lab's address, made whole."""
    url = canonical(lab.strip() if "://" in lab else f"http://{lab.strip()}")
    if url is None or not loopback(host(url)) or authority(url) == host(url):
        raise ConfigError(
            f"fetch.lab: {lab!r} is no address of a lab on this machine, such as "
            "http://127.0.0.1:8787; start one with: honeyguide lab serve"
        )
    return f"http://{authority(url)}"
