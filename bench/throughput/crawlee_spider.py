"""A Crawlee crawler over the bench's hosts, as its documentation has it."""

from __future__ import annotations

import asyncio
import logging
import sys
from datetime import timedelta

from crawlee import ConcurrencySettings
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext


async def main(starts: list[str]) -> None:
    Configuration.get_global_configuration().log_level = "ERROR"
    crawler = ParselCrawler(
        concurrency_settings=ConcurrencySettings(min_concurrency=16, desired_concurrency=32),
        max_requests_per_crawl=None,
        request_handler_timeout=timedelta(seconds=60),
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        await context.enqueue_links(strategy="all")

    await crawler.run(starts)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    asyncio.run(main(sys.argv[1:]))
