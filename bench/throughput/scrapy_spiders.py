"""Two Scrapy spiders over the bench's hosts: the strongest we know, and a plain idiomatic one."""

from __future__ import annotations

import sys
from urllib.parse import urljoin, urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

STARTS: list[str] = []


class Strongest(scrapy.Spider):
    """Links by one XPath, joined and deduplicated before a Request object is made."""

    name = "strongest"
    custom_settings = {
        "LOG_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "REDIRECT_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "REFERER_ENABLED": False,
        "AJAXCRAWL_ENABLED": False,
        "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
        "EXTENSIONS": {
            "scrapy.extensions.corestats.CoreStats": None,
            "scrapy.extensions.memusage.MemoryUsage": None,
            "scrapy.extensions.logstats.LogStats": None,
        },
        "SPIDER_MIDDLEWARES": {
            "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
            "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
            "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,
        },
    }

    async def start(self):
        self.seen = set(STARTS)
        self.hosts = {urlsplit(url).netloc for url in STARTS}
        for url in STARTS:
            yield scrapy.Request(url, callback=self.parse)

    def parse(self, response):
        if b"html" not in response.headers.get("Content-Type", b""):
            return
        base = response.url
        for href in response.xpath("//a/@href").getall():
            url = urljoin(base, href).partition("#")[0]
            if url in self.seen or not url.startswith("http://127.0.0."):
                continue
            self.seen.add(url)
            if url.split("/", 3)[2] in self.hosts:
                yield scrapy.Request(url, callback=self.parse)


class Plain(CrawlSpider):
    """As the tutorial has it."""

    name = "plain"
    custom_settings = {"LOG_LEVEL": "ERROR", "ROBOTSTXT_OBEY": True, "DOWNLOAD_DELAY": 0}
    rules = (Rule(LinkExtractor(), callback="parse_item", follow=True),)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.start_urls = STARTS
        self.allowed_domains = [urlsplit(url).hostname for url in STARTS]

    def parse_item(self, response):
        return None


if __name__ == "__main__":
    which, *STARTS[:] = sys.argv[1:]
    process = CrawlerProcess({"CONCURRENT_REQUESTS_PER_DOMAIN": 8})
    process.crawl(Strongest if which == "strongest" else Plain)
    process.start()
