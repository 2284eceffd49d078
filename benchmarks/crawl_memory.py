"""What a long crawl costs: memory of 50,000 pages.

usage: python benchmarks/crawl_memory.py [--data DIR] [--pages 50000] [--extractor resiliparse]

It takes 400 recorded pages, again and again, each time with a paragraph of its own; the window is a file of
SQLite. Memory is the resident set, measured every 500 pages. Workers are shown separately: each is replaced after 2,000
pages.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from news_server import site

HERE = Path(__file__).resolve()
PAGES = 400
FIRST = 5000
EVERY = 500


def main() -> None:
    if sys.argv[1:2] == ["crawl"]:
        crawl(json.loads(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("NEARDUP_DATA"))
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--extractor", default="resiliparse")
    options = parser.parse_args()
    if options.data is None:
        parser.error("--data DIR, or NEARDUP_DATA, is needed")
    print_memory(memory(options.data, options.pages, {"NEARDUP_EXTRACTOR": options.extractor}))


def memory(data: Path, count: int, settings: dict[str, Any]) -> list[tuple[int, float, float]]:
    """Pages done, MB of the crawl and MB of its workers."""
    with tempfile.TemporaryDirectory() as folder, site(data, PAGES) as url:
        store = {"NEARDUP_STORE": f"sqlite:///{folder}/window.sqlite"}
        values = {"url": url, "count": count, "settings": {**store, **settings}}
        command = [sys.executable, str(HERE), "crawl", json.dumps(values)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [tuple(look) for look in json.loads(done.stdout.splitlines()[-1])]


def print_memory(looks: list[tuple[int, float, float]]) -> None:
    _, crawl_then, _ = next(look for look in looks if look[0] >= min(FIRST, looks[-1][0] // 10))
    print("| pages | crawl MB | workers MB |")
    print("|---|---|---|")
    step = max(1, len(looks) // 10)
    for pages, crawl_mb, workers in [*looks[::step], looks[-1]]:
        print(f"| {pages} | {crawl_mb:.0f} | {workers:.0f} |")
    print(
        f"\nThe crawl grew by {looks[-1][1] - crawl_then:.0f} MB; workers take {max(w for *_, w in looks):.0f} at most."
    )


def crawl(options: dict[str, Any]) -> None:
    from scrapy import Request, Spider, signals
    from scrapy.crawler import CrawlerProcess

    looks: list[tuple[int, float, float]] = []

    class News(Spider):
        name = "news"
        done = 0

        @classmethod
        def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.count, signals.item_scraped)
            return spider

        async def start(self) -> Any:
            for number in range(options["count"]):
                yield Request(f"{options['url']}/{number}")

        def parse(self, response: Any) -> Any:
            yield {"url": response.url}

        def count(self) -> None:
            self.done += 1
            if self.done % EVERY == 0 or self.done == options["count"]:
                looks.append((self.done, *megabytes()))

    process = CrawlerProcess(
        {
            "ADDONS": {"scrapy_neardup.Addon": 500},
            **options["settings"],
            "LOG_LEVEL": "CRITICAL",
            "CONCURRENT_REQUESTS": 32,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    process.crawl(News)
    process.start()
    print(json.dumps(looks))


def megabytes() -> tuple[float, float]:
    me = psutil.Process()
    workers = 0
    for child in me.children(recursive=True):
        with suppress(psutil.Error):  # gone by now
            workers += child.memory_info().rss
    return me.memory_info().rss / 1e6, workers / 1e6


if __name__ == "__main__":
    main()
