"""Phrases of good and bad pages: what is remembered of a page, and how much a phrase tells.

A page is remembered by its key phrases (RAKE, :mod:`honeyguide.text.keywords`), a phrase weighed
by the odds ratio of Xu, Yoon & Tourassi. Hosts count rather than pages: the name of a site and
its menus stand on all of its pages and say nothing of the topic. All hosts of one registrable
domain are one: whoever has it can have any number of names under it. Where names are given away to
people, each is a site: the public suffix list knows many such houses, and we some more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from honeyguide.text.keywords import Floats, phrases, psi
from honeyguide.text.language import Language
from honeyguide.text.word_patterns import brief, unspaced
from honeyguide.types import Url
from honeyguide.url import domain, host

_TEXT, _TITLE = 6_000, 300
"""Characters that are read of a page: what it is about is said early."""
_DENSE = 8
"""Scripts without blanks say as much in so many times fewer characters, each of which is a word to
the counting."""
_SAMPLE = 97
"""Every so many characters one is looked at for its script."""
_ALL = 1_000
_PHRASES, _WORDS = 170, 30
"""Remembered of a page: its best phrases, and words that stand in several of them …"""
_SEVERAL = 3
"""… which are so many."""
_LENGTH = 60
"""Characters of a phrase; longer ones find nothing."""
_BADS = 5.0
"""So many bad pages are taken to be known, without the phrase, until they are."""
_HOSTS_BAD = 3
"""Bad hosts that must have a phrase before it is left out of results …"""
_SPARED = 0.05
"""… the share of good pages that may have it, too …"""
_SURE = 1.64
"""… and standard errors of ln ψ that it must lie below 0: surely, 19 times in 20."""

_HOUSES = frozenset(
    """
    blogcu.com canalblog.com dreamwidth.org fandom.com forumotion.com freeforums.net ghost.io
    home.blog jimdofree.com livejournal.com medium.com neocities.org over-blog.com proboards.com
    skyrock.com substack.com tripod.com tumblr.com typepad.com weebly.com wordpress.com
    """.split()  # noqa: SIM905 - a hundred quotes would hide the names
)
"""Blogs and forums of many people, one name each, that the public suffix list does not know."""


class Reading(NamedTuple):
    """What is remembered of a page."""

    url: Url
    host: str
    """Its registrable domain, or its own name where that is a house of many."""
    weight: float
    """1: a person's good page, ½: one that we took for good; negative for bad ones."""
    phrases: dict[str, str]
    """Stems → how it was written."""


class Term(NamedTuple):
    """A phrase and what good and bad pages say of it."""

    key: str
    weight: float
    """ln ψ · ln(1 + good hosts); negative where it speaks against a page."""
    hosts: int
    """Good hosts that have it; for a term to leave out, bad ones."""


def reading(url: Url, title: str, text: str, weight: float, tongue: Language) -> Reading:
    """What to remember of a page."""
    at = host(url)
    said = f"{title[:_TITLE]}\n{text[: _length(text)]}"
    found = phrases(said, tongue.code, share=1.0, most=_ALL)
    names = {phrase.key: phrase.name for phrase in found[:_PHRASES]}
    # RAKE likes phrases better than their words, and a page may never say its subject alone.
    times: Counter[str] = Counter()
    written: dict[str, str] = {}
    for phrase in found:
        stems, words = phrase.key.split(), phrase.name.split()
        if len(stems) == len(words):
            times.update(stems)
            for stem, word in zip(stems, words, strict=True):
                written.setdefault(stem, word)
    for stem, count in times.most_common(_WORDS):
        if count >= _SEVERAL:
            names.setdefault(stem, written[stem])
    # A site does not vouch for its own name.
    own = {label.replace("-", "") for label in at.removeprefix("www.").split(".")}
    kept = {key: name for key, name in names.items() if _asks(name, own, tongue)}
    return Reading(url, _site(at), weight, kept)


def _site(name: str) -> str:
    house = domain(name)
    return name.removeprefix("www.") if house in _HOUSES else house


