"""``scrapy neardup similar URL``: list the documents of the window that are like a given document."""

from __future__ import annotations

import argparse
import asyncio
from datetime import datetime, timezone
from typing import Any

from scrapy_neardup.commands.inputs import add_json, add_preset, add_store, explain_emptiness, live_detector, number
from scrapy_neardup.commands.terminal import PlainConsole, print_json, working
from scrapy_neardup.document import Match, counted, printable
from scrapy_neardup.evaluation.comparison import read_single
from scrapy_neardup.evaluation.registered import find, may_be_registered, similar_to


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "document",
        metavar="URL",
        help="a url or document id of the window, another http(s) url, a file, -, or INPUT#id of JSON lines",
    )
    add_store(parser)
    add_preset(parser)
    parser.add_argument("--most", metavar="N", type=number(int, 1), default=20, help="documents listed (default: 20)")
    add_json(parser, "one JSON object a document")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    with working("reading the window"):
        found = [_row(match) for match in asyncio.run(_similar(options, settings))]
    if options.json:
        for row in found:
            print_json(row)
        return 0
    if not found:
        print(f"No document of the window is like {printable(options.document)}.")
        return 0
    print(f"{counted(len(found), 'document')} like {printable(options.document)}")
    for row in found:
        _print(row)
    return 0


def _print(row: dict[str, Any]) -> None:
    """Print a document on a few lines. No url is broken, so that it can be copied."""
    title = " ".join(row["title"].split())
    PlainConsole().print(f"\n{row['seen_at'][:16].replace('T', ' ')} UTC  {row['like']} {row['score']:.3f}  {title}")
    print(printable(f"    {row['url'] or row['id']}"))
    if row["original"] != row["id"]:
        print(printable(f"    original: {row['original_url'] or row['original']}"))


async def _similar(options: argparse.Namespace, values: dict[str, Any]) -> list[Match]:
    async with live_detector(options, values) as detector:
        if may_be_registered(options.document):
            records = await detector.index.records()
            if (registered := find(records, options.document)) is not None:
                return similar_to(detector, records, registered, options.most)
        given = read_single(options.document, detector.settings)
        document = detector.document(given.text, url=given.url, title=given.title)
        matches = await detector.similar(document, options.most)
        if not matches:
            await explain_emptiness(detector)
        return matches


def _row(match: Match) -> dict[str, Any]:
    seen_at = datetime.fromtimestamp(int(match.candidate[:8], 16), timezone.utc)
    return {
        "id": match.candidate,
        "seen_at": seen_at.isoformat(),
        "like": "related" if match.related else "copy",
        "score": round(match.score, 4),
        "url": match.candidate_url,
        "title": match.candidate_title,
        "original": match.original,
        "original_url": match.url,
        "original_title": match.title,
        "story": match.story,
    }
