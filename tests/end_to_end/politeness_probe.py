"""Was the crawler polite? Judged from the servers' own log, with none of the crawler's code.

Each probe takes hits (``site.log``) and raises an AssertionError that names the offence.
Times are the server's: a request begins when its head has arrived and ends when the last
byte has left or the client has gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from itertools import pairwise
from urllib.parse import urljoin, urlsplit

from protego import Protego

from tests.site.log import Hit, by_host, first, gaps, overlaps

SLACK_S = 0.02
"""Clocks are read a moment after things happen."""
DAY_S = 86_400.0

Delays = Mapping[str, float] | float
"""The rest that each host is owed, in seconds; a number: the same for all."""


def assert_polite(
    hits: Sequence[Hit],
    *,
    delays: Delays = 1.0,
    robots: Mapping[str, str] | None = None,
    agent: str = "honeyguide",
) -> None:
    """All probes at once. ``robots``: each host's robots.txt, as far as it has one."""
    assert hits, "nobody came"
    assert_one_at_a_time(hits)
    assert_rested(hits, delays)
    assert_robots_first(hits)
    assert_allowed(hits, robots or {}, agent)
    assert_retry_after(hits)


def assert_one_at_a_time(hits: Iterable[Hit]) -> None:
    """No host had two requests under way at once."""
    pairs = overlaps(hits)
    shown = "; ".join(
        f"{a.host}: {b.path} came {a.finished - b.received:.3f} s before {a.path} was done"
        for a, b in pairs[:5]
    )
    assert not pairs, f"{len(pairs)} overlaps: {shown}"


def assert_rested(hits: Iterable[Hit], delays: Delays) -> None:
    """Between two requests every host had its rest."""
    for host, same in by_host(hits).items():
        owed = delays if isinstance(delays, int | float) else delays.get(host, 0.0)
        for gap, hit in zip(gaps(same), same[1:], strict=True):
            assert gap >= owed - SLACK_S, f"{host}{hit.path}: {gap:.3f} s of rest, {owed} s owed"


def shortest_rest(hits: Iterable[Hit]) -> float:
    """From one request of a host to its next: an answer lies between them, and then the rest. Where
    a crawler is killed, a busy server notes too late that the earlier one is over."""
    return min(
        later.received - before.received
        for same in by_host(hits).values()
        for before, later in pairwise(same)
    )


def assert_robots_first(hits: Iterable[Hit]) -> None:
    """Nobody's page was asked for before its robots.txt.

    The redirects of a robots.txt may lead to other paths and hosts; those may come first.
    """
    known: set[str] = set()
    led: set[tuple[str, str]] = set()
    for hit in sorted(hits, key=lambda hit: hit.received):
        rules = hit.path == "/robots.txt" or (hit.host, hit.path) in led
        if hit.path == "/robots.txt":
            known.add(hit.host)
        assert rules or hit.host in known, f"{hit.host}{hit.path} came unannounced"
        if rules and 300 <= hit.status < 400:
            base = f"http://{hit.host}{hit.path}"
            target = urlsplit(urljoin(base, first(hit.sent, "location")))
            led.add((target.hostname or hit.host, target.path or "/"))


def assert_allowed(
    hits: Iterable[Hit], robots: Mapping[str, str], agent: str = "honeyguide"
) -> None:
    """Nothing was asked for that a host's robots.txt forbids."""
    rules = {host: Protego.parse(text) for host, text in robots.items()}
    for hit in hits:
        if hit.host in rules and hit.path != "/robots.txt":
            allowed = rules[hit.host].can_fetch(f"http://{hit.host}{hit.path}", agent)
            assert allowed, f"{hit.host}{hit.path} is disallowed"


def assert_retry_after(hits: Iterable[Hit], longest: float = DAY_S) -> None:
    """A host that said when to come back (429, 503) was left alone until then."""
    for host, same in by_host(hits).items():
        until = 0.0
        why = ""
        for hit in same:
            assert hit.wall >= until - SLACK_S, (
                f"{host}{hit.path} came {until - hit.wall:.3f} s early; {why}"
            )
            wait = retry_after(hit) if hit.status in (429, 503) else None
            if wait is not None and hit.wall_finished + wait > until:
                until = hit.wall_finished + min(wait, longest)
                why = f"{hit.path} answered {hit.status}, {first(hit.sent, 'retry-after')}"


def assert_backs_off(hits: Iterable[Hit], failed: Callable[[Hit], bool], least: float) -> None:
    """After each failure the same host rested at least so long."""
    for host, same in by_host(hits).items():
        for earlier, later in pairwise(same):
            rest = later.received - earlier.finished
            assert not failed(earlier) or rest >= least - SLACK_S, (
                f"{host}{later.path}: {rest:.3f} s after {earlier.path} failed"
            )


def retry_after(hit: Hit) -> float | None:
    """Seconds asked for in Retry-After, counted from the end of the answer; None: nothing sane."""
    value = first(hit.sent, "retry-after").strip()
    if value.isdecimal() and value.isascii():
        return float(value)
    try:
        return parsedate_to_datetime(value).timestamp() - hit.wall_finished
    except (ValueError, TypeError, OverflowError):
        return None
