"""Let many processes judge the same texts at the same time over one Redis: what do they disturb each other?

usage: python benchmarks/redis_crowd.py [--processes 16] [--texts 2000] [--batch 16] FEED.jsonl

Each process judges the first texts of the feed, in an order of its own, all as other pages of other sources. Printed
are the texts without exactly one original, the levels of events that were raised twice, how many times a document was
committed on average, and the longest check. The exit status is 1 if one of them is not as promised: none, none, 1.5
times, 2 seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from news_server import redis_server

MOST_COMMITS, LONGEST = 1.5, 2.0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("feed", type=Path)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=16, help="checks of a process that are under way together")
    options = parser.parse_args()
    texts = list({json.loads(line)["text"]: None for line in options.feed.open(encoding="utf-8")})[: options.texts]
    with (
        tempfile.TemporaryDirectory() as folder,
        redis_server(folder) as url,
        multiprocessing.get_context("spawn").Pool(options.processes) as pool,
    ):
        work = [(url, number, texts, options.batch) for number in range(options.processes)]
        found = pool.starmap(judge, work)
    judged = options.processes * len(texts)
    originals, events = Counter[int](), Counter[tuple[str, str]]()
    for each in found:
        originals.update(each["originals"])
        events.update(map(tuple, each["events"]))
    wrong = sum(count > 1 for count in originals.values())
    twice = sum(count > 1 for (_, level), count in events.items() if level in ("watch", "breaking"))
    commits, longest = sum(each["commits"] for each in found) / judged, max(each["longest"] for each in found)
    unchecked = sum(each["unchecked"] for each in found)
    print(f"{judged} checks of {len(texts)} texts by {options.processes} processes, {len(originals)} originals")
    print(f"texts with two originals: {wrong}, not judged: {unchecked}, levels raised twice: {twice}")
    print(f"commits a document: {commits:.2f}, longest check: {longest:.2f} s")
    return int(wrong > 0 or unchecked > 0 or twice > 0 or commits > MOST_COMMITS or longest > LONGEST)


def judge(url: str, number: int, texts: list[str], batch: int) -> dict:
    return asyncio.run(_judge(url, number, texts, batch))


async def _judge(url: str, number: int, texts: list[str], batch: int) -> dict:
    from scrapy_neardup.detector import NearDupDetector
    from scrapy_neardup.index.redis import lua
    from scrapy_neardup.settings import NearDupSettings

    commits, run_all = 0, lua.run_all

    async def counting(client, calls):
        nonlocal commits
        commits += sum(call[0] is lua.script("commit") for call in calls)
        return await run_all(client, calls)

    lua.run_all = counting
    detector = NearDupDetector(NearDupSettings(store=url), run=str(number))
    await detector.open()
    order = random.Random(number).sample(range(len(texts)), len(texts))
    originals, events, longest, unchecked = [], [], 0.0, 0
    for first in range(0, len(order), batch):
        group = order[first : first + batch]
        documents = [
            detector.document(texts[each], url=f"https://paper{number}.example/{each}", seen_at=1.7e9 + first / 10)
            for each in group
        ]
        began = time.perf_counter()
        prints = [detector.sketcher.fingerprint(each) for each in documents]
        sketched = time.perf_counter()
        verdicts = await detector.check_in_order(documents)
        longest = max(longest, time.perf_counter() - sketched - (sketched - began))
        originals += [each for each, verdict in zip(group, verdicts, strict=True) if verdict.status == "original"]
        unchecked += sum(verdict.reason == "store-unavailable" for verdict in verdicts)
        events += [(event.story.id, event.level) for event in detector.take_events()]
        del prints
    await detector.close()
    return {"originals": originals, "events": events, "commits": commits, "longest": longest, "unchecked": unchecked}


if __name__ == "__main__":
    sys.exit(main())
