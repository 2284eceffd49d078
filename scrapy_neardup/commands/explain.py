"""``scrapy neardup explain A B``: show what two documents share, and why the second gets its verdict."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scrapy_neardup.commands.inputs import add_json, add_preset, live_detector, read_pages
from scrapy_neardup.commands.terminal import PlainConsole, print_error, print_json, print_table, working
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import counted
from scrapy_neardup.evaluation.comparison import Comparison, Given, Passage, compare, read_single
from scrapy_neardup.evaluation.feed import read_feed
from scrapy_neardup.evaluation.pages import Page, PageReader
from scrapy_neardup.evaluation.registered import (
    Registered,
    SketchComparison,
    compare_sketches,
    find,
    is_document_id,
    may_be_registered,
    sketched,
)
from scrapy_neardup.evaluation.topics import LearnedTerms, TopicComparison
from scrapy_neardup.exceptions import InputError, StoreError
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch.guards.topic import FEWEST_DOCUMENTS
from scrapy_neardup.sketch.signatures.base import Frequencies

_PASSAGES = 5
_WORDS = 60


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
        help="documents seen before, from which boilerplate and the weights of terms are learned",
    )
    parser.add_argument("--fetch", action="store_true", help="fetch urls, even if the window has them")
    parser.add_argument(
        "--store",
        metavar="URL",
        help="the window with ids and urls (default: NEARDUP_STORE of the project); if given, the weights of terms are"
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
        by_sketches = asyncio.run(_from_window(options, settings))
        given = [] if by_sketches else [read_single(name, configured) for name in (options.a, options.b)]
    if by_sketches:
        _show_sketches(options, *by_sketches)
        return 0
    first, second = given
    empty = [name for name, each in ((options.a, first), (options.b, second)) if not each.text.strip()]
    for name in empty:
        print_error(f"{name}: no text found, nothing to compare (unchecked/no-text)")
    if empty:
        return 1
    seen = _documents(options.seen, configured) if options.seen else ()
    comparison = asyncio.run(_compare(options, settings, first, second, seen))
    if options.json:
        print_json({"a": options.a, "b": options.b, **asdict(comparison)})
    else:
        _print(options, comparison)
    return 0


Both = tuple[Registered, Registered, SketchComparison]


async def _from_window(options: argparse.Namespace, settings: dict[str, Any]) -> Both | None:
    """Compare by fingerprints if the window has one of the documents. Return None if it has none, or if it is away."""
    names = (options.a, options.b)
    needs_window = any(map(is_document_id, names))
    if not needs_window and (options.fetch or not any(map(may_be_registered, names))):
        return None
    try:
        async with live_detector(options, settings) as detector:
            records = await detector.index.records()
            known = {name: find(records, name) for name in names if is_document_id(name) or not options.fetch}
            if not any(known.values()):
                return None
            first, second = (known.get(name) or _sketched(detector, name) for name in names)
            return first, second, compare_sketches(detector, first, second)
    except StoreError:
        if needs_window:
            raise
        return None


def _sketched(detector: NearDupDetector, name: str) -> Registered:
    given = read_single(name, detector.settings)
    return sketched(detector, given.text, given.url, given.title)


def _show_sketches(options: argparse.Namespace, a: Registered, b: Registered, found: SketchComparison) -> None:
    note = (
        "compared by fingerprints: the window keeps no texts. To see the common text, give files, or urls with --fetch"
    )
    if options.json:
        sides = {side: {"id": each.id, "url": each.url, "title": each.title} for side, each in (("a", a), ("b", b))}
        print_json({**sides, "note": note, **asdict(found)})
        return
    console = PlainConsole()
    for side, each in (("A", a), ("B", b)):
        console.print(f"{side}  {each.id}  {each.seen_at[:16].replace('T', ' ')} UTC  {' '.join(each.title.split())}")
        console.print(f"   {each.url}")
    status = {"copy": "a copy", "related": "the same story, not a copy", "unlike": "another story"}[found.status]
    console.print(f"\nB after A: {status}", style="bold")
    if found.same_text or found.same_page:
        console.print(f"  the same {' and '.join(['text'] * found.same_text + ['page'] * found.same_page)}")
    share = [] if found.share is None else [("share of B that A holds", f"{found.share:.3f}")]
    measures = [("resemblance", f"{found.resemblance:.3f}"), ("containment", f"{found.containment:.3f}"), *share]
    print_table("", ("", "estimated"), measures)
    _print_lines(console, "Figures", found.changes)
    if found.match_of_second:
        is_first = " (A)" if found.match_of_second == a.id else ""
        console.print(f"When B came, its match was {found.match_of_second}{is_first}.")
    console.print(f"These two were {note}.")


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


def _print(options: argparse.Namespace, comparison: Comparison) -> None:
    console = PlainConsole()
    console.print(f"A  {options.a}\nB  {options.b}\n")
    verdict = comparison.verdict
    detail = verdict.kind or verdict.reason
    console.print(f"B after A: {verdict.status}{f'/{detail}' if detail else ''}", style="bold")
    for line in comparison.why:
        console.print(f"  {line}")
    console.print()
    measures = (
        ("resemblance", f"{comparison.resemblance:.3f}", f"{comparison.exact_resemblance:.3f}"),
        ("containment", f"{comparison.containment:.3f}", f"{comparison.exact_containment:.3f}"),
        ("bands in common", f"{comparison.shared_bands} of {comparison.bands}", ""),
    )
    print_table("", ("", "estimated", "exact"), measures)
    sides = {"A": comparison.first, "B": comparison.second}
    rows = (
        (name, side.words, side.shingles, sum(passage.words for passage in side.own), len(side.left_out))
        for name, side in sides.items()
    )
    print_table("", ("", "words", "shingles", "own words", "lines left out"), rows)
    if comparison.topic is not None:
        _print_topic(console, comparison.topic)
    _print_passages(console, "In both", comparison.shared)
    for name, side in sides.items():
        _print_passages(console, f"Only in {name}", side.own)
    _print_lines(console, "Figures", verdict.changes)
    for name, side in sides.items():
        lines = [f"[{left_out.why}] {_shortened(left_out.line)}" for left_out in side.left_out]
        _print_lines(console, f"Left out of {name}", lines)


def _print_topic(console: PlainConsole, topic: TopicComparison) -> None:
    """Print the parts of the score of the topics, what it has to reach, and the terms."""
    added = f" + {topic.same_source_extra:g} (one source) = {topic.needed:g}" if topic.same_source_extra else ""
    is_enough = "enough" if topic.score >= topic.needed else "not enough"
    console.print(f"\nTopics: {topic.score:.3f}, {is_enough}", style="bold")
    console.print(f"  score: {topic.from_terms:.3f} (terms) + {topic.from_titles:.3f} (titles)")
    console.print(f"  needed: {topic.threshold:g} (NEARDUP_TOPIC_THRESHOLD){added}")
    console.print(f"  look-up keys in common: {topic.shared_keys}; documents are compared if they have 2")
    if topic.documents:
        console.print(f"  weights learned from {counted(topic.documents, 'document')}: {topic.learned_from}")
    if topic.documents < FEWEST_DOCUMENTS:
        console.print_indented(
            f"until weights are learned from {FEWEST_DOCUMENTS} documents, only names and figures have one; use"
            " --seen or --store to weigh the terms as your crawl does"
        )
    rows = [
        (
            *(term.first, term.second, f"{term.weight_in_first:.2f}", f"{term.weight_in_second:.2f}"),
            "yes" if term.in_both_titles else "",
        )
        for term in topic.terms
    ]
    if rows:
        print_table("", ("term in A", "term in B", "weight in A", "weight in B", "in both titles"), rows)


def _print_lines(console: PlainConsole, title: str, lines: Sequence[str]) -> None:
    if lines:
        console.print(f"\n{title}", style="bold")
    for line in lines:
        console.print_indented(line)


def _print_passages(console: PlainConsole, title: str, passages: Sequence[Passage]) -> None:
    """Print the longest passages in the order of the text."""
    if not passages:
        return
    words = sum(passage.words for passage in passages)
    least = sorted((passage.words for passage in passages), reverse=True)[:_PASSAGES][-1]
    shown = [passage for passage in passages if passage.words >= least][:_PASSAGES]
    lines = [f"({passage.words}) {_shortened(passage.text)}" for passage in shown]
    if len(shown) < len(passages):
        lines.append(f"and {len(passages) - len(shown)} shorter ones")
    _print_lines(console, f"{title}: {counted(words, 'word')} in {counted(len(passages), 'passage')}", lines)


def _shortened(text: str) -> str:
    words = text.split()
    short = text if len(words) <= _WORDS else " ".join(words[:_WORDS]) + " …"
    return short if len(short) <= 10 * _WORDS else short[: 10 * _WORDS] + "…"
