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
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGES = 50
SPIDER = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess

class News(scrapy.Spider):
    name = "news"

    async def start(self):
        for number in range(int(sys.argv[2])):
            yield scrapy.Request(f"{sys.argv[1]}/{number}")

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}

plugin = {"ADDONS": {"scrapy_neardup.Addon": 500}, "NEARDUP_STORE": sys.argv[3]} if sys.argv[3] else {}
process = CrawlerProcess({"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, **plugin})
process.crawl(News)
process.start()
"""


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path.strip("/")
        said = f"The council of town {name} said on Tuesday that {name}0 people would meet to talk about the price of"
        paragraphs = "".join(
            f"<p>{said} bridge number {each}, which is to be built next year.</p>" for each in range(5)
        )
        page = f"<title>Story {name}</title><article><h1>Story {name}</h1>{paragraphs}</article>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    ThreadingHTTPServer.request_queue_size = PAGES  # else a refused connection is tried again after a second
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    seconds: dict[str, list[float]] = {"without": [], "with": []}
    with tempfile.TemporaryDirectory() as folder:
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment = kept | {"PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        for number in range(rounds + 1):
            for name, store in (("without", ""), ("with", f"sqlite:///{folder}/{number}.sqlite")):
                url = f"http://127.0.0.1:{server.server_port}"
                start = time.perf_counter()
                subprocess.run([sys.executable, "-c", SPIDER, url, str(PAGES), store], env=environment, check=True)
                seconds[name].append(time.perf_counter() - start)
    without, with_plugin = (statistics.median(each[1:]) for each in seconds.values())
    print(f"{PAGES} small pages take {without:.2f} s, with the plugin {with_plugin - without:.2f} s more.")


if __name__ == "__main__":
    main()
