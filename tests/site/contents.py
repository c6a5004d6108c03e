"""Behaviours of the page itself: deep, wide, mislabelled, huge."""

from __future__ import annotations

import random

from tests.site.exchange import Behaviour, Exchange, page
from tests.site.wire import PAGE

TURKISH = "<title>Bal kuşu</title><p>Çığ gibi büyüyen ağaçların üstünde şarkı söyler."
HUGE = 60_000_000
_HTML = "text/html; charset=utf-8"


async def huge_sized(x: Exchange) -> None:
    """Sixty megabytes, and says so first."""
    await x.send(x.head(headers=[("Content-Length", str(HUGE))]))
    await _fill(x)


async def huge_unsized(x: Exchange) -> None:
    """Sixty megabytes without a length."""
    x.close()
    await x.send(x.head())
    await _fill(x)


async def huge_image(x: Exchange) -> None:
    """Sixty megabytes of an image, which nobody should wait for."""
    await x.send(x.head(kind="image/png", headers=[("Content-Length", str(HUGE))]))
    await _fill(x)


async def _fill(x: Exchange) -> None:
    piece = bytes(600_000)
    for _ in range(HUGE // len(piece)):
        await x.send(piece)


def links(count: int) -> str:
    return "".join(f'<a href="/l/{i}">link {i}</a> ' for i in range(count))


CONTENTS: dict[str, Behaviour] = {
    "/content/deep": page(lambda: "<div>" * 200_000 + "bottom"),
    "/content/deep-tables": page(lambda: "<table><tr><td>" * 50_000),
    "/content/deep-formatting": page(lambda: "<b><i><a>" * 50_000 + "text"),
    "/content/attributes": page(
        lambda: "<p " + " ".join(f"a{i}=1" for i in range(200_000)) + ">text"
    ),
    "/content/attribute-long": page(lambda: f'<a href="/{"y" * 2_000_000}">long</a>'),
    "/content/links": page(lambda: links(100_000)),
    "/content/entities": page(lambda: "&amp;&#x1F600;&unknown;&#999999999;" * 20_000),
    "/content/comment-open": page(lambda: "<p>before<!-- " + "never closed " * 50_000),
    "/content/script-open": page(lambda: "<p>before<script>" + "never(); " * 50_000),
    "/content/title-long": page(lambda: "<title>" + "word " * 200_000),
    "/content/nul": page(b"<title>a\0b</title><a href='/\0x'>nul\0</a>"),
    "/content/base-hostile": page('<base href="javascript:alert(1)"><a href="a">a</a>'),
    "/content/refresh": page('<meta http-equiv=refresh content="0;url=/content/refresh">'),
    "/content/empty": page(b""),
    "/content/no-type": page(PAGE, ""),
    "/content/charset-wrong": page(TURKISH.encode("cp1254"), _HTML),
    "/content/charset-unknown": page(TURKISH, "text/html; charset=klingon-8"),
    "/content/charset-meta": page(
        b"<meta charset=iso-8859-9>" + TURKISH.encode("iso-8859-9"), "text/html"
    ),
    "/content/charset-quoted": page(TURKISH, 'text/html; charset="utf-8'),
    "/content/utf16-no-bom": page(TURKISH.encode("utf-16-le"), "text/html"),
    "/content/utf16-bom": page(TURKISH.encode("utf-16"), "text/html"),
    "/content/utf7": page("+ADw-script+AD4-", "text/html; charset=utf-7"),
    "/content/surrogates": page("<p>\ud800\udfff".encode("utf-8", "surrogatepass"), _HTML),
    "/content/binary": page(lambda: random.Random(8).randbytes(100_000), "text/html"),
    "/content/image": page(b"\x89PNG\r\n\x1a\n" + bytes(1000), "image/png"),
    "/content/octets": page(bytes(1000), "application/octet-stream"),
    "/content/type-garbage": page(PAGE, ";;;=\x80"),
    "/content/type-long": page(PAGE, "text/html; x=" + "y" * 50_000),
    "/content/huge-sized": huge_sized,
    "/content/huge-unsized": huge_unsized,
    "/content/huge-image": huge_image,
}
