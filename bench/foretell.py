"""How well the languages of links' targets are foretold; part of bench/languages.py."""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Sequence
from math import exp, log
from typing import NamedTuple

import numpy as np

from honeyguide.languages.detection import DetectedLanguage, LanguageDetector
from honeyguide.languages.prediction import SIGN_PRIORS, LinkLanguagePredictor, _directory_of
from honeyguide.types import Link, Page, Url

VISITS = 400
DRAWS = 5
_RERANK = 25


class Known(NamedTuple):
    page: Page
    stated: str
    """The language that the web's makers say the page is in; '' if they do not."""


class Frozen(LinkLanguagePredictor):
    """Never learns: the prior weights alone."""

    def learn_link(self, link: Link, wanted: bool) -> None:
        pass


class Naive(LinkLanguagePredictor):
    """The rival: naive Bayes over the same signs, each drawn towards its prior by four visits."""

    def __init__(self, wanted: tuple[str, ...]) -> None:
        super().__init__(wanted)
        self._counts: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._all = [0.5, 0.5]

    def _shown(self, link: Link) -> list[str]:
        return [*self._link_signs(link)[1:], *self._directories[_directory_of(link.url)].places]

    def learn_link(self, link: Link, wanted: bool) -> None:
        self._all[wanted] += 1
        for sign in self._shown(link):
            self._counts[sign][wanted] += 1

    def predict_links(self, links: Sequence[Link]) -> list[float]:
        base = log(self._all[1] / self._all[0])
        found = []
        for link in links:
            odds = base
            for sign in self._shown(link):
                expected = 1 / (
                    1 + exp(-base - (SIGN_PRIORS[sign][0] if sign in SIGN_PRIORS else 0.0))
                )
                other, ours = self._counts[sign]
                odds += log((ours + 4 * expected) / (other + 4 * (1 - expected))) - base
            found.append(1 / (1 + exp(-min(max(odds, -30.0), 30.0))))
        return found


class Crawl(NamedTuple):
    told: list[float]
    """What was foretold of each followed link, before it was followed …"""
    true: list[bool]
    """… and what came of it."""
    wanted: int


def crawl(
    web: dict[Url, Known], heard: dict[Url, DetectedLanguage], true: dict[Url, bool], guess: LinkLanguagePredictor,
    seeds: Sequence[Url], *, best: bool, visits: int,
) -> Crawl:  # fmt: skip
    """Follow links, in their order or the likeliest first, and learn from each."""
    seen, serial, found = set(seeds), 0, Crawl([], [], 0)
    wanted = done = 0
    waiting: list[tuple[float, int, Link]] = [(0.0, -1, Link(url)) for url in seeds]
    while waiting and done < visits:
        if best and done % _RERANK == _RERANK - 1:
            links = [link for _, _, link in waiting]
            waiting = [
                (-c, w[1], w[2]) for c, w in zip(guess.predict_links(links), waiting, strict=True)
            ]
            heapq.heapify(waiting)
        link = heapq.heappop(waiting)[2]
        done += 1
        wanted += true[link.url]
        if link.source is not None:
            found.told.append(guess.predict_links([link])[0])
            found.true.append(true[link.url])
            guess.learn_link(link, true[link.url])
        guess.add_page(link.url, heard[link.url])
        new = {each.url: each for each in web[link.url].page.links if each.url in web}
        fresh = [each for url, each in new.items() if url not in seen]
        for each, chance in zip(fresh, guess.predict_links(fresh), strict=True):
            seen.add(each.url)
            serial += 1
            heapq.heappush(waiting, (-chance if best else 0.0, serial, each))
    return found._replace(wanted=wanted)


def apart(told: Sequence[float], true: Sequence[bool]) -> float:
    """How often a link to a wanted page is thought likelier than one to another page."""
    values, ranks = np.unique(np.asarray(told), return_inverse=True)
    counts = np.bincount(ranks, minlength=len(values))
    middle = np.cumsum(counts) - (counts - 1) / 2
    right = np.asarray(true)
    ours, others = int(right.sum()), int((~right).sum())
    if not ours or not others:
        return float("nan")
    return float((middle[ranks][right].sum() - ours * (ours + 1) / 2) / (ours * others))


def surprise(told: Sequence[float], true: Sequence[bool]) -> float:
    """Mean logarithmic loss."""
    chances = np.clip(told, 1e-6, 1 - 1e-6)
    return float(-np.log(np.where(true, chances, 1 - chances)).mean())


def report(webs: dict[str, dict[Url, Known]]) -> str:
    lines = [
        "## Links", "",
        "Links are followed breadth-first through a whole web (*loss*: mean logarithmic loss; *apart*: how",
        "often a link to a wanted page is thought likelier than another), or the likeliest first, ranked anew",
        f"every {_RERANK} visits; each is predicted before it is followed. The last columns are wanted pages among",
        f"{VISITS} visits, mean and deviation over {DRAWS} draws of seeds: 3 wanted pages, and 5 others in all webs",
        "together. *prior* never learns.", "",
        "| web, wanted | links | wanted | by | loss | apart | wanted of the likeliest | breadth-first |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    everything = {url: known for web in webs.values() for url, known in web.items()}
    topics = [
        ("libreoffice-help-tr", "tr"),
        ("Apache manual", "tr"),
        ("Apache manual", "en"),
        ("all", "tr"),
    ]
    for name, code in topics:
        web = everything if name == "all" else webs.get(name, {})
        if not web or (name == "all" and len(webs) < 2):
            continue
        ear = LanguageDetector((code,))
        heard = {url: ear.detect_page(known.page) for url, known in web.items()}
        true = {
            url: known.stated == code
            if known.stated
            else tongue.code == code and ear.is_wanted(tongue)
            for (url, known), tongue in zip(web.items(), heard.values(), strict=True)
        }
        starts = [_seeds(web, true, draw, strangers=name == "all") for draw in range(DRAWS)]
        plain = [
            crawl(web, heard, true, Frozen((code,)), seeds, best=False, visits=VISITS).wanted
            for seeds in starts
        ]
        for kind, made in (
            ("prior", Frozen),
            ("learned", LinkLanguagePredictor),
            ("naive Bayes", Naive),
        ):
            whole = crawl(web, heard, true, made((code,)), starts[0], best=False, visits=len(web))
            first = [
                crawl(web, heard, true, made((code,)), seeds, best=True, visits=VISITS).wanted
                for seeds in starts
            ]
            lines.append(
                f"| {name}, {code} | {len(whole.true)} | {np.mean(whole.true):.3f} | {kind}"
                f" | {surprise(whole.told, whole.true):.3f} | {apart(whole.told, whole.true):.3f}"
                f" | {np.mean(first):.0f} ± {np.std(first, ddof=1):.0f}"
                f" | {np.mean(plain):.0f} ± {np.std(plain, ddof=1):.0f} |"
            )
    return "\n".join([*lines, ""])


def _seeds(
    web: dict[Url, Known], true: dict[Url, bool], draw: int, *, strangers: bool
) -> list[Url]:
    """Three wanted pages with some links; and five others, where several webs lie side by side."""
    dice = random.Random(draw)
    seeds = dice.sample(sorted(u for u in web if true[u] and len(web[u].page.links) > 3), 3)
    return seeds + (dice.sample(sorted(u for u in web if not true[u]), 5) if strangers else [])
