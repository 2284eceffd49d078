"""Compare a replay on a cluster with one in one process: verdicts, speed, memory, and cost at several sizes.

    python benchmarks/archive.py verdicts day-dev.jsonl ng-dev.jsonl
    python benchmarks/archive.py speed day-dev.jsonl --documents 200000
    python benchmarks/archive.py sizes day-dev.jsonl --documents 50000 200000 800000 --characters 800

The files are as for ``scrapy neardup replay``, each with at least some thousand articles. For ``speed`` and ``sizes``
the first of them is repeated: each time a day later, with other urls, figures and without some sentences.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import sys
import time
from collections import Counter
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shared import print_table

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.content.document_maker import parse_time
from scrapy_neardup.tools.cluster import connected, job_of, replay_archive
from scrapy_neardup.tools.commands.replay import by_time
from scrapy_neardup.tools.lab.feed import read_feed
from scrapy_neardup.tools.lab.replay import OutputFormat, PageReader, opened, replay

SETTINGS = NearDupSettings.from_mapping({"NEARDUP_STORE": "memory://"})
LATER = 26 * 3600  # seconds: outside of the window


def usage() -> tuple[float, float]:
    """Return the CPU seconds of this process, and its most memory in MB."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def repeated(rows: list[dict[str, Any]], most: int, folder: Path) -> list[Path]:
    """Write so many documents, each round of the rows into a file."""
    draw = random.Random(1)
    paths = []
    for start in range(0, most, len(rows)):
        number = len(paths)
        paths.append(folder / f"round{number:04}.jsonl")
        with paths[-1].open("w", encoding="utf-8") as file:
            figures = str.maketrans("0123456789", "".join(str((figure + number) % 10) for figure in range(10)))
            for row in rows[: most - start]:
                lines = [line for line in row["text"].split("\n") if not number or draw.random() > 0.05]
                changed = {"id": f"{row['id']}-{number}", "url": f"{row['url']}?round={number}"}
                changed["text"] = "\n".join(lines).translate(figures)
                file.write(json.dumps({**row, **changed, "time": parse_time(row["time"]) + number * LATER}) + "\n")
    return paths


async def in_one_process(paths: list[Path]) -> list[dict[str, Any]]:
    """Replay files in this process, without workers."""
    output = OutputFormat()
    feed = chain.from_iterable(map(read_feed, paths))
    if len(paths) == 1:
        feed = by_time(feed)
    async with opened(NearDupDetector(SETTINGS, run="")) as detector:
        with PageReader(SETTINGS, 1) as reader:
            return [output.row(judged) async for judged in replay(reader.read(feed), detector, all_over=True)]


def on_cluster(paths: list[Path], folder: Path, workers: int) -> tuple[float, float, float]:
    """Replay files with workers on this machine. Return the seconds, those of CPU, and the most memory of a worker."""
    job = job_of(SETTINGS, paths, folder)
    with connected("local", workers) as client:
        start = time.perf_counter()
        replay_archive(client, job, lambda line: print("   ", line, file=sys.stderr, flush=True))
        seconds = time.perf_counter() - start
        used = client.run(usage).values()
    return seconds, sum(cpu for cpu, _ in used), max(memory for _, memory in used)


def verdict_of(row: dict[str, Any], times: dict[str | int | None, float | None]) -> tuple[Any, ...]:
    """Return what is compared: related documents count as originals, and two matches of one time as one."""
    status = "original" if row["status"] == "related" else row["status"]
    return status, None if status == "original" else times[row["match"]], row["would_drop"]


def verdicts(path: Path) -> tuple[object, ...]:
    plain = {row["id"]: row for row in asyncio.run(in_one_process([path]))}
    with TemporaryDirectory() as folder:
        on_cluster([path], Path(folder), 2)
        parts = sorted(Path(folder).glob("*.jsonl"))
        found = [json.loads(line) for part in parts for line in part.open(encoding="utf-8")]
    times = {document.id: document.time for document in read_feed(path)} | {None: None}
    differing = Counter[str]()
    for row in found:
        one, other = verdict_of(plain[row["id"]], times), verdict_of(row, times)
        if one[0] != other[0]:
            differing[f"{one[0]} -> {other[0]}"] += 1
        elif one != other:
            differing["another match" if one[1] != other[1] else "drop"] += 1
    share = 1 - differing.total() / len(found)
    return path.stem, f"{len(found):,}", f"{share:.4f}", dict(differing)


def measure(rows: list[dict[str, Any]], most: int, *, alone: bool) -> tuple[str, ...]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = repeated(rows, most, folder)
        seconds, cpu, memory = on_cluster(paths, folder / "out", 2)
        cells = (f"{most:,}", f"{most / seconds:,.0f}", f"{1000 * cpu / most:.2f}", f"{memory:,.0f}")
        if not alone:
            return cells
        start, (before, _) = time.perf_counter(), usage()
        asyncio.run(in_one_process(paths))
        own, cpu = time.perf_counter() - start, usage()[0] - before
    return *cells, f"{most / own:,.0f}", f"{1000 * cpu / most:.2f}", f"{own / seconds:.2f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("verdicts", "speed", "sizes"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--documents", nargs="+", type=int, default=[20_000])
    parser.add_argument("--characters", type=int, help="of each text, from its beginning (default: all)")
    options = parser.parse_args()
    if options.what == "verdicts":
        print_table("Verdicts", ("documents of", "documents", "equal", "differences"), map(verdicts, options.files))
    else:
        head = ("documents", "two workers, a second", "CPU ms", "most MB", "one process, a second", "CPU ms", "times")
        articles = [json.loads(line) for line in options.files[0].open(encoding="utf-8")]
        articles = [{**row, "text": row["text"][: options.characters]} for row in articles]
        rows = (measure(articles, count, alone=options.what == "speed") for count in options.documents)
        print_table("Cost of a document", head, rows)
