"""Pages full of links, drawn with the plan of a synthetic web.

Hosts, addresses, anchors and where links lead are those of :mod:`honeyguide.lab.synthetic`; the pages
themselves are not written and parsed, which would take longer than all that is measured. Links are
made in a process beside the one that is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from multiprocessing import get_context
from typing import Any

from honeyguide.lab.synthetic.page import LinkChooser
from honeyguide.lab.synthetic.seeded_random import SeededRandom
from honeyguide.lab.synthetic.text import load_texts
from honeyguide.lab.synthetic.topology import HostTopology, SyntheticPlan
from honeyguide.types import Candidate, Link, Url

TAGS = ("nav/ul/li", "main/article/p", "div#content/div.text/p", "aside/ul.related/li")
A_PAGE = 60
"""Links on a page."""
AT_ONCE = 32
"""Pages sent from process to process together."""


def pages(plan: SyntheticPlan, first: int) -> Iterator[list[Candidate]]:
    """Pages from that number on, without end."""
    beside = get_context("spawn")
    queue = beside.Queue(16)
    beside.Process(target=_make, args=(plan, first, queue), daemon=True).start()
    while True:
        yield from queue.get()


def _make(plan: SyntheticPlan, first: int, queue: Any) -> None:
    made = Pages(plan)
    while True:
        queue.put([made.page(number) for number in range(first, first + AT_ONCE)])
        first += AT_ONCE


class Pages:
    def __init__(self, plan: SyntheticPlan) -> None:
        self._plan = plan
        self._dice = SeededRandom(plan.seed)
        self._ground = HostTopology(plan, self._dice)
        # A page mostly links to its own host: the same draw over and over.
        self._ground.slot_subjects = lru_cache(1024)(self._ground.slot_subjects)  # type: ignore[method-assign]
        self._books = [load_texts()[subject] for subject in self._ground.subjects]
        self._roads = LinkChooser(plan, self._dice, self._ground, self._books)

    def page(self, number: int) -> list[Candidate]:
        """A page of some host; hosts come up in proportion to their size."""
        chance = self._dice.random_stream("bench", number).random
        ground, roads = self._ground, self._roads
        host = ground.everywhere.pick(chance())
        page = int(chance() * ground.sizes[host])
        subject = ground.page_subject(host, page)
        sentences = self._books[subject].sentences
        name = f"http://{ground.host_name(host)}"
        source, parent, depth = Url(name + roads.page_path(host, page)), chance(), 1 + number % 9
        found = []
        for place in range(A_PAGE):
            local = chance() < self._plan.locality
            target = roads.choose_link(host, page, subject, local, chance)
            url = name + target.href if target.href[0] == "/" else target.href
            before = sentences[int(chance() * len(sentences))][-50:]
            link = Link(
                Url(url), source, target.anchor, before, target.blurb[:50],
                TAGS[place * len(TAGS) // A_PAGE], depth=depth, parent=parent,
            )  # fmt: skip
            found.append(Candidate(link, chance()))
        return found
