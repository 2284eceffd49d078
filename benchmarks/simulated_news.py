"""Simulate two weeks of news as stories see them: who publishes what and when, and which events are raised.

True events are mixed with many stories that look like events. Also used by attacks_on_events.py.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import xxhash

from scrapy_neardup.index.events import Granted
from scrapy_neardup.records.stories import StoryCounters, read_sources, unpack_member
from scrapy_neardup.rules.membership import count_join, grant
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.tracker import StoryTracker
from scrapy_neardup.story import Claim, EventSources, Join, Ledger, Member, Story

DAY = 86_400
HOUR = 3600
START = 1_700_006_400  # a midnight, UTC
BUDGET = NearDupSettings().events_per_day

DAYS = 14
SOURCES = 600
CHAINS = 40  # owners of several sites


class Item(NamedTuple):
    """One item of one story."""

    time: float
    story: object
    source: str


class News(NamedTuple):
    """Items in the order of their times; ``true`` are the stories that are events, ``owners`` the chains' sites."""

    items: Sequence[Item]
    true: set[int]
    owners: Mapping[str, str]


Published = Iterator[tuple[float, str]]
Chains = Sequence[Sequence[str]]


def simulate(seed: int) -> News:
    draw = random.Random(seed)
    sources = [f"source{number}.example" for number in range(SOURCES)]
    chains = _chains(draw, sources)
    owners = {site: f"chain {number}" for number, sites in enumerate(chains) for site in sites}
    items: list[Item] = []
    true = set[int]()
    story = 0
    for day in range(DAYS):
        for kind, count in A_DAY.items():
            for _ in range(count):
                begin = START + day * DAY + _time_of_day(draw)
                published = list(kind(draw, begin, sources, chains))
                if len(published) > 1:  # alone it never matches anything
                    items += (Item(time, story, source) for time, source in published)
                if kind is _true_event:
                    true.add(story)
                story += 1
    return News(sorted(items, key=lambda item: (item.time, item.story)), true, owners)


def _chains(draw: random.Random, sources: Sequence[str]) -> list[list[str]]:
    left = draw.sample(sources, len(sources))
    chains = []
    for _ in range(CHAINS):
        size = draw.randint(3, 12)
        chains.append(left[:size])
        del left[:size]
    return chains


def _time_of_day(draw: random.Random) -> float:
    """Most news is made from six to eleven."""
    return draw.triangular(0, DAY, 14 * HOUR) if draw.random() < 0.8 else draw.uniform(0, DAY)


def _true_event(draw: random.Random, begin: float, sources: Sequence[str], chains: Chains) -> Published:
    """15 to 150 sources, each after a delay of 1.5 h in the mean; some reprint it later."""
    size = min(150, int(15 * draw.paretovariate(1.2)))
    covering = draw.sample(sources, size)
    yield begin, covering[0]
    for source in covering[1:]:
        first = begin + draw.expovariate(1 / (1.5 * HOUR))
        yield first, source
        while draw.random() < 0.3:
            first += draw.expovariate(1 / (2 * HOUR))
            yield first, source


def _ordinary(draw: random.Random, begin: float, sources: Sequence[str], chains: Chains) -> Published:
    """Mostly one or two sources, sometimes sixty, over half a day; a chain's sites reprint it within minutes."""
    size = min(60, int(draw.paretovariate(1.6)))
    spread = draw.uniform(4, 14) * HOUR
    for number, source in enumerate(draw.sample(sources, size)):
        yield begin + (draw.uniform(0, spread) if number else 0), source
    if draw.random() < 0.1:
        moment = begin + draw.uniform(0, spread)
        for source in draw.choice(chains):
            yield moment + draw.uniform(0, 10 * 60), source


def _slow(draw: random.Random, begin: float, sources: Sequence[str], chains: Chains) -> Published:
    """A story that runs all day: 20 to 60 sources, evenly."""
    for source in draw.sample(sources, draw.randint(20, 60)):
        yield begin + draw.uniform(0, 20 * HOUR), source


def _network(draw: random.Random, begin: float, sources: Sequence[str], chains: Chains) -> Published:
    """All sites of one owner print the same at once, some of them twice."""
    for source in draw.choice(chains):
        for _ in range(draw.randint(1, 2)):
            yield begin + draw.uniform(0, 15 * 60), source


def _flood(draw: random.Random, begin: float, sources: Sequence[str], chains: Chains) -> Published:
    """One source's template: 50 to 500 items within an hour or two."""
    source = draw.choice(sources)
    for _ in range(draw.randint(50, 500)):
        yield begin + draw.uniform(0, 2 * HOUR), source


A_DAY = {_true_event: 8, _ordinary: 2500, _slow: 12, _network: 30, _flood: 6}


class TallyStore:
    """Stories in a dict, counted as every store counts them. They print no figures, and each document fits one."""

    def __init__(self) -> None:
        self._tallies: dict[str, StoryCounters] = defaultdict(StoryCounters)
        self._members: dict[str, dict[bytes, bytes]] = defaultdict(dict)
        self._ended: dict[str, EventSources] = {}
        self._open: set[str] = set()

    def join(self, join: Join) -> Story:
        members = self._members[join.story]
        members.update(count_join(self._tallies[join.story], Ledger(), join, {key.hex() for key in members}))
        return self._story(join.story)

    def _story(self, key: str) -> Story:
        return self._tallies[key].story(bytes.fromhex(key), Ledger())

    async def claim(self, claim: Claim) -> Granted | None:
        if not grant(self._tallies[claim.story], claim):
            return None
        if claim.level == "ended":
            self._open.discard(claim.story)
            self._ended[claim.story] = read_sources(self._tallies[claim.story].sources)
        else:
            self._open.add(claim.story)
        members = tuple(unpack_member(*item) for item in self._members[claim.story].items())
        return Granted(claim, self._story(claim.story), members)

    async def quiet(self, since: int) -> list[Story]:
        return [self._story(key) for key in sorted(self._open) if self._tallies[key].newest_source <= since]

    async def ended(self, since: int) -> list[EventSources]:
        return [sources for sources in self._ended.values() if sources[-1][0] >= since]

    async def note_owners(self, seen: Collection[bytes], now: int) -> dict[bytes, tuple[int, int]]:
        return {}

    async def confirm(self, entries: object) -> None: ...

    async def take_over(self, *seconds: object) -> list[Granted]:
        return []


async def raised(
    items: Iterable[Item], owners: Mapping[str, str], rule: str = "sources", events_per_day: float = BUDGET
) -> AsyncIterator[tuple[Item, StoryEvent | None, float, int]]:
    """Yield each item with the event that it raised, the minutes since its story began, and the threshold then."""
    store = TallyStore()
    tracker = StoryTracker(store, store, rule, events_per_day)
    firsts: dict[object, Member] = {}
    for number, item in enumerate(items):
        key = int(item.time).to_bytes(4, "big") + xxhash.xxh32_digest(str(number).encode())
        member = Member(key.hex(), "", "", item.source, owners.get(item.source, item.source), "duplicate")
        first = firsts.setdefault(item.story, member)
        event = None
        if member is not first:
            join = Join(first, member)
            event = await tracker.joined(join, store.join(join))
        await tracker.advance(int(item.time))
        tracker.outbox.hand_out()  # else the events in hand become more and more
        yield item, event, (item.time - first.seen_at) / 60, tracker.breaking_over
