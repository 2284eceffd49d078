"""``scrapy neardup events``: list the events that are running."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scrapy_neardup.commands.live import add_store_arguments, live_detector
from scrapy_neardup.commands.terminal import as_json, make_console

if TYPE_CHECKING:
    from scrapy_neardup.stories import StoryEvent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store_arguments(parser)
    parser.add_argument("--json", action="store_true", help="one special report a line")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    from scrapy_neardup.stories import special_report

    events = asyncio.run(_running(options, settings))
    if options.json:
        for event in events:
            print(as_json(special_report(event)))
    else:
        _print_table(events)
    return 0


async def _running(options: argparse.Namespace, settings: dict[str, Any]) -> list[StoryEvent]:
    async with live_detector(options, settings) as detector:
        return await detector.current_events()


def _print_table(events: Sequence[StoryEvent]) -> None:
    from rich.table import Table

    from scrapy_neardup.stories import special_report

    table = Table("level", "since", "newest source", "sources", "items", "headline", title=f"{len(events)} events")
    for report in map(special_report, events):
        since = report["first"]["time"] if report["first"] else ""
        sources, items = str(report["measures"]["sources"]), str(report["items"])
        text = "\n".join(filter(None, (report["headline"] or report["url"], report["summary"])))
        table.add_row(report["level"], since, report["time"], sources, items, text)
    make_console().print(table)
