"""Count the unrelated texts that join a story in an empty window, and the events that they raise.

usage: python benchmarks/empty_windows.py [--data DIR] [--half seen|unseen|both] [--draws 50] [--workers N]

DIR as for accuracy.py. Each draw takes 40 texts of one language at random: real pages of one hour, or newswire of 1987.
Pages of one hour report on the same events, so people read the pairs that join (labels/stories.jsonl). A text joined a
stranger unless its pair has the label ``same``.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from read_stories import Link, read_pairs
from shared import HALVES, add_workers, data_parser, half_of, print_table, read_pages, unpacked
from stories import SETTINGS, START, judge, links_of

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
    add_workers(parser)
    options = parser.parse_args()
    with ExitStack() as stack:
        data = unpacked(options.data, stack)
        reader = stack.enter_context(PageReader(SETTINGS, options.workers, sketches=True))
        pages = read_pages(reader, data / "stream-dev.jsonl")
        wire = read_pages(reader, data / "reuters.jsonl")
    chosen = [page for page in pages if options.half in ("both", half_of(page.recorded.url))]
    sets = {language: [page for page in chosen if _language(page) == language] for language in LANGUAGES}
    sets["newswire"] = [page for page in wire if len(page.text.split()) >= _LEAST_WORDS]
    labels = read_pairs()
    rows = []
    for name, texts in sets.items():
        counts = Counter[str]()
        for number in range(options.draws):
            draw = random.Random(f"{name} {number}").sample(texts, min(TEXTS, len(texts)))
            links, stories = _joined(draw)
            counts["texts"] += len(draw)
            counts["events"] += sum(size > EVENT for size in stories)
            counts.update("same" if labels.get(link.pair) == "same" else "stranger" for link in links)
        share = f"{counts['stranger'] / max(1, counts['texts']):.2%}"
        rows.append((name, len(texts), counts["texts"], counts["same"], counts["stranger"], share, counts["events"]))
    head = ("set", "texts", "drawn", "joined their own event", "joined a stranger", "share", "stories over 5")
    print_table(f"Empty windows: {options.draws} draws of {TEXTS} texts, half: {options.half}", head, rows)


def _joined(texts: Sequence[RecordedPage]) -> tuple[list[Link], list[int]]:
    """Judge texts in a new window, one a minute. Return the links of related ones, and the sizes of all stories."""
    timed = [
        replace(page, recorded=replace(page.recorded, time=START + 60 * number)) for number, page in enumerate(texts)
    ]
    answers = asyncio.run(judge(timed))
    return links_of(timed, answers), list(Counter(answer.story for answer in answers).values())


def _language(page: RecordedPage) -> str:
    if _KANA.search(page.text[:_MOST_SHOWN]):
        return "ja"
    return str(page.recorded.extra.get("lang"))


if __name__ == "__main__":
    main()
