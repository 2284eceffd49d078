"""Measure how soon, how often and how correctly events are raised.

Print tables in Markdown.

usage: python benchmarks/events.py [--data DIR] [--seeds N] [--workers N]

DIR as for accuracy.py. Streams: gold clusters that arrive over some hours (exponential, mean 1.5 h) among other pages
spread over 24 h. Simulated news: two weeks of it, see simulated_news.py. Newswire: October 1987.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import xxhash
from shared import data_parser, print_table, read_pages, unpacked
from simulated_news import DAYS, News, simulate

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.index.events import Granted
from scrapy_neardup.records.stories import StoryCounters, read_sources, unpack_member
from scrapy_neardup.rules.membership import count_join, grant
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.rules import RULES
from scrapy_neardup.stories.tracker import StoryTracker
from scrapy_neardup.story import Claim, EventSources, Join, Ledger, Member, Story
from scrapy_neardup.tools.lab.evaluation import b_cubed
from scrapy_neardup.tools.lab.feed import read_background, read_feed, read_labelled
from scrapy_neardup.tools.lab.replay import Judged, PageReader, RecordedPage, replay

MIDNIGHT = 1_573_776_000  # 15 November 2019, UTC
HOUR = 3600
DAY = 24 * HOUR
LARGE = 30  # documents of a cluster that must not be missed


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="extraction processes")
    options = parser.parse_args()
    settings = NearDupSettings(store="memory://")
    with ExitStack() as stack:
        data = unpacked(options.data, stack)
        reader = stack.enter_context(PageReader(settings, options.workers))
        documents, clusters = read_labelled(data / "gold-dev.jsonl", "merged")
        pages = read_pages(reader, documents)
        background = read_pages(reader, read_background([data / "stream-dev.jsonl"]))
        stream = Stream(pages, clusters, background)
        asyncio.run(_streams(stream, range(options.seeds)))
        asyncio.run(_simulated(range(options.seeds)))
        asyncio.run(_newswire(data, reader))


# Streams of real pages


@dataclass(frozen=True)
class Stream:
    pages: list[RecordedPage]
    clusters: Sequence[str]
    background: list[RecordedPage]

    def at(self, seed: int) -> list[tuple[RecordedPage, str | None]]:
        """Pages with times, in their order, each with its cluster."""
        draw = random.Random(seed)
        timed: list[tuple[RecordedPage, str | None]] = []
        members: dict[str, list[RecordedPage]] = defaultdict(list)
        for page, cluster in zip(self.pages, self.clusters, strict=True):
            members[cluster].append(page)
        for cluster, pages in sorted(members.items()):
            begin = MIDNIGHT + draw.uniform(0, 18 * HOUR)
            for number, page in enumerate(draw.sample(pages, len(pages))):
                time = begin + (draw.expovariate(1 / (1.5 * HOUR)) if number else 0)
                timed.append((_timed(page, time), cluster))
        timed += [(_timed(page, MIDNIGHT + draw.uniform(0, DAY)), None) for page in self.background]
        return sorted(timed, key=lambda row: row[0].recorded.time or 0)


def _timed(page: RecordedPage, time: float) -> RecordedPage:
    return replace(page, recorded=replace(page.recorded, time=time))


@dataclass
class Outcome:
    """What one replay of a stream raised."""

    raised: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Cluster -> which of its documents tipped each of its events, from 1."""
    background: int = 0
    b_cubed: float = 0.0


async def _run(timed: Sequence[tuple[RecordedPage, str | None]], rule: str) -> tuple[list[Judged], list[StoryEvent]]:
    detector = NearDupDetector(NearDupSettings(store="memory://", event_rule=rule), run="")
    await detector.open()
    events: list[StoryEvent] = []
    judged = [each async for each in replay((page for page, _ in timed), detector, events.append, all_over=True)]
    await detector.close()
    return judged, events


