from __future__ import annotations

import pytest

from honeyguide.types import Url
from honeyguide.url import (
    canonical_url,
    domain_of,
    host_of,
    path_of,
    site_origin,
    url_fingerprint,
    without_tracking,
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
    assert canonical_url(text, Url(base) if base else None) == expected


def test_parts() -> None:
    url = "https://user@News.example.co.uk:8443/a/b?c=/d"
    known = canonical_url(url)
    assert known is not None
    assert host_of(known) == "news.example.co.uk"
    assert site_origin(known) == "https://news.example.co.uk:8443"
    assert path_of(known) == "/a/b?c=/d"
    assert domain_of(host_of(known)) == "example.co.uk"
    assert host_of("http://[::1]:8080/x") == "[::1]"


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
    assert domain_of(name) == expected


def test_untracked_removes_only_tracking() -> None:
    assert without_tracking(Url("http://e.org/?utm_source=x&id=7&fbclid=1")) == "http://e.org/?id=7"
    assert without_tracking(Url("http://e.org/?utm_source=x")) == "http://e.org/"
    assert without_tracking(Url("http://e.org/?utmost=1")) == "http://e.org/?utmost=1"


def test_fingerprint_is_stable_and_64_bits() -> None:
    # Collections on disk depend on it: it must never change.
    assert url_fingerprint("http://example.org/") == 0xB73DC5B066F53581
    assert 0 <= url_fingerprint("http://example.org/ä") < 2**64
