"""``scrapy neardup events``: list the events that are running."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from scrapy_neardup.commands.inputs import add_json, add_store, explain_emptiness, live_detector, number
from scrapy_neardup.commands.terminal import print_json, print_table
from scrapy_neardup.document import counted
from scrapy_neardup.stories.report import special_report

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
    if not reports:
        print("No event is running.")
        return 0
    rows = []
    for report in reports:
        since = _short(report["first"]["time"]) if report["first"] else ""
        text = "\n".join(filter(None, (report["headline"] or report["url"], report["summary"])))
        rows.append(
            (report["level"], since, _short(report["time"]), report["measures"]["sources"], report["items"], text)
        )
    headings = ("level", "since (UTC)", "last new source", "sources", "items", "headline")
    print_table(f"{counted(len(rows), 'event')}, items counted up to now", headings, rows)
    for report in reports:
        _print_members(report, options.members)
    return 0


def _print_members(report: dict[str, Any], most: int) -> None:
    """Print the newest members of an event, and why each of them joined."""
    members = report["members"]
    rows = [
        (_short(member["time"]), member["source"], member["why"], member["title"] or member["url"])
        for member in members[max(0, len(members) - most) :]
    ]
    if rows:
        # Pages that came again are members and no items, so the two numbers may differ.
        title = f"{report['headline'] or report['url']}: {len(rows)} of {counted(len(members), 'member')}"
        print_table(title, ("time (UTC)", "source", "joined by", "title"), rows)


def _short(time: str) -> str:
    """Return month, day, hour and minute of an ISO 8601 time."""
    return time[5:16].replace("T", " ")


async def _running(options: argparse.Namespace, settings: dict[str, Any]) -> list[dict[str, Any]]:
    async with live_detector(options, settings) as detector:
        events = await detector.current_events()
        if not events:
            await explain_emptiness(detector)
        return [special_report(event, zone=detector.settings.zone) for event in events]
