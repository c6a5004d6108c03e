"""The examples that a strategy learns from, with limits that keep self-training from drifting.

Iliou et al. 2017 believe every verdict of at least .8 or at most .2. From a handful of examples a
classifier says .8 of a third of all pages and is wrong four times in five, while its *order* of
pages is good. So, as the learners of Blum & Mitchell 1998 grow (p = 1 and n = 3 a round), one page
in fourteen is taken as good, the one that the present generation is most certain of, and the three
newest of the certain bad ones as bad: those are hardly ever wrong. Chosen verdicts stay until a
person labels the page.

The limits are ours: with each training a strategy may use as many more of its own verdicts as
people gave examples, never more than ten times as many, thinned until neither kind outnumbers the
other more than three times. Strategies that state how many they believe get the most certain ones;
the others the newest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from honeyguide.learning.teachers import AutomaticTeacher
from honeyguide.types import Example, Page, Url
from honeyguide.url import domain_of, host_of

PAGES_PER_ROUND = 14
"""Pages for each round: k of Iliou et al."""
BAD_PER_GOOD = 3
"""Bad examples for each good one."""
_CONSIDERED = 3 * PAGES_PER_ROUND
"""Newest good verdicts that are considered."""
_MIN_OWN, _DOMAIN_SHARE = 2, 0.1
"""Own verdicts of one registrable domain: at least two and a tenth of all, and a share as large
as it has among examples of people. A site without labels must not define the topic."""
_SURE_TEACHER = AutomaticTeacher()


def select_confident(
    judged: Sequence[Example],
    believed: Sequence[Example],
    labelled: Sequence[Example],
    score: Callable[[Page], float],
    good: int,
    most: int,
) -> list[Example]:
    """The chosen verdicts, and the most certain others: ``good`` good ones and three times as many
    bad ones, at most ``most``. ``score``: the present verdict on a page."""
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
    """Good ones that are still certain, the most certain first; then bad ones, the newest first."""
    if good:
        newest = [example for example in waiting if example.target >= 0.5][-_CONSIDERED:]
        now = sorted((score(example.page), place) for place, example in enumerate(newest))
        yield from (newest[place] for sure, place in now[::-1] if sure >= _SURE_TEACHER.high)
    yield from (example for example in reversed(waiting) if example.target < 0.5)


def _page_domain(example: Example) -> str:
    return domain_of(host_of(example.page.url))


# --- The pool ---


MAX_TEXT_CHARS = 20_000
"""Characters of a page that are stored."""
MAX_BACKGROUND = 300
"""Visits stored for a strategy that does not learn from every visit."""
MAX_VISITS = 3_000
_DEFAULT_BASIS = 20
"""Basis of self-training without examples of people."""
_OWN_PER_LABEL = 10
_MAX_JUDGED = 2_000
_MAX_HEADINGS = 20
_DOMAIN_FRACTION = 10
_MIN_PER_DOMAIN = 2
"""Own verdicts of one registrable domain: a tenth of all, at least two. A single site must not
define the topic."""
_MAX_KIND_RATIO = 3
MAX_LINKS = 100


class ExamplePool:
    """One example for each page: labels of people replace verdicts, never the other way."""

    def __init__(self, visits: bool = False) -> None:
        self._most = MAX_VISITS if visits else MAX_BACKGROUND
        self._links = MAX_LINKS if visits else 0
        self._labelled: dict[Url, Example] = {}
        self._judged: dict[Url, Example] = {}
        self._visits: dict[Url, Example] = {}
        self._learned = 0
        """Own verdicts in the last training."""
        self._seen = 0
        """Pages seen so far."""
        self._believed: dict[Url, Example] = {}
        """Own verdicts that were chosen as the most certain."""

    def add(self, example: Example) -> None:
        url = example.page.url
        if example.by in ("seed", "user"):
            self._labelled[url] = trim_example(example, self._links)
            self._judged.pop(url, None)
            self._believed.pop(url, None)
        elif example.by == "judge":
            if url not in self._labelled:
                self._add_newest(self._judged, example, _MAX_JUDGED)
        else:
            self._seen += 1
            self._add_newest(self._visits, example, self._most)

    def _add_newest(self, examples: dict[Url, Example], example: Example, most: int) -> None:
        examples.pop(example.page.url, None)  # the newest last
        examples[example.page.url] = trim_example(example, self._links)
        if len(examples) > most:
            del examples[next(iter(examples))]

    def labelled_examples(self) -> list[Example]:
        """Examples from people."""
        return list(self._labelled.values())

    def unlabelled_visits(self) -> list[Example]:
        """Visits without a label."""
        return [e for url, e in self._visits.items() if url not in self._labelled]

    def recent_judged(self, labelled: list[Example]) -> list[Example]:
        """Own verdicts within the limits for these labels; the newest are preferred."""
        basis = len(labelled) or _DEFAULT_BASIS
        room = min(_OWN_PER_LABEL * basis, self._learned + basis)
        chosen = _newest_per_domain(list(self._judged.values()), room)
        return list(_balance_kinds(chosen, labelled))

    def confident_judged(
        self, labelled: list[Example], score: Callable[[Page], float], good: int
    ) -> list[Example]:
        """The most certain own verdicts: ``good`` good ones for each fourteen pages."""
        most = _OWN_PER_LABEL * (len(labelled) or _DEFAULT_BASIS)
        believed = list(self._believed.values())
        allowed = good * (self._seen // PAGES_PER_ROUND)
        judged = list(self._judged.values())
        chosen = select_confident(judged, believed, labelled, score, allowed, most)
        return list(_balance_kinds(chosen, labelled))

    def set_learned(self, judged: int) -> None:
        self._learned = judged

    def set_believed(self, judged: Iterable[Example]) -> None:
        """Keep these until a person labels them."""
        self._believed = {e.page.url: e for e in judged}


def _newest_per_domain(judged: list[Example], room: int) -> list[Example]:
    """The newest, few of any one domain, in their order."""
    most = max(_MIN_PER_DOMAIN, room // _DOMAIN_FRACTION)
    seen: Counter[str] = Counter()
    newest: list[Example] = []
    for example in reversed(judged):
        if len(newest) < room and seen[place := _page_domain(example)] < most:
            seen[place] += 1
            newest.append(example)
    return newest[::-1]


def _balance_kinds(judged: list[Example], labelled: list[Example]) -> Iterator[Example]:
    """Leave out the oldest of the larger kind until it is at most three times the smaller."""
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
    """The example with what is worth storing; few strategies read the links of a page."""
    page: Page = example.page
    text, headings = page.text[:MAX_TEXT_CHARS], page.headings[:_MAX_HEADINGS]
    if len(text) == len(page.text) and headings == page.headings and len(page.links) <= links:
        return example
    page = replace(page, text=text, links=page.links[:links], headings=headings)
    return replace(example, page=page)
