"""``scrapy neardup similar URL``: list the documents of the window that are like a document."""

from __future__ import annotations

import argparse
import asyncio
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy_neardup.commands.live import add_store_arguments, live_detector
from scrapy_neardup.commands.terminal import as_json, make_console
from scrapy_neardup.exceptions import SettingsError

if TYPE_CHECKING:
    from scrapy_neardup.document import Match


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("document", metavar="URL", help="an http(s) url, a file, or INPUT#id of JSON lines")
    add_store_arguments(parser)
    parser.add_argument("--preset", metavar="NAME", help="a row of the table of methods")
    parser.add_argument("--most", metavar="N", type=int, default=20, help="documents listed (default: 20)")
    parser.add_argument("--json", action="store_true", help="one JSON object a document")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    if options.most < 1:
        raise SettingsError("--most", options.most, "must be 1 or more")
    matches = asyncio.run(_similar(options, settings))
    if options.json:
        for match in matches:
            print(as_json(_row(match)))
    else:
        _print(options.document, matches)
    return 0


async def _similar(options: argparse.Namespace, values: dict[str, Any]) -> list[Match]:
    from scrapy_neardup.evaluation.single import read_single

    async with live_detector(options, values) as detector:
        given = read_single(options.document, detector.settings)
        document = detector.document(given.text, url=given.url, title=given.title)
        return await detector.similar(document, options.most)


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


def _print(name: str, matches: list[Match]) -> None:
    from rich.table import Table

    table = Table(title=f"{len(matches)} documents like {name}")
    for column in ("seen (UTC)", "", "score", "document", "original"):
        table.add_column(column, overflow="fold")
    for match in matches:
        row = _row(match)
        seen_at, title = row["seen_at"][:16].replace("T", " "), " ".join(row["title"].split())
        document = filter(None, (title, row["url"]))
        original = "" if match.original == match.candidate else row["original_url"] or match.original
        table.add_row(seen_at, row["like"], f"{match.score:.3f}", "\n".join(document), original)
    make_console().print(table)
