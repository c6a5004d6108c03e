"""Behaviours that send the client elsewhere, mostly where it must not go."""

from __future__ import annotations

from tests.site.exchange import Behaviour, Exchange, raw
from tests.site.wire import PAGE

PRIVATE = (
    "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://192.168.1.1/",
    "http://[::1]/", "http://localhost/", "http://[::ffff:127.0.0.1]/", "http://0.0.0.0/",
    "http://2130706433/", "http://0x7f.1/", "http://[fd00:ec2::254]/", "http://100.64.0.1/",
)  # fmt: skip
FOREIGN = (
    "file:///etc/passwd", "javascript:alert(1)", "data:text/html,<p>hi", "ftp://127.0.0.1/",
    "gopher://127.0.0.1:70/", "dict://127.0.0.1/", "about:blank", "view-source:http://x.test/",
)  # fmt: skip
MALFORMED = (
    "", "http://", "http://[bad/", "http:///", "//", "http://%zz/", "http://a b/", "http://x:99999/",
    "\\\\x.test\\a", "http://x.test:port/", "http://" + "x" * 300 + ".test/", "/" + "y" * 50_000,
    "http://user:secret@x.test/", "http://x.test/\x01\x02", "?", "#only",
)  # fmt: skip


def redirect(location: str, status: int = 302, body: bytes = b"") -> Behaviour:
    """To this very Location, unchecked."""

    async def answer(x: Exchange) -> None:
        await x.answer(body, status=status, headers=[("Location", location)])

    return answer


def chain(length: int) -> Behaviour:
    """``/…/0`` to ``/…/1`` and so on until the page at ``/…/length``."""

    async def answer(x: Exchange) -> None:
        folder, _, step = x.call.path.rpartition("/")
        if not step.isdigit() or int(step) >= length:
            return await x.answer(PAGE)
        return await x.answer(status=301, headers=[("Location", f"{folder}/{int(step) + 1}")])

    return answer


async def itself(x: Exchange) -> None:
    """To itself until the cookie that it sets comes back."""
    if "seen=1" in x.call.header("cookie"):
        return await x.answer(PAGE)
    cookie = ("Set-Cookie", "seen=1; Path=/")
    return await x.answer(status=302, headers=[("Location", x.call.path), cookie])


async def endless_redirect(x: Exchange) -> None:
    """A redirect whose body never ends."""
    x.close()
    await x.send(x.head(302, headers=[("Location", "/wire/late")]))
    while True:
        await x.send(PAGE * 100)


async def farther(x: Exchange) -> None:
    """Each answer points one step further, for ever."""
    folder, _, step = x.call.path.rpartition("/")
    following = int(step) + 1 if step.isdigit() else 0
    await x.answer(status=302, headers=[("Location", f"{folder}/{following}")])


async def no_location(x: Exchange) -> None:
    """A redirect to nowhere."""
    await x.answer(status=302)


REDIRECTS: dict[str, Behaviour] = {
    "/redirect/loop/a": redirect("/redirect/loop/b"),
    "/redirect/loop/b": redirect("/redirect/loop/a", 301),
    "/redirect/chain/*": chain(10),
    "/redirect/farther/*": farther,
    "/redirect/itself": itself,
    "/redirect/self": redirect("/redirect/self"),
    "/redirect/endless": endless_redirect,
    "/redirect/big": redirect("/wire/late", body=b"y" * 1_000_000),
    "/redirect/no-location": no_location,
    "/redirect/twice": redirect("/wire/late\r\nLocation: /redirect/self"),
    "/redirect/crlf": redirect("/wire/late\r\nSet-Cookie: forged=1; Path=/\r\nX-Forged: yes"),
    "/redirect/crlf-encoded": redirect("/wire/late%0d%0aX-Forged:%20yes"),
    "/redirect/newline": raw(b"HTTP/1.1 302 Found\r\nLocation: /a\nX-Forged: b\r\n\r\n"),
    **{f"/redirect/status/{status}": redirect("/wire/late", status)
       for status in (300, 301, 302, 303, 305, 307, 308)},
    **{f"/redirect/private/{i}": redirect(to) for i, to in enumerate(PRIVATE)},
    **{f"/redirect/foreign/{i}": redirect(to) for i, to in enumerate(FOREIGN)},
    **{f"/redirect/malformed/{i}": redirect(to) for i, to in enumerate(MALFORMED)},
}  # fmt: skip
