"""Compare what the plugin costs a crawl with what it cost at another commit, or with a pipeline written by hand.

usage: python benchmarks/crawl_cost.py [--against COMMIT] [--data DIR] [--pages 500] [--rounds 4] [--most 1.15]
       python benchmarks/crawl_cost.py --all [--data DIR] [--pages 700] [--rounds 2]

COMMIT is the last release, and has to be named before the first one. The crawls take turns: without the plugin, with
the plugin of the other commit, and with the plugin of this folder. They use resiliparse in one worker process, and
Redis. The exit status is 1 if the plugin of this folder takes over ``--most`` times the CPU time of the other one. With
``--all`` all extractors and stores are measured, and the pipeline written by hand. It takes about a minute on two idle
cores, and longer with ``--all``.

DIR is the unpacked research data (default: $NEARDUP_DATA); without it pages are invented. A server process holds the
pages; each crawl is a process of its own. The first WARM_UP pages are not measured, because they include imports and
the start of workers. Rates and lags are medians. "CPU ms a page" is that of the crawl and its workers, without Redis,
the lowest of all rounds: other programs on the machine only add to it.
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
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import psutil
from news_server import RedisServer, redis_server, site

ROOT = Path(__file__).resolve().parents[1]
Measured = dict[str, float]
WARM_UP = 200  # pages
REQUESTS = 32  # at a time; Scrapy's default for one site is 8
ITEMS_AT_ONCE = 8  # as the add-on sets it, in all crawls: Scrapy's default of 100 makes the plain one slower
COLUMNS = ("crawl", "pages/s", "x by hand", "x without", "CPU ms a page", "Redis", "peak MB", "lag p99 ms")


class Variant(NamedTuple):
    """A way to crawl. With a ``package`` the plugin comes from this folder, and lag is not measured well."""

    name: str
    settings: dict[str, Any]
    package: Path | None = None


def plugin(name: str, extractor: str, workers: int, store: str, package: Path | None = None) -> Variant:
    settings = {"NEARDUP_EXTRACTOR": extractor, "NEARDUP_EXTRACT_WORKERS": workers, "NEARDUP_STORE": store}
    return Variant(name, settings, package)


PLAIN = Variant("without dedup", {}, ROOT)
BY_HAND = Variant("by hand: trafilatura, datasketch on Redis", {"BASELINE_REDIS": "redis"})
EVERY = [
    PLAIN._replace(package=None),
    BY_HAND,
    *(
        plugin(f"plugin: {extractor}, {workers} worker{'s' * (workers > 1)}, {store}", extractor, workers, store)
        for extractor in ("trafilatura", "resiliparse")
        for workers in (1, 2)
        for store in ("sqlite", "redis")
    ),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--all", action="store_true", help="all extractors and stores")
    parser.add_argument("--data", type=Path, default=os.environ.get("NEARDUP_DATA"))
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--most", type=float, default=1.15)
    options = parser.parse_args()
    if options.all:
        measure(EVERY, options)
        return 0
    commit = options.against or last_release() or sys.exit("there is no release yet: give --against COMMIT")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "-x", "-C", folder], input=git("archive", commit, "scrapy_neardup"), check=True)
        places = {commit: Path(folder), "this folder": ROOT}
        plugins = [plugin(f"with the plugin of {name}", "resiliparse", 1, "redis", at) for name, at in places.items()]
        plain, other, here = measure([PLAIN, *plugins], options)
    old, new = (each["cpu"] + each["redis"] - plain["cpu"] for each in (other, here))
    print(f"\nThe plugin with Redis: {new:.2f} ms a page, {new / old:.2f} times that of {commit}.")
    return int(new > options.most * old)


def measure(variants: list[Variant], options: argparse.Namespace) -> list[Measured]:
    """Crawl in turns, and print what each variant takes."""
    found: dict[str, list[Measured]] = {each.name: [] for each in variants}
    with redis_server() as redis, site(options.data, options.pages) as url:
        for number in range(options.rounds):
            for variant in variants[:: 1 if number % 2 else -1]:
                found[variant.name].append(measured(variant, redis, url, options.pages))
    print(f"{options.pages} pages, {REQUESTS} requests at a time.\n")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    costs = []
    for rounds in found.values():
        cost = {key: statistics.median(each[key] for each in rounds) for key in ("rate", "memory", "lag")}
        costs.append(cost | {key: min(each[key] for each in rounds) for key in ("cpu", "redis")})
    for name, cost in zip(found, costs, strict=True):
        by_hand = f"{cost['rate'] / costs[1]['rate']:.1f}" if options.all else "-"
        print(f"| {name} | {cost['rate']:.0f} | {by_hand} | {cost['rate'] / costs[0]['rate']:.2f} |", end="")
        print(f" {cost['cpu']:.2f} | {cost['redis']:.2f} | {cost['memory']:.0f} | {cost['lag']:.1f} |")
    return costs


def measured(variant: Variant, redis: RedisServer, url: str, count: int) -> Measured:
    """Crawl in a process of its own."""
    redis.execute("FLUSHALL")
    with tempfile.TemporaryDirectory() as folder, redis.client() as client:
        stores = {"redis": redis.url, "sqlite": f"sqlite:///{folder}/window.sqlite"}
        settings = {key: stores.get(str(value), value) for key, value in variant.settings.items()}
        server = client.info("server")["process_id"]
        tick = 1.0 if variant.package else 0.005  # seconds; a look costs CPU time, and a slow crawl has more of them
        options = json.dumps({"url": url, "count": count, "settings": settings, "server": server, "tick": tick})
        environment = {**os.environ, **({"PYTHONPATH": str(variant.package)} if variant.package else {})}
        command = [sys.executable, __file__, "crawl", options]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode or not done.stdout:
        sys.exit(f"{variant.name}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def last_release() -> str:
    """Return the newest tag of a release, "" if there is none."""
    tags = git("tag", "--list", "v*", "--merged", "HEAD~", "--sort=-version:refname").decode().split()
    return tags[0] if tags else ""


def git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)
    if done.returncode:
        sys.exit(f"git {' '.join(arguments)}: {done.stderr.decode().strip()}. This needs a clone with its history")
    return done.stdout


# In the process of a crawl


class DuplicatesPipeline:
    """The pipeline people write by hand: trafilatura called in ``process_item``, datasketch's LSH in Redis.

    It is put together from the documentation of Scrapy, trafilatura and datasketch. Nothing in it is slower than the
    code shown there.
    """

    def __init__(self, redis_url: str) -> None:
        from datasketch import MinHash, MinHashLSH
        from trafilatura import extract

        self.extract = extract
        self.minhash = MinHash
        server = urlsplit(redis_url)
        storage = {"type": "redis", "basename": b"news", "redis": {"host": server.hostname, "port": server.port}}
        self.lsh = MinHashLSH(threshold=0.5, num_perm=128, storage_config=storage)

    @classmethod
    def from_crawler(cls, crawler: Any) -> DuplicatesPipeline:
        return cls(crawler.settings["BASELINE_REDIS"])

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        from scrapy.exceptions import DropItem

        text = self.extract(item.pop("html"), url=item["url"])
        if not text:
            return item
        words = text.lower().split()
        minhash = self.minhash(num_perm=128)
        for start in range(len(words) - 2):
            minhash.update(" ".join(words[start : start + 3]).encode())
        if duplicates := self.lsh.query(minhash):
            raise DropItem(f"Duplicate of {duplicates[0]}")
        self.lsh.insert(item["url"], minhash, check_duplication=False)
        return item


class Watch:
    """Looks at the event loop's lag, and at the memory of the crawl and its workers, while the spider is open."""

    def __init__(self, crawler: Any) -> None:
        from scrapy import signals

        self.most = crawler.settings.getint("PAGES")
        self.tick = crawler.settings.getfloat("TICK")
        self.server = psutil.Process(crawler.settings.getint("SERVER"))
        self.lags: list[float] = []
        self.memory = 0
        self.pages = 0
        self.marks: list[tuple[float, float, float]] = []
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

    def closed(self) -> None:
        self.look_at_memory()
        self.task.cancel()

    def count(self) -> None:
        self.pages += 1
        if self.pages in (WARM_UP, self.most):
            workers = sum(sum(process.cpu_times()[:2]) for process in psutil.Process().children(recursive=True))
            redis = sum(self.server.cpu_times()[:2])
            self.marks.append((time.perf_counter(), time.process_time() + workers, redis))
        if self.pages == WARM_UP:
            self.lags.clear()
            self.is_warm.set()

    async def watch(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(self.tick)
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

    def result(self) -> Measured:
        rate, cpu, redis = (end - start for start, end in zip(*self.marks, strict=True))
        pages = self.most - WARM_UP
        lags = sorted(self.lags) or [0.0]
        costs = {"cpu": 1000 * cpu / pages, "redis": 1000 * redis / pages}
        return {"rate": pages / rate, **costs, "memory": self.memory / 1e6, "lag": lags[len(lags) * 99 // 100]}


def crawl(options: dict[str, Any]) -> None:
    from scrapy import Request, Spider
    from scrapy.crawler import CrawlerProcess

    by_hand = "BASELINE_REDIS" in options["settings"]

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
        "CONCURRENT_REQUESTS": REQUESTS,
        "CONCURRENT_REQUESTS_PER_DOMAIN": REQUESTS,
        "CONCURRENT_ITEMS": ITEMS_AT_ONCE,
        "PAGES": options["count"],
        "SERVER": options["server"],
        "TICK": options["tick"],
        **options["settings"],
    }
    if by_hand:
        settings["ITEM_PIPELINES"] = {DuplicatesPipeline: 300}
    elif options["settings"]:
        settings["ADDONS"] = {"scrapy_neardup.Addon": 500}
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(News)
    process.crawl(crawler)
    process.start()
    assert crawler.stats is not None
    assert crawler.stats.get_value("response_received_count") == options["count"], crawler.stats.get_stats()
    print(json.dumps(crawler.watch.result()))  # type: ignore[attr-defined]


if __name__ == "__main__":
    if sys.argv[1:2] == ["crawl"]:
        crawl(json.loads(sys.argv[2]))
    else:
        sys.exit(main())
