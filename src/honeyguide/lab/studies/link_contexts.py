"""What the pages fetched so far say about a link's target, and a classifier of such words.

The link classifier of Iliou et al. (section 4.1) reads the anchor and 50 characters on each side of
one link. Here it may read more: the address, a wider window, and all links to the same page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.lab.studies.topic_pages import LinkedPage, links_of, read_page
from honeyguide.lab.trials import WebSpec
from honeyguide.lab.web import without_scheme
from honeyguide.models.svm import class_folds, train_svm
from honeyguide.strategies.hybrid_svm import HybridSvm
from honeyguide.text.normalise import readable_address
from honeyguide.text.vectors import fit_lexicon
from honeyguide.types import Example, Link, Page, Url
from honeyguide.url import path_of

SvmKernel = Literal["rbf", "linear"]
WAYS: Mapping[str, frozenset[str]] = {
    "as published": frozenset(),
    "words of the address": frozenset({"url"}),
    "wide window": frozenset({"wide"}),
    "all links to the page": frozenset({"joined"}),
    "all three": frozenset({"url", "wide", "joined"}),
    "all three, threshold chosen": frozenset({"url", "wide", "joined", "threshold"}),
}
"""Name → what the link classifier reads besides anchor and 50 characters on each side."""
_WIDE = 100
"""Characters on each side of an anchor in the wide window …"""
_MOST = 12_000
"""… and of all words about one link."""
_UNKNOWN = 0.5


def select_links(
    spec: WebSpec,
    train: Sequence[LinkedPage],
    test: Sequence[LinkedPage],
    sides: Sequence[Sequence[str]],
    kernel: SvmKernel,
) -> dict[str, list[bool]]:
    """Which test links each way of reading them selects, taught with the training pages. ``sides``:
    addresses of the pages that were fetched besides those, for training and for testing."""
    machine = HybridSvm(kernel=kernel, alone=True).learn(
        [Example(seen.link, seen.page, float(seen.good), "user") for seen in train]
    )
    good = np.array([seen.good for seen in train], dtype=bool)
    fetched = [without_scheme(seen.link.url) for seen in train]
    read = StudyPageReader(spec)
    known = [
        find_link_places(read, some, {*fetched, *keys})
        for some, keys in zip((train, test), sides, strict=True)
    ]
    found = {}
    for name, way in WAYS.items():
        texts = [
            [read_link_words(seen.link, places[seen.link.url], way) for seen in some]
            for some, places in zip((train, test), known, strict=True)
        ]
        said = classify_texts(texts[0], good, texts[1], kernel)
        parents = [machine.judge(p).score if p else 0.0 for p in _parent_pages(known[1], test)]
        scores = machine.page_weight * np.array(parents) + machine.link_weight * said
        limit = machine.threshold
        if "threshold" in way:
            # The parents of training links are good pages, so that p is nearly 1 for all of them.
            outside = cross_validate_texts(texts[0], good, kernel)
            limit = find_best_threshold(machine.page_weight + machine.link_weight * outside, good)
        found[name] = (scores > limit).tolist()
    return found


def _parent_pages(
    places: Mapping[Url, Sequence[LinkPlace]], some: Sequence[LinkedPage]
) -> list[Page | None]:
    return [places[seen.link.url][0].page for seen in some]


class LinkPlace(NamedTuple):
    """A link to a page, and the page it stands on."""

    link: Link
    page: Page | None


class StudyPageReader(dict[Url, Page | None]):
    """Address → the page, read once."""

    def __init__(self, spec: WebSpec) -> None:
        self.spec = spec

    def __missing__(self, url: Url) -> Page | None:
        self[url] = read_page(self.spec, Link(url)) if url else None
        return self[url]


def find_link_places(
    read: StudyPageReader, some: Sequence[LinkedPage], known: Iterable[str]
) -> dict[Url, list[LinkPlace]]:
    """All links to each page on the pages that were fetched; its own one first."""
    found: dict[Url, list[LinkPlace]] = {
        seen.link.url: [LinkPlace(seen.link, read[seen.link.source or Url("")])] for seen in some
    }
    for key in sorted(known):
        for link in links_of(read.spec, key):
            places = found.get(link.url)
            if places and link.source not in (None, link.url, places[0].link.source):
                places.append(LinkPlace(link, read[link.source or Url("")]))
    return found


def read_link_words(link: Link, places: Sequence[LinkPlace], way: frozenset[str]) -> str:
    read = places if "joined" in way else places[:1]
    words = [f"{one.anchor} {one.before} {one.after}" for one, _ in read]
    if "url" in way:
        words.append(readable_address(path_of(link.url)))
    if "wide" in way:
        words += [_wide_window(one, page) for one, page in read if page is not None]
    return " ".join(words)[:_MOST]


def _wide_window(link: Link, page: Page) -> str:
    """More of the text around an anchor, its neighbours' anchors included."""
    if not link.anchor:
        return ""
    place = page.text.find(f"{link.before[-15:]} {link.anchor}".strip())
    place = place if place >= 0 else page.text.find(link.anchor)
    start, stop = max(0, place - _WIDE), place + len(link.anchor) + _WIDE
    return page.text[start:stop] if place >= 0 else ""


Bools = NDArray[np.bool_]
Floats = NDArray[np.floating]


def classify_texts(
    taught: Sequence[str], good: Bools, asked: Sequence[str], kernel: SvmKernel
) -> Floats:
    """The link classifier on other texts; 0.5 where nothing can be learned."""
    words, rows = fit_lexicon(taught)
    machine = train_svm(rows, len(words), good, None, kernel)
    return np.array(machine.scores(words.to_rows(asked)) if machine else [_UNKNOWN] * len(asked))


def cross_validate_texts(texts: Sequence[str], good: Bools, kernel: SvmKernel) -> Floats:
    """Each text by a classifier that was trained without it."""
    said = np.full(len(texts), _UNKNOWN)
    for inside, outside in class_folds(good):
        taught, asked = ([texts[n] for n in part] for part in (inside, outside))
        said[outside] = classify_texts(taught, good[inside], asked, kernel)
    return said


def find_best_threshold(scores: Floats, good: Bools) -> float:
    """The one that gives the largest F on these."""
    limits = np.unique(scores) - 1e-9
    kept = scores[None, :] > limits[:, None]
    f = 2 * (kept & good).sum(axis=1) / (kept.sum(axis=1) + good.sum())
    return float(limits[int(f.argmax())])
