"""Who may speak to the studio."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.studio.auth import HOSTS, PAGE_POLICY, AuthGate, split_pass

GATE = AuthGate(8765)
HOST = {"host": "127.0.0.1:8765"}
MINE = HOST | {"authorization": f"Bearer {GATE.token}"}
DATA = ("/api/collections", "/metrics", "/x", "/api/pass")


def ticket(address: str) -> dict[str, str]:
    """What the page sends to sign in, from an address with a token behind its #."""
    return HOST | {"authorization": f"Bearer {address.partition('#token=')[2]}"}


def signed_in(gate: AuthGate) -> dict[str, str]:
    """What the page sends after somebody opened the printed address."""
    given = gate.sign_in(ticket(gate.sign_in_address()))
    return HOST | {"cookie": given.cookie.partition(";")[0], "x-honeyguide": given.key}


def passed(gate: AuthGate, headers: dict[str, str], method: str, path: str, query: str = "") -> int:
    refused = gate.refusal_of(method, path, query, headers)
    return 200 if refused is None else refused.status


def status(method: str, path: str, headers: dict[str, str], query: str = "") -> int:
    return passed(GATE, headers, method, path, query)


def test_the_printed_address_is_exchanged_for_a_strict_cookie_and_a_key() -> None:
    assert GATE.sign_in_address().startswith("http://127.0.0.1:8765/#token=")
    headers = ticket(GATE.sign_in_address())
    assert status("POST", "/sign-in", headers) == 200
    given = GATE.sign_in(headers)
    assert "HttpOnly" in given.cookie
    assert "SameSite=Strict" in given.cookie
    assert len({GATE.token, given.key, given.cookie.partition(";")[0]}) == 3
    assert given.key not in given.cookie
    assert GATE.token not in given.cookie
    assert status("GET", "/api/collections", signed_in(GATE)) == 200


@pytest.mark.parametrize("path", DATA)
def test_nobody_enters_without_cookie_or_token(path: str) -> None:
    assert status("GET", path, HOST) == 401
    assert status("GET", path, HOST | {"cookie": f"{GATE.cookie_name}=wrong"}) == 401
    assert status("GET", path, HOST | {"authorization": "Bearer wrong"}) == 401
    assert status("GET", path, HOST | {"authorization": f"Basic {GATE.token}"}) == 401
    assert status("GET", path, HOST, f"token={GATE.token}") == 401


@pytest.mark.parametrize("path", DATA)
def test_the_cookie_alone_is_not_enough_and_neither_is_the_key(path: str) -> None:
    """Every server on this machine is shown the cookie, whatever its port."""
    ours = signed_in(GATE)
    assert status("GET", path, ours) == 200
    for left_out in ("cookie", "x-honeyguide"):
        less = {name: value for name, value in ours.items() if name != left_out}
        assert status("GET", path, less) == 401
        assert status("POST", path, less | {"x-honeyguide": ours["x-honeyguide"][:-1]}) == 401
    assert status("GET", path, ours | {"x-honeyguide": "1"}) == 401
    stolen = ours["cookie"].partition("=")[2]
    assert status("GET", path, ours | {"x-honeyguide": stolen}) == 401


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/docs", "/api/openapi.json"])
def test_our_own_files_are_for_everybody_who_is_no_foreign_page(path: str) -> None:
    assert status("GET", path, HOST) == 200
    assert status("POST", path, HOST) == 401
    assert status("GET", path, HOST | {"sec-fetch-site": "same-site"}) == 403
    assert status("GET", path, HOST | {"origin": "http://127.0.0.1:9"}) == 403


