"""robots.txt and sitemaps in every bad shape.

``ROBOTS`` names behaviours to stand at ``/robots.txt`` of a host of their own; ``robots_host``
gives it that host's name, so that a whole zoo of them lives behind one proxy.
"""

from __future__ import annotations

import gzip
import random

from tests.site.exchange import Behaviour, Exchange, page, raw, text
from tests.site.redirects import chain, redirect
from tests.site.server import Site
from tests.site.traps import status
from tests.site.wire import endless_body, reset_at_once, silent, slow_body

RULES = "User-agent: *\nDisallow: /private\n"
_BOMB = "*a" * 2000


def delayed(value: str) -> Behaviour:
    """Rules with this Crawl-delay."""
    return text(f"{RULES}Crawl-delay: {value}\n")


ROBOTS: dict[str, Behaviour] = {
    "good": text(RULES),
    "missing": status(404),
    "gone": status(410),
    "forbidden": status(403),
    "unauthorised": status(401),
    "busy": status(429, "5"),
    "broken": status(500),
    "unavailable": status(503),
    "silent": silent,
    "slow": slow_body,
    "reset": reset_at_once,
    "endless": endless_body,
    "garbage": raw(b"\x00\x01\x02"),
    "moved-5": redirect("/hop5/0"),
    "moved-6": redirect("/hop6/0"),
    "moved-away": redirect("http://good.test/robots.txt"),
    "moved-private": redirect("http://10.0.0.1/robots.txt"),
    "moved-nowhere": redirect(""),
    "moved-loop": redirect("/robots.txt"),
    "bom": text(b"\xef\xbb\xbf" + RULES.encode()),
    "utf16": text(RULES.encode("utf-16")),
    "html": page("<html><title>Welcome</title><p>Disallow: none of this"),
    "long": text(lambda: "# padding\n" * 100_000 + RULES),
    "long-line": text(lambda: "Disallow: /" + "y" * 1_000_000 + "\n" + RULES),
    "many-rules": text(
        lambda: "User-agent: *\n" + "".join(f"Disallow: /d{i}/\n" for i in range(30_000))
    ),
    "many-groups": text(
        lambda: "".join(f"User-agent: b{i}\nDisallow: /\n" for i in range(15_000)) + RULES
    ),
    "binary": text(lambda: random.Random(9).randbytes(50_000)),
    "nul": text(b"#\0\nUser-agent: *\nDisallow: /pri\0vate\nDisallow: /private\n"),
    "empty": text(b""),
    "blank": text(b"\n\n \n\t\n"),
    "cr-only": text(RULES.replace("\n", "\r")),
    "crlf": text(RULES.replace("\n", "\r\n")),
    "no-final-newline": text(RULES.rstrip()),
    "upper-case": text(RULES.upper().replace("/PRIVATE", "/private")),
    "no-agent": text("Disallow: /\n"),
    "all": text("User-agent: *\nDisallow: /\n"),
    "us": text("User-agent: honeyguide\nDisallow: /private\n\nUser-agent: *\nDisallow: /\n"),
    "not-us": text("User-agent: honeyguide-news\nDisallow: /\n"),
    "delay-3": delayed("3"),
    "delay-0.5": delayed("0.5"),
    "delay-120": delayed("120"),
    "delay-negative": delayed("-1"),
    "delay-word": delayed("abc"),
    "delay-1e9": delayed("1e9"),
    "delay-nan": delayed("nan"),
    "delay-inf": delayed("inf"),
    "wildcard-bomb": text(f"User-agent: *\nDisallow: /{_BOMB}b\nAllow: /{'*' * 5000}$\n"),
    "percent": text("User-agent: *\nDisallow: /%zz%\nDisallow: /a%3cd\nDisallow: /%C3\n"),
    "regex": text("User-agent: *\nDisallow: /(a+)+$\nDisallow: /[z-a]\nDisallow: /private\n"),
    "sitemaps-foreign": text(
        RULES + "Sitemap: http://victim.test/s.xml\nSitemap: file:///etc/passwd\n"
        "Sitemap: http://169.254.169.254/s.xml\nSitemap: /relative.xml\nSitemap: \n"
    ),
    "sitemaps-many": text(
        lambda: RULES + "".join(f"Sitemap: http://x.test/{i}\n" for i in range(9000))
    ),
    "compressed": text(gzip.compress(RULES.encode())),
}


def robots_host(name: str) -> str:
    return f"{name.replace('.', '-')}.test"


def mount_robots(site: Site) -> None:
    """Every robots.txt on its own host, with a page at ``/`` and one at ``/private``."""
    for name, behaviour in ROBOTS.items():
        host = robots_host(name)
        site.route(host, "/robots.txt", behaviour)
        site.pages(host, {"/": '<a href="/private">p</a> <a href="/open">o</a>', "/open": "open"})
        site.pages(host, {"/private": "<title>Not for robots</title>"})
    site.route(None, "/hop5/*", hops(4))
    site.route(None, "/hop6/*", hops(5))


def hops(length: int) -> Behaviour:
    """A chain that ends in rules; with the hop that led into it, ``length + 1`` hops."""
    step = chain(length)

    async def answer(x: Exchange) -> None:
        last = x.call.path.endswith(f"/{length}")
        await (x.answer(RULES, kind="text/plain") if last else step(x))

    return answer


_OPEN = '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
_INDEX = '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
_LAUGH = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "lol"}">' for i in range(10))


def urlset(*urls: str) -> str:
    return _OPEN + "".join(f"<url><loc>{url}</loc></url>" for url in urls) + "</urlset>"


def index(*urls: str) -> str:
    return _INDEX + "".join(f"<sitemap><loc>{u}</loc></sitemap>" for u in urls) + "</sitemapindex>"


_XML = "application/xml"
_THREE = urlset("/a", "/b", "http://victim.test/c")
SITEMAPS: dict[str, Behaviour] = {
    "/sitemap/good.xml": page(_THREE, _XML),
    "/sitemap/good.xml.gz": page(gzip.compress(_THREE.encode()), "application/gzip"),
    "/sitemap/gz-bomb.xml.gz": page(lambda: gzip.compress(bytes(60_000_000)), "application/gzip"),
    "/sitemap/loop.xml": page(index("/sitemap/loop.xml", "/sitemap/loop-b.xml"), _XML),
    "/sitemap/loop-b.xml": page(index("/sitemap/loop.xml"), _XML),
    "/sitemap/broken.xml": page(_THREE[:-30], _XML),
    "/sitemap/html.xml": page("<html><p>Not found", _XML),
    "/sitemap/foreign.xml": page(urlset("file:///etc/passwd", "javascript:1", "//[", ""), _XML),
    "/sitemap/private.xml": page(urlset("http://169.254.169.254/", "http://localhost/"), _XML),
    "/sitemap/big.xml": page(lambda: urlset(*(f"/p/{i}" for i in range(60_000))), _XML),
    "/sitemap/laughs.xml": page(f"<!DOCTYPE l [{_LAUGH}]><urlset><loc>&l9;</loc></urlset>", _XML),
    "/sitemap/entity.xml": page(
        '<!DOCTYPE l [<!ENTITY f SYSTEM "file:///etc/passwd">]><urlset><url><loc>&f;</loc></url>',
        _XML,
    ),
    "/sitemap/list.txt": text("http://x.test/a\nhttp://x.test/b\nnot a url\n"),
}
