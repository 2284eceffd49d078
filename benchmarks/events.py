"""Measure how soon, how often and how correctly events are raised in two weeks of simulated news.

usage: python benchmarks/events.py [--seeds N]

Prints a table in Markdown. simulated_news.py says what the news is. ``stories.py --only stream`` prints which events of
real pages are raised.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import Any

import xxhash
from shared import print_table
from simulated_news import DAYS, News, simulate

from scrapy_neardup.index.events import Granted
from scrapy_neardup.records.stories import StoryCounters, read_sources, unpack_member
from scrapy_neardup.rules.membership import count_join, grant
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.tracker import StoryTracker
from scrapy_neardup.story import Claim, EventSources, Join, Ledger, Member, Story


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    asyncio.run(_simulated(range(parser.parse_args().seeds)))


class TallyStore:
    """Stories in a dict, counted as every store counts them. They have no figures, so no ledger."""

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

    async def quiet(self, since: int) -> list[Story]:
        stories = [self._tallies[key].story(bytes.fromhex(key), self._ledger) for key in sorted(self._open)]
        return [story for story in stories if story.sources[-1] <= since]

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
        tracker.outbox.hand_out()  # else the events in hand become more and more
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


if __name__ == "__main__":
    main()
