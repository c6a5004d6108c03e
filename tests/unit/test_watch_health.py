"""Gone, moved, blocked, or sorry with a 200. A doubtful case is no alarm."""

from __future__ import annotations

import pytest

from honeyguide.change import ChangeKind, Snapshot
from honeyguide.parse.blocks import read_snapshot
from honeyguide.types import Response, Url
from honeyguide.watch.compare.revisit_comparison import HealthFinding, check_health, health_news

URL = Url("https://example.org/article")
ARTICLE = "<title>Bees</title><main>" + "".join(
    f"<p>Paragraph {n} about bees, their wax, and what became of both in the year {1900 + n}.</p>"
    for n in range(30)
) + "</main><footer><p>Imprint</p></footer>"  # fmt: skip


def answer(status: int, body: str = "", *headers: tuple[str, str]) -> Response:
    data = body.encode()
    return Response(URL, status, headers, data, data, b"", b"", "127.0.0.1", 0.0, 0.0)


def snapshot(body: str) -> Snapshot:
    return read_snapshot(body.encode(), URL)


def found(
    body: str, status: int = 200, *headers: tuple[str, str], before: str = ARTICLE
) -> HealthFinding | None:
    return check_health(
        answer(status, body, *headers),
        snapshot(body),
        snapshot(before) if before else None,
    )


def kind(finding: HealthFinding | None) -> ChangeKind | None:
    return finding.kind if finding else None


@pytest.mark.parametrize("status", [404, 410])
def test_gone(status: int) -> None:
    assert check_health(answer(status)) == HealthFinding("gone", str(status))


@pytest.mark.parametrize("status", [301, 308])
def test_moved_for_good(status: int) -> None:
    moved = check_health(answer(status, "", ("Location", "/new place")))
    assert moved == HealthFinding("moved", "https://example.org/new%20place")


@pytest.mark.parametrize(
    ("status", "target"),
    [(302, "/x"), (303, "/x"), (307, "/x"), (301, "/article"), (301, ""), (301, "mailto:a@b.c")],
)
def test_not_moved_for_good(status: int, target: str) -> None:
    assert check_health(answer(status, "", ("Location", target))) is None


def test_an_address_in_utf_8() -> None:
    location = "/café".encode().decode("latin-1")
    moved = check_health(answer(301, "", ("Location", location)))
    assert moved == HealthFinding("moved", "https://example.org/caf%C3%A9")


@pytest.mark.parametrize(
    ("status", "body", "headers", "who"),
    [
        (403, "", (("CF-Mitigated", "challenge"),), "Cloudflare"),
        (503, "<script src=/cdn-cgi/challenge-platform/x.js>", (), "Cloudflare"),
        (403, "<script src=https://ct.captcha-delivery.com/c.js>", (), "DataDome"),
        (403, "<iframe src=/_Incapsula_Resource?x>", (), "Imperva"),
        (429, "<div id=px-captcha>", (), "PerimeterX"),
        (405, "", (("x-amzn-waf-action", "captcha"),), "AWS WAF"),
        (403, "see https://errors.edgesuite.net/18.1", (), "Akamai"),
    ],
)
def test_blocked_by_those_who_block(
    status: int, body: str, headers: tuple[tuple[str, str], ...], who: str
) -> None:
    assert check_health(answer(status, body, *headers)) == HealthFinding(
        "blocked", f"{status}, {who}"
    )


@pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 503, 504])
def test_a_plain_refusal_may_be_anything(status: int) -> None:
    assert check_health(answer(status, "<h1>Sorry</h1><p>Come back later.</p>")) is None


def test_a_captcha_in_the_place_of_the_page() -> None:
    wall = "<title>One moment</title><p>Please verify you are human<div class=h-captcha></div>"
    assert kind(found(wall)) == "blocked"
    assert kind(found(wall, before="")) == "blocked"


def test_a_captcha_on_a_page_that_is_still_there() -> None:
    assert found(ARTICLE + "<form><div class=g-recaptcha></div></form>") is None


def test_consent_in_the_place_of_the_page() -> None:
    wall = "<title>Before you continue</title><main><p>We value your privacy. Accept all cookies?"
    assert found(wall) == HealthFinding("blocked", "consent")
    assert found(wall, before="") is None


def test_consent_above_a_page_that_is_still_there() -> None:
    assert found("<div class=cookie-bar><p>Accept all cookies?</div>" + ARTICLE) is None


@pytest.mark.parametrize(
    "body",
    [
        "<title>404</title><p>Oops",
        "<title>Example</title><h1>Page not found</h1><p>Try our search.",
        "<title>Example</title><main><h1>Sorry</h1><p>The page you wanted does not exist.</main>",
        "<title>Sayfa bulunamadı</title><p>Ana sayfaya dön",
        "<title>Seite nicht gefunden</title>",
    ],
)
def test_an_apology_that_says_200(body: str) -> None:
    assert kind(found(body)) == "soft_404"


@pytest.mark.parametrize(
    "body",
    [
        ARTICLE.replace("Paragraph 3", "The grave was not found, paragraph 3"),
        "<title>Error 404 explained</title><main>"
        + "<p>A long article about errors and what servers mean by them, page by page.</p>" * 60,
        "<title>A new text</title><main><p>Rewritten from the first word to the last.",
        "",
    ],
)
def test_a_doubtful_case_is_no_alarm(body: str) -> None:
    assert found(body) is None


def test_a_page_about_lost_pages_is_not_lost() -> None:
    before = "<title>The 404 page not found</title><main><p>An essay about errors.</main>"
    assert found("<title>The 404 page not found</title><p>Anew", before=before) is None


@pytest.mark.parametrize(
    ("was", "now", "news"),
    [
        (None, None, None),
        (None, "gone", "gone"),
        ("gone", "gone", None),
        ("gone", None, "back"),
        ("blocked", None, "back"),
        ("soft_404", None, "back"),
        ("blocked", "gone", "gone"),
        ("moved", None, None),
    ],
)
def test_what_is_news(
    was: ChangeKind | None, now: ChangeKind | None, news: ChangeKind | None
) -> None:
    assert kind(health_news(was, HealthFinding(now) if now else None)) == news


def test_hostile_bodies_are_searched_in_no_time() -> None:
    for bit in ("akamai", "page you ", "a " * 50, "not", "page could not be "):
        body = bit * (2_000_000 // len(bit))
        assert check_health(answer(403, body)) is None
        found(f"<title>{body[:5_000]}</title><p>{body}")