async def _outcome(timed: Sequence[tuple[RecordedPage, str | None]], rule: str) -> Outcome:
    judged, _ = await _run(timed, rule)
    outcome, seen = Outcome(), Counter[str]()
    stories: list[str] = []
    for number, ((_, cluster), each) in enumerate(zip(timed, judged, strict=True)):
        assert each.verdict is not None
        stories.append(each.verdict.story or str(number))
        if cluster is not None:
            seen[cluster] += 1
        if each.verdict.event == "breaking":
            if cluster is None:
                outcome.background += 1
            else:
                outcome.raised[cluster].append(seen[cluster])
    outcome.b_cubed = b_cubed([cluster for _, cluster in timed], stories).f1
    return outcome


async def _streams(stream: Stream, seeds: Sequence[int]) -> None:
    sizes = Counter(stream.clusters)
    large = {cluster for cluster, size in sizes.items() if size >= LARGE}
    rows = []
    for rule in RULES:
        for seed in seeds:
            outcome = await _outcome(stream.at(seed), rule)
            tipped = [outcome.raised[cluster][0] for cluster in large if outcome.raised[cluster]]
            several = sum(len(numbers) > 1 for numbers in outcome.raised.values())
            rows.append(
                (
                    rule,
                    seed,
                    f"{len(tipped)} of {len(large)}",
                    f"{median(tipped):.0f}, {max(tipped)}" if tipped else "-",
                    sum(map(len, outcome.raised.values())),
                    several,
                    outcome.background,
                    f"{outcome.b_cubed:.4f}",
                )
            )
    head = ("rule", "seed", f"of {LARGE} and more", "tipped by document (median, last)", "events")
    title = f"{len(stream.pages)} gold pages among {len(stream.background)} others over 24 h"
    print_table(title, (*head, "clusters with several", "from the background", "B-cubed F1 of stories"), rows)


# Simulated news


class TallyStore:
    """Stories in a dict, by the counting of the SQLite store: two weeks in seconds."""

    def __init__(self) -> None:
        self._tallies: dict[str, StoryCounters] = defaultdict(StoryCounters)
        self._members: dict[str, dict[bytes, bytes]] = defaultdict(dict)
        self._ledger = Ledger()  # simulated documents print no figures
        self._ended: dict[str, EventSources] = {}
        self._open: set[str] = set()

    def join(self, join: Join) -> Story:
        tally, members = self._tallies[join.story], self._members[join.story]
        members.update(count_join(tally, self._ledger, join, {key.hex() for key in members}))
        return tally.story(bytes.fromhex(join.story), self._ledger)

    async def claim(self, claim: Claim) -> Granted | None:
        if not grant(self._tallies[claim.story], claim):
            return None
        if claim.level == "ended":
            self._open.discard(claim.story)
            self._ended[claim.story] = read_sources(self._tallies[claim.story].sources)
        else:
            self._open.add(claim.story)
        members = tuple(unpack_member(*item) for item in self._members[claim.story].items())
        return Granted(claim, self._tallies[claim.story].story(bytes.fromhex(claim.story), self._ledger), members)

    async def unite(self, story: str, other: Member) -> Story:
        raise NotImplementedError("simulated documents fit one story each")

    async def mute(self, story: str, *, muted: bool) -> Story | None:
        raise NotImplementedError("nobody mutes simulated news")

    async def final_stories(self, stories: Collection[str]) -> dict[str, str]:
        return {}

    async def confirm(self, tokens: Sequence[str]) -> None:
        """Nobody takes over the events of another process here."""

    async def take_over(
        self, seconds: float, receivers: Collection[bytes] = (), in_hand: Container[str] = ()
    ) -> list[Granted]:
        return []

    async def running(self, quiet_since: int | None = None) -> list[Story]:
        stories = [self._tallies[key].story(bytes.fromhex(key), self._ledger) for key in sorted(self._open)]
        return [story for story in stories if quiet_since is None or story.sources[-1] <= quiet_since]

    async def note_owners(self, seen: Collection[bytes], now: int) -> dict[bytes, tuple[int, int]]:
        return {}

    async def ended(self, since: int) -> list[EventSources]:
        return [sources for sources in self._ended.values() if sources[-1][0] >= since]


