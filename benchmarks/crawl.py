"""Measure how much the plugin slows a crawl: without it, with a pipeline written by hand, and in each configuration.

usage: python benchmarks/crawl.py [--data DIR] [--pages 1200] [--rounds 2] [--requests 32] [--only WORD]
       python benchmarks/crawl.py [--data DIR] [--pages 1200] --only WORD --profile FILE.html

DIR is the unpacked research data (default: $NEARDUP_DATA). A server process holds the pages, half of them of
``stream-dev``, the others of ``gold-dev`` and ``articles-modern``; each crawl is a process of its own, and Redis is
started for the run. The configurations take turns in each round, and the median of the rounds counts. The first WARM_UP
pages are not measured, because they include imports and the start of workers. One table comes out, as Markdown. If
other programs use the machine too, only ratios of times are good. CPU seconds depend less on other programs. "CPU ms a
page" is that of the crawl: the event loop's thread, its other threads, and its worker processes. These follow one by
one, and then Redis, which is not a part of the sum. "Busy" is the CPU time of the event loop's thread between two
looks: the lag without the time that other programs took.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from news_server import redis_server, site

from scrapy_neardup.addon import ITEMS_AT_ONCE

HERE = Path(__file__).resolve()
COSTS = ("cpu", "loop", "threads", "workers", "redis")
LAGS = ("lag_p50", "lag_p99", "lag_max", "busy_p99", "busy_max")
WARM_UP = 200  # pages
TICK = 0.005  # seconds between looks at the event loop's clock

WORKERS = {1: "a process", 2: "2 processes"}
PLAIN, BY_HAND = "without dedup", "by hand: trafilatura, datasketch on Redis"
VARIANTS: dict[str, dict[str, Any]] = {
    PLAIN: {},
    BY_HAND: {"BASELINE_REDIS": "redis"},
    **{
        f"plugin: {extractor}, {WORKERS[workers]}, {store}": {
            "NEARDUP_EXTRACTOR": extractor,
            "NEARDUP_EXTRACT_WORKERS": workers,
            "NEARDUP_STORE": store,
        }
        for extractor in ("trafilatura", "resiliparse")
        for workers in WORKERS
        for store in ("sqlite", "redis")
    },
}


def main() -> None:
    if sys.argv[1:2] == ["crawl"]:
        crawl(json.loads(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("NEARDUP_DATA"))
    parser.add_argument("--pages", type=int, default=1200)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="variants with this word, and the two they are compared with")
    parser.add_argument("--requests", type=int, default=32, help="at a time; Scrapy's default for one site is 8")
    parser.add_argument("--profile", type=Path, help="of the event loop's thread, in the first variant")
    options = parser.parse_args()
    if options.data is None:
        parser.error("--data DIR, or NEARDUP_DATA, is needed")
    variants = [name for name in VARIANTS if options.only in name or name in (PLAIN, BY_HAND)]
    with tempfile.TemporaryDirectory() as folder, redis_server() as redis, site(options.data, options.pages) as url:
        if options.profile is not None:
            chosen = next(name for name in variants if options.only in name)
            measured(chosen, folder, redis, url, options, options.profile)
            print(f"{chosen}: {options.profile}")
            return
        found: dict[str, list[dict[str, float]]] = {name: [] for name in variants}
        for number in range(options.rounds):
            for name in variants:
                found[name].append(measured(name, folder, redis, url, options))
                print(f"round {number + 1}: {name}: {found[name][-1]}", file=sys.stderr)
    print_table({name: median(rounds) for name, rounds in found.items()}, options)


def median(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}


def print_table(found: dict[str, dict[str, float]], options: argparse.Namespace) -> None:
    plain, by_hand = found[PLAIN]["rate"], found[BY_HAND]["rate"]
    print(f"{options.pages} pages, {options.requests} requests at a time.\n")
    columns = ["crawl", "pages/s", "x by hand", "x without", "CPU ms a page", "loop", "threads", "workers", "Redis"]
    columns += ["peak MB", "lag p50 ms", "p99", "max", "busy p99", "max"]
    print("| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")
    for name, each in found.items():
        ratios = f"{each['rate']:.0f} | {each['rate'] / by_hand:.1f} | {each['rate'] / plain:.2f}"
        costs, lags = (" | ".join(f"{each[key]:.1f}" for key in keys) for keys in (COSTS, LAGS))
        print(f"| {name} | {ratios} | {costs} | {each['memory']:.0f} | {lags} |")


# One crawl


def measured(
    name: str,
    folder: str,
    redis_url: str,
    url: str,
    chosen: argparse.Namespace,
    profile: Path | None = None,
    package: Path | None = None,
) -> dict[str, float]:
    """Crawl in a process of its own, with the ``scrapy_neardup`` in the folder ``package`` if one is given."""
    from redis import Redis

    Redis.from_url(redis_url).flushall()
    stores = {"redis": redis_url, "sqlite": f"sqlite:///{tempfile.mkdtemp(dir=folder)}/window.sqlite"}
    settings = {key: stores.get(str(value), value) for key, value in VARIANTS[name].items()}
    profiled = str(profile.resolve()) if profile else ""
    settings |= {"CONCURRENT_REQUESTS": chosen.requests, "CONCURRENT_REQUESTS_PER_DOMAIN": chosen.requests}
    settings["CONCURRENT_ITEMS"] = ITEMS_AT_ONCE  # in all crawls: Scrapy's default of 100 makes the plain one slower
    server = Redis.from_url(redis_url).info("server")["process_id"]
    tick = TICK if package is None else 1.0  # a look costs CPU time, and a slow crawl has more of them
    values = {"url": url, "count": chosen.pages, "settings": settings, "profile": profiled}
    options = json.dumps({**values, "server": server, "tick": tick})
    environment = {**os.environ, **({"PYTHONPATH": str(package)} if package else {})}
    command = [sys.executable, str(HERE), "crawl", options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode or not done.stdout:
        sys.exit(f"{name}: {done.stderr}")
    return {key: float(value) for key, value in json.loads(done.stdout.splitlines()[-1]).items()}


class Watch:
    """Looks at the event loop's lag, and at the memory of the crawl and its workers, while the spider is open."""

    def __init__(self, crawler: Any) -> None:
        from scrapy import signals

        self.most = crawler.settings.getint("PAGES")
        self.lags: list[float] = []
        self.busy: list[float] = []
        self.memory = 0
        self.pages = 0
        self.marks: list[tuple[float, dict[str, float]]] = []
        self.tick = crawler.settings.getfloat("TICK")
        self.server = psutil.Process(crawler.settings.getint("SERVER"))
        self.profile = crawler.settings.get("PROFILE")
        self.is_warm = asyncio.Event()
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(self.count, signal)
        crawler.signals.connect(self.opened, signals.spider_opened)
        crawler.signals.connect(self.closed, signals.spider_closed)
        crawler.watch = self

    @classmethod
    def from_crawler(cls, crawler: Any) -> Watch:
        return cls(crawler)

    def opened(self) -> None:
        self.task = asyncio.ensure_future(self.watch())

    def start_profile(self) -> None:
        from pyinstrument import Profiler

        self.profiler = Profiler(async_mode="disabled")
        self.profiler.start()

    def closed(self) -> None:
        if self.profile:
            self.profiler.stop()
            Path(self.profile).write_text(self.profiler.output_html(), encoding="utf-8")
        self.look_at_memory()
        self.task.cancel()

    def count(self) -> None:
        self.pages += 1
        if self.pages in (WARM_UP, self.most):
            self.marks.append((time.perf_counter(), cpu_seconds(self.server)))
        if self.profile and self.pages == WARM_UP:
            self.start_profile()
        if self.pages == WARM_UP:
            self.lags.clear()
            self.busy.clear()
            self.is_warm.set()

    async def watch(self) -> None:
        while True:
            before, busy = time.perf_counter(), time.thread_time()
            await asyncio.sleep(self.tick)
            self.busy.append(1000 * (time.thread_time() - busy))
            self.lags.append(1000 * (time.perf_counter() - before - self.tick))
            if len(self.lags) % 200 == 0:
                self.look_at_memory()

    def look_at_memory(self) -> None:
        me = psutil.Process()
        found = 0
        for process in (me, *me.children(recursive=True)):
            with suppress(psutil.Error):  # gone by now
                found += process.memory_full_info().pss  # a worker shares most of its memory with its child
        self.memory = max(self.memory, found)


