"""Compares a response with the last version of its page, and detects pages that are gone, moved
or blocked.

A doubtful case is no alarm: a plain 403 or 503 may be anything and is a failed visit, nothing
more. What counts as blocked has the marks of those who block; what counts as a soft 404 says so,
or looks like the host's answer to an address that cannot exist, and has lost the old page.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from honeyguide.change import Change, ChangeKind, Snapshot
from honeyguide.parse.blocks import read_snapshot
from honeyguide.types import Response, Url
from honeyguide.url import canonical_url
from honeyguide.watch.compare import volatile
from honeyguide.watch.compare.page_change import RelevanceFunction, compare_snapshots, element_names
from honeyguide.watch.revisit_flow import DuePage

_START = 65_536
"""Bytes of a body that are searched."""
_ADDRESS = 4_096
_GONE = frozenset({404, 410})
_REFUSING = frozenset({401, 403, 405, 406, 429, 503})
_PERMANENT = frozenset({301, 308})
_ILL_KINDS: frozenset[ChangeKind] = frozenset({"gone", "blocked", "soft_404"})

_MARKS: dict[str, Any] = tomllib.loads(
    files("honeyguide.watch.compare").joinpath("page_marks.toml").read_text("utf-8")
)
_HEADERS: dict[str, str] = _MARKS["headers"]
_WALLS = [
    (re.compile(marks.encode(), re.IGNORECASE).search, name)
    for name, marks in _MARKS["walls"].items()
]
_CONSENT, _HUMAN, _NOT_FOUND = (
    re.compile("|".join(_MARKS[kind]), re.IGNORECASE).search
    for kind in ("consent", "human", "not_found")
)
_HEADINGS = ("title", "h1", "h2")
_LITTLE = 0.2
"""Largest share of the old main text on a page that no longer exists."""
_SHORT = 3_000
"""Most letters of an error page."""


class HealthFinding(NamedTuple):
    """What is the matter with a page."""

    kind: ChangeKind
    detail: str = ""


def check_health(
    response: Response,
    now: Snapshot | None = None,
    before: Snapshot | None = None,
) -> HealthFinding | None:
    """What is the matter; None: nothing, or nobody can tell.

    ``before`` is the last good version.
    """
    status = response.status
    if status in _GONE:
        return HealthFinding("gone", str(status))
    if status in _PERMANENT:
        target = canonical_url(_decode_utf8(response.header("location"))[:_ADDRESS], response.url)
        return HealthFinding("moved", target) if target and target != response.url else None
    if status in _REFUSING:
        by = _detect_blocker(response)
        return HealthFinding("blocked", f"{status}, {by}") if by else None
    if status not in (200, 203) or now is None:
        return None
    return _detect_wall(response, now, before) or _detect_soft_404(now, before)


def health_news(was: ChangeKind | None, finding: HealthFinding | None) -> HealthFinding | None:
    """What is news about a page's health, after what was known of it; None: nothing."""
    if finding is None:
        return HealthFinding("back", f"after {was}") if was in _ILL_KINDS else None
    return None if finding.kind == was else finding


def _detect_blocker(response: Response) -> str:
    """Who blocks, by the marks on what they send; ''."""
    for name, vendor in _HEADERS.items():
        if response.header(name):
            return vendor
    body = response.body[:_START]
    return next((vendor for search, vendor in _WALLS if search(body)), "")


def _detect_wall(
    response: Response, now: Snapshot, before: Snapshot | None
) -> HealthFinding | None:
    """A wall in the place of the page. Many good pages have a captcha or ask for consent: only
    one that lost its old text as well, or is hardly more than the question, is walled."""
    text = _main_text(now)
    if len(text) > _SHORT or (before is not None and _remaining_share(before, now) > _LITTLE):
        return None
    if before is None and len(text) > _SHORT // 4:
        return None
    by = _detect_blocker(response)
    if by and (before is not None or _HUMAN(text)):
        return HealthFinding("blocked", by)
    if before is not None and (_HUMAN(text) or _CONSENT(text)):
        return HealthFinding(
            "blocked", "consent" if _CONSENT(text) else "asks for proof of being human"
        )
    return None


