"""``scrapy neardup explain A B``: show what two documents share, and why the second gets its verdict."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_neardup.commands.terminal import as_json, make_console, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from scrapy_neardup.evaluation.comparison import Comparison, Passage
    from scrapy_neardup.settings import NearDupSettings

_PASSAGES = 5
_WORDS = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    form = "a file (HTML or text), an http(s) url, or INPUT#id of JSON lines"
    parser.add_argument("a", metavar="A", help=form)
    parser.add_argument("b", metavar="B", help="the same; its verdict when A is all the window holds")
    parser.add_argument(
        "--seen", type=Path, metavar="FEED", help="documents seen before, from which boilerplate is learned"
    )
    parser.add_argument("--preset", metavar="NAME", help="a row of the table of methods")
    parser.add_argument("--json", action="store_true", help="one JSON object, with every passage in full")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    from scrapy_neardup.evaluation.comparison import compare
    from scrapy_neardup.evaluation.single import read_single
    from scrapy_neardup.settings import NearDupSettings

    configured = NearDupSettings.from_mapping(settings)
    first, second = (read_single(name, configured) for name in (options.a, options.b))
    empty = [name for name, each in ((options.a, first), (options.b, second)) if not each.text.strip()]
    for name in empty:
        print(f"{name}: no text found, nothing to compare (unchecked/no-text)", file=sys.stderr)
    if empty:
        return 1
    seen = _texts(options.seen, configured) if options.seen else ()
    comparison = asyncio.run(compare(first, second, configured, seen))
    if options.json:
        print(as_json({"a": options.a, "b": options.b, **asdict(comparison)}))
    else:
        _print(options, comparison)
    return 0


def _texts(path: Path, settings: NearDupSettings) -> Iterator[str]:
    """Yield the texts of recorded documents. Print the errors of wrong lines and go on."""
    from tqdm import tqdm

    from scrapy_neardup.evaluation.feed import WrongLine, check_readable
    from scrapy_neardup.evaluation.pages import PageReader

    feed = check_readable(path)
    with PageReader(
        settings.extractor, settings.max_html_bytes, os.cpu_count() or 1, settings.extract_timeout
    ) as reader:
        for page in tqdm(reader.read(feed), unit=" documents", disable=not sys.stderr.isatty()):
            if page.error is not None:
                tqdm.write(printable(page.error), file=sys.stderr)
            if not isinstance(page, WrongLine):
                yield page.text


def _print(options: argparse.Namespace, comparison: Comparison) -> None:
    from rich.table import Table

    console = make_console(highlight=False)
    console.print(f"A  {options.a}\nB  {options.b}\n")
    verdict = comparison.verdict
    detail = verdict.kind or verdict.reason
    console.print(f"B after A: {verdict.status}{f'/{detail}' if detail else ''}", style="bold")
    for line in comparison.why:
        console.print(f"  {line}")
    console.print()
    table = Table("", "estimated", "exact")
    table.add_row("resemblance", f"{comparison.resemblance:.3f}", f"{comparison.exact_resemblance:.3f}")
    table.add_row("containment", f"{comparison.containment:.3f}", f"{comparison.exact_containment:.3f}")
    table.add_row("bands in common", f"{comparison.shared_bands} of {comparison.bands}", "")
    console.print(table)
    table = Table("", "words", "shingles", "own words", "lines left out")
    for name, side in (("A", comparison.first), ("B", comparison.second)):
        own = sum(passage.words for passage in side.own)
        table.add_row(name, str(side.words), str(side.shingles), str(own), str(len(side.left_out)))
    console.print(table)
    _print_passages(console, "In both", comparison.shared)
    _print_passages(console, "Only in A", comparison.first.own)
    _print_passages(console, "Only in B", comparison.second.own)
    if verdict.changes:
        console.print("\nFigures", style="bold")
        for change in verdict.changes:
            console.print(f"  {change}")
    for name, side in (("A", comparison.first), ("B", comparison.second)):
        if side.left_out:
            console.print(f"\nLeft out of {name}", style="bold")
            for left_out in side.left_out:
                console.print(f"  [{left_out.why}] {_shortened(left_out.line)}")


def _print_passages(console: Console, title: str, passages: Sequence[Passage]) -> None:
    """Print the longest passages in the order of the text."""
    if not passages:
        return
    words = sum(passage.words for passage in passages)
    console.print(f"\n{title}: {words} words in {len(passages)} passages", style="bold")
    least = sorted((passage.words for passage in passages), reverse=True)[:_PASSAGES][-1]
    shown = [passage for passage in passages if passage.words >= least][:_PASSAGES]
    for passage in shown:
        console.print(f"  ({passage.words}) {_shortened(passage.text)}")
    if len(shown) < len(passages):
        console.print(f"  and {len(passages) - len(shown)} shorter ones")


def _shortened(text: str) -> str:
    words = text.split()
    short = text if len(words) <= _WORDS else " ".join(words[:_WORDS]) + " …"
    return short if len(short) <= 10 * _WORDS else short[: 10 * _WORDS] + "…"
