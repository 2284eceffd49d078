"""Measure whether changes of the tolls of one event are told, by labels of people who read its pages.

usage: python benchmarks/tolls.py [--data DIR] [--show]

DIR as for accuracy.py. ``labels/toll-dev.jsonl`` has the toll of the whole event that a page prints. A value is a
change that a reader finds when a second owner prints it, after another value that two owners print. It is told if a
ledger has it as its state then. ``--show`` prints the story of each page.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from shared import HALVES, data_parser, half_of, print_table, unpacked

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.evidence.figures.counted import FigureKind
from scrapy_neardup.evidence.figures.tolls import tolls_of
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_checked

LABELS = Path(__file__).parent / "labels" / "toll-dev.jsonl"
WINDOW = 24 * 3600


class Page(NamedTuple):
    """A page of an event, in the order of time."""

    id: str
    event: str
    kind: FigureKind
    value: int
    owner: str
    half: str
    is_read: bool  # whether the value is among the tolls of its text
    story: str
    others: int  # labelled owners before it in the same story
    states: frozenset[int]  # of this kind, after the page


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--show", action="store_true", help="print the story of each page")
    options = parser.parse_args()
    labels = {row["id"]: row for row in map(json.loads, LABELS.read_text(encoding="utf-8").splitlines())}
    with ExitStack() as stack:
        documents = read_checked([unpacked(options.data, stack) / "toll-dev.jsonl"])
    pages = asyncio.run(_replay(documents, labels))
    head = ("sources", "pages", "value read", "beside others")
    print_table("Pages with a toll of the whole event", head, _by_half(pages))
    changes = list(_changes(pages))
    rows = [(event, len(found), sum(told for told, _ in found)) for event, found in _grouped(changes).items()]
    print_table("Changes told when a second owner prints them", ("event", "changes", "told"), rows)
    if options.show:
        rows = [(page.id, page.value, page.is_read, page.story, sorted(page.states)) for page in pages]
        print_table("Pages", ("page", "toll", "read", "story", "states"), rows)


async def _replay(documents: Iterable[RecordedDocument], labels: dict[str, dict[str, object]]) -> list[Page]:
    """Judge all documents at their times, and return what is labelled."""
    detector = NearDupDetector(NearDupSettings(store="memory://"), run="")
    owners = defaultdict[str, set[str]](set)  # of labelled pages, by story
    pages = []
    await detector.open()
    for each in sorted(documents, key=lambda document: document.time or 0):
        language = str(each.extra.get("lang", ""))
        document = detector.document(
            each.text or "", url=each.url, title=each.title, seen_at=each.time, language=language
        )
        verdict = await detector.check(document)
        label = labels.get(str(each.id))
        if label is None:
            continue
        kind, value = FigureKind[str(label["kind"]).upper()], int(str(label["value"]))
        tolls = tolls_of(each.title, each.text or "", language)
        owner = detector.index.partition.judge.owner_of(source_of(each.url))
        found = await _states(detector, verdict.story)
        read = any(toll.kind == kind and toll.low == value for toll in tolls)
        known = owners[verdict.story or ""]
        page = Page(
            str(each.id), str(label["event"]), kind, value, owner, half_of(each.url), read, verdict.story or "",
            len(known - {owner}), frozenset(low for number, low in found if number == kind),
        )  # fmt: skip
        known.add(owner)
        pages.append(page)
    await detector.close()
    return pages


async def _states(detector: NearDupDetector, story: str | None) -> list[tuple[int, int]]:
    """Return kind and value of the states of a story."""
    key = bytes.fromhex(story or "")
    found = (await detector.index.stories.whole([key])).get(key) if key else None
    return [(state.kind, int(state.low)) for state in found[0].ledger.current.values()] if found else []


def _by_half(pages: Sequence[Page]) -> Iterable[Sequence[object]]:
    for half in HALVES:
        own = [page for page in pages if page.half == half]
        yield half, len(own), sum(page.is_read for page in own), sum(page.others > 0 for page in own)


def _changes(pages: Sequence[Page]) -> Iterable[tuple[str, bool, Page]]:
    """Yield each change that a reader finds, whether it is told, and the page that is the second to print it."""
    owners = defaultdict[tuple[str, FigureKind, int], set[str]](set)
    is_begun = set[tuple[str, FigureKind]]()
    for page in pages:
        printed = owners[page.event, page.kind, page.value]
        is_second = len(printed) == 1 and page.owner not in printed
        printed.add(page.owner)
        if is_second:
            if (page.event, page.kind) in is_begun:
                yield page.event, page.value in page.states, page
            is_begun.add((page.event, page.kind))


def _grouped(changes: Iterable[tuple[str, bool, Page]]) -> dict[str, list[tuple[bool, Page]]]:
    found = defaultdict[str, list[tuple[bool, Page]]](list)
    for event, told, page in changes:
        found[event].append((told, page))
    return found


if __name__ == "__main__":
    main()
