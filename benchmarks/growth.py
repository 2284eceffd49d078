"""Measure what a document costs in windows that grow: ten times the documents, 40,000 articles an hour, and five days.

usage: python benchmarks/growth.py FILE [--documents 40000] [--parts day hour days] [--store memory://]

FILE has recorded documents, one JSON object on each line. They are taken again and again. In each round all but the
commonest words change places with other words of the file, and digits with other digits. So copies of one round stay
copies of each other, and are strangers in all other rounds. Everything runs in one process. CPU is that of this process
for a document; memory is what it takes more than before the first document.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from scrapy_neardup import NearDupDetector, NearDupSettings

START = 1_700_000_000
HOUR = 3600
DAY = 24 * HOUR
COMMON = 500  # words that stay
TOGETHER = 64
PROCESS = psutil.Process()
WORD = re.compile(r"[^\W\d_]+")


class Run(NamedTuple):
    """How documents arrive: ``share`` of all documents, spread evenly over ``seconds``, measured in ``blocks``."""

    name: str
    share: float
    seconds: float
    blocks: int


def synthetic(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the documents in their order, round after round, with other words and urls in each."""
    words = Counter(word for row in rows for word in WORD.findall(f"{row.get('title', '')} {row['text'][:2000]}"))
    kinds: dict[tuple[int, bool, str], list[str]] = {}
    for word, _ in words.most_common()[COMMON:]:
        kinds.setdefault((min(len(word), 12), word[0].isupper(), script_of(word)), []).append(word)
    number = 0
    while True:
        generator = random.Random(number)
        changed: dict[str, str] = {}
        for members in kinds.values() if number else ():
            changed.update(zip(members, generator.sample(members, len(members)), strict=True))

        digits = str.maketrans({str(digit): str((digit + number) % 10) for digit in range(10)})
        for row in rows:
            text, title = (
                WORD.sub(lambda found, changed=changed: changed.get(found[0], found[0]), each).translate(digits)
                for each in (row["text"], row.get("title") or "")
            )
            url = row["url"].translate(digits)
            yield {**row, "title": title, "text": text, "url": f"{url}?round={number}" if number else url}
        number += 1


def script_of(word: str) -> str:
    """Return the block of 128 code points of the first letter."""
    return chr(ord(word[0]) // 128)


async def measure(run: Run, rows: list[dict[str, Any]], count: int, store: str) -> None:
    detector = NearDupDetector(NearDupSettings.from_mapping({"NEARDUP_STORE": store}), run="")
    await detector.open()
    await detector.prepare()
    source = synthetic(rows)
    before = PROCESS.memory_info().rss
    size = count // run.blocks
    for block in range(run.blocks):
        cpu = slowest = 0.0
        statuses = Counter[str]()
        events = 0
        for first in range(0, size, TOGETHER):
            entries = list(islice(source, min(TOGETHER, size - first)))
            start = time.process_time()
            documents = [
                detector.document(
                    row["text"],
                    url=row["url"],
                    title=row["title"],
                    seen_at=START + run.seconds * (block * size + first + at) / count,
                )
                for at, row in enumerate(entries)
            ]
            statuses.update(each.status for each in await detector.check_in_order(documents))
            events += len(detector.take_events())
            took = time.process_time() - start
            cpu += took
            slowest = max(slowest, took / len(entries))
        summary = await detector.index.summary()
        cells = (
            f"{run.name}, {(block + 1) * size:,} documents",
            f"{summary.documents:,}",
            f"{1000 * cpu / size:.2f}",
            f"{1000 * slowest:.1f}",
            f"{(PROCESS.memory_info().rss - before) / 1e6:.0f}",
            f"{(summary.store.bytes or 0) / max(1, summary.documents):,.0f}",
            f"{statuses['duplicate'] / size:.1%}",
            f"{statuses['related'] / size:.1%}",
            str(events),
        )
        print(f"| {' | '.join(cells)} |", flush=True)
    await detector.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--documents", type=int, default=40_000)
    parser.add_argument("--parts", nargs="+", default=["day", "hour", "days"])
    parser.add_argument("--store", default="memory://")
    options = parser.parse_args()
    with options.file.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    runs = {
        "day": Run("one day", 1, DAY - HOUR, 10),
        "hour": Run("40,000 an hour", 1 / 3, options.documents / 3 / 40_000 * HOUR, 4),
        "days": Run("five days", 1 / 2, 5 * DAY, 5),
    }
    print("| after | in the window | CPU ms | slowest 64, ms | MB | bytes | duplicates | related | events |")
    print(f"|---{'|---' * 8}|")
    for name in options.parts:
        run = runs[name]
        asyncio.run(measure(run, rows, int(run.share * options.documents), options.store))


if __name__ == "__main__":
    main()
