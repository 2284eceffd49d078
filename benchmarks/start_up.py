"""Measure how much longer a crawl of 50 small pages takes with the plugin, which is mostly the start of the crawl.

usage: python benchmarks/start_up.py [--rounds 7]

The crawls take turns, and the medians count. All use compiled modules, as every installation has them: the first crawl
of each kind compiles them into a folder of its own, and is not measured.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SPIDER = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess

class News(scrapy.Spider):
    name = "news"
    start_urls = [f"{sys.argv[1]}/{number}.html" for number in range(50)]

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}

plugin = {"ADDONS": {"scrapy_neardup.Addon": 500}, "NEARDUP_STORE": sys.argv[2]} if sys.argv[2:] else {}
process = CrawlerProcess({"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, **plugin})
process.crawl(News)
process.start()
"""
SAID = "The council of town {0} said on Tuesday that {0}0 people would meet to talk about a bridge, plan {1}."


class Site(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
parser.add_argument("--rounds", type=int, default=7)
seconds: dict[int, list[float]] = {0: [], 1: []}  # without the plugin, and with it
with tempfile.TemporaryDirectory() as folder:
    for number in range(50):
        paragraphs = "".join(f"<p>{SAID.format(number, each)}</p>" for each in range(5))
        page = f"<title>Story {number}</title><article><h1>Story {number}</h1>{paragraphs}</article>"
        Path(folder, f"{number}.html").write_text(page, encoding="utf-8")
    ThreadingHTTPServer.request_queue_size = 50  # else a refused connection is tried again after a second
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Site, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", SPIDER, f"http://127.0.0.1:{server.server_port}"]
    for number in range(parser.parse_args().rounds + 1):
        for is_plugin, took in seconds.items():
            start, store = time.perf_counter(), [f"sqlite:///{folder}/{number}.sqlite"] * is_plugin
            subprocess.run([*command, *store], env={**kept, "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}, check=True)
            took.append(time.perf_counter() - start)
without, with_plugin = (statistics.median(each[1:]) for each in seconds.values())
print(f"50 small pages take {without:.2f} s, with the plugin {with_plugin - without:.2f} s more.")
