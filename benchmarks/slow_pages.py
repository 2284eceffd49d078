"""What pages that take seconds to parse cost a crawl: 40 good pages, alone and among 12 bad ones.

usage: python benchmarks/slow_pages.py [--attributes 28000] [--extractor trafilatura] [--rounds 3]

A bad page is 240 kB. One of its elements has 28,000 attributes, and parsers take quadratic time for them. Each row is a
crawl of its own. The hosts are addresses of the loopback network, so this needs Linux.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
GOOD, BAD = 40, 12
ROWS = {
    "none": 0,
    "of one host": 1,
    "of one host, before all good pages": 1,
    "of 3 hosts": 3,
    "of 12 hosts": 12,
    "of 12 hosts, before all good pages": 12,
}


def main() -> None:
    if sys.argv[1:2] == ["crawl"]:
        crawl(*json.loads(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--attributes", type=int, default=28_000)
    parser.add_argument("--extractor", default="trafilatura")
    parser.add_argument("--rounds", type=int, default=3, help="crawls of each row, of which the medians are printed")
    options = parser.parse_args()
    server = serve(options.attributes)
    print(f"| {BAD} bad pages | seconds | x without | CPU seconds | x without | good pages judged |")
    print("|---|---|---|---|---|---|")
    taken: dict[str, list[tuple[float, float, int]]] = {name: [] for name in ROWS}
    for _ in range(options.rounds):
        for name, hosts in ROWS.items():
            pages = urls(server.server_port, hosts, first="before" in name)
            taken[name].append(measured(pages, options.extractor))
    medians = {name: [statistics.median(each) for each in zip(*rows, strict=True)] for name, rows in taken.items()}
    alone, cpu_alone, _ = medians["none"]
    for name, (seconds, cpu, good) in medians.items():
        times = f"{seconds:.1f} | {seconds / alone:.1f} | {cpu:.1f} | {cpu / cpu_alone:.1f}"
        print(f"| {name} | {times} | {good:.0f} of {GOOD} |", flush=True)


def urls(port: int, hosts: int, *, first: bool) -> list[str]:
    good = [f"http://127.0.1.{number + 1}:{port}/good/{number}" for number in range(GOOD)]
    bad = [f"http://127.0.2.{number % hosts + 1}:{port}/bad/{number}" for number in range(BAD * bool(hosts))]
    if first:
        return bad + good
    return random.Random(2026).sample(good + bad, len(good + bad))


def serve(attributes: int) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            many = "".join(f" a{number}=1" for number in range(attributes if "/bad/" in self.path else 0))
            draw = random.Random(self.path)
            lines = [" ".join(f"w{draw.randrange(5000)}" for _ in range(60)) for _ in range(8)]
            body = f"<html><body><div{many}>{''.join(f'<p>{line}.</p>' for line in lines)}</div></body></html>".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def measured(start_urls: list[str], extractor: str) -> tuple[float, float, int]:
    """Return the seconds and CPU seconds that a crawl takes, and how many good pages got a verdict."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"NEARDUP_STORE": f"sqlite:///{folder}/window.sqlite", "NEARDUP_EXTRACTOR": extractor}
        command = [sys.executable, str(HERE), "crawl", json.dumps([start_urls, settings])]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    seconds, cpu, judged = json.loads(done.stdout.splitlines()[-1])
    return seconds, cpu, sum("/good/" in url for url in judged)


def crawl(start_urls: list[str], settings: dict[str, Any]) -> None:
    from scrapy import Spider, signals
    from scrapy.crawler import CrawlerProcess

    judged: list[str] = []

    class News(Spider):
        name = "news"

        @classmethod
        def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.note, signals.item_scraped)
            return spider

        def parse(self, response: Any) -> Any:
            yield {"url": response.url}

        def note(self, item: Any) -> None:
            if item["neardup_status"] != "unchecked":
                judged.append(item["url"])

    News.start_urls = start_urls
    common = {"ADDONS": {"scrapy_neardup.Addon": 500}, "LOG_LEVEL": "CRITICAL", "TELNETCONSOLE_ENABLED": False}
    process = CrawlerProcess({**common, **settings})
    process.crawl(News)
    started, cpu_started = time.perf_counter(), cpu_seconds()
    process.start()
    print(json.dumps([time.perf_counter() - started, cpu_seconds() - cpu_started, judged]))


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its workers that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    main()
