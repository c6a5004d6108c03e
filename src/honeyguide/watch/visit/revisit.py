"""One revisit: permission, conditional request, digest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

from honeyguide.errors import FetchError, FetchTimeout
from honeyguide.net.host_queue import HostQueues
from honeyguide.net.politeness import (
    NO_RULES,
    Permit,
    PolitenessGate,
    RobotsEntry,
    RobotsFetcher,
    decide_retry,
)
from honeyguide.net.robots import RobotsRules
from honeyguide.protocols import Fetcher
from honeyguide.store.versions import body_digest
from honeyguide.types import Failure, FailureKind, Request, Response, Url

Found = TypeVar("Found")

OutcomeState = Literal["unchanged", "changed", "aside", "failed", "later"]
"""``aside``: an answer that is no page (gone, moved, refused, trouble); ``later``: not asked, since
its host must not be asked before :attr:`RevisitOutcome.retry_at`."""


class DuePage(NamedTuple):
    """A page to revisit, with what is known of its last version."""

    url: Url
    key: int = 0
    """Whatever the caller knows it by."""
    etag: str = ""
    modified: str = ""
    """Validators, as its server sent them."""
    digest: bytes = b""
    """Of its last body, by :func:`body_digest`; empty: there is none."""
    size: int = 0
    """Bytes of its last body."""


@dataclass(frozen=True, slots=True)
class RevisitOutcome(Generic[Found]):
    page: DuePage
    state: OutcomeState
    at: float
    """When the request went out; for one that was not asked, now."""
    status: int = 0
    elapsed: float = 0.0
    etag: str = ""
    modified: str = ""
    """Validators for the next time; also learned from a page that did not change."""
    digest: bytes = b""
    response: Response | None = None
    """As it came; None if nothing did."""
    found: Found | None = None
    """What the comparison said of a changed body."""
    failure: Failure | None = None
    retry_at: float = 0.0
    validator_lied: bool = False
    """The body changed under an unchanged validator: do not send this page's any more."""

    @property
    def size(self) -> int:
        """Bytes that its response holds."""
        if self.response is None:
            return 0
        body, payload = self.response.body, self.response.payload
        return len(body) + (0 if payload is body else len(payload))


AUDIT_SHARE = 1 / 50
"""Of the requests with validators, so many go out without, to see whether they tell the truth."""


class RevisitStep(NamedTuple):
    """What a turn came to."""

    outcome: RevisitOutcome[Any] | None = None
    """None: the page goes back, its turn went to robots.txt. What changed is not compared yet."""
    rest: float = 0.0
    """Seconds its host rests."""


