"""``scrapy neardup watch``: the events that run in a window, and what it holds; and mute stories."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from scrapy_neardup.ask import Ask
from scrapy_neardup.commands.inputs import add_json, add_store, explain_emptiness, live_detector, number
from scrapy_neardup.commands.terminal import (
    PlainConsole,
    print_json,
    print_table,
    working,
)
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.lab.stored import is_document_id
from scrapy_neardup.sketch import PRESETS
from scrapy_neardup.wording import counted, printable

_MEMBERS = 10
_BAR = 40  # characters

View = dict[str, Any]
"""What is shown, as ``--json`` prints it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--window", action="store_true", help="show what the window holds and its set-up")
    which.add_argument("--mute", metavar="ID", help="raise no more events of this story")
    which.add_argument("--unmute", metavar="ID", help="raise events of this story again")
    parser.add_argument(
        "--members",
        metavar="N",
        type=number(int, 0),
        default=_MEMBERS,
        help=f"the newest members that are listed of each (default: {_MEMBERS})",
    )
    add_json(parser, "one special report a line; with --window one JSON object")


async def run(options: argparse.Namespace, values: dict[str, Any]) -> int:
    async with live_detector(options, values) as detector:
        if options.mute or options.unmute:
            await _mute(detector, options.mute or options.unmute, muted=bool(options.mute))
        elif options.window:
            await _show_window(detector, options)
        else:
            await _list_events(detector, options)
    return 0


async def _list_events(detector: NearDupDetector, options: argparse.Namespace) -> None:
    """Print the running events, and the newest members of each with the reason why it joined."""
    reports: list[View] = (await Ask(detector).events())["events"]
    if not reports:
        await explain_emptiness(detector)
    if options.json:
        for report in reports:
            print_json(report)
        return
    if not reports:
        print("No event is running.")
        return
    headings = ("level", "since (UTC)", "last new source", "sources", "items", "headline")
    print_table(f"{counted(len(reports), 'event')}, items counted up to now", headings, map(_event_row, reports))
    for report in reports if options.members else ():
        shown = [
            (_short(member["time"]), member["source"], member["why"], member["title"] or member["url"])
            for member in report["members"][-options.members :]
        ]
        # Pages that came again are members and no items, so the two numbers may differ.
        members = f"{len(shown)} of {counted(len(report['members']), 'member')} of story {report['story']}"
        title = f"{report['headline'] or report['url']}: {members}"
        print_table(title, ("time (UTC)", "source", "joined by", "title"), shown)


def _event_row(report: View) -> Sequence[object]:
    since = _short(report["first"]["time"]) if report["first"] else ""
    text = "\n".join(filter(None, (report["headline"] or report["url"], report["summary"])))
    return (
        "muted" if report["is_muted"] else report["level"],
        since,
        _short(report["time"]),
        report["measures"]["sources"],
        report["items"],
        text,
    )


def _short(time: str) -> str:
    """Return month, day, hour and minute of an ISO 8601 time."""
    return time[5:16].replace("T", " ")


async def _mute(detector: NearDupDetector, story: str, *, muted: bool) -> None:
    found = await detector.index.stories.mute(story, muted=muted) if is_document_id(story) else None
    if found is None:
        raise InputError(f"{story}: the window has no such story. `scrapy neardup watch` lists running ones")
    told = "No more events of it are raised." if muted else "Its events are raised again."
    print(f"Story {found.id} is {'muted' if muted else 'no longer muted'}. {told}")


async def _show_window(detector: NearDupDetector, options: argparse.Namespace) -> None:
    with working("reading the window"):
        summary = await detector.summary()
        await explain_emptiness(detector, summary)
    configuration = {
        **asdict(detector.preset),
        "window": detector.settings.window,
        "scope": detector.settings.scope,
    }
    shown = {
        "namespace": summary.namespace,
        "settings": _settings(configuration),
        "configuration": summary.config,
        "other configurations": ", ".join(summary.other_configs),
        "documents": f"{summary.documents:,}",
        "stories": f"{summary.stories:,}; running events: {summary.events:,}",
        "size": "" if summary.store.bytes is None else f"{summary.store.bytes:,} bytes",
        **summary.store.facts,
    }
    hours = {
        f"{datetime.fromtimestamp(hour * 3600, timezone.utc):%Y-%m-%dT%H:00Z}": count
        for hour, count in summary.documents_per_hour.items()
    }
    if options.json:
        server = {"bytes": summary.store.bytes, "server": summary.store.facts, "warnings": summary.store.warnings}
        window = {"configuration": configuration, "documents": summary.documents, "documents_per_hour": hours}
        print_json({**asdict(summary), "store": summary.location, **window, **server})
        return
    print(printable(summary.location))
    print_table("", ("", ""), [(name, value) for name, value in shown.items() if value])
    if most := max(hours.values(), default=0):
        rows = [(hour, f"{count:,}", "#" * round(_BAR * count / most)) for hour, count in hours.items() if count]
        print_table("", ("hour (UTC)", "documents", ""), rows)
    for warning in summary.store.warnings:
        PlainConsole().print(f"Warning: {warning}.", style="bold yellow")


def _settings(configuration: View) -> str:
    """Return the settings that people ask for first, and the parameters that differ from those of the preset."""
    thresholds = ("threshold", "related_threshold", *(["topic_threshold"] if configuration["topic_terms"] else []))
    preset = asdict(PRESETS[configuration["name"]])
    changed = [name for name, value in preset.items() if name not in thresholds and configuration[name] != value]
    shown = ", ".join(f"{name} {configuration[name]}" for name in (*thresholds, *changed, "scope"))
    return f"preset {configuration['name']}, {shown}, window {configuration['window'] / 3600:g} hours"
