"""A search engine over a lab's web. It speaks SearXNG's JSON, so that our own client is what runs.

It stands at ``http://search.lab/search`` beside the web. It answers everybody at once and has
no part in robots.txt, politeness and failures of the web.
"""

from __future__ import annotations

import json
from copy import copy
from dataclasses import replace
from html import escape
from typing import Any, Self
from urllib.parse import parse_qs

from honeyguide.lab.engine_faults import JSON, Fault, checked, spoilt
from honeyguide.lab.engine_index import MOST, SHOWN, Hit, Index, Progress
from honeyguide.lab.responses import ENGINE, Answer, Desk, Serving, make, note
from honeyguide.lab.web import Web

ADDRESS = f"http://{ENGINE}/search"
"""What goes into ``[search] url``."""
_ROBOTS = b"User-agent: *\nDisallow: /\n"
_TEXT = (("Content-Type", "text/plain; charset=utf-8"),)
_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_PAGES = 10_000
"""Nobody turns more pages than that."""


class LabEngine:
    """Answers ``search.lab/search?q=…&format=json&pageno=…`` out of an index."""

    def __init__(self, index: Index, *, latency_s: float = 0.0, fault: str = "") -> None:
        """``latency_s``: how long it thinks; ``fault``: how it misbehaves."""
        self.index = index
        self._latency_s = latency_s
        self._fault: Fault = checked(fault)
        self._asked = 0

    def anew(self) -> Self:
        other = copy(self)  # the index is shared
        other._asked = 0
        return other

    def answer(self, key: str) -> Answer:
        """The answer for ``search.lab/path?query``."""
        answer = self._answer(key.partition("/")[2])
        return answer._replace(wait_s=self._latency_s) if answer.wait_s is None else answer

    def _answer(self, rest: str) -> Answer:
        path, _, query = rest.partition("?")
        if path == "robots.txt":
            return make(200, _TEXT, _ROBOTS)
        if path not in ("", "search"):
            return note(404, f"The lab's engine answers at {ADDRESS}")
        fields = _fields(query)
        text, page = fields.get("q", ""), _number(fields.get("pageno", "1"))
        kind = fields.get("format", "html")
        if kind not in ("json", "html"):
            return note(403, "The lab's engine answers in JSON and HTML.")
        if not text.strip():
            if kind == "html":
                return make(200, _HTML, _form(""))
            return make(400, JSON, b'{"error": "No query"}')
        number, self._asked = self._asked, self._asked + 1
        spoilt_answer = spoilt(self._fault, number, lambda: self._facts(text, page))
        if spoilt_answer is not None:
            return spoilt_answer
        facts = self._facts(text, page)
        if kind == "json":
            return make(200, JSON, json.dumps(facts, ensure_ascii=False).encode())
        return make(200, _HTML, _page(facts))

    def _facts(self, text: str, page: int) -> dict[str, Any]:
        hits, total = self.index.search(text, page)
        first = (page - 1) * SHOWN + 1
        return {
            "query": text,
            "number_of_results": total,
            "results": [_result(hit, place) for place, hit in enumerate(hits, first)],
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": [],
        }


def engine_over(
    web: Web,
    serving: Serving | None = None,
    *,
    reach: float = 1.0,
    most: int = MOST,
    latency_s: float = 0.0,
    fault: str = "",
    progress: Progress = lambda _n, _of: None,
) -> LabEngine:
    """An engine that knows the web as it is served, or a share of it (``reach``)."""
    checked(fault)
    calm = replace(serving or Serving(), error_rate=0.0)
    index = Index.over(Desk(web, calm), most=most, reach=reach, progress=progress)
    return LabEngine(index, latency_s=latency_s, fault=fault)


def _result(hit: Hit, place: int) -> dict[str, Any]:
    return {
        "url": hit.url,
        "title": hit.title,
        "content": hit.snippet,
        "engine": "lab",
        "engines": ["lab"],
        "positions": [place],
        "score": hit.score,
        "category": "general",
    }


def _fields(query: str) -> dict[str, str]:
    try:
        found = parse_qs(query, max_num_fields=50)
    except ValueError:
        return {}
    return {name: values[0] for name, values in found.items()}


def _number(text: str) -> int:
    return min(_PAGES, max(1, int(text))) if text.isdecimal() and len(text) < 9 else 1


def _page(facts: dict[str, Any]) -> bytes:
    items = "".join(map(_item, facts["results"]))
    count = f"<p>{facts['number_of_results']} results</p>"
    return _form(facts["query"], f"{count}<ol>{items}</ol>" if items else "<p>Nothing.</p>")


def _item(result: dict[str, Any]) -> str:
    url, title = escape(result["url"]), escape(result["title"] or result["url"])
    return f'<li><a href="{url}">{title}</a><p>{escape(result["content"])}</p></li>'


def _form(text: str, below: str = "") -> bytes:
    return (
        "<!DOCTYPE html><title>The lab's engine</title>"
        f'<form action="/search"><input name="q" value="{escape(text)}"><button>Search</button>'
        f"</form>{below}\n"
    ).encode()
