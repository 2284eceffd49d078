"""``scrapy neardup watch``: what all workers of a window do now, in the terminal."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, TypeVar

from rich.console import Group, JustifyMethod, OverflowMethod
from rich.live import Live
from rich.table import Table
from rich.text import Text

from scrapy_neardup.commands.inputs import add_json, add_store, explain_emptiness, live_detector, number
from scrapy_neardup.commands.terminal import PlainConsole, print_json, wrapped
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import STATUSES, Story, without_password
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.lab.stored import is_document_id
from scrapy_neardup.stories.headlines import headline_of

_SPANS = {"minute": 1, "10 minutes": 10, "hour": 60}
_STORY = "story:"  # begins the name of a count of a story
_STORIES_SHOWN = 8
_STORIES_LOOKED_AT = 32  # some of them may have become one
_MOST_HEADLINES = 1000
_TABLE_LINES = 5  # of a table besides its rows: title, borders and headings
_LAST_LOOK = 2.0  # seconds for the last look after Ctrl-C

_Row = TypeVar("_Row")


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
        console = PlainConsole()
        try:
            with Live(_drawn(view, console.height), console=console, screen=True, auto_refresh=False) as live:
                live.refresh()
                while True:
                    await asyncio.sleep(options.interval)
                    view = await watcher.look()
                    live.update(_drawn(view, console.height), refresh=True)
        except asyncio.CancelledError:  # Ctrl-C: the screen before is back, so leave the state of now on it
            with suppress(asyncio.TimeoutError, StoreError):
                view = await asyncio.wait_for(watcher.look(), _LAST_LOOK)
            console.print(_drawn(view))
            raise


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
    """Looks at a window. It reads the headline of a running event again when the event has grown."""

    def __init__(self, detector: NearDupDetector) -> None:
        self._detector = detector
        self._headlines: dict[tuple[str, int], str] = {}

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
            "level": "muted" if story.is_muted else level,
            "sources": len(story.sources),
            "items": story.items,
            "headline": await self._headline(story.id, story.joined),
        }

    async def _headline(self, story: str, joined: int = 0) -> str:
        """Return the headline of a story. It is read again when ``joined``, the number of members, has changed."""
        if (story, joined) not in self._headlines:
            members = await self._detector.index.members(story)
            url = members[0].url if members else ""
            if len(self._headlines) >= _MOST_HEADLINES:
                self._headlines.clear()
            self._headlines[story, joined] = headline_of(members) or url or story
        return self._headlines[story, joined]


def _drawn(view: View, height: int | None = None) -> Group:
    """Return the tables: running events first. With ``height`` they fit into as many lines of a terminal."""
    heading = wrapped(f"{view.time[:19].replace('T', ' ')} UTC  {view.namespace}  {view.store}", 2)
    warning = wrapped(f"Warning: {view.warning}.", 2) if view.warning else []
    space = _Space(height, len(heading) + len(warning))
    is_live = height is not None
    parts: list[Any] = [Text("\n".join(heading)), *([Text("\n".join(warning))] if warning else [])]
    largest = sorted(view.events, key=lambda each: -int(each["sources"]))
    if shown := space.take(largest):
        more = f", {len(shown)} of {len(largest)}" if len(shown) < len(largest) else ""
        title = f"running events{more}, items counted up to now"
        events = _table(title, "sources", "items", "headline", first="level", on_one_line=is_live)
        for each in shown:
            headline = " ".join(each["headline"].split())
            events.add_row(each["level"], str(each["sources"]), str(each["items"]), headline)
        parts.append(events)
    verdicts = _verdict_rows(view)
    if not space.holds(verdicts):
        verdicts = [row for row in verdicts if not row[0].startswith(" ")]  # without kinds
    if rows := space.take(verdicts):
        table = _table("items", *(f"last {span}" for span in _SPANS), first="verdict")
        for row in rows:
            table.add_row(*row)
        parts.append(table)
    if growing := space.take(view.stories):
        stories = _table("growing stories", "joined in 10 min", "in an hour", "headline", on_one_line=is_live)
        for each in growing:
            stories.add_row(str(each["10 minutes"]), str(each["hour"]), " ".join(each["headline"].split()))
        parts.append(stories)
    return Group(*parts)


class _Space:
    """The lines that are left of a terminal. A table takes as many rows as fit, none if less than three do."""

    def __init__(self, height: int | None, used: int) -> None:
        self._left = None if height is None else height - used

    def holds(self, rows: Sequence[object]) -> bool:
        return self._left is None or self._left >= _TABLE_LINES + len(rows)

    def take(self, rows: Sequence[_Row]) -> Sequence[_Row]:
        if self._left is not None:
            fitting = self._left - _TABLE_LINES
            rows = rows[:fitting] if fitting >= min(3, len(rows)) else []
            self._left -= _TABLE_LINES + len(rows) if rows else 0
        return rows


def _verdict_rows(view: View) -> list[tuple[str, ...]]:
    """Return a row for each verdict, and below it one for each kind, whose name begins with a blank."""
    total = {span: sum(view.verdicts.get(status, {}).get(span, 0) for status in STATUSES) for span in _SPANS}
    rows = [("all", total)]
    for status in STATUSES:
        kinds = sorted(name for name in view.verdicts if name == status or name.startswith(f"{status}/"))
        rows += [(name if name == status else f"  {name.partition('/')[2]}", view.verdicts[name]) for name in kinds]
    if "would_drop" in view.verdicts:
        rows.append(("dropped" if view.drops else "would be dropped", view.verdicts["would_drop"]))
    return [(label, *(f"{counts[span]:,}" for span in _SPANS)) for label, counts in rows]


def _table(title: str, *headings: str, first: str = "", on_one_line: bool = False) -> Table:
    """Return a table without rows. ``on_one_line`` cuts a headline that is too long for its line."""
    table = Table(title=title, title_justify="left", expand=on_one_line)
    for heading in filter(None, (first, *headings)):
        is_text = heading in (first, "headline")
        overflow: OverflowMethod = "fold" if is_text and not on_one_line else "ellipsis"
        justify: JustifyMethod = "left" if is_text else "right"
        ratio = 1 if on_one_line and heading == "headline" else None
        table.add_column(heading, justify=justify, overflow=overflow, no_wrap=on_one_line, ratio=ratio)
    return table
