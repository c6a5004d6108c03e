"""The probe must be able to fail: each offence is found, and good manners pass."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from tests.end_to_end import politeness_probe as probe
from tests.site.log import Call, Hit

RULES = {"a": "User-agent: *\nDisallow: /private\n"}
BASE = 1_800_000_000.0


def hit(
    at: float, path: str = "/", *, took: float = 0.1, host: str = "a", status: int = 200,
    retry: str = "",
) -> Hit:  # fmt: skip
    call = Call("GET", host, path, (), False)
    sent = (("Retry-After", retry),) if retry else ()
    return Hit(call, 1, at, BASE + at, at + took, status, sent)


ROBOTS = hit(0, "/robots.txt")


def test_good_manners_pass() -> None:
    hits = [ROBOTS, hit(2), hit(4, "/b", status=429, retry="5"), hit(10)]
    hits += [hit(0.5, "/robots.txt", host="b"), hit(2, host="b")]
    probe.assert_polite(hits, delays=1.0, robots=RULES)


@pytest.mark.parametrize(
    ("hits", "offence"),
    [
        ([], "nobody came"),
        ([ROBOTS, hit(2, took=3), hit(4)], "overlaps"),
        ([ROBOTS, hit(2, took=9), hit(4), hit(10)], "overlaps"),
        ([ROBOTS, hit(0.5)], "rest"),
        ([hit(0)], "unannounced"),
        ([ROBOTS, hit(2, "/private/x")], "disallowed"),
        ([ROBOTS, hit(2, status=429, retry="5"), hit(5)], "early"),
        ([ROBOTS, hit(2, status=503, retry=formatdate(BASE + 9, usegmt=True)), hit(5)], "early"),
        ([ROBOTS, hit(2, status=429, retry="9"), hit(12), hit(14), hit(3.5)], "early"),
    ],
)
def test_offences_are_found(hits: list[Hit], offence: str) -> None:
    with pytest.raises(AssertionError, match=offence):
        probe.assert_polite(hits, delays=1.0, robots=RULES)


def test_delays_may_differ_by_host() -> None:
    hits = [ROBOTS, hit(2), hit(0, "/robots.txt", host="b"), hit(2, host="b")]
    probe.assert_rested(hits, {"a": 1.9})
    with pytest.raises(AssertionError, match=r"3\.0 s owed"):
        probe.assert_rested(hits, {"a": 1.0, "b": 3.0})


@pytest.mark.parametrize("retry", ["soon", "-5", "", "1e3", "²", "Thu, 99 Foo 2026"])
def test_nonsense_in_retry_after_binds_nobody(retry: str) -> None:
    probe.assert_retry_after([hit(0, status=429, retry=retry), hit(1)])


def test_for_ever_is_a_day() -> None:
    ever = hit(0, status=429, retry="9" * 20)
    probe.assert_retry_after([ever, hit(86_401)])
    with pytest.raises(AssertionError, match="early"):
        probe.assert_retry_after([ever, hit(86_000)])


def test_a_robots_redirect_may_lead_to_another_host() -> None:
    call = Call("GET", "a", "/robots.txt", (), False)
    moved = Hit(call, 1, 0, BASE, 0.1, 301, (("Location", "http://b/rules"),))
    probe.assert_robots_first([moved, hit(1, "/rules", host="b")])
    further = Hit(Call("GET", "b", "/rules", (), False), 1, 1, BASE + 1, 1.1, 302,
                  (("Location", "//c/x"),))  # fmt: skip
    probe.assert_robots_first([moved, further, hit(2, "/x", host="c")])
    with pytest.raises(AssertionError, match="unannounced"):
        probe.assert_robots_first([moved, hit(1, "/rules", host="b"), hit(2, "/", host="b")])
    with pytest.raises(AssertionError, match="unannounced"):
        probe.assert_robots_first([moved, hit(1, "/page", host="b")])


def test_backing_off() -> None:
    hits = [hit(0, status=503), hit(30), hit(31)]
    probe.assert_backs_off(hits, lambda hit: hit.status == 503, 29)
    with pytest.raises(AssertionError, match="failed"):
        probe.assert_backs_off(hits, lambda hit: hit.status == 503, 60)
