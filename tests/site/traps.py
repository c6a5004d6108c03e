"""Behaviours of whole sites: endless spaces, pages that are none, hosts with moods."""

from __future__ import annotations

import time
from email.utils import formatdate

from tests.site.exchange import Behaviour, Exchange
from tests.site.wire import PAGE


async def calendar(x: Exchange) -> None:
    """``/…/2026-11`` links to the month before and the month after, for ever."""
    folder, _, month = x.call.path.rpartition("/")
    year, _, number = month.partition("-")
    at = int(year) * 12 + int(number) - 1 if year.isdigit() and number.isdigit() else 2026 * 12
    near = (f"{(at + step) // 12:04}-{(at + step) % 12 + 1:02}" for step in (-1, 1))
    links = "".join(f'<a href="{folder}/{name}">{name}</a> ' for name in near)
    await x.answer(f"<title>Events of {month}</title><p>No events this month.<p>{links}")


async def sessions(x: Exchange) -> None:
    """Every link carries a session number that nobody has seen before."""
    bare = x.call.path.partition("?")[0]
    folder = bare.rpartition("/")[0]
    links = "".join(
        f'<a href="{folder}/{name}?sid={x.nth:06}{name}">{name}</a> ' for name in ("a", "b", "c")
    )
    await x.answer(f"<title>Shop</title><p>The same words on every page.<p>{links}")


async def deeper(x: Exchange) -> None:
    """Relative links that make every address longer than the last."""
    base = x.call.path.rstrip("/")
    await x.answer(f'<p>Deeper.<a href="{base}/more">more</a> <a href="{base}/{x.nth}">on</a>')


async def soft_404(x: Exchange) -> None:
    """200 for everything, and a page that says there is none."""
    links = '<a href="/">home</a> <a href="/help">help</a>'
    await x.answer(f"<title>Not found</title><h1>Page not found</h1><p>{x.call.path}<p>{links}")


async def cookies_required(x: Exchange) -> None:
    """A wall for those without the cookie that it sets."""
    if "pass=yes" in x.call.header("cookie"):
        return await x.answer(PAGE)
    cookie = ("Set-Cookie", "pass=yes; Path=/")
    return await x.answer("<p>Please enable cookies.", status=403, headers=[cookie])


async def foreign_cookies(x: Exchange) -> None:
    """Cookies for others: foreign domains, public suffixes, paths, attributes that lie."""
    cookies = (
        "stolen=1; Domain=victim.test; Path=/", "suffix=1; Domain=test; Path=/",
        "com=1; Domain=.co.uk", "dot=1; Domain=.", "ip=1; Domain=0.0.1", "old=1; Max-Age=0",
        "huge=" + "y" * 100_000, "=nameless", ";", "bad\x01name=1", "date=1; Expires=garbage",
        "crlf=1%0d%0aX-Forged: yes", "__Host-x=1; Domain=victim.test", "secure=1; Secure",
        *(f"many{i}=1; Path=/" for i in range(200)), "own=1; Path=/", "here=1",
    )  # fmt: skip
    await x.answer(PAGE, headers=[("Set-Cookie", cookie) for cookie in cookies])


async def mirror(x: Exchange) -> None:
    """The request's headers, one a line, as plain text."""
    lines = (f"{name}: {value}\n" for name, value in x.call.headers)
    await x.answer("".join(lines).encode("latin-1"), kind="text/plain")


def status(code: int, retry: str = "", body: bytes = PAGE) -> Behaviour:
    """This status, with Retry-After if given."""

    async def answer(x: Exchange) -> None:
        headers = [("Retry-After", retry)] if retry else []
        await x.answer(body, status=code, headers=headers)

    return answer


def busy(times: int, code: int = 429, retry: str = "2") -> Behaviour:
    """So many refusals with Retry-After, and then a page."""

    async def answer(x: Exchange) -> None:
        await (status(code, retry)(x) if x.nth < times else x.answer(PAGE))

    return answer


def retry_at(seconds: float, code: int = 429) -> Behaviour:
    """Retry-After as a date, so many seconds from now."""

    async def answer(x: Exchange) -> None:
        await status(code, formatdate(time.time() + seconds, usegmt=True))(x)

    return answer


def dying(times: int) -> Behaviour:
    """So many resets, and then a page."""

    async def answer(x: Exchange) -> None:
        if x.nth >= times:
            return await x.answer(PAGE)
        return x.reset()

    return answer


async def flapping(x: Exchange) -> None:
    """Every other request fails."""
    await (status(503)(x) if x.nth % 2 == 0 else x.answer(PAGE))


async def validated(x: Exchange) -> None:
    """304 to those who bring its tag back, a page with the tag to others."""
    if x.call.header("if-none-match") == '"one"':
        return await x.answer(status=304, headers=[("ETag", '"one"')])
    return await x.answer(PAGE, headers=[("ETag", '"one"')])


TRAPS: dict[str, Behaviour] = {
    "/trap/calendar/*": calendar,
    "/trap/sessions/*": sessions,
    "/trap/deeper/*": deeper,
    "/trap/soft-404/*": soft_404,
    "/cookie/required": cookies_required,
    "/cookie/foreign": foreign_cookies,
    "/mirror": mirror,
    "/mood/429-seconds": status(429, "7"),
    "/mood/429-date": retry_at(90),
    "/mood/429-past": retry_at(-90),
    "/mood/429-none": status(429),
    "/mood/429-garbage": status(429, "soon"),
    "/mood/429-negative": status(429, "-5"),
    "/mood/429-for-ever": status(429, "99999999999999999999"),
    "/mood/503": status(503),
    "/mood/503-seconds": status(503, "3"),
    "/mood/busy": busy(2),
    "/mood/dying": dying(2),
    "/mood/flapping": flapping,
    "/mood/validated": validated,
    "/status/206": status(206),
    **{f"/status/{code}": status(code, body=b"") for code in (204, 304)},
    **{f"/status/{code}": status(code) for code in (400, 401, 402, 403, 404, 410, 418, 451, 500,
                                                    502, 504, 520, 599, 600, 999)},
}  # fmt: skip
