"""Write docs/reference/api.md from the studio's routes, and python.md from docstrings.

    python tools/make_api.py [--check]

With --check nothing is written; the exit code says whether the pages are up to date.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import honeyguide
from honeyguide.api.tables import HarvestTable, ResultTable
from honeyguide.api.watch import WatchList
from honeyguide.studio.routes import Route
from honeyguide.studio.serving import all_routes

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
HEAD = """\
# The studio's API

All that the [studio](../how-to/studio.md) does, programs can do too. `honeyguide serve --json`
prints the token; the running studio describes every parameter, body and answer at
`/api/openapi.json` (OpenAPI 3.1), and for people at `/api/docs`.

(Made by `tools/make_api.py` from the routes.)

## How to ask

    honeyguide serve birds --port 8000 --json        # {"address": "…", "port": 8000, "token": "…"}
    curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8000/api/collections
    curl -H "Authorization: Bearer $TOKEN" -H "X-Honeyguide: 1" \\
        -H "Content-Type: application/json" -d '{"do": "start", "pages": 500}' \\
        http://127.0.0.1:8000/api/c/birds/run

- Every request carries the token as `Authorization: Bearer`. Whatever changes something also
  carries `X-Honeyguide: 1`, and its body is JSON. The token is good as long as the studio is open.
  The address beside it is for a browser, and for one: what stands behind its `#` is no token for
  requests. A program that opens browsers makes such addresses itself: `/#token=` and the token.
- The studio's own page does without the token: it has a cookie, and a key that it sends as
  `X-Honeyguide`. Neither lets anybody in alone ([why](../how-to/studio.md#safety)).
- `X-Honeyguide-Person`, percent-encoded, says who labels.
- `{name}` is the name of the collection's folder. Files are sent as base64 in JSON, up to 10 MB.
- A refusal is `{"error": "…"}`, with a `"field"` where the mistake is in one field of what was
  sent: 400 a mistake in what was sent, 401 no token, 403 another page or a missing header, 404
  nothing there, 408 a body that is slow to come, 409 the collection cannot be used now (another
  process crawls it, or it was not crawled yet), 413 too large, 414 a query that is too long, 415 no
  JSON, 421 a strange Host header, 422 anything else that Honeyguide refuses, 429 too many wrong
  tokens. 500 is a bug of ours; the terminal of the studio has the
  details.

## Routes

"""
TAIL = """

## Prometheus

    scrape_configs:
      - job_name: honeyguide
        authorization: {credentials: TOKEN}
        static_configs: [{targets: ["127.0.0.1:8000"]}]

`/metrics` tells of each collection, for up to 50 of them: `honeyguide_visits_total`,
`honeyguide_pages_total`, `honeyguide_relevant_total`, `honeyguide_failures_total` by `kind`,
`honeyguide_bytes_total`, `honeyguide_labels_total`, `honeyguide_changes_total`,
`honeyguide_watched_pages`, `honeyguide_frontier_links`, `honeyguide_generation`,
`honeyguide_last_visit_timestamp_seconds` and `honeyguide_running`.

## Fuzzing it

    python -m venv /tmp/schema && /tmp/schema/bin/pip install schemathesis
    cp -r birds /tmp/spoilt/birds
    python tools/fuzz_studio.py /tmp/spoilt --with /tmp/schema/bin/schemathesis --examples 50

It serves the folder, has schemathesis ask all routes but the one that would fetch from the web and
the one that never ends, and fails on any answer of 500 and above, and on any that is not as the
description says.
"""


PYTHON_HEAD = """\
# Honeyguide from Python

Whatever the command line can do, a line or two of Python can.
[This notebook](../how-to/notebook.ipynb) does most of it offline, on the web that comes along.

(Made by `tools/make_api.py` from the docstrings.)

    import honeyguide

    birds = honeyguide.create("birds", seeds=["https://en.wikipedia.org/wiki/Bird"],
                              keywords=["bird migration", "plumage"], contact="you@example.org")
    birds.crawl(pages=500)                      # a bar shows how it stands; Ctrl-C stops cleanly
    birds.label("https://example.org/finches", 1.0)
    birds.learn()
    birds.watch(once=True)
    birds.pages().to_pandas()

## Notebooks and programs with an event loop

Calls that take long work in notebooks as they are: where an event loop runs already, their work
goes to a thread of its own, and interrupting the cell stops it cleanly. Each has a twin to be
awaited, which leaves the event loop free: `await birds.crawl_async(pages=500)`. Cancelling it
stops it cleanly, too.

Progress is a bar where somebody looks on, in a terminal or a notebook. `progress=False` shows none,
`progress=True` writes a line now and then elsewhere, and a function is called with each value, in
the thread that works.

## Tables and frames

Pages, changes, labels, the watch list and the harvest are tables: iterate over them, look at them,
or call `to_pandas()` (`to_frame` is the same) or `to_polars()`. pandas, polars and matplotlib are
not installed along; who calls for one that is missing is told what to install.
"""


def python_page() -> str:
    parts = [PYTHON_HEAD]
    for name in ("create", "train"):
        parts.append(f"\n## honeyguide.{name}\n")
        parts += describe_call(f"honeyguide.{name}", getattr(honeyguide, name))
    for kind in (honeyguide.Collection, WatchList, ResultTable, HarvestTable):
        parts.append(f"\n## {kind.__name__}\n\n{as_markdown(kind)}\n")
        for name, member in vars(kind).items():
            alias = getattr(member, "__name__", name) != name
            if not (name.startswith("_") or name.endswith("_async") or alias):
                twin = f"{name}_async" in vars(kind)
                parts += describe_call(name, member, twin=twin)
    return "\n".join(parts).rstrip() + "\n"


def describe_call(name: str, member: Any, *, twin: bool = False) -> Iterator[str]:
    if isinstance(member, property):
        yield f"**`{name}`**: {as_markdown(member)}\n"
        return
    if not callable(member):
        return
    shown = [
        str(each).partition(":")[0] + ("" if each.default is each.empty else "=…")
        if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        else str(each).partition(":")[0]
        for each in inspect.signature(member).parameters.values()
        if each.name != "self"
    ]
    awaited = f"; also `await {name}_async(…)`" if twin else ""
    yield f"**`{name}({', '.join(shown)})`**{awaited}\n"
    if text := as_markdown(member):
        yield f"{text}\n"


def as_markdown(member: object) -> str:
    """Its docstring, without the marks of reStructuredText."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", inspect.getdoc(member) or "").replace("``", "`")
    return re.sub(r"::\n", ":\n", text)


def api_table(routes: Sequence[Route]) -> str:
    """The routes as a Markdown table, for docs/reference/api.md."""
    listed = sorted(routes, key=lambda route: (route.path, route.method))
    rows = [f"| {route.method} | `{route.path}` | {route.summary} |" for route in listed]
    return "\n".join(["| | path | what for |", "|---|---|---|", *rows])


def main() -> int:
    pages = {
        FOLDER / "api.md": HEAD + api_table(all_routes()) + TAIL,
        FOLDER / "python.md": python_page(),
    }
    if "--check" in sys.argv:
        return any(not p.exists() or p.read_text("utf-8") != text for p, text in pages.items())
    for page, text in pages.items():
        page.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