@dataclass
class Revisit:
    fetcher: Fetcher
    politeness: PolitenessGate
    host_queues: HostQueues[DuePage]
    """Asked for another host when robots.txt moved there."""
    clock: Callable[[], float]
    random: Random
    on_robots: Callable[[RobotsEntry], None] | None = None
    """Told what a robots.txt said, to be kept."""
    audit: float = AUDIT_SHARE
    patience_s: float = 60.0
    """A host that may not be asked for so long is waited for."""
    deadline_s: float = 120.0
    """Longest time for one request; the fetcher's own limits are shorter."""
    on_lost: Callable[[str, str], None] = field(default=lambda _host, _kind: None)
    """Told of a host that gave no answer, and how."""

    def __post_init__(self) -> None:
        self._robots = RobotsFetcher(
            self.politeness, self.host_queues, self._fetch_in_time, self.clock
        )

    async def visit_page(self, name: str, page: DuePage) -> RevisitStep:
        permit = self.politeness.check_permit(page.url, self.clock())
        if permit.answer == "ask":
            return await self._fetch_robots(name, page)
        if permit.answer != "go":
            return self._held_step(page, permit)
        conditional = bool(page.digest and (page.etag or page.modified))
        audited = conditional and self.random.random() < self.audit
        if conditional and not audited:
            request = Request(page.url, etag=page.etag, modified=page.modified)
        else:
            request = Request(page.url)
        try:
            response = await self._fetch_in_time(request)
        except FetchError as error:
            return self._failed_step(name, page, error, permit.rules)
        streak = self.politeness.streaks.record_status(name, response.status)
        rest = self._delay_after(name, response.status, streak, permit.rules, response)
        return RevisitStep(
            classify_response(page, response, audited, conditional and not audited), rest
        )

    async def _fetch_in_time(self, request: Request) -> Response:
        """Whatever the fetcher does, a page that never comes must not hold its host up."""
        try:
            async with asyncio.timeout(self.deadline_s):
                return await self.fetcher.fetch(request)
        except TimeoutError:
            detail = f"no result in {self.deadline_s:g} s"
            raise FetchTimeout(request.url, detail) from None

    def _failed_step(
        self, name: str, page: DuePage, error: FetchError, rules: RobotsRules
    ) -> RevisitStep:
        self.on_lost(name, error.kind)
        failure = Failure(cast("FailureKind", error.kind), error.detail, final=False)
        streak = self.politeness.streaks.record_failure(name, error.kind)
        rest = self._delay_after(name, error.kind, streak, rules)
        return RevisitStep(RevisitOutcome(page, "failed", self.clock(), failure=failure), rest)

    def _delay_after(
        self,
        name: str,
        outcome: str | int,
        streak: int,
        rules: RobotsRules,
        answer: Response | None = None,
    ) -> float:
        """Seconds the host rests, with what it earned by failing."""
        elapsed, asked = (answer.elapsed, answer.header("retry-after")) if answer else (0.0, "")
        plan = decide_retry(outcome, tries=1, streak=streak, retry_after=asked, now=self.clock())
        return self.politeness.delay_after(name, elapsed, rules) + plan.host_delay

    def _held_step(self, page: DuePage, permit: Permit) -> RevisitStep:
        """Not now, or never: nothing was asked of the host, so it need not rest."""
        now = self.clock()
        if permit.answer == "forbidden":
            return RevisitStep(
                RevisitOutcome(page, "failed", now, failure=Failure("robots", permit.why))
            )
        until = permit.rules.expires if permit.answer == "unavailable" else permit.until
        if until - now <= self.patience_s:
            return RevisitStep(rest=max(0.0, until - now))
        failure = Failure("robots", permit.why, final=False)
        return RevisitStep(RevisitOutcome(page, "later", now, failure=failure, retry_at=until))

    async def _fetch_robots(self, name: str, page: DuePage) -> RevisitStep:
        """This turn of the host goes to its robots.txt; the page waits for the next."""
        step = await self._robots.fetch_robots(page.url)
        if step.failure is not None:
            return self._failed_step(name, page, step.failure, NO_RULES)
        if step.entry is not None and self.on_robots is not None:
            self.on_robots(step.entry)
        return RevisitStep(rest=step.delay_s)


def classify_response(
    page: DuePage, response: Response, audited: bool = False, conditional: bool = True
) -> RevisitOutcome[Any]:
    """The first rungs of the ladder: not modified, the same bytes, or something to compare."""
    etag, modified = response.header("etag"), response.header("last-modified")
    status, at, elapsed = response.status, response.started, response.elapsed
    if status == 304 and page.digest and conditional:
        # A 304 need not repeat its validators; those that brought it still hold.
        etag, modified = etag or page.etag, modified or page.modified
        known = page.digest
        return RevisitOutcome(
            page, "unchanged", at, status, elapsed, etag, modified, known, response
        )
    if not 200 <= status < 300:
        return RevisitOutcome(page, "aside", at, status, elapsed, response=response)
    key = body_digest(response.body)
    if key == page.digest:
        return RevisitOutcome(page, "unchanged", at, status, elapsed, etag, modified, key, response)
    same = etag == page.etag if etag or page.etag else modified == page.modified
    return RevisitOutcome(
        page, "changed", at, status, elapsed, etag, modified, key, response,
        validator_lied=audited and same,
    )  # fmt: skip
