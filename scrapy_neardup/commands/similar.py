"""``scrapy neardup similar URL``: list the documents of the window that are like a given document."""

from __future__ import annotations

import argparse
import asyncio
from datetime import datetime, timezone
from typing import Any, NamedTuple

from scrapy_neardup.commands.inputs import add_json, add_preset, add_store, explain_emptiness, live_detector, number
from scrapy_neardup.commands.terminal import PlainConsole, print_json, working
from scrapy_neardup.document import Match, Status, counted, printable
from scrapy_neardup.lab.stored import StoredDocument, named_document, other_members, similar_to

BY_STORY = "story"
"""Stands for the likeness of a document that joined the story by way of another one."""


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


class _Answer(NamedTuple):
    rows: list[dict[str, Any]]
    url: str  # of the given document


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    with working("reading the window"):
        rows, url = asyncio.run(_similar(options, settings))
    if options.json:
        for row in rows:
            print_json(row)
        return 0
    like = [row for row in rows if row["like"] != BY_STORY]
    count = counted(len(like), "document") if like else "No document of the window is"
    print(printable(f"{count} like {options.document}{'' if like else '.'}"))
    console = PlainConsole()
    for row in like:
        _print(console, row, url)
    if len(like) < len(rows):
        console.print()
        console.print_indented("In its story by way of another document:", 0)
    for row in rows[len(like) :]:
        _print(console, row, url)
    return 0


def _print(console: PlainConsole, row: dict[str, Any], given: str) -> None:
    """Print a document on a few lines. ``given`` is the url of the document that it is like.

    No url is broken, so that it can be copied. An original is named only if it is a third page.
    """
    title = " ".join(row["title"].split())
    like = f"  {row['like']} {row['score']:.3f}"
    if row["topic"]:
        like = f"  related by topic {row['topic']:.3f}"
    elif row["like"] == BY_STORY:
        like = ""
    console.print()
    console.print_indented(f"{row['seen_at'][:16].replace('T', ' ')} UTC{like}  {title}", 0, hanging=4)
    print(printable(f"    {row['url'] or row['id']}"))
    if row["original"] != row["id"] and row["original_url"] not in (row["url"], given):
        print(printable(f"    original: {row['original_url'] or row['original']}"))


async def _similar(options: argparse.Namespace, values: dict[str, Any]) -> _Answer:
    async with live_detector(options, values) as detector:
        records = await detector.index.records()
        wanted = named_document(detector, records, options.document)
        rows = [_row(match, status) for match, status in similar_to(detector, records, wanted, options.most)]
        listed = {row["id"] for row in rows}
        members = await other_members(detector, records, wanted)
        rows += [_row_of_member(member) for member in members if member.id not in listed]
        if not records:
            await explain_emptiness(detector)
        return _Answer(rows[: options.most], wanted.url)


def _row(match: Match, status: Status) -> dict[str, Any]:
    seen_at = datetime.fromtimestamp(int(match.candidate[:8], 16), timezone.utc)
    return {
        "id": match.candidate,
        "seen_at": seen_at.isoformat(),
        "like": {"duplicate": "copy"}.get(status, status),
        "score": round(match.score, 4),
        "topic": round(match.topic, 4),
        "url": match.candidate_url,
        "title": match.candidate_title,
        "original": match.original,
        "original_url": match.url,
        "original_title": match.title,
        "story": match.story,
    }


def _row_of_member(member: StoredDocument) -> dict[str, Any]:
    original_url, original_title = (each.decode("utf-8", "replace") for each in member.record.of_original(member.key))
    return {
        "id": member.id,
        "seen_at": member.seen_at,
        "like": BY_STORY,
        "score": 0.0,
        "topic": 0.0,
        "url": member.url,
        "title": member.title,
        "original": member.record.original.hex(),
        "original_url": original_url,
        "original_title": original_title,
        "story": member.record.story.hex(),
    }
