"""``scrapy neardup events``: list the events that are running, and mute stories."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from scrapy_neardup.commands.inputs import add_json, add_store, explain_emptiness, live_detector, number
from scrapy_neardup.commands.terminal import print_json, print_table
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.lab.stored import is_document_id
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.wording import counted

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
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--mute", metavar="ID", help="raise no more events of this story")
    which.add_argument("--unmute", metavar="ID", help="raise events of this story again")
    add_json(parser, "one special report a line")


async def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    if story := options.mute or options.unmute:
        return await _mute(story, options, settings)
    async with live_detector(options, settings) as detector:
        events = await detector.current_events()
        if not events:
            await explain_emptiness(detector)
        reports = [special_report(event, zone=detector.settings.zone) for event in events]
    if options.json:
        for report in reports:
            print_json(report)
    else:
        _print(reports, options.members)
    return 0


def _print(reports: Sequence[dict[str, Any]], most: int) -> None:
    """Print the events, and the newest members of each with the reason why it joined."""
    if not reports:
        print("No event is running.")
        return
    rows = []
    for report in reports:
        since = _short(report["first"]["time"]) if report["first"] else ""
        text = "\n".join(filter(None, (report["headline"] or report["url"], report["summary"])))
        level = "muted" if report["is_muted"] else report["level"]
        rows.append((level, since, _short(report["time"]), report["measures"]["sources"], report["items"], text))
    headings = ("level", "since (UTC)", "last new source", "sources", "items", "headline")
    print_table(f"{counted(len(rows), 'event')}, items counted up to now", headings, rows)
    for report in reports if most else ():
        shown = [
            (_short(member["time"]), member["source"], member["why"], member["title"] or member["url"])
            for member in report["members"][-most:]
        ]
        # Pages that came again are members and no items, so the two numbers may differ.
        members = f"{len(shown)} of {counted(len(report['members']), 'member')} of story {report['story']}"
        title = f"{report['headline'] or report['url']}: {members}"
        print_table(title, ("time (UTC)", "source", "joined by", "title"), shown)


def _short(time: str) -> str:
    """Return month, day, hour and minute of an ISO 8601 time."""
    return time[5:16].replace("T", " ")


async def _mute(story: str, options: argparse.Namespace, settings: dict[str, Any]) -> int:
    if not is_document_id(story):
        raise InputError(
            f"{story} is no id of a story: it has 16 hexadecimal digits. `scrapy neardup events` lists them"
        )
    async with live_detector(options, settings) as detector:
        changed = await detector.index.stories.mute(story, muted=bool(options.mute))
    if changed is None:
        raise InputError(f"{story}: the window has no such story. `scrapy neardup events` lists the running ones")
    told = "No more events of it are raised." if changed.is_muted else "Its events are raised again."
    print(f"Story {changed.id} is {'muted' if changed.is_muted else 'no longer muted'}. {told}")
    return 0
