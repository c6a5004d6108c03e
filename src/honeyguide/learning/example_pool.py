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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from honeyguide.learning.teachers import AutomaticTeacher
from honeyguide.types import Example, Page, Url
from honeyguide.url import domain_of, host_of

PAGES_PER_ROUND = 14
"""Pages seen for each round: k of Iliou et al."""
BAD_PER_GOOD = 3
"""Bad ones for each good one."""
_CONSIDERED = 3 * PAGES_PER_ROUND
"""Newest good verdicts that are thought over in a lesson."""
_MIN_OWN, _DOMAIN_SHARE = 2, 0.1
"""Own verdicts on one registrable domain: two and a tenth of all in any case, and a share as large
as it has among people's examples. A site that nobody spoke of must not be able to teach what the
topic is."""
_SURE_TEACHER = AutomaticTeacher()


def select_confident(
    judged: Sequence[Example],
    believed: Sequence[Example],
    labelled: Sequence[Example],
    score: Callable[[Page], float],
    good: int,
    most: int,
) -> list[Example]:
    """What is believed already, and the surest of the rest: ``good`` good ones and three times as
    many bad ones in all, together at most ``most``. ``score``: the present verdict on a page."""
    rooms = {True: good, False: BAD_PER_GOOD * good}
    whole = min(most, (1 + BAD_PER_GOOD) * good)
    people, seen = Counter(map(_page_domain, labelled)), Counter(map(_page_domain, believed))
    for example in believed:
        rooms[example.target >= 0.5] -= 1
    chosen = list(believed)
    taken = {example.page.url for example in believed}
    waiting = [example for example in judged if example.page.url not in taken]
    for example in _by_confidence(waiting, score, rooms[True] > 0):
        kind, place = example.target >= 0.5, _page_domain(example)
        share = max(_DOMAIN_SHARE, people[place] / max(1, len(labelled)))
        if rooms[kind] > 0 and len(chosen) < whole and seen[place] < max(_MIN_OWN, whole * share):
            rooms[kind] -= 1
            seen[place] += 1
            chosen.append(example)
    return chosen


def _by_confidence(
    waiting: Sequence[Example], score: Callable[[Page], float], good: bool
) -> Iterator[Example]:
    """Good ones, the surest first, if it is still sure of them; then bad ones, the newest first."""
    if good:
        newest = [example for example in waiting if example.target >= 0.5][-_CONSIDERED:]
        now = sorted((score(example.page), place) for place, example in enumerate(newest))
        yield from (newest[place] for sure, place in now[::-1] if sure >= _SURE_TEACHER.high)
    yield from (example for example in reversed(waiting) if example.target < 0.5)


def _page_domain(example: Example) -> str:
    return domain_of(host_of(example.page.url))


# --------------------------------------------------------------------------------------------------
# The examples that a strategy learns from, with the caps that keep self-training from drifting.
#
# The caps are ours (Iliou et al. 2017 have none): with each lesson a strategy may believe as many
# more of its own verdicts as people gave examples, never more than ten times as many, and they are
# thinned until neither kind of page outnumbers the other more than three times. Strategies that say
# how many they believe get the surest ones (surest.py); the others the newest.
# --------------------------------------------------------------------------------------------------


MAX_TEXT_CHARS = 20_000
"""Characters of a page that are remembered."""
MAX_BACKGROUND = 300
"""Visits remembered for a strategy that does not learn from every visit."""
MAX_VISITS = 3_000
_DEFAULT_BASIS = 20
"""Without people's examples, self-training may begin with so many."""
_OWN_PER_LABEL = 10
_MAX_JUDGED = 2_000
_MAX_HEADINGS = 20
_DOMAIN_FRACTION = 10
_MIN_PER_DOMAIN = 2
"""Own verdicts on one registrable domain: a tenth of all, and two in any case, also where there
is no other. A single site must not be able to teach what the topic is."""
_MAX_KIND_RATIO = 3
MAX_LINKS = 100