def cpu_seconds(server: psutil.Process) -> dict[str, float]:
    """Of this process, which is called in the thread of its event loop, of its workers, and of Redis."""
    workers = 0.0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # gone by now
            workers += sum(process.cpu_times()[:2])
    loop, here = time.thread_time(), time.process_time()
    redis = sum(server.cpu_times()[:2])
    return {"cpu": here + workers, "loop": loop, "threads": here - loop, "workers": workers, "redis": redis}


def crawl(options: dict[str, Any]) -> None:
    from scrapy import Request, Spider
    from scrapy.crawler import CrawlerProcess

    by_hand = "BASELINE_REDIS" in options["settings"]
    is_plugin = "NEARDUP_EXTRACTOR" in options["settings"]

    class News(Spider):
        name = "news"

        async def start(self) -> Any:
            for number in range(options["count"]):
                if number == WARM_UP:  # nothing is under way when the measurement starts, as when it ends
                    await self.crawler.watch.is_warm.wait()  # type: ignore[attr-defined]
                yield Request(f"{options['url']}/{number}")

        def parse(self, response: Any) -> Any:
            item = {"url": response.url, "title": response.css("title::text").get()}
            yield {**item, "html": response.text} if by_hand else item

    settings: dict[str, Any] = {
        "LOG_LEVEL": "CRITICAL",
        "EXTENSIONS": {Watch: 0},
        "DOWNLOAD_DELAY": 0,
        "TELNETCONSOLE_ENABLED": False,
        "RETRY_ENABLED": False,
        "PAGES": options["count"],
        "PROFILE": options["profile"],
        "SERVER": options["server"],
        "TICK": options["tick"],
        **options["settings"],
    }
    if by_hand:
        sys.path.insert(0, str(HERE.parent))
        settings["ITEM_PIPELINES"] = {"baseline.DuplicatesPipeline": 300}
    elif is_plugin:
        settings["ADDONS"] = {"scrapy_neardup.Addon": 500}
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(News)
    process.crawl(crawler)
    process.start()
    watch = crawler.watch  # type: ignore[attr-defined]
    assert crawler.stats is not None
    assert crawler.stats.get_value("response_received_count") == options["count"], crawler.stats.get_stats()
    (start, cpu_before), (end, cpu_after) = watch.marks
    measured_pages = options["count"] - WARM_UP
    lags, busy = sorted(watch.lags) or [0.0], sorted(watch.busy) or [0.0]
    print(
        json.dumps(
            {
                "rate": measured_pages / (end - start),
                **{key: 1000 * (cpu_after[key] - cpu_before[key]) / measured_pages for key in COSTS},
                "memory": watch.memory / 1e6,
                "lag_p50": lags[len(lags) // 2],
                "lag_p99": lags[len(lags) * 99 // 100],
                "lag_max": lags[-1],
                "busy_p99": busy[len(busy) * 99 // 100],
                "busy_max": busy[-1],
            }
        )
    )


if __name__ == "__main__":
    main()
