"""The frontier at a glance: how its scores are spread, who waits most, who would go first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from honeyguide.frontier.host_heap import Choice
from honeyguide.frontier.hosts import HostView
from honeyguide.frontier.link_texts import Texts
from honeyguide.frontier.rows import Rows
from honeyguide.types import Link

BINS = 20
"""Scores are told in so many steps from 0 to 1."""


class Glance(NamedTuple):
    waiting: int
    scores: tuple[int, ...]
    """Links that wait, by score: the first of :data:`BINS` steps is the lowest."""
    hosts: int
    """Hosts for which links wait; of these …"""
    busy: int
    """… are being asked,"""
    resting: int
    """rest between two requests,"""
    parked: int
    """are left alone for longer."""
    most: tuple[HostView, ...]
    """Those with the most links."""
    top: tuple[tuple[Link, float], ...]
    """The links that would go first if every host were rested, with their scores."""


def glance(rows: Rows, choice: Choice, texts: Texts, now: float, hosts: int, top: int) -> Glance:
    """Once over the columns: some twenty milliseconds for a million links."""
    waiting = rows.waiting()
    counts = np.bincount(rows.host[waiting], minlength=len(choice.hosts))
    steps = np.minimum(rows.score[waiting] * BINS, BINS - 1).astype(np.intp)
    busy = resting = parked = 0
    inhabited = np.flatnonzero(counts)
    for number in inhabited.tolist():
        host = choice.hosts[number]
        if host.busy:
            busy += 1
        elif host.parked > now:
            parked += 1
        elif host.rests > now:
            resting += 1
    order = np.argsort(-counts[inhabited], kind="stable")[:hosts]
    first = waiting
    if len(waiting) > top:
        first = waiting[np.argpartition(rows.rank[waiting], top)[:top]]
    first = np.sort(first)
    found = zip(texts.links(first), first.tolist(), strict=True)
    ranked = sorted(found, key=lambda pair: (int(rows.rank[pair[1]]), pair[1]))
    return Glance(
        len(waiting),
        tuple(np.bincount(steps, minlength=BINS).tolist()),
        len(inhabited),
        busy,
        resting,
        parked,
        tuple(_seen(choice, n, int(counts[n]), now) for n in inhabited[order].tolist()),
        tuple((link, float(rows.score[row])) for link, row in ranked),
    )


def _seen(choice: Choice, number: int, waiting: int, now: float) -> HostView:
    host = choice.hosts[number]
    parked = host.parked if host.parked > now else 0.0
    return HostView(host.name, waiting, host.busy, host.rests, parked)
