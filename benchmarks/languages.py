"""What it costs to give each language a window of its own, so that each window may have its own Redis.

usage: python benchmarks/languages.py [--data DIR] [--workers N]

DIR as for accuracy.py. The real pages are judged twice: in one window, and in one window for each language of their
labels. Printed are the verdicts that differ, and the share of the language with the most pages: the largest window.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from accuracy import _default_data, _pages, _table, _unpacked
from stories import SETTINGS, _judge

from scrapy_neardup.lab.labels import read_background
from scrapy_neardup.lab.pages import PageReader
from scrapy_neardup.lab.sketches import SharedSketches


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=_default_data())
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args()
    with ExitStack() as stack:
        data = _unpacked(options.data, stack)
        with PageReader(SETTINGS, options.workers) as reader:
            pages = _pages(reader, read_background([data / "stream-dev.jsonl"]))
    pages.sort(key=lambda page: page.recorded.time or 0.0)
    sketches = SharedSketches(SETTINGS)
    together = [answer.status for answer in asyncio.run(_judge(pages, None, sketches))]
    languages = [str(page.recorded.extra.get("lang")) for page in pages]
    apart = list(together)
    for language in set(languages):
        places = [place for place, other in enumerate(languages) if other == language]
        answers = asyncio.run(_judge([pages[place] for place in places], None, sketches))
        for place, answer in zip(places, answers, strict=True):
            apart[place] = answer.status
    counts, changes = Counter(together), Counter(zip(together, apart, strict=True))
    rows = [
        (status, count, *(changes[status, other] if status != other else "-" for other in ("original", "related")))
        for status, count in counts.most_common()
    ]
    _table("Verdicts", ("in one window", "documents", "by language original", "by language related"), rows)
    (language, most), *_ = Counter(languages).most_common()
    print(f"\n{len(set(languages))} languages; the largest is {language} with {most} of {len(pages)} pages")


if __name__ == "__main__":
    main()
