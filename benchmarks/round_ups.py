"""Count the large stories that hold together only by one document, such as a page that tells of several events.

usage: python benchmarks/round_ups.py [--data DIR] [--set day-dev] [--largest N]

DIR as for accuracy.py. The texts of a set are judged at their real times. Two members of a story are linked if the
rules relate them, whatever the first document of the story is. A document holds a story together if without it the
members fall into more parts of two documents or more. The script prints these documents for a reader, and the events.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from shared import data_parser, print_table, unpacked

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.documents import CheckedDocument
from scrapy_neardup.records.documents import Record
from scrapy_neardup.rules.decision import Judge
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.tools.lab.feed import read_background
from scrapy_neardup.tools.lab.replay import RecordedPage, replay

Links = Mapping[str, Collection[str]]


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--set", default="day-dev", help="of texts with times")
    parser.add_argument("--largest", type=int, default=25, help="stories that are looked at")
    options = parser.parse_args()
    with ExitStack() as stack:
        path = unpacked(options.data, stack) / f"{options.set}.jsonl"
        asyncio.run(_measure(path, options.largest))


async def _measure(path: Path, largest: int) -> None:
    recorded = sorted(read_background([path]), key=lambda each: each.time or 0.0)
    detector = NearDupDetector(NearDupSettings(store="memory://"), run="")
    records: dict[str, Record] = {}
    check = detector.index.documents.check

    async def remember(*arguments: Any) -> list[CheckedDocument | StoreError]:
        answers = await check(*arguments)
        records.update({each.id: each.decision.record for each in answers if isinstance(each, CheckedDocument)})
        return answers

    detector.index.documents.check = remember  # type: ignore[method-assign]
    await detector.open()
    events: list[StoryEvent] = []
    pages = (RecordedPage(each, each.text or "") for each in recorded)
    judged = [each async for each in replay(pages, detector, events.append, all_over=True)]
    final = await detector.final_stories()
    await detector.close()
    documents: dict[str, Document] = {}
    stories: dict[str, list[str]] = defaultdict(list)
    for each in judged:
        if each.document and each.verdict:
            documents[each.document.id] = each.document
            story = each.verdict.story or each.document.id
            stories[final.get(story, story)].append(each.document.id)
    rows = []
    for members in sorted(stories.values(), key=len, reverse=True)[:largest]:
        links = _links(members, records, detector.index.documents.judge)
        whole = len(_parts(members, links))
        for member in members:
            parts = _parts([each for each in members if each != member], links)
            if len(parts) > whole:
                sizes = ", ".join(str(size) for size in sorted(map(len, parts), reverse=True))
                rows.append((len(members), documents[members[0]].title, documents[member].title, sizes))
    count = len({row[:2] for row in rows})
    head = ("documents", "first title of the story", "title of the document", "parts without it")
    print_table(f"{count} of the {largest} largest stories are held together by a document", head, rows)
    levels = Counter(event.level for event in events)
    print_table("Events", ("level", "signals"), sorted(levels.items()))


def _links(members: Sequence[str], records: Mapping[str, Record], judge: Judge) -> Links:
    links = defaultdict[str, set[str]](set)
    alone = {each: replace(records[each], first_topic=b"") for each in members}
    for old, new in combinations(members, 2):
        pair = Pair(bytes.fromhex(old), alone[new], alone[old], judge.policy)
        if judge.system.may_match(pair) and judge.system.relation(pair).name != "none":
            links[old].add(new)
            links[new].add(old)
    return links


def _parts(members: Collection[str], links: Links) -> list[set[str]]:
    """Return the parts of two documents or more into which documents fall."""
    left, parts = set(members), list[set[str]]()
    while left:
        waiting = [left.pop()]
        part = set(waiting)
        while waiting:
            near = left.intersection(links.get(waiting.pop(), ()))
            left -= near
            part |= near
            waiting += near
        parts.append(part)
    return [part for part in parts if len(part) > 1]


if __name__ == "__main__":
    main()
