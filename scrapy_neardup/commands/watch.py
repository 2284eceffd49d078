"""``scrapy neardup watch``: what all workers of a window do now, in the terminal."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from contextlib import nullcontext
from datetime import datetime, timezone
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.text import Text

from scrapy_neardup.commands.inputs import add_json, add_store, explain_emptiness, live_detector, number
from scrapy_neardup.commands.terminal import PlainConsole, print_json, table_of, verdict_labels
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import STATUSES
from scrapy_neardup.index import Index
from scrapy_neardup.lab.stored import is_document_id
from scrapy_neardup.stories.summary import headline_of
from scrapy_neardup.wording import printable, without_password

_SPANS = {"minute": 1, "10 minutes": 10, "hour": 60}
_STORY = "story:"  # begins the name of a count of a story
_STORIES_SHOWN = 8
_STORIES_LOOKED_AT = 32  # some of them may have become one

View = dict[str, Any]
"""What is shown, as ``--json`` prints it. Counts are by span: the last minute, ten minutes, hour."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    parser.add_argument("--once", action="store_true", help="print the view once, for scripts")
    parser.add_argument(
        "--interval", metavar="SECONDS", type=number(float, 0.5), default=2.0, help="between two looks (default: 2)"
    )
    add_json(parser, "one JSON object a look")


async def run(options: argparse.Namespace, values: dict[str, Any]) -> int:
    async with live_detector(options, values) as detector:
        console, view = PlainConsole(), await look(detector)
        if not view["verdicts"]:
            await explain_emptiness(detector)
        is_live = sys.stdout.isatty() and not options.json and not options.once
        with Live(console=console, auto_refresh=False) if is_live else nullcontext() as live:
            while True:
                if live is not None:
                    live.update(_drawn(view, detector), refresh=True)
                elif options.json:
                    print_json(view)
                else:
                    console.print(_drawn(view, detector))
                sys.stdout.flush()
                if options.once:
                    return 0
                await asyncio.sleep(options.interval)
                view = await look(detector)


async def look(detector: NearDupDetector) -> View:
    """Return what the window holds now."""
    now, index = int(time.time()), detector.index
    minute = now // 60
    minutes = await index.verdict_counts(minute - max(_SPANS.values()), minute)
    # The present minute has just begun, so a span ends with the minute before it, and shows both.
    spans = {
        name: sum((Counter(minutes[each]) for each in minutes if each >= minute - length), Counter[str]())
        for name, length in _SPANS.items()
    }
    names = sorted(name for name in spans["hour"] if not name.startswith(_STORY))
    threshold = await detector.stories.threshold(now)
    return {
        "time": datetime.fromtimestamp(now, timezone.utc).isoformat(),
        "namespace": detector.settings.window_namespace,
        "store": without_password(detector.settings.store),
        "verdicts": {name: {span: counts[name] for span, counts in spans.items()} for name in names},
        "stories": [
            {"story": key, "headline": await _headline(index, key), **counts}
            for key, counts in await _growing(index, spans)
        ],
        "events": [
            {
                "story": story.id,
                "level": "muted" if story.is_muted else "breaking" if "breaking" in story.levels else "watch",
                "sources": len(story.sources),
                "items": story.items,
                "headline": await _headline(index, story.id),
            }
            for story in await index.stories.open_events()
        ],
        "breaking_over": threshold.now,
        "warning": threshold.warning,
    }


async def _growing(index: Index, spans: dict[str, Counter[str]]) -> list[tuple[str, Counter[str]]]:
    """Return the stories that grew most in the last hour. Count a story with the one that it is a part of now."""
    hour = Counter({name: count for name, count in spans["hour"].items() if name.startswith(_STORY)})
    keys = [name.removeprefix(_STORY) for name, _ in hour.most_common(_STORIES_LOOKED_AT)]
    final = await index.stories.final_stories(list(filter(is_document_id, keys)))
    grown: dict[str, Counter[str]] = {}
    for key in keys:
        counts = grown.setdefault(final.get(key, key), Counter())
        counts.update({span: each[f"{_STORY}{key}"] for span, each in spans.items()})
    return sorted(grown.items(), key=lambda each: -each[1]["hour"])[:_STORIES_SHOWN]


async def _headline(index: Index, story: str) -> str:
    members = await index.stories.members(story)
    return " ".join((headline_of(members) or next((each.url for each in members if each.url), story)).split())


def _drawn(view: View, detector: NearDupDetector) -> Group:
    """Return the tables: running events first."""
    heading = f"{view['time'][:19].replace('T', ' ')} UTC  {view['namespace']}  {view['store']}"
    warning = [f"Warning: {view['warning']}."] if view["warning"] else []
    parts: list[Any] = [Text(printable(line)) for line in (heading, *warning)]
    columns = ("level", "sources", "items", "headline")
    events = [[each[name] for name in columns] for each in sorted(view["events"], key=lambda each: -each["sources"])]
    verdicts = _verdict_rows(view, is_dropping=detector.index.policy.drops)
    stories = [[each[name] for name in ("10 minutes", "hour", "headline")] for each in view["stories"]]
    for title, headings, rows in (
        ("running events, items counted up to now", columns, events),
        ("items", ("verdict", *(f"last {span}" for span in _SPANS)), verdicts),
        ("growing stories", ("joined in 10 min", "in an hour", "headline"), stories),
    ):
        if rows:
            parts.append(table_of(title, headings, rows))
    return Group(*parts)


def _verdict_rows(view: View, *, is_dropping: bool) -> list[list[str]]:
    """Return a row for each verdict, and below it one for each kind."""
    verdicts = view["verdicts"]
    total = {span: sum(verdicts.get(status, {}).get(span, 0) for status in STATUSES) for span in _SPANS}
    rows = [("all", total), *((label, verdicts[name]) for name, label in verdict_labels(verdicts).items())]
    if "would_drop" in verdicts:
        rows.append(("dropped" if is_dropping else "would be dropped", verdicts["would_drop"]))
    return [[label, *(f"{counts[span]:,}" for span in _SPANS)] for label, counts in rows]
