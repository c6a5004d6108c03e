"""A few pages from the web: robots.txt first, no host hurried."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from honeyguide.errors import (
    ConnectError,
    DnsError,
    FetchError,
    FetchTimeout,
    Forbidden,
    TooManyRedirects,
    WrongType,
)
from honeyguide.net.polite_fetch import PoliteFetcher, RequestPacer
from honeyguide.types import Request, Response, Url

HERE = Url("http://e.org/a")
Answers = dict[str, tuple[int, str, str]]
"""Address → status, location, body."""


class Web:
    """A fetcher with a clock of its own."""

    def __init__(self, answers: Answers) -> None:
        self.answers, self.now = answers, 1000.0
        self.asked: list[tuple[str, float]] = []

    async def fetch(self, request: Request) -> Response:
        self.asked.append((request.url, self.now))
        if request.url not in self.answers:
            raise ConnectError(request.url, "nobody there")
        status, location, body = self.answers[request.url]
        headers = (("Content-Type", "text/html"), ("Location", location))
        data = body.encode()
        return Response(request.url, status, headers, data, data, b"", b"", "", self.now, 0.1)

    async def aclose(self) -> None: ...

    def visitor(self) -> PoliteFetcher:
        async def sleep(seconds: float) -> None:
            self.now += seconds

        return PoliteFetcher(self, lambda: self.now, pacer=RequestPacer(lambda: self.now, sleep))


def run(call: Callable[[], Awaitable[Response]]) -> Response:
    async def main() -> Response:
        return await call()

    return asyncio.run(main())


def test_robots_txt_comes_first_and_hosts_rest() -> None:
    web = Web(
        {
            "http://e.org/robots.txt": (200, "", "User-agent: *\nDisallow: /no\nCrawl-delay: 5"),
            "http://e.org/a": (200, "", "<title>A</title><p>text"),
            "http://e.org/b": (200, "", "<p>text"),
        }
    )
    visitor = web.visitor()
    assert run(lambda: visitor.fetch_url(Url("http://e.org/a"))).url == HERE
    run(lambda: visitor.fetch_url(Url("http://e.org/b")))
    with pytest.raises(Forbidden, match=r"robots\.txt forbids it"):
        run(lambda: visitor.fetch_url(Url("http://e.org/no/x")))
    assert [url[12:] for url, _ in web.asked] == ["/robots.txt", "/a", "/b"]
    first, second, third = (at for _, at in web.asked)
    assert 5.0 <= second - first <= 7.5
    assert 5.0 <= third - second <= 7.5


class Busy(Web):
    """Answers with this status and Retry-After, but for robots.txt."""

    def __init__(self, status: int, retry_after: str) -> None:
        super().__init__({"http://e.org/robots.txt": (404, "", "")})
        self.status, self.retry_after = status, retry_after

    async def fetch(self, request: Request) -> Response:
        if request.url in self.answers:
            return await super().fetch(request)
        self.asked.append((request.url, self.now))
        headers = (("Retry-After", self.retry_after),)
        return Response(request.url, self.status, headers, b"", b"", b"", b"", "", self.now, 0.1)


@pytest.mark.parametrize(
    ("status", "retry_after", "least"), [(429, "20", 20), (429, "600", 600), (503, "", 60)]
)
def test_a_busy_host_is_left_alone(status: int, retry_after: str, least: float) -> None:
    web = Busy(status, retry_after)
    visitor = web.visitor()
    with pytest.raises(FetchError, match=f"the site answers {status}"):
        run(lambda: visitor.fetch_url(HERE))
    asked_at = web.asked[-1][1]
    if least > 45:  # nobody waits for so long
        web.now += least - 50
        for page in ("b", "c"):
            with pytest.raises(FetchError, match=r"left alone until \d{4}-\d\d-\d\d \d\d:\d\d"):
                run(partial(visitor.fetch_url, Url(f"http://e.org/{page}")))
        assert len(web.asked) == 2
        web.now += 10
    with pytest.raises(FetchError, match=f"the site answers {status}"):
        run(lambda: visitor.fetch_url(Url("http://e.org/b")))
    assert web.asked[-1][1] - asked_at >= least


def test_a_pause_before_robots_txt_is_asked_for_closes_no_site() -> None:
    web = Busy(200, "")
    visitor = web.visitor()
    visitor.pacer.delay_host("e.org", 300)
    with pytest.raises(FetchError, match="left alone until"):
        run(lambda: visitor.fetch_url(HERE))
    assert not web.asked
    web.now += 300
    assert run(lambda: visitor.fetch_url(HERE)).status == 200


def test_who_cannot_be_asked_for_robots_txt_is_not_visited() -> None:
    answers = {"http://e.org/a": (200, "", "<p>text")}
    web = Web(answers)
    with pytest.raises(ConnectError, match="the host does not answer"):
        run(lambda: web.visitor().fetch_url(HERE))
    assert {url for url, _ in web.asked} == {"http://e.org/robots.txt"}
    web = Web(answers | {"http://e.org/robots.txt": (503, "", "")})
    with pytest.raises(Forbidden, match="could not be fetched"):
        run(lambda: web.visitor().fetch_url(HERE))
    slow = Web({"http://e.org/robots.txt": (200, "", "User-agent: *\nCrawl-delay: 90")})
    with pytest.raises(Forbidden, match="90 s"):
        run(lambda: slow.visitor().fetch_url(Url("http://e.org/a")))


def test_redirects_are_asked_about_too() -> None:
    web = Web(
        {
            "http://e.org/robots.txt": (404, "", ""),
            "http://f.org/robots.txt": (200, "", "User-agent: *\nDisallow: /secret"),
            "http://e.org/a": (301, "http://f.org/b", ""),
            "http://f.org/b": (200, "", "<title>B</title><p>text"),
            "http://e.org/bad": (302, "http://f.org/secret", ""),
            "http://e.org/loop": (302, "/loop", ""),
            "http://e.org/gone": (410, "", ""),
            "http://e.org/odd": (301, "mailto:x@e.org", ""),
        }
    )
    visitor = web.visitor()
    assert run(lambda: visitor.fetch_url(Url("http://e.org/a"))).url == "http://f.org/b"
    for path, error in (
        ("bad", Forbidden),
        ("loop", TooManyRedirects),
        ("gone", FetchError),
        ("odd", FetchError),
    ):
        with pytest.raises(error):
            run(partial(visitor.fetch_url, Url(f"http://e.org/{path}")))
    assert "http://f.org/secret" not in [url for url, _ in web.asked]


class Failing(Web):
    def __init__(self, error: FetchError) -> None:
        super().__init__({})
        self.error = error

    async def fetch(self, request: Request) -> Response:
        if request.url.endswith("/robots.txt") and isinstance(self.error, WrongType):
            return Response(request.url, 404, (), b"", b"", b"", b"", "", self.now, 0.1)
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (DnsError(HERE, "NXDOMAIN"), "http://e.org/a: the host cannot be found: NXDOMAIN"),
        (ConnectError(HERE, "refused"), "http://e.org/a: the host does not answer: refused"),
        (FetchTimeout(HERE), "http://e.org/a: it takes too long to answer"),
        (WrongType(HERE, "application/json"), "http://e.org/a: this is not a page: application"),
        (Forbidden(HERE, "e.org is private"), "http://e.org/a: e.org is private"),
    ],
)
def test_the_cause_is_named(error: FetchError, said: str) -> None:
    with pytest.raises(type(error)) as raised:
        run(lambda: Failing(error).visitor().fetch_url(HERE))
    assert str(raised.value).startswith(said)
