"""The page docs/reference/frontier.md from bench/results/frontier.json.

python bench/frontier/report.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "frontier.md"
RESULT = ROOT / "bench" / "results" / "frontier.json"

Stage = dict[str, Any]

HEAD = """\
# What a link costs

A frontier remembers every link it ever met. How large a crawl can grow is decided here: by what
one link costs in CPU, memory and disk, and by whether that cost stays the same as links come in.

`make bench-frontier` measures it. One collection grows from nothing through all the sizes below,
in the real store (SQLite, a transaction every {commit_pages} pages), with the default limits of
sites. Each size is a fresh process, which first opens what the last one left: that is *resuming*.
The links are drawn with the plan of a synthetic web of {hosts:,} hosts and {pages:,} pages: its hosts
(as unequal as Zipf's law has it), addresses, anchors and targets, 60 links a page. The pages
themselves are not written and parsed, and making links is not counted. Scores are drawn at
random, which is hard on the queues.

- *Push* is per link on a page, new or met before, over the stretch since the size before. Flush
  is writing them to the log and committing.
- *Pop* is one link out and finished, over {pops:,} of them, its text read back from the log.
- *Rerank* scores a million links, those in front and then the oldest: what the frontier does for
  it (reading the links back, moving them in their queues, every score changed at random), and the
  same with the strategy `keyword`.
- *Learning* is what a strategy that learns every {every} pages adds to one page of the crawl, at
  the price of `keyword`. A rerank scores links in front at once and the others a few at a time
  as the ring turns, never more than the turns have earned, so it does not grow with the frontier.
- Memory is what the process grew by since before it opened the collection: caches of SQLite and
  ours are in it, which do not grow, and so are the hosts, of which a small crawl of a wide web
  has more for each link. Disk is everything in the collection's folder.

CPU is user + system of one process; resuming is told in CPU and in seconds on the clock, the file
system's cache being warm. The machine was shared with other work when this was measured.

(The tables are made by `bench/frontier/report.py` from `bench/results/frontier.json`; Python
{python}, numpy {numpy}.)
"""

ROWS: list[tuple[str, str, Callable[[Stage], float]]] = [
    ("links", ",.0f", lambda s: s["links"]),
    ("hosts", ",.0f", lambda s: s["grown"]["hosts"]),
    ("links met before, %", ".1f", lambda s: 100 * s["grown"]["again_share"]),
    ("push, µs a link", ".2f", lambda s: s["grown"]["push_us"]),
    ("flush, µs a link", ".2f", lambda s: s["grown"]["flush_us"]),
    ("push and flush, µs a new link", ".2f", lambda s: s["grown"]["per_new_us"]),
    ("pop and finish, µs", ".1f", lambda s: s["popped"]["pop_us"]),
    ("rerank, the frontier's part, µs a link", ".2f", lambda s: s["reranked"]["rerank_us"]),
    ("rerank with `keyword`, µs a link", ".2f", lambda s: s["reranked"]["keyword_us"]),
    ("of that `keyword` itself, µs", ".2f", lambda s: s["reranked"]["keyword_own_us"]),
    ("learning, ms a page", ".2f", lambda s: s["learned"]["learn_ms_a_page"]),
    ("learning, links scored a page", ".0f", lambda s: s["learned"]["links_scored_a_page"]),
    ("resume, CPU s", ".2f", lambda s: s["resumed"]["cpu_s"]),
    ("resume, s on the clock", ".2f", lambda s: s["resumed"]["wall_s"]),
    ("memory, bytes a link", ".0f", lambda s: s["grown"]["memory_bytes"]),
    ("memory after resuming, bytes a link", ".0f",
     lambda s: s["resumed"]["memory_bytes"] / s["links"]),
    ("disk, bytes a link", ".0f", lambda s: s["grown"]["disk_bytes"]),
]  # fmt: skip


def tables(result: dict[str, Any]) -> str:
    stages: list[Stage] = result["stages"]
    names = [f"{round(stage['links'] / 1e6, 1):g} M" for stage in stages]
    out = ["", "## Measured", "", f"| | {' | '.join(names)} |", f"|---|{'--:|' * len(names)}"]
    out += [
        f"| {name} | {' | '.join(format(value(stage), form) for stage in stages)} |"
        for name, form, value in ROWS
    ]
    small, large = stages[0], stages[-1]
    return "\n".join([*out, *_goals(stages), *_beyond(small, large)]) + "\n"


def _goals(stages: list[Stage]) -> list[str]:
    small, large = stages[0], stages[-1]

    def worst(value: Callable[[Stage], float]) -> float:
        return max(map(value, stages))

    def times(value: Callable[[Stage], float]) -> float:
        return value(large) / value(small)

    def pushed(stage: Stage) -> float:
        return float(stage["grown"]["push_us"] + stage["grown"]["flush_us"])

    goals = [
        ("push and flush of a link, times as dear as at the smallest size", times(pushed), 1.5),
        ("the same of a new link", times(lambda s: s["grown"]["per_new_us"]), 1.5),
        ("pop, times as dear", times(lambda s: s["popped"]["pop_us"]), 1.5),
        ("rerank, times as dear", times(lambda s: s["reranked"]["rerank_us"]), 1.5),
        ("resume, times as dear a link", times(_resume), 1.5),
        ("memory, bytes a link", worst(lambda s: s["grown"]["memory_bytes"]), 150),
        ("the same at the largest size", large["grown"]["memory_bytes"], 150),
        ("disk, bytes a link", worst(lambda s: s["grown"]["disk_bytes"]), 200),
        (
            "rerank of a million, the frontier's part, CPU s",
            worst(lambda s: s["reranked"]["rerank_us"]),
            5,
        ),
        (
            "rerank of a million with `keyword`, CPU s",
            worst(lambda s: s["reranked"]["keyword_us"]),
            5,
        ),
        ("resume at the largest size, s on the clock", large["resumed"]["wall_s"], 15),
    ]
    rows = [
        f"| {name} | {value:.2f} | {goal:g} | {'yes' if value <= goal else '**no**'} |"
        for name, value, goal in goals
    ]
    head = [
        "",
        "## Goals",
        "",
        "Of the sizes measured the worst counts; *times as dear* compares the largest with the smallest.",
        "",
    ]
    return [*head, "| | measured | goal | met |", "|---|--:|--:|---|", *rows]


def _resume(stage: Stage) -> float:
    return float(stage["resumed"]["cpu_s"] / stage["links"])


def _beyond(small: Stage, large: Stage) -> list[str]:
    """A hundred million, if every cost grows as it did over the sizes that were run."""
    ran = large["links"]
    more = 1e8 / ran

    def grown(value: Callable[[Stage], float]) -> float:
        return value(large) * max(1.0, value(large) / value(small))

    lines = [
        ("push and flush, µs a new link", grown(lambda s: s["grown"]["per_new_us"]), ".1f"),
        ("pop and finish, µs", grown(lambda s: s["popped"]["pop_us"]), ".0f"),
        ("rerank of all, the frontier's part, CPU minutes",
         grown(lambda s: s["reranked"]["rerank_us"]) * 100 / 60, ".0f"),
        ("resume, CPU s", grown(_resume) * 1e8, ".0f"),
        ("memory, GB", large["grown"]["memory_bytes"] / 10, ".1f"),
        ("disk, GB", large["grown"]["disk_bytes"] / 10, ".1f"),
    ]  # fmt: skip
    return [
        "", "## A hundred million", "",
        f"Not run: {ran:,} links were, {100 / more:.0f} % of it. CPU a link is taken to grow once "
        f"more as much as it did from {small['links']:,} to {ran:,} links, or not at all where it "
        "fell; memory and disk a link to stay as they are. Rows are numbered with 32 bits, which "
        "is enough for four thousand million.",
        "", "| | at 100 M, extrapolated |", "|---|--:|",
        *(f"| {name} | {value:{form}} |" for name, value, form in lines),
    ]  # fmt: skip


def page(result: dict[str, Any]) -> str:
    head = HEAD.format(**result["plan"], **{k: v for k, v in result.items() if k != "plan"})
    return head + tables(result)


def write(result: dict[str, Any]) -> None:
    PAGE.write_text(page(result), "utf-8")


if __name__ == "__main__":
    write(json.loads(RESULT.read_text("utf-8")))
