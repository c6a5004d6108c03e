"""The web that is crawled here: pages of several kilobytes, so that WARC files fill up."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.end_to_end.crawling import collection
from tests.site.server import Site
from tests.site.web import Web, weave

AT_ONCE = 8
"""``crawl.concurrency``: what one crash may cost."""


class HeavySite(Site):
    """Every page carries a comment that does not compress."""

    weight = 0

    def pages(self, host: str | None, pages: Mapping[str, str]) -> None:
        dice = random.Random(repr(sorted(pages)))
        super().pages(
            host,
            {
                path: f"{html}<!-- {dice.randbytes(self.weight).hex()} -->"
                for path, html in pages.items()
            },
        )


def prepare(site: HeavySite, folder: Path, hosts: int, pages: int, delay: float, seed: int) -> Web:
    """A web on that site, and a collection in that folder that has not begun to crawl it."""
    addresses = site.addresses[:hosts]
    web = weave(site, addresses, pages=pages, seed=seed)
    settings: dict[str, dict[str, Any]] = {
        "crawl": {"pages": 0, "concurrency": AT_ONCE, "strategy": "keyword"},
        "politeness": {"loopback_delay_s": delay},
        "store": {"warc_mb": 1, "min_free_mb": 0},
    }
    collection(folder, [site.url(addresses[0], "/")], **settings)
    return web
