"""What the lab alters on the way out, and which answer a request gets."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.errors import ConfigError
from honeyguide.lab.responses import LabResponder, ServingOptions
from honeyguide.lab.web import RecordedResponse, RecordedWeb, gzip_bytes

HTML = (("Content-Type", "text/html"),)


def recorded(
    url: str, body: bytes = b"<p>hello", status: int = 200, *headers: tuple[str, str]
) -> RecordedResponse:
    return RecordedResponse(url, status, (*HTML, *headers), gzip_bytes(body))


def desk(*records: RecordedResponse, **options: object) -> LabResponder:
    return LabResponder(RecordedWeb(records), ServingOptions(**options))  # type: ignore[arg-type]


def test_https_links_inside_the_web_become_plain() -> None:
    body = b'<a href="https://b.org/x"><a href="HTTPS://B.org:443/"><a href="//b.org/"><a href="https://c.org/">'
    records = recorded("https://a.org/", body), recorded("http://b.org/x")
    assert desk(*records).respond("a.org/").body == (
        b'<a href="http://b.org/x"><a href="http://B.org/"><a href="//b.org/">'
        b'<a href="https://c.org/">'
    )
    assert desk(*records, plain=False).respond("a.org/").body == body


def test_redirects_become_plain_too() -> None:
    move = recorded("http://a.org/", b"", 302, ("Location", "https://a.org/new"))
    answer = desk(move, recorded("https://a.org/new")).respond("a.org/")
    assert answer.status == 302
    assert b"Location: http://a.org/new\r\n" in answer.head


def test_bodies_that_are_not_text_stay_as_they_are() -> None:
    image = RecordedResponse(
        "http://a.org/i", 200, (("Content-Type", "image/png"),), gzip_bytes(b"https://a.org")
    )
    assert desk(image).respond("a.org/i").body == b"https://a.org"


SUB, HEAD = b'<H3 class=q id="siteSub">a</H3>', b'<h3 id="x">b</h3>'
NAV = b'<div class="a nav"><div>c</div>d</div>'


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        ("h3#siteSub", b"<body>" + HEAD + NAV + b"<br>e"),
        ("div.nav", b"<body>" + SUB + HEAD + b"<br>e"),
        ("h3", b"<body>" + NAV + b"<br>e"),
        ("br", b"<body>" + SUB + HEAD + NAV + b"e"),
        ("body", b""),
        ("h3[class=q]", b"<body>" + HEAD + NAV + b"<br>e"),
        ("p", b"<body>" + SUB + HEAD + NAV + b"<br>e"),
    ],
)
def test_elements_can_be_left_out(rule: str, left: bytes) -> None:
    body = b"<body>" + SUB + HEAD + NAV + b"<br>e"
    answer = desk(recorded("http://a.org/", body), strip=(rule,)).respond("a.org/")
    assert answer.body == left


@given(st.text("<>/div #\"'=abc", max_size=200))
def test_leaving_out_never_fails(text: str) -> None:
    body = desk(recorded("http://a.org/", text.encode()), strip=("div", "a#b", "b.c"))
    assert len(body.respond("a.org/").body) <= len(text)


def test_aliases_redirect_where_there_is_no_page() -> None:
    body = b'<a href="/old">x</a><a href="/none">y</a>'
    aliases = {"a.org/old": "http://a.org/new", "a.org/": "http://a.org/new"}
    lab = desk(recorded("http://a.org/", body), aliases=aliases, closed=True)
    moved = lab.respond("a.org/old")
    assert moved.status == 301
    assert b"Location: http://a.org/new\r\n" in moved.head
    assert desk(aliases={"b.org/": "http://a.org/"}).respond("b.org/robots.txt").status == 404
    home = lab.respond("a.org/")
    assert home.status == 200, "a page goes before an alias"
    assert home.body == b'<a href="/old">x</a><a>y</a>'


def test_wrong_options_are_named() -> None:
    with pytest.raises(ConfigError, match="strip"):
        ServingOptions(strip=("div[",))
    with pytest.raises(ConfigError, match="error_rate"):
        ServingOptions(error_rate=2)


def test_robots_recorded_or_chosen_or_missing() -> None:
    records = (
        recorded("http://a.org/"),
        recorded("http://a.org/robots.txt", b"A"),
        recorded("http://b.org/"),
    )
    plain = desk(*records)
    assert plain.respond("a.org/robots.txt").body == b"A"
    assert plain.respond("b.org/robots.txt").status == 404
    chosen = desk(*records, robots="ALL")
    assert chosen.respond("a.org/robots.txt").body == b"ALL"
    assert chosen.respond("c.org/robots.txt").status == 502


def test_what_is_not_there() -> None:
    lab = desk(recorded("http://a.org/"))
    assert lab.respond("a.org/none").status == 404
    stranger = lab.respond("c.org/<b>")
    assert stranger.status == 502
    assert b"c.org is not in this web" in stranger.body
    assert lab.respond("a b/").status == 400
    assert json.loads(lab.respond("lab.invalid/").body) == {"pages": 1, "hosts": ["a.org"]}
    assert lab.respond("localhost:8000/").status == 502
    assert lab.respond("lab.invalid/other").status == 404


def test_errors_come_at_the_rate_asked_for_and_repeat() -> None:
    def run() -> list[int]:
        lab = desk(recorded("http://a.org/"), error_rate=0.3)
        assert lab.respond("a.org/robots.txt").status == 404
        return [lab.respond("a.org/").status for _ in range(500)]

    statuses = run()
    assert statuses == run()
    lab = desk(recorded("http://a.org/"), error_rate=0.3)
    assert [
        [d.respond("a.org/").status for _ in range(50)]
        for d in (lab.fresh_copy(), lab.fresh_copy())
    ] == [statuses[:50]] * 2
    assert 100 < statuses.count(503) < 200
    assert statuses.count(200) + statuses.count(503) == 500


def test_recorded_headers_cannot_break_ours() -> None:
    odd = recorded("http://a.org/", b"x", 200, ("X-A", "1\r\nX-Evil: 2"), ("Content-Length", "9"),
                   ("Server", "Apache"), ("Set-Cookie", "a=b"))  # fmt: skip
    lines = desk(odd).respond("a.org/").head.split(b"\r\n")
    assert b"X-A: 1X-Evil: 2" in lines
    assert b"Set-Cookie: a=b" in lines
    assert b"Server: honeyguide-lab" in lines
    assert not any(line.startswith((b"Content-Length", b"Server: A")) for line in lines)


def test_altered_pages_are_kept_within_their_room() -> None:
    import random

    noise = random.Random(1)
    records = [recorded(f"http://a.org/{n}", noise.randbytes(300_000)) for n in range(8)]
    lab = desk(*records, cache_mb=1)
    for _ in range(2):
        for n in range(8):
            assert lab.respond(f"a.org/{n}").status == 200
    assert sum(len(answer.packed) for answer in lab._ready.values()) <= 1 << 20
