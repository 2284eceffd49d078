"""How much CPU time a text costs, as a ratio of two checkouts.

    python benchmarks/judging_cost.py --before CHECKOUT FEED.jsonl

A feed has one document a line, with its text. Both checkouts sketch and replay all of it again and again, in turns,
each in a process of its own, over a window in memory. CPU time is counted, not the time on the clock, and the quickest
round of each checkout is compared: other programs on the machine only ever add to it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROUND = """
import asyncio, json, statistics, sys, time
from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.lab.feed import Recorded
from scrapy_neardup.lab.pages import Page
from scrapy_neardup.lab.replay import OutputFormat, opened, replay
from scrapy_neardup.sketch import PRESETS, Sketcher

rows = [row for line in open(sys.argv[1], encoding="utf-8") if (row := json.loads(line)).get("text")]
pages = [
    Page(
        Recorded(
            number, "", number, row.get("url") or f"https://www.example{number % 50}.com/{number}.html",
            row.get("title") or "", 1_500_000_000.0 + number, row["text"], None, None,
        ),
        row["text"],
    )
    for number, row in enumerate(rows)
]

def spent(call):
    start = time.process_time()
    call()
    return 1e6 * (time.process_time() - start)

def fingerprints(documents, together):
    sketcher = Sketcher(PRESETS["news"])
    sketcher.prepare()
    groups = [documents[first : first + together] for first in range(0, len(documents), together)]
    return [spent(lambda: sketcher.fingerprints(group)) for group in groups]

async def replay_all():
    detector, form = NearDupDetector(NearDupSettings(store="memory://"), run=""), OutputFormat()
    async with opened(detector):
        await detector.prepare()
        start = time.process_time()
        async for judged in replay(pages, detector, all_over=True):
            form.row(judged)
        return 1e6 * (time.process_time() - start)

detector = NearDupDetector(NearDupSettings(store="memory://"), run="")
documents = [
    detector.document(each.text, url=each.recorded.url, title=each.title, seen_at=each.recorded.time) for each in pages
]
pages_of_500_words = [document for document in documents if 400 <= len(document.text.split()) <= 600]
for _ in sys.stdin:
    alone = statistics.median(fingerprints(pages_of_500_words, 1) or [0])
    together = sum(fingerprints(documents, 16)) / len(documents)
    print(json.dumps([alone, together, asyncio.run(replay_all()) / len(documents)]), flush=True)
"""
STEPS = "fingerprint of 400 to 600 words, alone (median)", "fingerprints, 16 texts together", "replay, over memory"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("feed", type=Path)
    parser.add_argument("--before", type=Path, required=True, help="the other checkout")
    parser.add_argument("--rounds", type=int, default=12)
    options = parser.parse_args()
    checkouts = {"before": options.before, "after": Path(__file__).resolve().parents[1]}
    judges = {name: _start(checkout.resolve(), options.feed.resolve()) for name, checkout in checkouts.items()}
    found: dict[str, list[list[float]]] = {name: [] for name in judges}
    for _ in range(options.rounds + 1):
        for name, judge in judges.items():
            found[name].append(_round(judge))
    for judge in judges.values():
        judge.communicate()
    print("| CPU us a document | before | after | after / before |\n|---|---|---|---|")
    for column, step in enumerate(STEPS):
        before, after = (min(each[column] for each in found[name][1:]) for name in ("before", "after"))
        if before:
            print(f"| {step} | {before:.0f} | {after:.0f} | {after / before:.2f} |")


def _start(checkout: Path, feed: Path) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    command = [sys.executable, "-c", ROUND, str(feed)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=checkout, env=environment, stdin=pipe, stdout=pipe, text=True)


def _round(judge: subprocess.Popen[str]) -> list[float]:
    assert judge.stdin is not None
    assert judge.stdout is not None
    judge.stdin.write("\n")
    judge.stdin.flush()
    return list(map(float, judge.stdout.readline().strip("[]\n").split(",")))


if __name__ == "__main__":
    main()
