"""A made web: pages that link to each other, some of them about bees."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.site.exchange import text as plain
from tests.site.server import Site

BEES = (
    "bee", "honey", "hive", "comb", "nectar", "pollen", "swarm", "queen", "drone", "wax",
    "honeyguide", "apiary", "beekeeper",
)  # fmt: skip
OTHERS = (
    "river", "engine", "window", "market", "letter", "garden", "bridge", "winter", "copper",
    "valley", "ticket", "harbour", "music", "table", "street", "morning", "paper", "island",
    "kitchen", "mountain", "forest", "castle", "painter",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Web:
    urls: tuple[str, ...]
    relevant: frozenset[str]
    """Those about bees."""


def weave(
    site: Site,
    hosts: Sequence[str],
    pages: int = 10,
    *,
    seed: int = 1,
    relevant: float = 0.3,
    abroad: float = 0.2,
    robots: str = "",
) -> Web:
    """Mount ``pages`` pages on each host; the same seed makes the same web.

    Page 0 of a host stands at ``/``. Every page links to the next one of its host, and page 0
    to the next host, so that all can be reached from anywhere; further links are random, a
    share of them ``abroad``. With ``robots``, every host serves that as its robots.txt.
    """
    dice = random.Random(seed)
    every = {(h, n): site.url(h, f"/p{n}.html" if n else "/") for h in hosts for n in range(pages)}
    about = {key: dice.random() < relevant for key in every}
    for (host, n), url in every.items():
        targets = [(host, (n + 1) % pages)]
        if n == 0:
            targets.append((hosts[(hosts.index(host) + 1) % len(hosts)], 0))
        for _ in range(dice.randrange(2, 6)):
            away = dice.choice(hosts) if dice.random() < abroad else host
            targets.append((away, dice.randrange(pages)))
        links = " ".join(
            f'{_words(dice, about[t], 3)} <a href="{every[t]}">{_words(dice, about[t], 2)}</a>'
            for t in targets
        )
        title, text = _words(dice, about[host, n], 4), _words(dice, about[host, n], 80)
        html = f"<!doctype html><title>{title}</title><h1>{title}</h1><p>{text}<p>{links}"
        site.pages(host, {url.removeprefix(site.url(host, "")): html})
    if robots:
        for host in hosts:
            site.route(host, "/robots.txt", plain(robots))
    good = frozenset(url for key, url in every.items() if about[key])
    return Web(tuple(every.values()), good)


def _words(dice: random.Random, bees: bool, count: int) -> str:
    """Random text; half of it about bees, or none."""
    share = 0.5 if bees else 0.0
    return " ".join(dice.choice(BEES if dice.random() < share else OTHERS) for _ in range(count))
