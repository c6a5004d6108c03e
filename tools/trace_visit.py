"""Print which functions run for one visit, in order: a crawl of the embedded web is traced.

    python tools/trace_visit.py [--depth 5] [--under CrawlLoop._swap_generation] [--pages 40]

Each line is ``file: function``; what it calls is indented below it, each function once, with its
number of calls. By default the visit after ``--pages`` pages is shown, from the candidate's leaving
the frontier to the commit. With --under, the calls of that function are shown, of the whole crawl.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import honeyguide
from honeyguide.lab.demo import serve_demo_web
from honeyguide.lab.web import load_demo_topics

PACKAGE = Path(honeyguide.__file__).parent
TOPIC = "full-text-search"
PAGE, COMMIT = "PageStages._process_page", "CrawlLoop._commit"


@dataclass
class Call:
    """A function and what it called, in the order of the first calls."""

    code: CodeType | None = None
    count: int = 0
    inner: dict[CodeType, Call] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.code.co_qualname if self.code is not None else ""

    def every(self) -> Iterator[Call]:
        yield self
        for call in self.inner.values():
            yield from call.every()

    def lines(self, depth: int, level: int = 0) -> Iterator[str]:
        for call in self.inner.values():
            assert call.code is not None
            times = f"  ×{call.count}" if call.count > 1 else ""
            yield f"{'    ' * level}{place_of(call.code)}{times}"
            if level + 1 < depth:
                yield from call.lines(depth, level + 1)


def place_of(code: CodeType) -> str:
    """File and function, as the docs name it."""
    return f"{Path(code.co_filename).relative_to(PACKAGE)}: {code.co_qualname}"


class Tracer:
    """Records what this thread calls between two commits; a page must have come of it."""

    def __init__(self, pages: int, under: str) -> None:
        self.pages = pages
        self.under = under
        self.visit = Call()
        self.seen: set[CodeType] = set()
        """Every function that ran in the whole crawl."""
        self._stack: list[tuple[FrameType, Call]] = []
        self._pages = 0
        self._finished = False

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if "<" in code.co_name or not code.co_filename.startswith(str(PACKAGE)):
            return
        if event == "call":
            self.seen.add(code)
        if self._finished:
            return
        if event == "call":
            if self.under and not self._stack and code.co_qualname != self.under:
                return
            outer = self._stack[-1][1] if self._stack else self.visit
            call = outer.inner.setdefault(code, Call(code))
            call.count += 1
            self._stack.append((frame, call))
        elif event == "return" and any(frame is open_frame for open_frame, _ in self._stack):
            while self._stack.pop()[0] is not frame:
                pass
            if not self.under and code.co_qualname == COMMIT:
                self._end_visit()

    def _end_visit(self) -> None:
        self._pages += any(call.name == PAGE for call in self.visit.every())
        if self._pages >= self.pages:
            self._finished = True
        else:
            self.visit, self._stack = Call(), []


def trace_crawl(pages: int, under: str = "") -> Tracer:
    """A traced crawl with our strategy, one visit at a time."""
    topic, tracer = load_demo_topics()[TOPIC], Tracer(pages, under)
    with tempfile.TemporaryDirectory() as place, serve_demo_web() as address:
        collection = honeyguide.create(
            Path(place) / "traced",
            seeds=topic.seeds,
            contact="https://example.org/honeyguide-trace",
            keywords=topic.keywords,
            pages=pages + 40,
            fetch={"lab": address},
            politeness={"loopback_delay_s": 0.0},
            crawl={"concurrency": 1},
        )
        sys.setprofile(tracer)
        try:
            collection.crawl()
        finally:
            sys.setprofile(None)
    return tracer


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--depth", type=int, default=5)
    parser.add_argument("--under", default="")
    parser.add_argument("--pages", type=int, default=40)
    options = parser.parse_args()
    calls = trace_crawl(options.pages, options.under).visit
    print("\n".join(calls.lines(options.depth)))


if __name__ == "__main__":
    main()
