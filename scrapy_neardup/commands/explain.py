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
from scrapy_neardup.commands.terminal import PlainConsole, print_error, print_json, print_table
from scrapy_neardup.evaluation.comparison import Comparison, Given, Passage, compare, read_single
from scrapy_neardup.evaluation.feed import read_feed
from scrapy_neardup.evaluation.pages import Page, PageReader
from scrapy_neardup.evaluation.topics import LearnedTerms, TopicComparison
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch.guards.topic import FEWEST_DOCUMENTS
from scrapy_neardup.sketch.signatures.base import Frequencies

_PASSAGES = 5
_WORDS = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    form = "a file (HTML or text), an http(s) url, or INPUT#id of JSON lines"
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
    parser.add_argument("--store", metavar="URL", help="a window from which the weights of terms are taken")
    parser.add_argument("--namespace", metavar="NAME", help="of the window; default: NEARDUP_NAMESPACE of the project")
    add_preset(parser)
    add_json(parser, "one JSON object, with every passage in full")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    configured = NearDupSettings.from_mapping(settings)
    first, second = (read_single(name, configured) for name in (options.a, options.b))
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
    added = f" + {topic.same_source_extra:g} (one source)" if topic.same_source_extra else ""
    is_enough = "enough" if topic.score >= topic.needed else "not enough"
    console.print(f"\nTopics: {topic.score:.3f}, {is_enough}", style="bold")
    console.print(f"  score: {topic.from_terms:.3f} (terms) + {topic.from_titles:.3f} (titles)")
    console.print(f"  needed: {topic.threshold:g} (NEARDUP_TOPIC_THRESHOLD){added} = {topic.needed:g}")
    console.print(f"  look-up keys in common: {topic.shared_keys}; documents are compared if they have 2")
    if topic.documents < FEWEST_DOCUMENTS:
        console.print(
            f"  weights learned from {topic.documents} documents ({topic.learned_from}). With so few, only names and"
            " figures have a weight; use --seen or --store to weigh the terms as your crawl does"
        )
    else:
        console.print(f"  weights learned from {topic.documents} documents: {topic.learned_from}")
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
        console.print(f"  {line}")


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
    _print_lines(console, f"{title}: {words} words in {len(passages)} passages", lines)


def _shortened(text: str) -> str:
    words = text.split()
    short = text if len(words) <= _WORDS else " ".join(words[:_WORDS]) + " …"
    return short if len(short) <= 10 * _WORDS else short[: 10 * _WORDS] + "…"
