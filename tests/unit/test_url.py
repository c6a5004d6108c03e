from __future__ import annotations

import pytest

from honeyguide.types import Url
from honeyguide.url import (
    canonical,
    domain,
    fingerprint,
    host,
    origin,
    path,
    untracked,
)


@pytest.mark.parametrize(
    ("text", "base", "expected"),
    [
        ("HTTP://Example.org:80/a/../b#c", None, "http://example.org/b"),
        ("https://example.org:443", None, "https://example.org/"),
        ("http://bücher.example/ä", None, "http://xn--bcher-kva.example/%C3%A4"),
        ("page-2.html", "http://e.org/a/b.html", "http://e.org/a/page-2.html"),
        ("page-2.html", "http://e.org/a/b?x=/y/z", "http://e.org/a/page-2.html"),
        ("../c", "http://e.org/a/b/d", "http://e.org/a/c"),
        ("?q=1", "http://e.org/a/b", "http://e.org/a/b?q=1"),
        ("//other.org/x", "https://e.org/", "https://other.org/x"),
        ("a:b", "http://e.org/", None),
        ("", "http://e.org/a#x", "http://e.org/a"),
        ("  http://e.org/ \n", None, "http://e.org/"),
        ("javascript:alert(1)", "http://e.org/", None),
        ("mailto:a@b.c", None, None),
        ("http://[", None, None),
        ("http://0x7f.1/", None, "http://127.0.0.1/"),
        (".", "http://e.org/a/b", "http://e.org/a/"),
        ("..", "http://e.org/a/b", "http://e.org/"),
    ],
)
def test_canonical(text: str, base: str | None, expected: str | None) -> None:
    assert canonical(text, Url(base) if base else None) == expected


def test_parts() -> None:
    url = "https://user@News.example.co.uk:8443/a/b?c=/d"
    known = canonical(url)
    assert known is not None
    assert host(known) == "news.example.co.uk"
    assert origin(known) == "https://news.example.co.uk:8443"
    assert path(known) == "/a/b?c=/d"
    assert domain(host(known)) == "example.co.uk"
    assert host("http://[::1]:8080/x") == "[::1]"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("localhost", "localhost"),
        ("a.b.github.io", "b.github.io"),
        ("co.uk", "co.uk"),
    ],
)
def test_domain_of_odd_names(name: str, expected: str) -> None:
    assert domain(name) == expected


def test_untracked_removes_only_tracking() -> None:
    assert untracked(Url("http://e.org/?utm_source=x&id=7&fbclid=1")) == "http://e.org/?id=7"
    assert untracked(Url("http://e.org/?utm_source=x")) == "http://e.org/"
    assert untracked(Url("http://e.org/?utmost=1")) == "http://e.org/?utmost=1"


def test_fingerprint_is_stable_and_64_bits() -> None:
    # Collections on disk depend on it: it must never change.
    assert fingerprint("http://example.org/") == 0xB73DC5B066F53581
    assert 0 <= fingerprint("http://example.org/ä") < 2**64
