"""Compare the extractors: time for each page, correctness of their texts, and the effect on the verdicts.

usage: python benchmarks/extractors.py [--data DIR] [--seeds N]

DIR is the unpacked research data (default: $NEARDUP_DATA). Time is CPU time of this process, without decoding. The runs
of four words of a text are compared with those of the text that people marked. Precision is the share of the extracted
runs that are in the marked text. Recall is the share of the marked runs that were extracted. Detection is the online F1
of the gold set, mean of N random orders.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from scrapy_neardup.content import decode_html, load_extractor
from scrapy_neardup.content.extractors import BUILT_IN
from scrapy_neardup.lab.labels import read_labelled
from scrapy_neardup.lab.pages import RecordedPage
from scrapy_neardup.lab.protocols import evaluate
from scrapy_neardup.settings import NearDupSettings

RUN = 4  # words
LABELS = ("cluster", "merged")
SETTINGS = NearDupSettings(store="memory://")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("NEARDUP_DATA"))
    parser.add_argument("--seeds", type=int, default=3, help="random orders of the gold set")
    options = parser.parse_args()
    if options.data is None:
        parser.error("--data DIR, or NEARDUP_DATA, is needed")
    print("| extractor | CPU ms a page | p99 | text precision | recall | F | detection F1, raw label | merged label |")
    print("|---|---|---|---|---|---|---|---|")
    for name in BUILT_IN:
        times, texts = accuracy(name, options.data)
        scores = asyncio.run(detection(name, options.data, range(options.seeds)))
        precision, recall = (statistics.mean(each) for each in zip(*texts, strict=True))
        found = [precision, recall, 2 * precision * recall / (precision + recall), *scores]
        p99 = sorted(times)[len(times) * 99 // 100]
        print(f"| {name} | {statistics.mean(times):.1f} | {p99:.0f} | " + " | ".join(f"{n:.3f}" for n in found) + " |")


def accuracy(name: str, data: Path) -> tuple[list[float], list[tuple[float, float]]]:
    """Milliseconds of each modern page, and precision and recall of its text."""
    extract = load_extractor(name)
    times, scores = [], []
    with (data / "articles.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for row in [rows[0], *rows]:
        html = decode_html((data / row["file"]).read_bytes())
        start = time.process_time()
        text = extract(html, row["url"])
        times.append(1000 * (time.process_time() - start))
        scores.append(overlap(runs(text), runs(row["text"])))
    return times[1:], scores[1:]  # the first one has the imports


def runs(text: str) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return Counter(zip(*(words[start:] for start in range(RUN)), strict=False))


def overlap(found: Counter[tuple[str, ...]], right: Counter[tuple[str, ...]]) -> tuple[float, float]:
    shared = (found & right).total()
    return shared / (found.total() or 1), shared / (right.total() or 1)


async def detection(name: str, data: Path, seeds: Sequence[int]) -> list[float]:
    """Online F1 for each label."""
    extract = load_extractor(name)
    labelled = read_labelled(data / "gold-dev.jsonl", LABELS)
    pages = [
        RecordedPage(recorded, extract(decode_html(recorded.file.read_bytes()), recorded.url))
        for recorded in labelled.documents
        if recorded.file is not None
    ]
    evaluation = await evaluate(pages, SETTINGS, seeds)
    return [evaluation.mean_scores(labelled.clusters[label])["online"].f1 for label in LABELS]


if __name__ == "__main__":
    main()