def _length(text: str) -> int:
    """How many characters of it to read."""
    sample = text[:_TEXT:_SAMPLE]
    dense = sum(map(unspaced, sample)) / max(1, len(sample))
    return int(_TEXT / (1 + _DENSE * dense))


def _asks(name: str, own: set[str], tongue: Language) -> bool:
    """Whether a phrase could be asked for."""
    if len(name) > _LENGTH or name.replace(" ", "").replace("-", "") in own:
        return False
    words = name.split()
    if len(words) > 1:
        return len(set(words)) == len(words)
    return not brief(name) and tongue.tells(name)


def damped(pages: Sequence[Reading]) -> Floats:
    """How much each page counts: a hundred of one host like ten."""
    times = Counter(page.host for page in pages)
    return np.array([abs(page.weight) / sqrt(times[page.host]) for page in pages], np.float64)


def telling(good: Sequence[Reading], bad: Sequence[Reading], most: int) -> list[Term]:
    """Phrases that tell good pages from bad ones, the best first.

    Weight = ln ψ · ln(1 + hosts). Where two hosts have good pages, two must have the phrase; where
    there is one host, two of its pages, if it has two.
    """
    hosts = _hosts(good)
    if len({page.host for page in good}) > 1:
        keys = sorted(key for key, count in hosts.items() if count > 1)
    else:
        times = Counter(key for page in good for key in page.phrases)
        keys = sorted(key for key, count in times.items() if count >= min(2, len(good)))
    odds = psi(*_table(keys, good, bad))
    worth = [log(odds[n]) * log(1 + hosts[key]) for n, key in enumerate(keys)]
    terms = [Term(key, w, hosts[key]) for key, w in zip(keys, worth, strict=True) if w > 1e-9]
    # Of equals the longer one: it says more.
    return sorted(terms, key=lambda term: (-round(term.weight, 9), -len(term.key)))[:most]


def unwanted(
    good: Sequence[Reading], bad: Sequence[Reading], spared: Iterable[str], most: int
) -> list[Term]:
    """Phrases to leave out of results: on three bad hosts, on hardly a good page, ψ surely < 1.

    They have several words: a single one, though no good page is about it, stands on many.
    ``spared`` are stems that no such phrase may hold: the topic's own.
    """
    hosts, own = _hosts(bad), set(spared)
    keys = sorted(
        key
        for key, count in hosts.items()
        if count >= _HOSTS_BAD and " " in key and own.isdisjoint(key.split())
    )
    table = _table(keys, good, bad)
    harm, goods = table[0], table[0] + table[2]
    below, error = np.log(psi(*table)), np.sqrt((1 / (table + 0.5)).sum(axis=0))
    sure = (below + _SURE * error < 0) & (harm <= _SPARED * goods)
    terms = [
        Term(key, float(below[n]) * log(1 + hosts[key]), hosts[key])
        for n, key in enumerate(keys)
        if sure[n]
    ]
    return sorted(terms, key=lambda term: (round(term.weight, 9), -len(term.key)))[:most]


def _hosts(pages: Iterable[Reading]) -> Counter[str]:
    """How many hosts have each phrase."""
    on: dict[str, set[str]] = {}
    for page in pages:
        on.setdefault(page.host, set()).update(page.phrases)
    hosts: Counter[str] = Counter()
    for keys in on.values():
        hosts.update(keys)
    return hosts


def _table(keys: Sequence[str], good: Sequence[Reading], bad: Sequence[Reading]) -> Floats:
    """p11, p10, p01 and p00 of each phrase: good and bad pages that have it, and that lack it."""
    up, down = damped(good), damped(bad)
    p11, p10 = _count(keys, good, up), _count(keys, bad, down)
    return np.array([p11, p10, up.sum() - p11, max(_BADS, down.sum()) - p10])


def _count(keys: Sequence[str], pages: Sequence[Reading], weights: Floats) -> Floats:
    """How much the pages that have a phrase count together, for each of these phrases."""
    place = {key: n for n, key in enumerate(keys)}
    total = np.zeros(len(keys))
    for page, weight in zip(pages, weights, strict=True):
        total[[place[key] for key in page.phrases.keys() & place.keys()]] += weight
    return total
