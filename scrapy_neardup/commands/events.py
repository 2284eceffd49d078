"""``scrapy neardup events``: list the events that are running."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from scrapy_neardup.commands.inputs import add_json, add_store, live_detector
from scrapy_neardup.commands.terminal import print_json, print_table
from scrapy_neardup.stories import special_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
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
    return 0


async def _running(options: argparse.Namespace, settings: dict[str, Any]) -> list[dict[str, Any]]:
    async with live_detector(options, settings) as detector:
        return [special_report(event) for event in await detector.current_events()]
