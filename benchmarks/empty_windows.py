"""Count the unrelated texts that join a story in an empty window, and the events that they raise.

usage: python benchmarks/empty_windows.py [--data DIR] [--half seen|unseen|both] [--draws 50] [--read FILE]

DIR as for accuracy.py. Each draw takes 40 texts of one language at random: real pages of one hour, or newswire of 1987.
Pages of one hour report on the same events, so people read the pairs that join (labels/stories.jsonl). A text joined a
stranger unless its pair has the label ``same``. ``--read FILE`` writes the pairs without a label.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from read_stories import Link, read_pairs, write_unread
from shared import HALVES, data_parser, half_of, print_table, read_pages, unpacked
from stories import SETTINGS, START, _judge

from scrapy_neardup.tools.lab.feed import read_background, read_feed
from scrapy_neardup.tools.lab.replay import PageReader, RecordedPage

TEXTS = 40  # of a draw
EVENT = 5  # a story with more documents might raise an event
LANGUAGES = ("en", "de", "ru", "es", "ja")
_LEAST_WORDS = 60  # of a newswire text
_KANA = re.compile("[\u3040-\u30ff]")
_MOST_SHOWN = 600  # characters in which the language is looked for


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--half", choices=(*HALVES, "both"), default="both", help="of the sources of real pages")
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--read", type=Path, metavar="FILE", help="write the pairs without a label")
    options = parser.parse_args()
    with ExitStack() as stack:
        data = unpacked(options.data, stack)
        reader = stack.enter_context(PageReader(SETTINGS, options.workers, sketches=True))
        pages = read_pages(reader, read_background([data / "stream-dev.jsonl"]))
        wire = [page for page in reader.read(read_feed(data / "reuters.jsonl")) if isinstance(page, RecordedPage)]
    chosen = [page for page in pages if options.half in ("both", half_of(page.recorded.url))]
    sets = {language: [page for page in chosen if _language(page) == language] for language in LANGUAGES}
    sets["newswire"] = [page for page in wire if len(page.text.split()) >= _LEAST_WORDS]
    labels, unread = read_pairs(), dict[frozenset[str], Link]()
    rows = []
    for name, texts in sets.items():
        counts: Counter[str] = Counter()
        for number in range(options.draws):
            draw = random.Random(f"{name} {number}").sample(texts, min(TEXTS, len(texts)))
            links, stories = _joined(draw)
            counts["texts"] += len(draw)
            counts["events"] += sum(size > EVENT for size in stories)
            for link in links:
                label = labels.get(link.pair, "unread")
                counts[label] += 1
                if label == "unread":
                    unread[link.pair] = link
        strangers = counts["other"] + counts["unsure"] + counts["unread"]
        share = f"{strangers / max(1, counts['texts']):.2%}"
        rows.append((name, len(texts), counts["texts"], counts["same"], strangers, share, counts["events"]))
    head = ("set", "texts", "drawn", "joined their own event", "joined a stranger", "share", "stories over 5")
    print_table(f"Empty windows: {options.draws} draws of {TEXTS} texts, half: {options.half}", head, rows)
    if options.read:
        write_unread(options.read, list(unread.values()), ())


def _joined(texts: Sequence[RecordedPage]) -> tuple[list[Link], list[int]]:
    """Judge texts in a new window, one a minute. Return the links of related ones, and the sizes of all stories."""
    timed = [
        replace(page, recorded=replace(page.recorded, time=START + 60 * number)) for number, page in enumerate(texts)
    ]
    answers = asyncio.run(_judge(timed))
    page_of = {answer.document: page for page, answer in zip(timed, answers, strict=True)}
    links = [
        Link(page, page_of[answer.match.id], answer.match.topic_score, same_source=False)
        for page, answer in zip(timed, answers, strict=True)
        if answer.status == "related" and answer.match
    ]
    return links, list(Counter(answer.story for answer in answers).values())


def _language(page: RecordedPage) -> str:
    if _KANA.search(page.text[:_MOST_SHOWN]):
        return "ja"
    return str(page.recorded.extra.get("lang"))


if __name__ == "__main__":
    main()
