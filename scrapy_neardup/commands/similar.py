"""``scrapy neardup similar URL``: list the documents of the window that are like a given document."""

from __future__ import annotations

import argparse
import asyncio
from datetime import datetime, timezone
from typing import Any

from scrapy_neardup.commands.inputs import add_json, add_preset, add_store, explain_emptiness, live_detector, number
from scrapy_neardup.commands.terminal import print_json, print_table, working
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
    rows = []
    for row in found:
        document = "\n".join(filter(None, (" ".join(row["title"].split()), row["url"])))
        original = "" if row["original"] == row["id"] else row["original_url"] or row["original"]
        rows.append((row["seen_at"][:16].replace("T", " "), row["like"], f"{row['score']:.3f}", document, original))
    headings = ("seen (UTC)", "", "score", "document", "original")
    print_table(f"{counted(len(rows), 'document')} like {options.document}", headings, rows)
    return 0


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