def test_a_link_from_elsewhere_leads_to_the_first_page_in_a_window_of_its_own() -> None:
    led = HOST | {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert status("GET", "/", led | {"sec-fetch-dest": "document"}) == 200
    assert status("GET", "/", led | {"sec-fetch-dest": "iframe"}) == 403
    assert status("GET", "/", led) == 403
    assert status("GET", "/api/docs", led | {"sec-fetch-dest": "document"}) == 403


def test_a_cookie_of_another_studio_does_not_open_this_one() -> None:
    assert status("GET", "/api/collections", signed_in(AuthGate(8765))) == 401


def test_the_cookie_is_not_the_token_and_the_token_no_cookie() -> None:
    ours = signed_in(GATE)
    for secret in (ours["cookie"].partition("=")[2], ours["x-honeyguide"]):
        bearer = HOST | {"authorization": f"Bearer {secret}"}
        assert status("GET", "/api/collections", bearer) == 401
    assert status("GET", "/x", ours | {"cookie": f"{GATE.cookie_name}={GATE.token}"}) == 401


@given(st.text(max_size=60))
def test_no_guess_is_the_token(guess: str) -> None:
    headers = HOST | {
        "authorization": f"Bearer {guess}",
        "cookie": f"{GATE.cookie_name}={guess}",
        "x-honeyguide": guess,
    }
    assert status("GET", "/x", headers, f"pass={guess}") == 401
    assert status("POST", "/sign-in", headers) in (401, 429)
    ours = signed_in(GATE) | {"x-honeyguide": guess}
    assert status("GET", "/x", ours, f"pass={guess}") == 401


@pytest.mark.parametrize(
    "others",
    [
        'theme={"dark":true}', "path=x", "a=b; expires=never", "=", ";;;", "lonely", "k\x01=v",
        f"{GATE.cookie_name}=somebody-elses", f"big={'x' * 3000}; bigger={'x' * 3000}",
        'q="un;finished',
    ],
)  # fmt: skip
def test_cookies_of_other_servers_do_not_lock_the_owner_out(others: str) -> None:
    ours = signed_in(GATE)
    for jar in (f"{others}; {ours['cookie']}", f"{ours['cookie']}; {others}"):
        assert status("GET", "/api/collections", ours | {"cookie": jar}) == 200
    assert status("GET", "/api/collections", ours | {"cookie": others}) == 401


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example:8765", "", "127.0.0.1:8765:80", "127.0.0.1@evil:80",
     "0.0.0.0:8765", "[::]:8765", "192.168.0.1:8765"],
)  # fmt: skip
def test_a_name_that_was_bent_to_this_machine_is_refused(host: str) -> None:
    assert status("GET", "/", MINE | {"host": host}) == 421
    assert status("POST", "/sign-in", MINE | {"host": host}) == 421


@pytest.mark.parametrize("host", sorted(HOSTS))
def test_this_machine_by_any_port_is_heard(host: str) -> None:
    assert status("GET", "/", MINE | {"host": host}) == 200
    assert status("GET", "/", MINE | {"host": f"{host}:9999"}) == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_pages_are_refused_even_with_the_cookie(site: str) -> None:
    """Ports of one machine are the same site: SameSite alone would let them in."""
    headers = signed_in(GATE) | {"sec-fetch-site": site}
    assert status("GET", "/api/collections", headers) == 403
    assert status("POST", "/api/collections", headers) == 403
    assert status("POST", "/sign-in", MINE | {"sec-fetch-site": site}) == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:9", "null", ""])
def test_other_origins_are_refused(origin: str) -> None:
    headers = signed_in(GATE) | {"origin": origin}
    assert status("POST", "/api/collections", headers) == 403
    headers["origin"] = "http://127.0.0.1:8765"
    assert status("POST", "/api/collections", headers) == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_what_changes_anything_needs_the_header(method: str) -> None:
    assert status(method, "/api/collections", MINE) == 403
    assert status(method, "/api/collections", MINE | {"x-honeyguide": "1"}) == 200


def test_a_ticket_opens_once_and_not_for_ever() -> None:
    now = [100.0]
    gate = AuthGate(8765, clock=lambda: now[0])
    first, late = ticket(gate.ticket_address()), ticket(gate.ticket_address())
    assert passed(gate, first, "GET", "/api/collections") == 401, "it is no token"
    assert passed(gate, first, "POST", "/sign-in") == 200
    gate.sign_in(first)
    assert passed(gate, first, "POST", "/sign-in") == 401
    now[0] += 301
    assert passed(gate, late, "POST", "/sign-in") == 401


