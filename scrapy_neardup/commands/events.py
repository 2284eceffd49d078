"""``scrapy neardup events``: list the events that are running."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from scrapy_neardup.commands.inputs import add_json, add_store, live_detector, number
from scrapy_neardup.commands.terminal import print_json, print_table
from scrapy_neardup.stories import special_report

_MEMBERS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    parser.add_argument(
        "--members",
        metavar="N",
        type=number(int, 0),
        default=_MEMBERS,
        help=f"how many members of each event are listed, the newest ones (default: {_MEMBERS})",
    )
    add_json(parser, "one special report a line")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    reports = asyncio.run(_running(options, settings))
    if options.json:
        for report in reports:
            print_json(report)
        return 0
    rows = []
    for report in reports:
        since = report["first"]["time"] if report["first"] else ""
        text = "\n".join(filter(None, (report["headline"] or report["url"], report["summary"])))
        rows.append((report["level"], since, report["time"], report["measures"]["sources"], report["items"], text))
    headings = ("level", "since", "newest source", "sources", "items", "headline")
    print_table(f"{len(rows)} events", headings, rows)
    for report in reports:
        _print_members(report, options.members)
    return 0


def _print_members(report: dict[str, Any], most: int) -> None:
    """Print the newest members of an event, and why each of them joined."""
    members = report["members"]
    rows = [
        (member["time"], member["source"], member["why"], member["title"] or member["url"])
        for member in members[max(0, len(members) - most) :]
    ]
    if rows:
        title = f"{report['headline'] or report['url']}: {len(rows)} of {report['items']} items"
        print_table(title, ("time", "source", "joined by", "title"), rows)


async def _running(options: argparse.Namespace, settings: dict[str, Any]) -> list[dict[str, Any]]:
    async with live_detector(options, settings) as detector:
        return [special_report(event) for event in await detector.current_events()]
