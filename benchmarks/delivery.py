"""What delivery costs a Redis: server time and bytes, with runs and without, in one run of this script.

usage: python benchmarks/delivery.py [--documents 20000]

The documents are those of benchmarks/redis_index.py. The time is the processor time that the server took for them,
which other work on the same machine hardly lengthens. What is printed at the end are medians of the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics

import redis
from redis_index import documents, server, used_memory

from scrapy_neardup.index.redis.index import RedisIndex
from scrapy_neardup.rules.policy import Policy

ROUNDS = 5
TOGETHER = 64


def server_microseconds(url: str) -> float:
    used = redis.from_url(url).info("cpu")
    return 1e6 * (used["used_cpu_user"] + used["used_cpu_sys"])


async def fill(url: str, namespace: str, count: int, run: int) -> tuple[float, float]:
    """Return the microseconds of the checks, and of what delivery adds to them."""
    index = RedisIndex(url, namespace, "c", Policy(drops=True), timeout=60)
    index.run = run
    await index.open()
    if run:
        await index.beat()
    began = server_microseconds(url)
    ids = []
    for fingerprint, document in documents(count):
        await index.check(fingerprint, document)
        ids.append(document.id)
    checked = server_microseconds(url) - began
    if run:
        for start in range(0, len(ids), TOGETHER):
            await index.deliver(ids[start : start + TOGETHER])
        await index.end_run()
    delivered = server_microseconds(url) - began - checked
    await index.close()
    return checked, delivered


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--documents", type=int, default=20_000)
    count = parser.parse_args().documents
    shares, parts, sizes = [], [], []
    for number in range(ROUNDS):
        found = {}
        for run in (0, 1) if number % 2 else (1, 0):
            with server() as url:
                empty = used_memory(url)
                times = asyncio.run(fill(url, "window", count, run))
                found[run] = (*times, (used_memory(url) - empty) / count)
        (without, _, size), (checked, delivered, larger) = found[0], found[1]
        shares.append((checked + delivered) / without - 1)
        parts.append(delivered / without)
        sizes.append(larger - size)
        print(f"{without / count:.1f} us a check, {checked / count:.1f} with a run, {delivered / count:.1f} to deliver")
    print(f"server time, with delivery over without: {statistics.median(shares):+.1%} (at most +5 %)")
    print(f"of that, telling what is delivered: {statistics.median(parts):.1%}")
    print(f"bytes a document more: {statistics.median(sizes):+.1f} (at most 16; the record has 4 more in both)")


if __name__ == "__main__":
    main()
