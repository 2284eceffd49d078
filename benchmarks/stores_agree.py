"""Whether all stores give the same answers in floods, with late documents, and over generations of postings.

usage: python benchmarks/stores_agree.py [--checks 100000] [--seed 1]

Each document is checked by every store before the next one is. It prints one row for each window and store: how many
answers differ from the answers of memory://. The Redis is started for it. The
streams are those of tests/floods.py: they go beyond 16 postings a key and 32 candidates.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from documents import DAY, HOUR
from floods import answers, flood
from servers import RedisServer

from scrapy_neardup.index import Policy, index_from_url

AT_ONCE = 500
WINDOWS = {"2 hours": 2 * HOUR, "24 hours": DAY, "7 days": 7 * DAY}


async def compare(urls: dict[str, str], checks: int, seed: int, name: str, window: int) -> None:
    indexes = {
        store: index_from_url(url, namespace=name, config="00000001", policy=Policy(window=window), timeout=60)
        for store, url in urls.items()
    }
    for index in indexes.values():
        await index.open()
    stream = flood(checks, seed, window)
    differ, matched = dict.fromkeys(indexes, 0), 0
    while articles := list(islice(stream, AT_ONCE)):
        found = await asyncio.gather(*(answers(index, articles) for index in indexes.values()))
        matched += sum(match is not None for match in found[0])
        for store, given in zip(indexes, found, strict=True):
            differ[store] += sum(one != other for one, other in zip(found[0], given, strict=True))
    for index in indexes.values():
        await index.close()
    for store in list(indexes)[1:]:
        print(f"| {name} | {store} | {checks:,} | {matched:,} | {differ[store]:,} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.monotonic()
    print("| window | store | checks | with a match | differ from memory:// |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer(Path(folder)).start()
        try:
            urls = {"memory": "memory://", "SQLite": f"sqlite:///{folder}/window.sqlite", "Redis": server.url}
            share = options.checks // len(WINDOWS)
            for number, (name, window) in enumerate(WINDOWS.items()):
                asyncio.run(compare(urls, share, options.seed + number, name, window))
        finally:
            server.stop()
    print(f"\n{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
