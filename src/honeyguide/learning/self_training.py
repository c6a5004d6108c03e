"""Which of its own verdicts a strategy believes: the surest few, and no more than it has seen for.

Iliou et al. 2017 believe every verdict of at least .8 or at most .2. From a handful of examples a
classifier says .8 of a third of what it sees, and is wrong four times in five, while its *order* of
pages is good. So, as Blum & Mitchell 1998 let their learners grow ("Combining labeled and unlabeled
data with co-training", p = 1 and n = 3 a round), one page in fourteen is believed to be good, the
one that the present generation is surest of, and the three newest of the clear ones to be bad:
those are hardly ever wrong. What is believed stays so, until a person speaks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from honeyguide.learning.teachers import Automatic
from honeyguide.types import Example, Page
from honeyguide.url import domain, host

PAGES = 14
"""Pages seen for each round: k of Iliou et al."""
BAD = 3
"""Bad ones for each good one."""
_LOOKED = 3 * PAGES
"""Newest good verdicts that are thought over in a lesson."""
_LEAST, _SHARE = 2, 0.1
"""Own verdicts on one registrable domain: two and a tenth of all in any case, and a share as large
as it has among people's examples. A site that nobody spoke of must not be able to teach what the
topic is."""
_SURE = Automatic()


def surest(
    judged: Sequence[Example],
    believed: Sequence[Example],
    labelled: Sequence[Example],
    score: Callable[[Page], float],
    good: int,
    most: int,
) -> list[Example]:
    """What is believed already, and the surest of the rest: ``good`` good ones and three times as
    many bad ones in all, together at most ``most``. ``score``: the present verdict on a page."""
    rooms = {True: good, False: BAD * good}
    whole = min(most, (1 + BAD) * good)
    people, seen = Counter(map(_place, labelled)), Counter(map(_place, believed))
    for example in believed:
        rooms[example.target >= 0.5] -= 1
    chosen = list(believed)
    taken = {example.page.url for example in believed}
    waiting = [example for example in judged if example.page.url not in taken]
    for example in _ordered(waiting, score, rooms[True] > 0):
        kind, place = example.target >= 0.5, _place(example)
        share = max(_SHARE, people[place] / max(1, len(labelled)))
        if rooms[kind] > 0 and len(chosen) < whole and seen[place] < max(_LEAST, whole * share):
            rooms[kind] -= 1
            seen[place] += 1
            chosen.append(example)
    return chosen


def _ordered(
    waiting: Sequence[Example], score: Callable[[Page], float], good: bool
) -> Iterator[Example]:
    """Good ones, the surest first, if it is still sure of them; then bad ones, the newest first."""
    if good:
        newest = [example for example in waiting if example.target >= 0.5][-_LOOKED:]
        now = [(score(example.page), place) for place, example in enumerate(newest)]
        yield from (newest[place] for sure, place in sorted(now)[::-1] if sure >= _SURE.high)
    yield from (example for example in reversed(waiting) if example.target < 0.5)


def _place(example: Example) -> str:
    return domain(host(example.page.url))
