"""Who may speak to the studio."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.studio.auth import HOSTS, PAGE_POLICY, Gate

GATE = Gate(8765)
HOST = {"host": "127.0.0.1:8765"}
MINE = HOST | {"authorization": f"Bearer {GATE.token}"}


def cookie(gate: Gate) -> str:
    """What a browser sends back after it opened the printed address."""
    sent = gate.refuses("GET", "/", f"token={gate.token}", HOST)
    assert sent is not None
    assert sent.status == 303
    return sent.cookie.partition(";")[0]


def status(method: str, path: str, headers: dict[str, str], query: str = "") -> int:
    refused = GATE.refuses(method, path, query, headers)
    return 200 if refused is None else refused.status


def test_the_printed_address_is_exchanged_for_a_strict_cookie() -> None:
    sent = GATE.refuses("GET", "/", f"token={GATE.token}", HOST)
    assert sent is not None
    assert sent.status == 303
    assert "HttpOnly" in sent.cookie
    assert "SameSite=Strict" in sent.cookie
    assert GATE.token not in sent.cookie
    assert status("GET", "/api/collections", HOST | {"cookie": cookie(GATE)}) == 200


@pytest.mark.parametrize("path", ["/", "/api/collections", "/static/app.js", "/metrics", "/x"])
def test_nobody_enters_without_cookie_or_token(path: str) -> None:
    assert status("GET", path, HOST) == 401
    assert status("GET", path, HOST | {"cookie": f"{GATE.cookie}=wrong"}) == 401
    assert status("GET", path, HOST | {"authorization": "Bearer wrong"}) == 401
    assert status("GET", path, HOST | {"authorization": f"Basic {GATE.token}"}) == 401


def test_a_cookie_of_another_studio_does_not_open_this_one() -> None:
    other = cookie(Gate(8765))
    assert status("GET", "/", HOST | {"cookie": other}) == 401


def test_the_cookie_is_not_the_token_and_the_token_no_cookie() -> None:
    value = cookie(GATE).partition("=")[2]
    assert status("GET", "/", HOST, f"token={value}") == 401
    assert status("GET", "/", HOST | {"cookie": f"{GATE.cookie}={GATE.token}"}) == 401


@given(st.text(max_size=60))
def test_no_guess_is_the_token(guess: str) -> None:
    headers = HOST | {"authorization": f"Bearer {guess}", "cookie": f"{GATE.cookie}={guess}"}
    assert status("GET", "/", headers) == 401
    assert status("GET", "/", HOST, f"token={guess}") == 401


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example:8765", "", "127.0.0.1:8765:80", "127.0.0.1@evil:80",
     "0.0.0.0:8765", "[::]:8765", "192.168.0.1:8765"],
)  # fmt: skip
def test_a_name_that_was_bent_to_this_machine_is_refused(host: str) -> None:
    assert status("GET", "/", MINE | {"host": host}) == 421
    assert status("GET", "/", {"host": host}, f"token={GATE.token}") == 421


@pytest.mark.parametrize("host", sorted(HOSTS))
def test_this_machine_by_any_port_is_heard(host: str) -> None:
    assert status("GET", "/", MINE | {"host": host}) == 200
    assert status("GET", "/", MINE | {"host": f"{host}:9999"}) == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_pages_are_refused_even_with_the_cookie(site: str) -> None:
    """Ports of one machine are the same site: SameSite alone would let them in."""
    headers = HOST | {"cookie": cookie(GATE), "sec-fetch-site": site}
    assert status("GET", "/api/collections", headers) == 403
    assert status("POST", "/api/collections", headers | {"x-honeyguide": "1"}) == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:9", "null", ""])
def test_other_origins_are_refused(origin: str) -> None:
    headers = HOST | {"cookie": cookie(GATE), "origin": origin, "x-honeyguide": "1"}
    assert status("POST", "/api/collections", headers) == 403
    headers["origin"] = "http://127.0.0.1:8765"
    assert status("POST", "/api/collections", headers) == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_what_changes_anything_needs_the_header(method: str) -> None:
    assert status(method, "/api/collections", MINE) == 403
    assert status(method, "/api/collections", MINE | {"x-honeyguide": "1"}) == 200


def test_a_ticket_opens_once() -> None:
    gate = Gate(8765)
    query = gate.ticket().partition("?")[2]
    first = gate.refuses("GET", "/", query, HOST)
    assert first is not None
    assert (first.status, bool(first.cookie)) == (303, True)
    second = gate.refuses("GET", "/", query, HOST)
    assert second is not None
    assert (second.status, second.cookie) == (401, "")
    ticket = query.removeprefix("token=")
    bearer = gate.refuses("GET", "/", "", HOST | {"authorization": f"Bearer {ticket}"})
    assert bearer is not None


def test_a_link_from_elsewhere_leads_in_over_a_page_of_our_own() -> None:
    """A browser keeps a strict cookie back while it follows another page's redirects."""
    headers = HOST | {"sec-fetch-site": "cross-site"}
    sent = GATE.refuses("GET", "/", f"token={GATE.token}", headers)
    assert sent is not None
    assert sent.foreign


def test_secrets_are_not_shown() -> None:
    assert GATE.token not in repr(GATE)
    assert len(GATE.token) >= 40


def test_pages_may_load_nothing_from_elsewhere_and_run_nothing_inline() -> None:
    assert "unsafe" not in PAGE_POLICY
    assert "default-src 'none'" in PAGE_POLICY
    assert "frame-ancestors 'none'" in PAGE_POLICY
