"""How many documents have a second look: their texts are compared with those of candidates in the window.

usage: python benchmarks/second_looks.py FILE [--pages 500] [--rounds 24]

FILE has recorded documents, as for ``scrapy neardup replay``. First all of them are judged once, at their own times.
Then the first pages come again every 15 minutes with the same text, as in a crawl that never stops.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document
from scrapy_neardup.records.documents import Record
from scrapy_neardup.rules.decision import Candidate, Judge
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.lab.feed import read_feed

QUARTER = 900  # seconds
LOOKS = Counter[int]()
"""How many documents had so many texts read."""


class CountingJudge(Judge):
    """Counts second looks. Documents that are checked one by one are asked for once, if they have candidates."""

    def second_look(self, new: Record, candidates: Sequence[Candidate]) -> list[Candidate]:
        chosen = Judge.second_look(self, new, candidates)
        LOOKS[len(chosen)] += 1
        return chosen


async def judge(title: str, documents: Sequence[Document], rounds: int) -> None:
    LOOKS.clear()
    detector = NearDupDetector(NearDupSettings(store="memory://"))
    policy = detector.index.documents.judge
    detector.index.documents.judge = CountingJudge(policy.policy, policy.system, policy.owner_of, policy.source_of)
    await detector.open()
    statuses = Counter[str]()
    for number in range(rounds):
        for each in documents:
            later = f"{int(each.id, 16) + (number * QUARTER << 32):016x}"
            verdict = await detector.check(replace(each, id=later, seen_at=each.seen_at + number * QUARTER))
            statuses[verdict.status] += 1
    summary, count = await detector.index.summary(), rounds * len(documents)
    await detector.close()
    looks = LOOKS.total() - LOOKS[0]
    read = sum(number * times for number, times in LOOKS.items())
    print(f"{title}: {count:,} documents, {looks / count:.1%} with a second look")
    print(f"  {read / count:.2f} texts read a document, {dict(statuses)}")
    print(f"  {summary.texts:,} texts of {summary.documents:,} documents in the window")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=24)
    options = parser.parse_args()
    detector = NearDupDetector(NearDupSettings(store="memory://"))
    documents = [
        detector.document(each.text, url=each.url, title=each.title or "", seen_at=each.time)
        for each in read_feed(options.file)
        if each.error is None and each.text and each.time is not None
    ]
    asyncio.run(judge("once", documents, 1))
    pages = [*islice(documents, options.pages)]
    started = pages[0].seen_at
    pages = [
        detector.document(each.text, url=each.url, title=each.title, seen_at=started + number % QUARTER)
        for number, each in enumerate(pages)
    ]
    asyncio.run(judge("every 15 minutes", pages, options.rounds))


if __name__ == "__main__":
    main()
