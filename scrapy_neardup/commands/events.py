"""``scrapy neardup events``: the events that are running."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_neardup.stories import StoryEvent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help="default: NEARDUP_STORE of the project")
    parser.add_argument("--json", action="store_true", help="one special report a line")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    from scrapy_neardup.stories import special_report

    events = asyncio.run(_running(settings, options.store))
    if options.json:
        for event in events:
            print(json.dumps(special_report(event), ensure_ascii=False))
    else:
        _print_table(events)
    return 0


async def _running(values: dict[str, Any], store: str | None) -> list[StoryEvent]:
    from scrapy_neardup.detector import NearDupDetector
    from scrapy_neardup.pipeline import in_data_path
    from scrapy_neardup.settings import NearDupSettings

    if store is not None:
        values["NEARDUP_STORE"] = store
    settings = NearDupSettings.from_mapping(values)
    # A path that is typed is one of the shell's; that of the settings is one of the project's.
    detector = NearDupDetector(in_data_path(settings) if store is None else settings)
    await detector.open()
    try:
        return await detector.current_events()
    finally:
        await detector.close()


def _print_table(events: Sequence[StoryEvent]) -> None:
    from rich.console import Console
    from rich.table import Table

    from scrapy_neardup.stories import special_report

    table = Table("level", "since", "newest source", "sources", "items", "headline", title=f"{len(events)} events")
    for report in map(special_report, events):
        since = report["first"]["time"] if report["first"] else ""
        sources, items = str(report["measures"]["sources"]), str(report["items"])
        table.add_row(report["level"], since, report["time"], sources, items, report["headline"] or report["url"])
    Console().print(table)
