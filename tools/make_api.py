"""Write docs/reference/api.md from the studio's routes.

    python tools/make_api.py [--check]

With --check nothing is written; the exit code says whether the page is up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from honeyguide.studio.routes import api_table
from honeyguide.studio.serving import all_routes

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "api.md"
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
  tokens, 503 too many connections. 500 is a bug of ours; the terminal of the studio has the
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


def main() -> int:
    text = HEAD + api_table(all_routes()) + TAIL
    if "--check" in sys.argv:
        return 0 if PAGE.exists() and PAGE.read_text("utf-8") == text else 1
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
