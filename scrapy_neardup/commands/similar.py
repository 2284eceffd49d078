"""``scrapy neardup similar URL``: list the documents of the window that are like a given document."""

from __future__ import annotations

import argparse
from datetime import datetime, timezone
from typing import Any

from scrapy_neardup.commands.inputs import add_json, add_store, explain_emptiness, live_detector, number
from scrapy_neardup.commands.terminal import print_json, print_wrapped, working
from scrapy_neardup.document import Status
from scrapy_neardup.lab.stored import named_document, similar_to
from scrapy_neardup.rules.match import Match
from scrapy_neardup.wording import counted, printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "document",
        metavar="URL",
        help="a url or document id of the window, INPUT#id of JSON lines, or a file (HTML or text)",
    )
    add_store(parser)
    parser.add_argument("--most", metavar="N", type=number(int, 1), default=20, help="documents listed (default: 20)")
    add_json(parser, "one JSON object a document")


async def run(options: argparse.Namespace, values: dict[str, Any]) -> int:
    with working("reading the window"):
        async with live_detector(options, values) as detector:
            records = await detector.index.records()
            if not records:
                await explain_emptiness(detector)
            wanted = named_document(detector, records, options.document)
            rows = [_row(match, status) for match, status in similar_to(detector, records, wanted, options.most)]
    if options.json:
        for row in rows:
            print_json(row)
        return 0
    count = counted(len(rows), "document") if rows else "No document of the window is"
    print(printable(f"{count} like {options.document}{'' if rows else '.'}"))
    for row in rows:
        # No url is broken, so that it can be copied. An original is named only if it is a third page.
        title = " ".join(row["title"].split())
        like = f"related by topic {row['topic']:.3f}" if row["topic"] else f"{row['like']} {row['score']:.3f}"
        print()
        print_wrapped(f"{row['seen_at'][:16].replace('T', ' ')} UTC  {like}  {title}", hanging=4)
        print(printable(f"    {row['url'] or row['id']}"))
        if row["original"] != row["id"] and row["original_url"] not in (row["url"], wanted.url):
            print(printable(f"    original: {row['original_url'] or row['original']}"))
    return 0


def _row(match: Match, status: Status) -> dict[str, Any]:
    seen_at = datetime.fromtimestamp(int(match.candidate[:8], 16), timezone.utc)
    return {
        "id": match.candidate,
        "seen_at": seen_at.isoformat(),
        "like": {"duplicate": "copy"}.get(status, status),
        "score": round(match.pair.likeness.score, 4),
        "topic": round(match.relation.topic, 4),
        "url": match.candidate_url,
        "title": match.candidate_title,
        "original": match.original,
        "original_url": match.url,
        "original_title": match.title,
        "story": match.story,
    }
