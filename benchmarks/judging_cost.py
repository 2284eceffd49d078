"""How much CPU time a text costs, as a ratio of two checkouts.

    python benchmarks/judging_cost.py --before CHECKOUT FEED.jsonl

A feed has one document a line, with its text. Both checkouts judge all of it again and again, in turns, each in a
process of its own, over a window in memory. CPU time is counted, not the time on the clock, and the quickest round of
each checkout is compared: other programs on the machine only ever add to it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROUND = """
import asyncio, json, sys, time
from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.sketch import PRESETS, Sketcher

rows = [row for line in open(sys.argv[1], encoding="utf-8") if (row := json.loads(line)).get("text")]

async def judge():
    detector = NearDupDetector(NearDupSettings(store="memory://"), run="")
    await detector.open()
    documents = [
        detector.document(
            row["text"],
            url=row.get("url") or f"https://www.example{number % 50}.com/{number}.html",
            title=row.get("title") or "",
            seen_at=1_500_000_000.0 + number,
        )
        for number, row in enumerate(rows)
    ]
    before = time.process_time()
    sketcher = Sketcher(PRESETS["news"])
    for first in range(0, len(documents), 16):
        sketcher.fingerprints(documents[first : first + 16])
    between = time.process_time()
    for first in range(0, len(documents), 64):
        await detector.check_in_order(documents[first : first + 64])
    after = time.process_time()
    await detector.close()
    return [1e3 * (between - before) / len(rows), 1e3 * (after - between) / len(rows)]

for _ in sys.stdin:
    print(json.dumps(asyncio.run(judge())), flush=True)
"""


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
    print("| CPU ms a document | before | after | after / before |\n|---|---|---|---|")
    for column, step in enumerate(("fingerprints, 16 texts together", "verdicts, over memory")):
        before, after = (min(each[column] for each in found[name][1:]) for name in ("before", "after"))
        print(f"| {step} | {before:.3f} | {after:.3f} | {after / before:.2f} |")


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
    fingerprints, verdicts = map(float, judge.stdout.readline().strip("[]\n").split(","))
    return [fingerprints, verdicts]


if __name__ == "__main__":
    main()
