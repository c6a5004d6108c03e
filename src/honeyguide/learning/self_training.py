"""Which own verdicts and visits a strategy learns from, so that self-training does not drift.

Iliou et al. (algorithm 2) believe every verdict of at least .8 or at most .2. From a handful of
examples a classifier says .8 of a third of all pages and is wrong four times in five, while its
*order* of pages is good. So, as the learners of Blum & Mitchell 1998 grow (p = 1 and n = 3 a
round), one page in fourteen is taken as good, the one that the present generation is most certain
of, and the three newest of the certain bad ones as bad: those are hardly ever wrong.

Where people gave only good pages, the visits least like them are negatives, as in the first step of
learning from positive examples alone (Liu et al. 2002: reliable negatives). Likeness is the share
of the words of a page that good pages use often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from honeyguide.language_codes import RAW_SUFFIX
from honeyguide.learning.teachers import AutomaticTeacher
from honeyguide.text.language import language_of
from honeyguide.text.normalise import is_too_short
from honeyguide.types import Example, Page
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
_DOMAIN_FRACTION = 10
_MIN_PER_DOMAIN = 2
"""Own verdicts of one registrable domain: a tenth of all, at least two. A single site must not
define the topic."""
_MAX_KIND_RATIO = 3
_TEXT_CHARS = 5_000
_USUAL_WORDS = 300


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


def newest_per_domain(judged: list[Example], room: int) -> list[Example]:
    """The newest, few of any one domain, in their order."""
    most = max(_MIN_PER_DOMAIN, room // _DOMAIN_FRACTION)
    seen: Counter[str] = Counter()
    newest: list[Example] = []
    for example in reversed(judged):
        if len(newest) < room and seen[place := _page_domain(example)] < most:
            seen[place] += 1
            newest.append(example)
    return newest[::-1]


def balance_kinds(judged: list[Example], labelled: list[Example]) -> Iterator[Example]:
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


def sample_negatives(
    good: Sequence[Example], visits: Sequence[Example], most: int
) -> list[Example]:
    """The visits least like the good pages, as negative examples."""
    counts = Counter(word for example in good for word in set(_content_words(example.page)))
    usual = {word for word, _ in counts.most_common(_USUAL_WORDS)}
    scored = []
    for place, visit in enumerate(visits):
        words = _content_words(visit.page)
        if words:
            scored.append((sum(word in usual for word in words) / len(words), place))
    scored.sort()
    return [replace(visits[place], target=0.0, by="judge") for _, place in scored[:most]]


def _content_words(page: Page) -> list[str]:
    language = page.detected_language or page.language[:2] or "en"
    reader = language_of(f"{language}{RAW_SUFFIX}")
    words = reader.words(f"{page.title} {page.text[:_TEXT_CHARS]}")
    return [word for word in words if word not in reader.stop_words and not is_too_short(word)]
