"""A search engine's bad days: what a client must survive, on demand."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, get_args

from honeyguide.errors import ConfigError
from honeyguide.lab.responses import SILENCE, Answer, make, note

Fault = Literal["", "down", "slow", "limited", "garbage", "html", "million", "hostile"]
FAULTS: tuple[str, ...] = get_args(Fault)[1:]

JSON = (("Content-Type", "application/json"),)
_LIMITED = (*JSON, ("Retry-After", "5"))
SLOW_S = 300.0
"""Longer than a client waits."""
_MILLION = 1_000_000

Good = Callable[[], dict[str, Any]]
"""What the engine would have said."""


def checked(fault: str) -> Fault:
    if fault and fault not in FAULTS:
        raise ConfigError(f"the engine knows no fault {fault!r}; choose {', '.join(FAULTS)}")
    return fault  # type: ignore[return-value]  # it is one of them


def spoilt(fault: Fault, number: int, good: Good) -> Answer | None:
    """The answer to the request of that number, counted from 0; None: this one goes well."""
    match fault:
        case "down":
            return SILENCE
        case "slow":
            return make(200, JSON, _written(good()))._replace(wait_s=SLOW_S)
        case "limited":  # every third request is answered
            if number % 3 == 0:
                return None
            return make(429, _LIMITED, b'{"error": "Too Many Requests"}')
        case "garbage":
            garbage = _garbage()
            return make(200, JSON, garbage[number % len(garbage)])
        case "html":  # with SearXNG, what a proxy or a login page in front of it says
            return note(200, "Please prove that you are no machine.")
        case "million":
            return _million()
        case "hostile":
            facts = good()
            facts["results"] = [*_hostile(), *facts["results"]]
            return make(200, JSON, _written(facts))
    return None


def _written(facts: dict[str, Any]) -> bytes:
    return json.dumps(facts).encode()


@lru_cache(maxsize=1)
def _garbage() -> tuple[bytes, ...]:
    """Each broken in its own way: not JSON, cut short, of another shape, too deep, not text."""
    return (
        b"",
        b'{"query": "a", "results": [{"url": "http://www.h1.exa',
        b'{"results": 7}',
        b'["results"]',
        b"null",
        b'{"results": [7, null, "http://www.h1.example/", [], {"url": 3}, {"link": "x"}]}',
        b"[" * 100_000,
        b'{"results": ' + b"9" * 20_000 + b"}",
        bytes(range(256)) * 8,
        b'{"results": [{"url": "\\ud800", "title": {"a": 1}, "content": [[]]}]}',
    )


@lru_cache(maxsize=1)
def _million() -> Answer:
    """A million results on one page: some forty megabytes, which gzip makes small."""
    rows = ",".join(
        f'{{"url":"http://www.h{n % 997}.example/{n}","title":"{n}"}}' for n in range(_MILLION)
    )
    return make(200, JSON, f'{{"results":[{rows}]}}'.encode())


def _hostile() -> list[dict[str, Any]]:
    """Results that would do harm where they were believed."""
    where = "http://www.h1.example/"
    return [
        {"url": "javascript:alert(1)", "title": "run me", "content": ""},
        {"url": "file:///etc/passwd", "title": "read me", "content": ""},
        {"url": "data:text/html,<script>alert(1)</script>", "title": "", "content": ""},
        {"url": "http://127.0.0.1:22/", "title": "this machine", "content": ""},
        {"url": "http://169.254.169.254/latest/meta-data/", "title": "a cloud's", "content": ""},
        {"url": "http://user:secret@www.h1.example/", "title": "signed in", "content": ""},
        {"url": where + "x" * 100_000, "title": "long address", "content": ""},
        {"url": "http://[::1", "title": "no address", "content": ""},
        {"url": "", "title": "", "content": ""},
        {"title": "nowhere", "content": "no address at all"},
        {"url": where + "1", "title": None, "content": None},
        {
            "url": where + "2",
            "title": "<script>alert(1)</script><img src=x onerror=alert(1)>",
            "content": '"><svg/onload=alert(1)> =HYPERLINK("http://evil.example/") </textarea>',
        },
        {
            "url": where + "3",
            "title": "\x00\x1b[2J\u202egnp.exe\u2028",
            "content": "\x07\r\n\r\nSet: 1",
        },
        {"url": where + "4", "title": "t" * 200_000, "content": "c " * 200_000},
    ]
