"""The SQLite file against the same window in memory: time a check as the window fills, and the size of the file.

usage: python benchmarks/sqlite_index.py [--documents 100000] [--at-once 16]

The documents are those of redis_index.py, spread over 24 hours. The two stores get the same documents in turns,
``--at-once`` of them at a time. Each row is the median over a tenth of all documents, the last ones at that point.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from redis_index import documents

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.index import Index, Policy, index_from_url

BLOCK = 500


async def check_all(index: Index, block: Sequence[tuple[Fingerprint, Document]], at_once: int) -> float:
    """Return the seconds a check took on the wall."""
    started = time.perf_counter()
    for first in range(0, len(block), at_once):
        await asyncio.gather(*(index.check(*each) for each in block[first : first + at_once]))
    return (time.perf_counter() - started) / len(block)


def _bytes_in(folder: str) -> int:
    return sum(each.stat().st_size for each in Path(folder).iterdir())


async def compare(folder: str, count: int, at_once: int) -> None:
    file = Path(folder) / "window.sqlite"
    urls = {"memory": "memory://", "file": f"sqlite:///{file}"}
    indexes = {
        name: index_from_url(url, namespace="benchmark", config="00000001", policy=Policy(), timeout=10)
        for name, url in urls.items()
    }
    for index in indexes.values():
        await index.open()
    stream = documents(count)
    times: dict[str, list[float]] = {name: [] for name in indexes}
    print("| documents | us a check in memory | in the file | ratio | MB |\n|---|---|---|---|---|")
    done = 0
    while block := list(islice(stream, BLOCK)):
        for name, index in indexes.items():
            times[name].append(await check_all(index, block, at_once))
        done += len(block)
        if done % (count // 10) < BLOCK:
            last = max(1, count // 10 // BLOCK)
            memory, on_disk = (statistics.median(times[name][-last:]) * 1e6 for name in ("memory", "file"))
            size = _bytes_in(folder) / 1e6
            print(f"| {done:,} | {memory:.0f} | {on_disk:.0f} | {on_disk / memory:.2f} | {size:.0f} |", flush=True)
    for index in indexes.values():
        await index.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--at-once", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(compare(folder, options.documents, options.at_once))


if __name__ == "__main__":
    main()
