"""Measure how much longer a crawl of 50 small pages takes with the plugin, which is mostly the start of the crawl.

usage: python benchmarks/start_up.py [--rounds 7]

The crawls take turns, and the medians count. All use compiled modules, as every installation has them: the first crawl
of each kind compiles them into a folder of its own, and is not measured.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from news_site import NewsSite, article, page

PAGES = 50
SPIDER = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess

class News(scrapy.Spider):
    name = "news"
    start_urls = [f"{sys.argv[1]}/{number}" for number in range(int(sys.argv[2]))]

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}

plugin = {"ADDONS": {"scrapy_neardup.Addon": 500}, "NEARDUP_STORE": sys.argv[3]} if sys.argv[3:] else {}
process = CrawlerProcess({"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, **plugin})
process.crawl(News)
process.start()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    ThreadingHTTPServer.request_queue_size = PAGES  # else a refused connection is tried again after a second
    without, with_plugin = list[float](), list[float]()
    with tempfile.TemporaryDirectory() as folder, NewsSite() as site:
        for number in range(PAGES):
            site.publish(f"/{number}", page(article(number), f"Story {number}"))
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment = {**kept, "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        command = [sys.executable, "-c", SPIDER, site.url, str(PAGES)]
        for number in range(parser.parse_args().rounds + 1):
            for took, store in ((without, []), (with_plugin, [f"sqlite:///{folder}/{number}.sqlite"])):
                start = time.perf_counter()
                subprocess.run([*command, *store], env=environment, check=True)
                took.append(time.perf_counter() - start)
    plain = statistics.median(without[1:])
    more = statistics.median(with_plugin[1:]) - plain
    print(f"{PAGES} small pages take {plain:.2f} s, with the plugin {more:.2f} s more.")


if __name__ == "__main__":
    main()
