"""What a question with a cursor costs a Redis: ``scrapy neardup ask changes --since CURSOR``.

usage: python benchmarks/ask_changes.py [--documents 100000] [--new 200]

A window is filled with the documents of redis_index.py on a server started for it. Then new ones come, and each
question is asked for them. The server's own count of its work is shown (INFO commandstats), with its commands: none of
them reads more than the new changes and their stories.
"""

from __future__ import annotations

import argparse
import asyncio
from itertools import islice

import redis
from news_server import redis_server
from redis_index import documents

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.tools.ask import Ask
from scrapy_neardup.tools.lab.replay import opened

TOGETHER = 64
ASKED_MS = 50.0


def work(server: redis.Redis) -> dict[str, tuple[int, float]]:
    """Return how often each command was called, and the milliseconds of all its calls."""
    found = server.info("commandstats")
    return {name.removeprefix("cmdstat_"): (each["calls"], each["usec"] / 1000) for name, each in found.items()}


async def measure(url: str, count: int, new: int) -> None:
    server = redis.Redis.from_url(url)
    async with opened(NearDupDetector(NearDupSettings(store=url, store_timeout=60))) as detector:
        coming, ask = documents(count + new), Ask(detector)
        for _ in range(0, count, TOGETHER):
            await detector.index.documents.check(list(islice(coming, TOGETHER)))
        _, since = await detector.index.changes.newest(1)
        await detector.index.documents.check(list(islice(coming, new)))
        size = server.memory_usage(detector.index.layout.changes, samples=0) or 0
        logged = server.xlen(detector.index.layout.changes)
        print(f"{count:,} documents, {logged:,} changes logged in {size:,} bytes; {new} new documents")
        for question in ("changes", "stories", "events"):
            server.config_resetstat()
            answer = await getattr(ask, question)(since)
            called = {name: each for name, each in work(server).items() if name not in ("config|resetstat", "info")}
            spent = sum(milliseconds for _, milliseconds in called.values())
            calls = ", ".join(f"{times} {name}" for name, (times, _) in sorted(called.items()))
            print(
                f"{question}: {len(answer[question])} rows, {spent:.2f} ms of the server (asked: {ASKED_MS}); {calls}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--new", type=int, default=200)
    options = parser.parse_args()
    with redis_server() as url:
        asyncio.run(measure(url, options.documents, options.new))


if __name__ == "__main__":
    main()