@dataclass(frozen=True)
class Alarms:
    recall: float
    false_a_day: float
    delay: float  # minutes, median
    watches_a_day: float
    updates_a_day: float
    threshold: int


async def _alarms(news: News, rule: str, events_per_day: float) -> Alarms:
    store = TallyStore()
    tracker = StoryTracker(store, store, rule, events_per_day)
    firsts: dict[int, Member] = {}
    stories: dict[str, int] = {}
    breaking: dict[int, float] = {}
    raised: Counter[str] = Counter()
    for number, item in enumerate(news.items):
        key = int(item.time).to_bytes(4, "big") + xxhash.xxh32_digest(str(number).encode())
        owner = news.owners.get(item.source, item.source)
        member = Member(key.hex(), "", "", item.source, owner, "duplicate")
        if item.story not in firsts:
            firsts[item.story] = replace(member, status="original")
            stories[member.id] = item.story
        elif event := await tracker.joined(join := Join(firsts[item.story], member), store.join(join)):
            raised[event.level] += 1
            if event.level == "breaking":
                breaking[item.story] = (event.time - firsts[item.story].seen_at) / 60
        await tracker.advance(int(item.time))
    found = [minutes for story, minutes in breaking.items() if story in news.true]
    false = len(breaking) - len(found)
    delay = median(found) if found else float("nan")
    watches, updates = raised["watch"] / DAYS, raised["update"] / DAYS
    return Alarms(len(found) / len(news.true), false / DAYS, delay, watches, updates, tracker.breaking_over)


async def _simulated(seeds: Sequence[int]) -> None:
    news = [simulate(seed) for seed in seeds]
    budget = NearDupSettings().events_per_day
    rows: list[tuple[Any, ...]] = []
    for rule, events_per_day in (("count", budget), ("sources", 1e6), ("sources", budget), ("sources", budget / 2)):
        alarms = [await _alarms(each, rule, events_per_day) for each in news]
        shown = "-" if rule == "count" else "none" if events_per_day == 1e6 else f"{events_per_day:g}"
        rows.append(
            (
                rule,
                shown,
                f"{mean(each.recall for each in alarms):.3f}",
                f"{mean(each.false_a_day for each in alarms):.1f}",
                f"{mean(each.delay for each in alarms):.0f} min",
                f"{mean(each.watches_a_day for each in alarms):.1f}",
                f"{mean(each.updates_a_day for each in alarms):.1f}",
                ", ".join(str(each.threshold) for each in alarms),
            )
        )
    items = mean(len(each.items) for each in news) / DAYS
    title = f"Simulated news: {DAYS} days, {items:.0f} items a day in stories, mean of {len(seeds)} seeds"
    head = (
        "rule",
        "budget a day",
        "recall",
        "false alarms a day",
        "median delay",
        "watches a day",
        "updates a day",
        "threshold at the end",
    )
    print_table(title, head, rows)


# Newswire


async def _newswire(data: Path, reader: PageReader) -> None:
    """One agency has no independent sources: only the counting rule has something to say."""
    pages = [page for page in reader.read(read_feed(data / "reuters.jsonl")) if isinstance(page, RecordedPage)]
    timed = [(page, None) for page in sorted(pages, key=lambda page: page.recorded.time or 0)]
    _, events = await _run(timed, "count")
    rows = [
        (_iso(event.time), event.story.items, event.members[0].title, event.members[-1].title)
        for event in events
        if event.level == "breaking"
    ]
    print_table(f"Newswire of 1987: {len(timed)} texts, rule count", ("raised", "items", "first", "last"), rows)


def _iso(second: int) -> str:
    from datetime import datetime, timezone

    return datetime.fromtimestamp(second, timezone.utc).strftime("%Y-%m-%d %H:%M")


if __name__ == "__main__":
    main()
