"""``scrapy neardup status``: show what the window holds."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from scrapy_neardup.commands.inputs import add_json, add_store, explain_emptiness, live_detector
from scrapy_neardup.commands.terminal import PlainConsole, print_json, print_table, working
from scrapy_neardup.sketch import PRESETS
from scrapy_neardup.wording import printable

_BAR = 40  # characters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    add_json(parser)


async def run(options: argparse.Namespace, values: dict[str, Any]) -> int:
    with working("reading the window"):
        async with live_detector(options, values) as detector:
            summary, settings = await detector.summary(), detector.settings
            await explain_emptiness(detector)
    status = {
        "store": summary.location,
        "namespace": summary.namespace,
        "config": summary.config,
        "configuration": {**asdict(detector.preset), "window": settings.window, "scope": settings.scope},
        "other_configs": list(summary.other_configs),
        "documents": summary.documents,
        "documents_per_hour": {
            f"{datetime.fromtimestamp(hour * 3600, timezone.utc):%Y-%m-%dT%H:00Z}": count
            for hour, count in summary.documents_per_hour.items()
        },
        "stories": summary.stories,
        "events": summary.events,
        "bytes": summary.store.bytes,
        "server": summary.store.facts,
        "warnings": list(summary.store.warnings),
    }
    (print_json if options.json else _print)(status)
    return 0


def _settings(configuration: dict[str, Any]) -> str:
    """Return the settings that people ask for first, and the parameters that differ from those of the preset."""
    thresholds = ("threshold", "related_threshold", *(["topic_threshold"] if configuration["topic_terms"] else []))
    preset = asdict(PRESETS[configuration["name"]])
    changed = [name for name, value in preset.items() if name not in thresholds and configuration[name] != value]
    shown = ", ".join(f"{name} {configuration[name]}" for name in (*thresholds, *changed, "scope"))
    return f"preset {configuration['name']}, {shown}, window {configuration['window'] / 3600:g} hours"


def _print(status: Any) -> None:
    rows = {
        "namespace": status["namespace"],
        "settings": _settings(status["configuration"]),
        "configuration": status["config"],
        "other configurations": ", ".join(status["other_configs"]),
        "documents": f"{status['documents']:,}",
        "stories": f"{status['stories']:,}; running events: {status['events']:,}",
        "size": "" if status["bytes"] is None else f"{status['bytes']:,} bytes",
        **status["server"],
    }
    print(printable(status["store"]))
    print_table("", ("", ""), [(name, value) for name, value in rows.items() if value])
    if counts := {hour: count for hour, count in status["documents_per_hour"].items() if count}:
        most = max(counts.values())
        hours = [(hour, f"{count:,}", "#" * round(_BAR * count / most)) for hour, count in counts.items()]
        print_table("", ("hour (UTC)", "documents", ""), hours)
    for warning in status["warnings"]:
        PlainConsole().print(f"Warning: {warning}.", style="bold yellow")
