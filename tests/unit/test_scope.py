from __future__ import annotations

import pytest

from honeyguide.errors import ConfigError
from honeyguide.scope import ScopeFilter, UrlTraps, make_scope
from honeyguide.types import Link, Url

SEEDS = (Url("http://www.example.org/birds/index.html"),)


@pytest.mark.parametrize(
    ("rule", "url", "inside"),
    [
        ("everything", "http://far.away/", True),
        ("domain", "http://shop.example.org/", True),
        ("domain", "http://example.com/", False),
        ("host", "http://www.example.org/x", True),
        ("host", "http://shop.example.org/", False),
        ("prefix", "http://www.example.org/birds/finch", True),
        ("prefix", "http://www.example.org/cats/", False),
    ],
)
def test_rules(rule: str, url: str, inside: bool) -> None:
    scope = make_scope(rule, SEEDS)  # type: ignore[arg-type]
    assert (scope.refusal_reason(Url(url)) == "") is inside


def test_patterns() -> None:
    scope = make_scope("everything", SEEDS, include=(r"/wiki/",), exclude=(r"[?&]action=edit",))
    assert scope.refusal_reason(Url("http://e.org/wiki/Finch")) == ""
    assert "include" in scope.refusal_reason(Url("http://e.org/shop"))
    assert "action=edit" in scope.refusal_reason(Url("http://e.org/wiki/Finch?action=edit"))


def test_a_broken_pattern_is_named() -> None:
    with pytest.raises(ConfigError, match=r"scope\.exclude.*\(oops"):
        make_scope("everything", SEEDS, exclude=("(oops",))


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("http://e.org/" + "a" * 2100, "longer"),
        ("http://e.org/" + "/".join(str(i) for i in range(25)), "segments"),
        ("http://e.org/a/b/a/c/a/d", "times"),
        ("http://user:pw@e.org/", "password"),
    ],
)
def test_traps(url: str, word: str) -> None:
    assert word in UrlTraps().refusal_reason(Url(url))


@pytest.mark.parametrize("url", ["http://e.org/", "http://e.org/a/b/a/", "http://e.org/x//y//z"])
def test_ordinary_addresses_are_no_traps(url: str) -> None:
    assert UrlTraps().refusal_reason(Url(url)) == ""


def test_fence_says_which_kind() -> None:
    fence = ScopeFilter(make_scope("host", SEEDS), UrlTraps())
    assert fence.find_refusal(Link(Url("http://www.example.org/x"))) is None
    assert fence.find_refusal(Link(Url("http://other.org/"))) == (
        "scope",
        "outside the seeds' hosts (example.org; scope.rule)",
    )


@pytest.mark.parametrize("rule", ["host", "prefix"])
def test_www_and_https_are_the_same_place(rule: str) -> None:
    scope = make_scope(rule, (Url("http://example.org/birds/"),))  # type: ignore[arg-type]
    assert scope.refusal_reason(Url("https://www.example.org/birds/finch")) == ""