def test_the_printed_address_opens_once_whenever_and_then_there_is_another() -> None:
    """Browsers keep it in their history."""
    now = [100.0]
    gate = AuthGate(8765, clock=lambda: now[0])
    printed = gate.sign_in_address()
    gate.sign_in(ticket(gate.ticket_address()))
    assert gate.sign_in_address() == printed, "it was another ticket that was used"
    now[0] += 1e6
    assert passed(gate, ticket(printed), "POST", "/sign-in") == 200
    gate.sign_in(ticket(printed))
    assert passed(gate, ticket(printed), "POST", "/sign-in") == 401
    assert gate.sign_in_address() != printed
    assert passed(gate, ticket(gate.sign_in_address()), "POST", "/sign-in") == 200
    assert gate.token not in gate.sign_in_address()


def test_wrong_tokens_become_too_many_but_lock_nobody_out() -> None:
    now = [100.0]
    gate = AuthGate(8765, clock=lambda: now[0])
    wrong = HOST | {"authorization": "Bearer wrong"}
    said = [passed(gate, wrong, "POST", "/sign-in") for _ in range(25)]
    assert said == [401] * 20 + [429] * 5
    assert passed(gate, ticket(gate.sign_in_address()), "POST", "/sign-in") == 200
    now[0] += 61
    assert passed(gate, wrong, "POST", "/sign-in") == 401


def split(address: str) -> tuple[str, str]:
    path, _, query = address.partition("?")
    return path, query


@pytest.mark.parametrize("asked", ["", "?visit=3", "?url=http%3A%2F%2Fa%2F%3Fpass%3D1&visit=3"])
def test_a_pass_stands_for_the_header_at_one_address_for_a_minute(asked: str) -> None:
    now = [100.0]
    gate = AuthGate(8765, clock=lambda: now[0])
    ours = signed_in(gate)
    cookie = {name: value for name, value in ours.items() if name != "x-honeyguide"}
    _, query = split(gate.signed_address(f"/api/c/ku%C5%9Flar/export{asked}"))
    assert split_pass(query)[0] == asked.removeprefix("?")
    assert passed(gate, cookie, "GET", "/api/c/kuşlar/export", query) == 200
    assert passed(gate, HOST, "GET", "/api/c/kuşlar/export", query) == 401, "the cookie, too"
    assert passed(gate, cookie, "POST", "/api/c/kuşlar/export", query) == 401
    assert passed(gate, cookie, "GET", "/api/c/other/export", query) == 401
    assert passed(gate, cookie, "GET", "/api/c/kuşlar/export", "words=a&" + query) == 401
    assert passed(gate, cookie, "GET", "/api/c/kuşlar/export", query + "&words=a") == 401
    later = query.replace("pass=160-", "pass=999-")
    assert later != query
    assert passed(gate, cookie, "GET", "/api/c/kuşlar/export", later) == 401
    now[0] += 61
    assert passed(gate, cookie, "GET", "/api/c/kuşlar/export", query) == 401


def test_a_pass_buys_no_other_pass() -> None:
    ours = signed_in(GATE)
    path, query = split(GATE.signed_address("/api/pass?for=/api/collections"))
    assert status("GET", path, ours, query) == 200
    assert status("GET", path, ours | {"x-honeyguide": ""}, query) == 401


@given(st.text(max_size=80))
def test_no_text_is_a_pass(query: str) -> None:
    ours = signed_in(GATE) | {"x-honeyguide": ""}
    assert status("GET", "/api/collections", ours, query) == 401


def test_secrets_are_not_shown() -> None:
    ours = signed_in(GATE)
    for secret in (GATE.token, ours["x-honeyguide"], ours["cookie"].partition("=")[2]):
        assert secret not in repr(GATE)
    assert GATE.sign_in_address().partition("=")[2] not in repr(GATE)
    assert len(GATE.token) >= 40


def test_pages_may_load_nothing_from_elsewhere_and_run_nothing_inline() -> None:
    assert "unsafe" not in PAGE_POLICY
    assert "default-src 'none'" in PAGE_POLICY
    assert "frame-ancestors 'none'" in PAGE_POLICY
