"""``scrapy neardup watch``: the events and growing stories of a window, and what it holds."""

import asyncio
import sys
import time
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.text import Text

from scrapy_neardup import NearDupDetector
from scrapy_neardup.document import HOUR
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.index.layout import SLICE
from scrapy_neardup.records.documents import seconds_of
from scrapy_neardup.stories.summary import headline_of
from scrapy_neardup.text.display import counted, printable, without_password
from scrapy_neardup.tools.ask import Answer, Ask
from scrapy_neardup.tools.commands.console import (
    NAMESPACE,
    STORE,
    Options,
    PlainConsole,
    Values,
    explain_emptiness,
    json_option,
    live_detector,
    number_from,
    option,
    print_json,
    print_table,
    table_of,
)

_SPANS = {"10 minutes": 600, "hour": HOUR}  # seconds

OPTIONS = (
    STORE,
    NAMESPACE,
    option("--events", action="store_true", help="list the running events and their members, then exit"),
    option("--window", action="store_true", help="show what the window holds and how it is set up, then exit"),
    option(
        "--members",
        metavar="N",
        type=number_from(0),
        default=10,
        help="with --events: how many of the newest members of each event are listed (default: 10)",
    ),
    json_option("one JSON object; with --events, one special report per line"),
)


async def run(options: Options, values: Values) -> int:
    if options.events and options.window:
        raise InputError("--events and --window: give one of them")
    async with live_detector(options, values) as detector:
        if options.events:
            await _list_events(detector, options)
        elif options.window:
            await _show_window(detector, options)
        else:
            await _watch(detector, options)
    return 0


async def _watch(detector: NearDupDetector, options: Options) -> None:
    view = await look(detector)
    if not view["stories"] and not view["events"]:
        await explain_emptiness(detector)
    console = PlainConsole()
    if options.json:
        print_json(view)
    elif not sys.stdout.isatty():
        console.print(_drawn(view))
    else:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                live.update(_drawn(view), refresh=True)
                await asyncio.sleep(2.0)
                view = await look(detector)


async def look(detector: NearDupDetector) -> Answer:
    now = int(time.time())
    threshold, warning = await detector.stories.threshold(now)
    newest, _ = await detector.index.changes.newest(5000)  # enough for an hour of 40,000 articles a day
    read = await detector.index.stories.whole(
        [each.story for each in newest if seconds_of(each.document) > now - _SPANS["hour"]]
    )
    grown: list[Answer] = [
        {
            "story": story.id,
            "headline": " ".join((headline_of(members) or next((m.url for m in members if m.url), story.id)).split()),
            **{span: sum(at > now - length for at in story.times) for span, length in _SPANS.items()},
        }
        for story, members in {each[0].id: each for each in read.values()}.values()
        if story.items > 1
    ]
    return {
        "time": datetime.fromtimestamp(now, timezone.utc).isoformat(),
        "namespace": detector.settings.window_namespace,
        "store": without_password(detector.settings.store),
        "stories": sorted((each for each in grown if each["hour"]), key=lambda each: -each["hour"])[:8],
        "events": [
            {
                "story": report["story"],
                "level": _level(report),
                "sources": report["measures"]["sources"],
                "items": report["items"],
                "headline": report["headline"] or report["url"],
            }
            for report in (await Ask(detector).events())["events"]
        ],
        "breaking_over": threshold,
        "warning": warning,
    }


def _level(report: Answer) -> str:
    return "muted" if report["is_muted"] else str(report["level"])


def _drawn(view: Answer) -> Group:
    parts: list[Any] = [
        Text(printable(f"{view['time'][:19].replace('T', ' ')} UTC  {view['namespace']}  {view['store']}"))
    ]
    if view["warning"]:
        parts.append(Text(printable(f"Warning: {view['warning']}.")))
    columns = ("level", "sources", "items", "headline")
    tables = (
        (
            "running events, items counted up to now",
            columns,
            [[each[name] for name in columns] for each in sorted(view["events"], key=lambda each: -each["sources"])],
        ),
        (
            "growing stories",
            ("items in 10 min", "in an hour", "headline"),
            [[each[name] for name in ("10 minutes", "hour", "headline")] for each in view["stories"]],
        ),
    )
    return Group(*parts, *(table_of(*each) for each in tables if each[2]))


async def _list_events(detector: NearDupDetector, options: Options) -> None:
    reports = (await Ask(detector).events())["events"]
    if not reports:
        await explain_emptiness(detector)
    if options.json:
        for report in reports:
            print_json(report)
        return
    if not reports:
        print("No event is running.")
        return
    print_table(
        f"{counted(len(reports), 'event')}, items counted up to now",
        ("level", "since (UTC)", "last new source", "sources", "items", "headline"),
        [
            (
                _level(report),
                _short(report["first"]["time"]) if report["first"] else "",
                _short(report["time"]),
                report["measures"]["sources"],
                report["items"],
                "\n".join(filter(None, (report["headline"] or report["url"], report["summary"]))),
            )
            for report in reports
        ],
    )
    if not options.members:
        return
    for report in reports:
        shown = [
            (_short(member["time"]), member["source"], member["why"], member["title"] or member["url"])
            for member in report["members"][-options.members :]
        ]
        # Pages that came again are members and no items, so the two numbers may differ.
        print_table(
            f"{report['headline'] or report['url']}: the newest {len(shown)} of"
            f" {counted(len(report['members']), 'member')} of story {report['story']}",
            ("time (UTC)", "source", "joined by", "title"),
            shown,
        )


def _short(time: str) -> str:
    return time[5:16].replace("T", " ")


async def _show_window(detector: NearDupDetector, options: Options) -> None:
    summary = await detector.index.summary()
    await explain_emptiness(detector, summary)
    configuration = {
        **asdict(detector.preset),
        "window": detector.settings.window,
    }
    slices = {
        f"{datetime.fromtimestamp(number * SLICE, timezone.utc):%Y-%m-%dT%H:%MZ}": count
        for number, count in summary.documents_per_slice.items()
    }
    shown = {**asdict(summary), "documents": summary.documents, **summary.store.facts}
    for name in ("documents_per_slice", "store", "namespaces"):
        del shown[name]
    if options.json:
        print_json(
            {
                **shown,
                "bytes": summary.store.bytes,
                "settings": configuration,
                "documents_per_hour": slices,
                "warnings": summary.store.warnings,
            }
        )
        return
    thresholds = (f"{name} {configuration[name]}" for name in ("threshold", "related_threshold"))
    preset = f"preset {detector.preset.name}, {', '.join(thresholds)}, window {detector.settings.window / HOUR:g} hours"
    shown |= {"settings": preset, "other_configs": ", ".join(summary.other_configs)}
    rows = [(name.replace("_", " "), value) for name, value in shown.items() if value]
    print_table("", ("", ""), [*rows, ("bytes", summary.store.bytes or ""), (), *slices.items()])
    for warning in summary.store.warnings:
        PlainConsole().print(f"Warning: {warning}.", style="bold yellow")
