"""Measure what ``scrapy neardup watch`` and its counters cost a Redis, in per cent of one core.

    python benchmarks/watch_cost.py --store redis://127.0.0.1:6379/0 --workers 8 --seconds 30

Each worker writes what a busy crawl counts: every verdict, and a hundred stories. One view is read every two seconds,
with twenty running events.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import time
from dataclasses import replace

from redis.asyncio import Redis

from scrapy_neardup import NearDupDetector, NearDupSettings, Verdict
from scrapy_neardup.commands.watch import Watcher
from scrapy_neardup.crawl.verdict_counter import VerdictCounter
from scrapy_neardup.document import KINDS
from scrapy_neardup.index import Selection

EVENTS, STORIES, ITEMS_A_SECOND = 20, 100, 50
WORDS = [f"word{number}" for number in range(5000)]


async def fill(detector: NearDupDetector) -> list[str]:
    """Publish stories of many sources, so that each becomes an event. Return the ids of the stories."""
    stories = []
    for event in range(EVENTS):
        text = " ".join(random.Random(event).choices(WORDS, k=200))
        for source in range(30):
            url = f"https://paper{source}.example/{event}"
            verdict = await detector.check(detector.document(text, url=url, title=f"Report number {event} of the day"))
        stories.append(verdict.story or "")
    return stories


async def work(detector: NearDupDetector, stories: list[str], until: float) -> None:
    counter = VerdictCounter(detector.index, lambda: False)
    draw = random.Random()
    while time.monotonic() < until:
        for _ in range(ITEMS_A_SECOND):
            copy = Verdict("duplicate", kind=draw.choice(KINDS), story=draw.choice(stories), would_drop=True)
            counter.add(copy if draw.random() < 0.4 else replace(copy, status="original", kind=None))
        await asyncio.sleep(1)
    await counter.close()


async def look(detector: NearDupDetector, until: float) -> None:
    watcher = Watcher(detector)
    while time.monotonic() < until:
        await watcher.look()
        await asyncio.sleep(2)


async def used(client: Redis) -> float:
    info = await client.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


async def main(options: argparse.Namespace) -> None:
    settings = NearDupSettings(store=options.store, namespace=f"watch-{secrets.token_hex(4)}")
    detectors = [NearDupDetector(settings) for _ in range(options.workers + 1)]
    for detector in detectors:
        await detector.open()
    stories = await fill(detectors[0]) + [f"{number:016x}" for number in range(STORIES - EVENTS)]
    client = Redis.from_url(options.store)
    shares = {}
    for name, tasks in {
        "nothing": 0,
        "counters": options.workers,
        "counters and a view": options.workers + 1,
    }.items():
        until, before = time.monotonic() + options.seconds, await used(client)
        working = [work(detector, stories, until) for detector in detectors[1 : 1 + min(tasks, options.workers)]]
        if tasks > options.workers:
            working.append(look(detectors[0], until))
        await asyncio.gather(asyncio.sleep(options.seconds), *working)
        shares[name] = 100 * (await used(client) - before) / options.seconds
        print(f"{name:<22} {shares[name]:.2f} % of one core")
    await detectors[0].index.purge(Selection())
    await client.aclose()
    for detector in detectors:
        await detector.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", default="redis://127.0.0.1:6379/0")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=30)
    asyncio.run(main(parser.parse_args()))
