from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.net.politeness import (
    MAX_WAIT_S,
    RETRY_RULES,
    RetryDecision,
    blames_host,
    decide_retry,
    parse_retry_after,
)

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


def made(outcome: str | int, tries: int = 1, streak: int = 1, after: str = "") -> RetryDecision:
    return decide_retry(outcome, tries=tries, streak=streak, retry_after=after, now=NOW)


@pytest.mark.parametrize(
    "outcome",
    [400, 401, 403, 404, 410, 451, 999, 200, "too_large", "wrong_type", "forbidden", "robots",
     "scope", "trap", "parse", "too_many_redirects", "something new"],
)  # fmt: skip
def test_final_and_nobody_to_blame(outcome: str | int) -> None:
    assert made(outcome) == RetryDecision(0.0, None)
    assert not blames_host(outcome)


def test_bad_certificates_are_final_but_the_hosts_fault() -> None:
    assert made("tls") == RetryDecision(0.0, None)
    assert blames_host("tls")


@pytest.mark.parametrize("status", [408, 425, 500, 502, 504, 520, 522, 529])
def test_three_tries_at_sick_servers(status: int) -> None:
    waits = [made(status, tries=n, streak=n).retry_in for n in (1, 2, 3)]
    assert waits == [60, 300, None]
    assert made(status).host_delay == 0


@pytest.mark.parametrize("kind", ["dns", "connect", "timeout"])
def test_a_host_that_is_away_rests_longer_and_longer(kind: str) -> None:
    rests = [made(kind, tries=1, streak=n).host_delay for n in (1, 2, 3, 9)]
    assert rests == [60, 120, 240, 60 * 2**8]
    assert made(kind, tries=3, streak=3).retry_in is None


@pytest.mark.parametrize("status", [429, 503])
def test_busy(status: int) -> None:
    assert made(status) == RetryDecision(60, 60)
    assert [made(status, streak=n).host_delay for n in (2, 3, 9)] == [120, 240, 60 * 2**8]
    assert made(status, after="17") == RetryDecision(17, 17)
    assert made(status, after="17", tries=5).retry_in is None
    assert made(status, after="17", tries=5).host_delay == 17


def test_after_ten_failures_in_a_row_a_day_of_rest() -> None:
    for outcome in (500, "connect", "tls", 429):
        assert made(outcome, streak=9).host_delay < MAX_WAIT_S
        assert made(outcome, streak=10).host_delay == MAX_WAIT_S
    assert made(500, tries=1, streak=10).retry_in == MAX_WAIT_S
    assert made(404, streak=10).host_delay == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), (" 120 ", 120), ("999999", MAX_WAIT_S), ("9" * 5000, MAX_WAIT_S),
        ("Tue, 14 Nov 2023 22:14:20 GMT", 60), ("Tue, 14 Nov 2023 22:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MAX_WAIT_S), ("Tuesday, 14-Nov-23 22:14:20 GMT", 60),
        ("", None), ("-5", None), ("1.5", None), ("soon", None), ("٣", None), ("\x00", None),
    ],
)  # fmt: skip
def test_retry_after(text: str, value: float | None) -> None:
    assert parse_retry_after(text, NOW) == value


@given(
    st.sampled_from([*RETRY_RULES, 404, "x"]),
    st.integers(1, 10**6),
    st.integers(0, 10**6),
    st.text(),
)
def test_always_bounded(outcome: str | int, tries: int, streak: int, after: str) -> None:
    decision = decide_retry(outcome, tries=tries, streak=streak, retry_after=after, now=NOW)
    assert 0 <= decision.host_delay <= MAX_WAIT_S
    assert decision.retry_in is None or 0 <= decision.retry_in <= MAX_WAIT_S
    assert tries < 5 or decision.retry_in is None
