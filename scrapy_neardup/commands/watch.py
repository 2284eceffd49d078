"""``scrapy neardup watch``: what all workers of a window do now, in the terminal."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from scrapy_neardup.commands.inputs import add_json, add_store, explain_emptiness, live_detector, number
from scrapy_neardup.commands.terminal import PlainConsole, print_json, wrapped
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import STATUSES, Story, without_password
from scrapy_neardup.lab.stored import is_document_id
from scrapy_neardup.stories.headlines import headline_of

_SPANS = {"minute": 1, "10 minutes": 10, "hour": 60}
_STORY = "story:"  # begins the name of a count of a story
_STORIES_SHOWN = 8
_STORIES_LOOKED_AT = 32  # some of them may have become one
_EVENTS_SHOWN = 8
_MOST_HEADLINES = 1000


@dataclass(frozen=True, slots=True)
class View:
    """What is shown. Counts are by span: the last minute, ten minutes, hour."""

    time: str
    namespace: str
    store: str
    drops: bool  # whether these settings drop items
    verdicts: dict[str, dict[str, int]]
    stories: list[dict[str, Any]]
    events: list[dict[str, Any]]
    breaking_over: int
    warning: str  # of a threshold that has jumped, else ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    parser.add_argument("--once", action="store_true", help="print the view once, for scripts")
    parser.add_argument(
        "--interval", metavar="SECONDS", type=number(float, 0.5), default=2.0, help="between two looks (default: 2)"
    )
    add_json(parser, "one JSON object a look")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    asyncio.run(_watch(options, settings))
    return 0


async def _watch(options: argparse.Namespace, values: dict[str, Any]) -> None:
    async with live_detector(options, values) as detector:
        watcher = Watcher(detector)
        view = await watcher.look()
        if not view.verdicts:
            await explain_emptiness(detector)
        if options.json or options.once or not sys.stdout.isatty():
            await _print_looks(options, watcher, view)
            return
        with Live(_drawn(view), console=PlainConsole(), screen=True, auto_refresh=False) as live:
            while True:
                await asyncio.sleep(options.interval)
                live.update(_drawn(await watcher.look()), refresh=True)


async def _print_looks(options: argparse.Namespace, watcher: Watcher, view: View) -> None:
    while True:
        if options.json:
            print_json({name: getattr(view, name) for name in View.__slots__})
        else:
            PlainConsole().print(_drawn(view))
        sys.stdout.flush()
        if options.once:
            return
        await asyncio.sleep(options.interval)
        view = await watcher.look()


class Watcher:
    """Looks at a window. It reads each headline once."""

    def __init__(self, detector: NearDupDetector) -> None:
        self._detector = detector
        self._headlines: dict[str, str] = {}

    async def look(self) -> View:
        now = int(time.time())
        minute = now // 60
        minutes = await self._detector.index.verdict_counts(minute - max(_SPANS.values()), minute)
        # The present minute has just begun, so a span ends with the minute before it, and shows both.
        spans = {
            name: sum((Counter(minutes[each]) for each in minutes if each >= minute - length), Counter[str]())
            for name, length in _SPANS.items()
        }
        hour = spans["hour"]
        names = sorted({name for name in hour if not name.startswith(_STORY)})
        threshold = await self._detector.stories.threshold(now)
        return View(
            time=datetime.fromtimestamp(now, timezone.utc).isoformat(),
            namespace=self._detector.settings.window_namespace,
            store=without_password(self._detector.settings.store),
            drops=self._detector.index.policy.drops,
            verdicts={name: {span: counts[name] for span, counts in spans.items()} for name in names},
            stories=await self._growing(spans),
            events=[await self._event(story) for story in await self._detector.index.open_events()],
            breaking_over=threshold.now,
            warning=threshold.warning,
        )

    async def _growing(self, spans: dict[str, Counter[str]]) -> list[dict[str, Any]]:
        """Return the stories that grew most in the last hour. Count a story with the one that it is a part of now."""
        hour = Counter({name: count for name, count in spans["hour"].items() if name.startswith(_STORY)})
        keys = [name.removeprefix(_STORY) for name, _ in hour.most_common(_STORIES_LOOKED_AT)]
        final = await self._detector.index.final_stories(list(filter(is_document_id, keys)))
        grown: dict[str, Counter[str]] = {}
        for key in keys:
            counts = grown.setdefault(final.get(key, key), Counter())
            counts.update({span: each[f"{_STORY}{key}"] for span, each in spans.items()})
        largest = sorted(grown.items(), key=lambda each: -each[1]["hour"])[:_STORIES_SHOWN]
        return [{"story": key, "headline": await self._headline(key), **counts} for key, counts in largest]

    async def _event(self, story: Story) -> dict[str, Any]:
        level = "breaking" if "breaking" in story.levels else "watch"
        return {
            "story": story.id,
            "level": level,
            "sources": len(story.sources),
            "items": story.items,
            "headline": await self._headline(story.id),
        }

    async def _headline(self, story: str) -> str:
        if story not in self._headlines:
            members = await self._detector.index.members(story)
            url = members[0].url if members else ""
            if len(self._headlines) >= _MOST_HEADLINES:
                self._headlines.clear()
            self._headlines[story] = headline_of(members) or url or story
        return self._headlines[story]


def _drawn(view: View) -> Group:
    heading = Text("\n".join(wrapped(f"{view.time[:19].replace('T', ' ')} UTC  {view.namespace}  {view.store}", 2)))
    parts: list[Any] = [heading, _verdicts(view)]
    if view.stories:
        stories = _table("growing stories", "joined in 10 min", "in an hour", "headline")
        for each in view.stories:
            stories.add_row(str(each["10 minutes"]), str(each["hour"]), " ".join(each["headline"].split()))
        parts.append(stories)
    if view.events:
        events = _table("running events, items counted up to now", "sources", "items", "headline", first="level")
        largest = sorted(view.events, key=lambda each: -int(each["sources"]))[:_EVENTS_SHOWN]
        for each in largest:
            headline = " ".join(each["headline"].split())
            events.add_row(each["level"], str(each["sources"]), str(each["items"]), headline)
        parts.append(events)
    if view.warning:
        parts.append(Text("\n".join(wrapped(f"Warning: {view.warning}.", 2))))
    return Group(*parts)


def _verdicts(view: View) -> Table:
    table = _table("items", *(f"last {span}" for span in _SPANS), first="verdict")
    total = {span: sum(view.verdicts.get(status, {}).get(span, 0) for status in STATUSES) for span in _SPANS}
    table.add_row("all", *(f"{total[span]:,}" for span in _SPANS))
    for status in STATUSES:
        for name in sorted(view.verdicts):
            if name == status or name.startswith(f"{status}/"):
                label = name if name == status else f"  {name.partition('/')[2]}"
                table.add_row(label, *(f"{view.verdicts[name][span]:,}" for span in _SPANS))
    if "would_drop" in view.verdicts:
        label = "dropped" if view.drops else "would be dropped"
        table.add_row(label, *(f"{view.verdicts['would_drop'][span]:,}" for span in _SPANS))
    return table


def _table(title: str, *headings: str, first: str = "") -> Table:
    table = Table(title=title, title_justify="left")
    for heading in filter(None, (first, *headings)):
        is_text = heading in (first, "headline")
        table.add_column(heading, justify="left" if is_text else "right", overflow="fold" if is_text else "ellipsis")
    return table
