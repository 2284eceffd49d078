"""``scrapy neardup explain A B``: show what two documents share, and why the second gets its verdict."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from scrapy_neardup.commands.comparison_output import show_comparison, show_sketches
from scrapy_neardup.commands.inputs import add_json, add_preset, live_detector, read_pages
from scrapy_neardup.commands.terminal import print_error, working
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.exceptions import InputError, StoreError
from scrapy_neardup.lab.comparison import Comparison, compare
from scrapy_neardup.lab.feed import read_feed
from scrapy_neardup.lab.pages import Page, PageReader
from scrapy_neardup.lab.registered import (
    Registered,
    SketchComparison,
    compare_sketches,
    find,
    is_document_id,
    may_be_registered,
    missing_page,
    sketched,
)
from scrapy_neardup.lab.single import Given, read_single
from scrapy_neardup.lab.topics import LearnedTerms
from scrapy_neardup.records.feature_counts import Frequencies
from scrapy_neardup.settings import NearDupSettings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    form = "a file (HTML or text), -, an http(s) url, a document id of the window, or INPUT#id of JSON lines"
    parser.add_argument("a", metavar="A", help=form)
    parser.add_argument(
        "b",
        metavar="B",
        help="the second document, in the same form; its verdict is shown for a window that holds only A",
    )
    parser.add_argument(
        "--seen",
        type=Path,
        metavar="FEED",
        help="documents seen before, from which boilerplate and the rarity of terms are learned",
    )
    parser.add_argument("--fetch", action="store_true", help="fetch urls, even if the window has them")
    parser.add_argument(
        "--store",
        metavar="URL",
        help="the window with ids and urls (default: NEARDUP_STORE of the project); if given, the rarity of terms is"
        " taken from it too",
    )
    parser.add_argument("--namespace", metavar="NAME", help="of the window; default: NEARDUP_NAMESPACE of the project")
    add_preset(parser)
    add_json(parser, "one JSON object, with every passage in full")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    configured = NearDupSettings.from_mapping(settings)
    if options.a == options.b == "-":
        raise InputError("A and B: only one of them can be standard input")
    with working("reading the documents"):
        found = asyncio.run(_from_window(options, settings))
        if not isinstance(found, tuple):
            given = [read_single(name, configured, found.get(name, "")) for name in (options.a, options.b)]
    if isinstance(found, tuple):
        show_sketches(options, *found)
        return 0
    first, second = given
    empty = [name for name, each in ((options.a, first), (options.b, second)) if not each.text.strip()]
    for name in empty:
        print_error(f"{name}: no text found, nothing to compare (unchecked/no-text)")
    if empty:
        return 1
    seen = _documents(options.seen, configured) if options.seen else ()
    comparison = asyncio.run(_compare(options, settings, first, second, seen))
    show_comparison(options, comparison)
    return 0


Both = tuple[Registered, Registered, SketchComparison]


async def _from_window(options: argparse.Namespace, settings: dict[str, Any]) -> Both | dict[str, str]:
    """Compare by fingerprints if the window has one of the documents. If not, return why pages have to be fetched."""
    names = (options.a, options.b)
    needs_window = any(map(is_document_id, names))
    if not needs_window and (options.fetch or not any(map(may_be_registered, names))):
        return {}
    pages = [name for name in names if may_be_registered(name) and not options.fetch]
    try:
        async with live_detector(options, settings) as detector:
            records = await detector.index.records()
            known = {name: find(records, name) for name in names if is_document_id(name) or not options.fetch}
            missing = {name: missing_page(records, name) for name in pages if not known[name]}
            if not any(known.values()):
                return missing
            first, second = (known.get(name) or _sketched(detector, name, missing.get(name, "")) for name in names)
            return first, second, compare_sketches(detector, records, first, second)
    except StoreError as error:
        if needs_window:
            raise
        return dict.fromkeys(pages, f"no window was found ({error})")


def _sketched(detector: NearDupDetector, name: str, why_fetched: str) -> Registered:
    given = read_single(name, detector.settings, why_fetched)
    return sketched(detector, given.text, given.url, given.title)


async def _compare(
    options: argparse.Namespace, settings: dict[str, Any], first: Given, second: Given, seen: Iterable[Given]
) -> Comparison:
    learned = None
    places = [str(options.seen)] if options.seen else []
    frequencies = Frequencies()
    if options.store:
        async with live_detector(options, settings) as detector:
            summary = await detector.summary()
            if detector.sketcher.topics is not None:
                frequencies = detector.sketcher.topics.frequencies
        places.insert(0, summary.location)
    if places:
        learned = LearnedTerms(frequencies, " and ".join(places))
    return await compare(first, second, NearDupSettings.from_mapping(settings), seen, learned)


def _documents(path: Path, settings: NearDupSettings) -> Iterator[Given]:
    """Yield texts and titles of recorded documents."""
    feed = read_feed(path)
    with PageReader(settings, os.cpu_count() or 1) as reader:
        for page in read_pages(reader, feed):
            if isinstance(page, Page):
                yield Given(page.text, title=page.title)
