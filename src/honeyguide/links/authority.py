"""Authority of waiting links: linking hosts, originality of their pages, similarity to the
topic.

The three factors by which the link sorter of Alqaraleh & Sırın orders addresses. They name them and
give no formula; ours is in docs/strategies/link_sorter.md. All tables are bounded: the oldest entry
is dropped first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from math import log1p
from typing import TypeVar

import numpy as np

from honeyguide.store.duplicates import TextSketcher
from honeyguide.text.vectors import TermRarities, TopicProfile, anchor_terms, cosine_similarity
from honeyguide.types import Link, Page, Url
from honeyguide.url import authority_of

K = TypeVar("K", bound=str)
T = TypeVar("T")

_UNSEEN_QUALITY = 0.5
"""q(h) of a host without a fetched page."""
_MAX_BACKERS = 16
"""Linking hosts that are stored for a waiting link."""
_MAX_KEYWORDS = 10
"""Key words of a page."""
_LINKS, _PAGES, _HOSTS = 50_000, 20_000, 100_000
_MAX_SIGNATURES = 10_000
"""Newest pages that a new one is compared with."""
_SIGNATURE_BYTES = 128
"""Bytes of a signature."""


class _LinkBacking:
    """The pages that a waiting link stands on."""

    __slots__ = ("hosts", "original", "pages")

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self.original = 0.0
        """Sum of the originality of these pages."""
        self.pages = 0
        """Number of these pages."""


class LinkAuthority:
    """Collects pages with their links, and adds the three factors to links."""

    def __init__(self, profiles: Sequence[TopicProfile], language: str) -> None:
        """``profiles``: one for each topic; a link has its similarity to the nearest."""
        self._profiles = tuple(profiles)
        self._language = language
        self._rarities = TermRarities(language)
        self._originality = TextOriginality()
        self._links: OrderedDict[Url, _LinkBacking] = OrderedDict()
        self._pages: OrderedDict[Url, tuple[str, ...]] = OrderedDict()
        """Key words of pages."""
        self._hosts: OrderedDict[str, tuple[int, int]] = OrderedDict()
        """Relevant pages fetched from a host, and all."""
        self._best: tuple[str, ...] = ()
        """Linking hosts of the link with the best backing so far."""

    def record_fetch(self, url: Url, relevant: bool) -> None:
        """Record a fetched page of a host."""
        good, every = self._hosts.get(host := authority_of(url), (0, 0))
        _put_bounded(self._hosts, host, (good + relevant, every + 1), _HOSTS)

    def record_page(self, source: Url, page: Page, links: Iterable[Link]) -> None:
        """Record the links on a page that was just read."""
        original = self._originality.score_and_store(page.text)
        _put_bounded(self._pages, source, self._rarities.page_keywords(page, _MAX_KEYWORDS), _PAGES)
        host = authority_of(source)
        for url in {link.url: None for link in links}:
            backing = self._links.get(url)
            if backing is None:
                backing = _put_bounded(self._links, url, _LinkBacking(), _LINKS)
            if host not in backing.hosts and len(backing.hosts) < _MAX_BACKERS:
                backing.hosts.append(host)
            backing.original += original
            backing.pages += 1

    def record_followed(self, url: Url, moved: Url | None) -> None:
        """The link no longer waits; its backing passes to the target of a redirect."""
        backing = self._links.pop(url, None)
        if backing is not None and moved is not None and moved not in self._links:
            _put_bounded(self._links, moved, backing, _LINKS)

    def annotate_links(self, links: Sequence[Link]) -> list[Link]:
        """The same links with authority, originality and similarity to the topic."""
        rarity = self._rarities.rarity_of
        topics = [profile.unit_vector(rarity) for profile in self._profiles]
        backers = [self._backing_hosts(link) for link in links]
        backing = [self._backing_score(hosts) for hosts in backers]
        # What hosts are worth changes all the time: the best so far is weighed anew.
        most = self._backing_score(self._best)
        for backed, hosts in zip(backing, backers, strict=True):
            if backed > most:
                most, self._best = backed, tuple(hosts)
        most = log1p(most)
        annotated = []
        for link, backed in zip(links, backing, strict=True):
            backing_stats = self._links.get(link.url)
            keywords = self._pages.get(link.source, ()) if link.source else ()
            terms = anchor_terms(link.anchor, keywords, self._language)
            if link.yields is not None:
                stats = link.yields._replace(
                    authority=log1p(backed) / most if most else 1.0,
                    originality=backing_stats.original / backing_stats.pages
                    if backing_stats
                    else 1.0,
                    topic_similarity=max(
                        (cosine_similarity(topic, terms, rarity) for topic in topics), default=0.0
                    ),
                )
                link = link._replace(yields=stats)
            annotated.append(link)
        return annotated

    def _backing_hosts(self, link: Link) -> Sequence[str]:
        """The hosts that link to it."""
        backing = self._links.get(link.url)
        if backing is not None:
            return backing.hosts
        return (authority_of(link.source),) if link.source else ()

    def _backing_score(self, hosts: Sequence[str]) -> float:
        """Σ q(h), q(h) being the share of relevant pages among those fetched from a host."""
        fetched = (self._hosts.get(host, (0, 0)) for host in hosts)
        return sum(good / every if every else _UNSEEN_QUALITY for good, every in fetched)


class TextOriginality:
    """1 less the largest resemblance of a text to one of the newest texts, by their sketches.

    Broder 1997; see store/duplicates.py. Texts too short for a signature resemble equal ones only.
    """

    def __init__(self, stored: int = _MAX_SIGNATURES) -> None:
        self._sketcher = TextSketcher()
        self._signatures = np.zeros((0, _SIGNATURE_BYTES), np.uint8)
        self._digests = np.zeros(0, np.int64)
        self._stored = stored
        self._count = 0

    def score_and_store(self, text: str) -> float:
        """The originality of a new text, which is stored; 1 for a text without words."""
        sketch = self._sketcher.sketch_text(text)
        if sketch is None:
            return 1.0
        known = min(self._count, self._stored)
        alike = 0.0
        if (self._digests[:known] == sketch.digest).any():
            alike = 1.0
        elif sketch.signature and known:
            signature = np.frombuffer(sketch.signature, np.uint8)
            same = (self._signatures[:known] == signature).sum(axis=1, dtype=np.uint8).max()
            alike = max(0.0, (int(same) / _SIGNATURE_BYTES - 1 / 256) / (255 / 256))
        self._store(sketch.digest, sketch.signature or bytes(_SIGNATURE_BYTES))
        return 1 - alike

    def _store(self, digest: int, signature: bytes) -> None:
        row = self._count % self._stored
        if row >= len(self._digests):
            room = min(self._stored, max(64, 2 * len(self._digests)))
            self._signatures = np.resize(self._signatures, (room, _SIGNATURE_BYTES))
            self._digests = np.resize(self._digests, room)
        self._signatures[row] = np.frombuffer(signature, np.uint8)
        self._digests[row] = digest
        self._count += 1


def _put_bounded(table: OrderedDict[K, T], key: K, value: T, most: int) -> T:
    table[key] = value
    if len(table) > most:
        table.popitem(last=False)
    return value
