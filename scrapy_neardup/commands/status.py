"""``scrapy neardup status``: show what the window holds."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any

from scrapy_neardup.commands.live import add_store_arguments, live_detector
from scrapy_neardup.commands.terminal import as_json, make_console

if TYPE_CHECKING:
    from scrapy_neardup.index import StoreSummary

_BAR = 40  # characters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store_arguments(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    summary, configuration = asyncio.run(_summarise(options, settings))
    if options.json:
        print(as_json(_as_object(summary, configuration)))
    else:
        _print(summary, configuration)
    return 0


async def _summarise(options: argparse.Namespace, values: dict[str, Any]) -> tuple[StoreSummary, dict[str, Any]]:
    from dataclasses import asdict

    async with live_detector(options, values) as detector:
        window = {"window": detector.settings.window, "scope": detector.settings.scope}
        return await detector.summary(), {**asdict(detector.preset), **window}


def _as_object(summary: StoreSummary, configuration: dict[str, Any]) -> dict[str, Any]:
    return {
        "store": summary.location,
        "namespace": summary.namespace,
        "config": summary.config,
        "configuration": configuration,
        "other_configs": list(summary.other_configs),
        "documents": summary.documents,
        "documents_per_hour": {_hour(hour): count for hour, count in summary.documents_per_hour.items()},
        "stories": summary.stories,
        "events": summary.events,
        "bytes": summary.bytes,
        "server": summary.server,
        "warnings": list(summary.warnings),
    }


def _print(summary: StoreSummary, configuration: dict[str, Any]) -> None:
    from rich.table import Table

    console = make_console()
    table = Table(show_header=False)
    rows = {
        "namespace": summary.namespace,
        "configuration": f"{summary.config}: {', '.join(f'{name} {each}' for name, each in configuration.items())}",
        "other configurations": ", ".join(summary.other_configs),
        "documents": f"{summary.documents:,}",
        "stories": f"{summary.stories:,}, {summary.events:,} of them running events",
        "size": "" if summary.bytes is None else f"{summary.bytes:,} bytes",
        **summary.server,
    }
    for name, value in rows.items():
        if value:
            table.add_row(name, value)
    console.print(summary.location, soft_wrap=True, highlight=False)  # to be copied whole
    console.print(table)
    if summary.documents_per_hour:
        console.print(_hours(summary.documents_per_hour))
    for warning in summary.warnings:
        console.print(f"Warning: {warning}.", style="bold yellow")


def _hours(counts: dict[int, int]) -> Any:
    from rich.table import Table

    most = max(counts.values())
    table = Table("hour (UTC)", box=None)
    table.add_column("documents", justify="right")
    table.add_column("")
    for hour, count in counts.items():
        table.add_row(_hour(hour), f"{count:,}", "#" * round(_BAR * count / most))
    return table


def _hour(hour: int) -> str:
    from datetime import datetime, timezone

    return datetime.fromtimestamp(hour * 3600, timezone.utc).strftime("%Y-%m-%dT%H:00Z")
