"""One Honeyguide crawl over the bench's hosts, in this process."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from honeyguide.api.create import create

KEYWORDS = ["backup", "replication", "full-text search", "transaction", "index", "authentication"]


def main(which: str, starts: list[str]) -> None:
    full = which == "full"
    hosts = sorted({start.split("/")[2] for start in starts})
    with tempfile.TemporaryDirectory(prefix="honeyguide-bench-") as folder:
        collection = create(
            Path(folder) / "c",
            seeds=starts,
            contact="https://example.org/bench",
            keywords=KEYWORDS if full else [],
            strategy="keyword" if full else "breadth",
            pages=0,
            crawl={"concurrency": 64},
            fetch={"private_addresses": True},
            politeness={"loopback_delay_s": 0.0},
            store={"warc": full},
            scope={
                "include": [f"^http://{re.escape(host)}/" for host in hosts],
                "pages_per_domain": 0,
                "outlinks": 5000,
            },
        )
        report = collection.crawl()
        print(report.progress.visits, report.progress.pages, report.reason, file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
