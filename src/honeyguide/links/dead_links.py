"""The chance that a link leads to a page at all, learned from the links that were followed.

Dead links come in kinds: a gallery whose pages were deleted, a folder of files, a sort order that
shows the same page again. So outcomes are counted by address pattern, from the whole domain down to
one folder and one kind of name, and each pattern is shrunk towards the wider one, as with a Beta
prior. A place on the pages of a host counts beyond that as far as its links kept less than their
patterns promised: a list of friends that moved away has links to many hosts.

What a server may answer differently tomorrow (timeouts, 5xx, robots.txt) is no outcome.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from honeyguide.types import Link, Reason, Url, Verdict, Visit
from honeyguide.url import authority_of, domain_of, host_of, path_of

if TYPE_CHECKING:
    from honeyguide.store.store import Store

_PRIOR_WEIGHT = 3.0
"""Weight of the wider pattern in observations."""
_PRIOR_PAGES = 20.0
"""Pages that are assumed before any link was followed."""
_DECAY = 0.98
"""Weight of an observation when the next one comes."""
_RECOVERY = 0.5
"""What remains of the failures of a pattern when a link of it leads to a page again."""
DEAD_CHANCE = 0.2
"""Links with a smaller chance go to the end of the frontier at once."""
_TRIAL_VISITS = 50
"""One link with a small chance is tried in so many visits, in case the site has recovered."""
_LEAST_SCORE = 1e-6
"""Least score before it is multiplied: among links without any promise the dead ones go last."""
_PATTERNS = 50_000
"""Patterns and places that are stored; the one unused for longest is dropped first."""
_TOLD_VISITS = 3
"""Links that a pattern needs to be named as a reason."""
_MAX_PART = 60
"""Characters of a part of a pattern."""
_RESTORED_VISITS = 20_000
"""Newest visits that a resumed crawl counts again."""

_EXTENSIONS = re.compile(r"(?:\.[a-z][a-z0-9]{0,4}){1,2}\Z", re.IGNORECASE)
_NUMBERS = re.compile(r"\d+")
_FAILED_KINDS = frozenset({"wrong_type", "too_large", "too_many_redirects", "parse"})
_PASSING_STATUSES = frozenset({408, 425, 429})


@lru_cache(maxsize=4096)
def address_patterns(url: str) -> tuple[str, ...]:
    """The patterns of an address, the widest first.

    Example
    -------
    >>> address_patterns("http://a.example.org/img/7/cat.jpg.htm?size=2")[2:]
    ('a.example.org/…/*.jpg.htm?size', 'a.example.org/img/…/*.jpg.htm?size', \
'a.example.org/img/#/*.jpg.htm?size')
    """
    address, mark, query = url.partition("?")
    folder, _, name = address.rpartition("/")
    extension = _EXTENSIONS.search(name)
    kind, colon, _ = name.partition(":")
    shape = f"{kind[:_MAX_PART]}:*" if colon else "*" if name else ""
    shape += extension[0].lower() if extension else ""
    if mark:
        keys = sorted({part.partition("=")[0][:_MAX_PART] for part in query.split("&")[:8]})
        shape += "?" + "&".join(keys)
    return _folder_patterns(folder + "/", shape)


@lru_cache(maxsize=4096)
def _folder_patterns(folder: str, shape: str) -> tuple[str, ...]:
    host, folders = authority_of(folder), path_of(Url(folder))[1:-1]
    found = [domain_of(host_of(folder)), host, f"{host}/…/{shape}"]
    if folders:
        parts = [_NUMBERS.sub("#", part)[:_MAX_PART] for part in folders.split("/")[:8]]
        found.append(f"{host}/{parts[0]}/…/{shape}")
        found.append(f"{host}/{'/'.join(parts)}/{shape}")
    else:
        found.append(f"{host}/{shape}")
    return tuple(dict.fromkeys(found))


class _OutcomeTally:
    """Outcomes of links that are alike."""

    __slots__ = ("failed", "lost", "pages", "tried")

    def __init__(self) -> None:
        self.pages = 0.0
        """Links that led to a page, old ones counting less …"""
        self.lost = 0.0
        """… and that did not; of a place: pages that their patterns promised."""
        self.tried = self.failed = 0
        """All that were counted, for people."""

    def add(self, *, page: bool, lost: float) -> None:
        self.pages = _DECAY * self.pages + page
        self.lost = _DECAY * self.lost + lost
        self.tried += 1
        self.failed += not page

    def mean(self, wider: float) -> float:
        return (self.pages + _PRIOR_WEIGHT * wider) / (self.pages + self.lost + _PRIOR_WEIGHT)


class DeadLinks:
    """Outcomes of links by address pattern and place; ``reads_words``: a page without any word
    is a failure."""

    def __init__(self, *, reads_words: bool = True) -> None:
        self._reads_words = reads_words
        self._all = _OutcomeTally()
        self._tallies: OrderedDict[str | tuple[str, str], _OutcomeTally] = OrderedDict()
        self._targets: OrderedDict[Url, None] = OrderedDict()
        """Where redirects led."""
        self._chances: dict[str, float] = {}
        """By narrowest pattern, since the last outcome: links have them in common."""
        self._poor_paths: set[str] = set()
        """Places, of any host, whose links kept less than their patterns promised."""
        self._visits = 0
        self._next_trial = _TRIAL_VISITS
        self._trial: Url | None = None
        """A link that is tried although its chance is small."""

    def restore(self, store: Store) -> None:
        """Count the newest visits of earlier runs, in their order; whether a page was empty is not
        known of crawls that keep no words."""
        newest = store.visits.last_id()
        for row in store.visits.iter_visits(since=max(0, newest - _RESTORED_VISITS)):
            if not row.has_page or row.text_digest is not None:
                verdict = None if row.verdict is None else Verdict(row.verdict)
                self._record(row.to_followed_visit(verdict), row.status)

    def record_visit(self, visit: Visit) -> bool:
        """Count the outcome of a visit. Returns whether its link was lost."""
        page, response = visit.page, visit.response
        status = None if response is None else response.status
        empty = self._reads_words and page is not None and not (page.text.strip() or page.headings)
        return self._record(visit, status, empty=empty)

    def weigh_scores(self, links: Sequence[Link], scores: Sequence[float]) -> list[float]:
        """Scores times the chance that a link leads to a page."""
        if not self._all.failed:
            return list(scores)
        chances = self._page_chances(links)
        weighed = [
            (score if score > _LEAST_SCORE else _LEAST_SCORE) * chance
            for score, chance in zip(scores, chances, strict=True)
        ]
        if self._visits >= self._next_trial:
            dead = [n for n, chance in enumerate(chances) if chance < DEAD_CHANCE]
            if dead:
                best = max(dead, key=lambda n: scores[n])
                self._trial, weighed[best] = links[best].url, scores[best]
                self._next_trial = self._visits + _TRIAL_VISITS
        return weighed

    def limit_scores(self, links: Sequence[Link]) -> list[float]:
        """The largest score that each link may have: little, where its chance is little; not for
        links from people."""
        return [
            chance if link.depth and chance < DEAD_CHANCE else 1.0
            for link, chance in zip(links, self._page_chances(links), strict=True)
        ]

    def page_chance(self, link: Link) -> float:
        """The chance that it leads to a page that was not seen before."""
        return self._page_chances((link,))[0]

    def _page_chances(self, links: Sequence[Link]) -> list[float]:
        """One loop: it runs for a hundred links after every visit."""
        found, known, poor, trial = [], self._chances, self._poor_paths, self._trial
        for link in links:
            pattern = address_patterns(link.url)[-1]
            if (chance := known.get(pattern)) is None:
                chance = known[pattern] = self._pattern_chance(link.url)
            if link.tag_path in poor and (place := self._tallies.get(_place_of(link))) is not None:
                kept = (place.pages + _PRIOR_WEIGHT) / (place.lost + _PRIOR_WEIGHT)
                chance *= min(1.0, kept)
            found.append(1.0 if link.url == trial else chance)
        if len(known) > _PATTERNS:
            known.clear()
        return found

    def explain_chance(self, link: Link) -> tuple[Reason, ...]:
        """Why a link is expected to lead nowhere; empty where nothing speaks for that."""
        chance = self.page_chance(link)
        names: list[str | tuple[str, str]] = [*address_patterns(link.url)[1:]]
        if link.source is not None:
            names.insert(0, _place_of(link))
        known = [(name, self._tallies[name]) for name in names if name in self._tallies]
        # The pattern that says most, and of several the narrowest.
        failed = [
            (tally.failed / tally.tried, number, name, tally)
            for number, (name, tally) in enumerate(known)
            if tally.tried >= _TOLD_VISITS and tally.failed
        ]
        if not failed or chance > 1 - DEAD_CHANCE:
            return ()
        _, _, name, tally = max(failed)
        at_place = isinstance(name, tuple)
        what = f"links at this place of its pages ({name[1]})" if at_place else f"links like {name}"
        why = f"{what} failed {tally.failed} of {tally.tried} times: times the chance of a page"
        return (Reason(why, round(chance, 3)),)

    def _pattern_chance(self, url: Url) -> float:
        chance = self._all.pages + _PRIOR_PAGES
        chance /= chance + self._all.lost
        for name in address_patterns(url):
            if (tally := self._tallies.get(name)) is not None:
                chance = tally.mean(chance)
        return chance

    def _record(self, visit: Visit, status: int | None, *, empty: bool = False) -> bool:
        link = visit.link
        if visit.was_requested or status is not None:
            self._visits += 1
        if link.url == self._trial:
            self._trial = None
        led = self._led_to_page(visit, status, empty=empty)
        if led is None:
            return False
        promised = self._pattern_chance(link.url)
        self._chances.clear()
        self._all.add(page=led, lost=not led)
        for pattern in address_patterns(link.url):
            tally = self._tally_of(pattern)
            if led and tally.lost:
                tally.lost *= _RECOVERY
            tally.add(page=led, lost=not led)
        if link.source is not None:
            at = _place_of(link)
            place = self._tally_of(at)
            place.add(page=led, lost=promised)
            if place.lost > place.pages and len(self._poor_paths) < _PATTERNS:
                self._poor_paths.add(at[1])
        return not led

    def _led_to_page(self, visit: Visit, status: int | None, *, empty: bool) -> bool | None:
        """Whether a link led to a page that was not seen before; None: nobody can say."""
        link, failure = visit.link, visit.failure
        if link.rel == "sitemap":
            return None
        if failure is not None:
            if not failure.final:
                return None
            if failure.kind == "status":
                lasting = status is not None and 400 <= status < 500
                return False if lasting and status not in _PASSING_STATUSES else None
            left = failure.kind in ("scope", "trap") and visit.moved is not None
            return False if left or failure.kind in _FAILED_KINDS else None
        if visit.moved is not None:
            known = visit.moved in self._targets
            self._targets[visit.moved] = None
            if len(self._targets) > _PATTERNS:
                self._targets.popitem(last=False)
            home = path_of(visit.moved) == "/" != path_of(link.url)
            return False if known or home else None
        if visit.verdict is None:
            return None  # a list
        if visit.duplicate is not None:
            # A page that names another address of itself was found there.
            return None if visit.duplicate.of == link.source else False
        return not empty

    def _tally_of(self, name: str | tuple[str, str]) -> _OutcomeTally:
        tally = self._tallies.get(name)
        if tally is None:
            tally = self._tallies[name] = _OutcomeTally()
            if len(self._tallies) > _PATTERNS:
                self._tallies.popitem(last=False)
        else:
            self._tallies.move_to_end(name)
        return tally


def _place_of(link: Link) -> tuple[str, str]:
    """The place of a link on the pages of its host."""
    return authority_of(link.source or link.url), link.tag_path[: 4 * _MAX_PART]