class ExamplePool:
    """One example per page: a person's word replaces the strategy's own, never the other way."""

    def __init__(self, visits: bool = False) -> None:
        self._most = MAX_VISITS if visits else MAX_BACKGROUND
        self._links = MAX_LINKS if visits else 0
        self._labelled: dict[Url, Example] = {}
        self._judged: dict[Url, Example] = {}
        self._visits: dict[Url, Example] = {}
        self._learned = 0
        """Of its own verdicts, those in the last lesson."""
        self._seen = 0
        """Pages that went by."""
        self._believed: dict[Url, Example] = {}
        """Of its own verdicts, those that were chosen as the surest."""

    def add(self, example: Example) -> None:
        url = example.page.url
        if example.by in ("seed", "user"):
            self._labelled[url] = trim_example(example, self._links)
            self._judged.pop(url, None)
            self._believed.pop(url, None)
        elif example.by == "judge":
            if url not in self._labelled:
                self._judged.pop(url, None)  # the newest last
                self._judged[url] = trim_example(example, self._links)
                if len(self._judged) > _MAX_JUDGED:
                    del self._judged[next(iter(self._judged))]
        else:
            self._seen += 1
            self._visits.pop(url, None)
            self._visits[url] = trim_example(example, self._links)
            if len(self._visits) > self._most:
                del self._visits[next(iter(self._visits))]

    def labelled_examples(self) -> list[Example]:
        """People's examples."""
        return list(self._labelled.values())

    def unlabelled_visits(self) -> list[Example]:
        """Visits that nobody labelled."""
        return [e for url, e in self._visits.items() if url not in self._labelled]

    def recent_judged(self, labelled: list[Example]) -> list[Example]:
        """The strategy's own, as many as the caps allow beside these; the newest go first."""
        basis = len(labelled) or _DEFAULT_BASIS
        room = min(_OWN_PER_LABEL * basis, self._learned + basis)
        chosen = _newest_per_domain(list(self._judged.values()), room)
        return list(_balance_kinds(chosen, labelled))

    def confident_judged(
        self, labelled: list[Example], score: Callable[[Page], float], good: int
    ) -> list[Example]:
        """The strategy's own of which it is surest now: ``good`` good ones in fourteen pages."""
        most = _OWN_PER_LABEL * (len(labelled) or _DEFAULT_BASIS)
        believed = list(self._believed.values())
        allowed = good * (self._seen // PAGES_PER_ROUND)
        judged = list(self._judged.values())
        chosen = select_confident(judged, believed, labelled, score, allowed, most)
        return list(_balance_kinds(chosen, labelled))

    def set_learned(self, judged: int) -> None:
        self._learned = judged

    def set_believed(self, judged: Iterable[Example]) -> None:
        """These stay, until a person speaks."""
        self._believed = {e.page.url: e for e in judged}


def _newest_per_domain(judged: list[Example], room: int) -> list[Example]:
    """The newest, but few of any one domain; in the order in which they came."""
    most = max(_MIN_PER_DOMAIN, room // _DOMAIN_FRACTION)
    seen: Counter[str] = Counter()
    newest: list[Example] = []
    for example in reversed(judged):
        if len(newest) < room and seen[place := _page_domain(example)] < most:
            seen[place] += 1
            newest.append(example)
    return newest[::-1]


def _balance_kinds(judged: list[Example], labelled: list[Example]) -> Iterator[Example]:
    """Leave out the oldest of the larger kind, until it is at most three times the smaller."""
    good = sum(example.target >= 0.5 for example in (*judged, *labelled))
    bad = len(judged) + len(labelled) - good
    spare = {
        True: good - _MAX_KIND_RATIO * max(1, bad),
        False: bad - _MAX_KIND_RATIO * max(1, good),
    }
    for example in judged:
        kind = example.target >= 0.5
        if spare[kind] > 0:
            spare[kind] -= 1
        else:
            yield example


def trim_example(example: Example, links: int) -> Example:
    """What is worth remembering of it; few strategies read the links of a page."""
    page: Page = example.page
    text, headings = page.text[:MAX_TEXT_CHARS], page.headings[:_MAX_HEADINGS]
    if len(text) == len(page.text) and headings == page.headings and len(page.links) <= links:
        return example
    page = replace(page, text=text, links=page.links[:links], headings=headings)
    return replace(example, page=page)