def _detect_soft_404(now: Snapshot, before: Snapshot | None) -> HealthFinding | None:
    if before is None or _remaining_share(before, now) > _LITTLE:
        return None
    headings = [now.title, *(b.text for b in now.blocks if element_names(b.path)[-1] in _HEADINGS)]
    phrase = next((found[0] for text in headings[:20] if (found := _NOT_FOUND(text[:300]))), "")
    if not phrase and len(text := _main_text(now)) <= _SHORT // 4 and (found := _NOT_FOUND(text)):
        phrase = found[0]
    if not phrase or len(_main_text(now)) > _SHORT or _NOT_FOUND(before.title[:300]):
        return None
    return HealthFinding("soft_404", f"says {phrase[:80]!r}")


def _decode_utf8(header: str) -> str:
    """Headers are read as Latin-1, but servers write addresses in UTF-8."""
    try:
        return header.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return header


def _main_text(snapshot: Snapshot) -> str:
    """What a page says about its matter, and its title."""
    main = [block.text for block in snapshot.blocks if block.weight >= 0.5]
    return " ".join((snapshot.title, *main))[: _SHORT + 1]


def _remaining_share(before: Snapshot, now: Snapshot) -> float:
    """Share of a version's weighty text that is in another one, block by block."""
    present = {block.text for block in now.blocks}
    whole = left = 0.0
    for block in before.blocks:
        amount = block.weight * len(block.text)
        whole += amount
        if block.text in present:
            left += amount
    return left / whole if whole else 1.0


# -- Comparing a response --


_MUCH = 4_000
"""Letters."""
_SMALL, _LATEST = 65_536, 256
"""Bytes of a body, and bodies: some 60 MB at most. Two for each page that waits for a second look:
with half as many, a round of a thousand pages read every fourth body twice."""


class PreviousVersion(NamedTuple):
    """The version before, and what is known of the page's restlessness."""

    body: bytes | None = None
    """None: this is the first."""
    content_type: str = "text/html"
    at: float = 0.0
    """When that version was last seen."""
    memory: volatile.VolatileMemory = volatile.VolatileMemory()
    template: frozenset[str] = frozenset()
    """What is masked on most pages of its host."""
    second_look: bool = False
    """It was fetched a moment ago, and only to see what differs at every visit."""
    compare_later: bool = False
    """It will be fetched again in a moment, and compared only then."""


class RevisitComparison(NamedTuple):
    """What a comparison came to."""

    change: Change | None = None
    memory: volatile.VolatileMemory = volatile.VolatileMemory()
    finding: HealthFinding | None = None
    """What came is not the page."""


def compare_response(
    known: PreviousVersion,
    page: DuePage,
    response: Response,
    relevance: RelevanceFunction | None = None,
) -> RevisitComparison:
    """Compare a body with the one before; depends on nothing else."""
    new = cached_snapshot(response.body, page.url, response.header("content-type"))
    if known.body is None or (known.compare_later and _is_page(new)):
        return RevisitComparison(memory=known.memory, finding=check_health(response, new))
    old = cached_snapshot(known.body, page.url, known.content_type)
    if finding := check_health(response, new, old):
        return RevisitComparison(memory=known.memory, finding=finding)
    if known.second_look:
        return RevisitComparison(memory=volatile.initial_memory(volatile.find_volatile(old, new)))
    masks = known.memory.active_masks(known.template)
    change = compare_snapshots(old, new, masks, relevance, at=response.started, since=known.at)
    return RevisitComparison(
        change, volatile.observe_changed(known.memory, old, new, response.started - known.at)
    )


def _is_page(snapshot: Snapshot) -> bool:
    """Whether it says too much to be an apology."""
    return sum(len(block.text) for block in snapshot.blocks) > _MUCH


def cached_snapshot(body: bytes, url: Url, content_type: str) -> Snapshot:
    """Its blocks. Those of small bodies are remembered for a while: a page that has changed is
    looked at again in a moment."""
    reading = _read_cached if len(body) <= _SMALL else read_snapshot
    return reading(body, url, content_type or "text/html")


_read_cached = lru_cache(maxsize=_LATEST)(read_snapshot)
