"""Simulate two weeks of news as stories see them: who publishes what and when.

True events are mixed with many stories that look like events.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

DAY = 86_400
HOUR = 3600
START = 1_700_006_400  # a midnight, UTC

DAYS = 14
SOURCES = 600
CHAINS = 40  # owners of several sites
CHAIN_SITES = (3, 12)
TRUE_A_DAY = 8
ORDINARY_A_DAY = 2500
SLOW_A_DAY = 12
NETWORK_A_DAY = 30
FLOODS_A_DAY = 6


@dataclass(frozen=True, slots=True)
class Item:
    """One item of one story."""

    time: float
    story: int
    source: str


@dataclass(frozen=True, slots=True)
class News:
    """Items in the order of their times; ``true`` are the stories that are events, ``owners`` the chains' sites."""

    items: tuple[Item, ...]
    true: frozenset[int]
    owners: dict[str, str]


def simulate(seed: int) -> News:
    """Per day 8 true events, 2,500 ordinary stories, and what is taken for events: slow stories, networks, floods."""
    draw = random.Random(seed)
    sources = [f"source{number}.example" for number in range(SOURCES)]
    chains = _chains(draw, sources)
    owners = {site: f"chain {number}" for number, sites in enumerate(chains) for site in sites}
    items: list[Item] = []
    true: set[int] = set()
    story = 0
    for day in range(DAYS):
        for kind, count in (
            (_true_event, TRUE_A_DAY),
            (_ordinary, ORDINARY_A_DAY),
            (_slow, SLOW_A_DAY),
            (_network, NETWORK_A_DAY),
            (_flood, FLOODS_A_DAY),
        ):
            for _ in range(count):
                begin = START + day * DAY + _time_of_day(draw)
                published = list(kind(draw, begin, sources, chains))
                if len(published) > 1:  # alone it never matches anything
                    items += (Item(time, story, source) for time, source in published)
                if kind is _true_event:
                    true.add(story)
                story += 1
    return News(tuple(sorted(items, key=lambda item: (item.time, item.story))), frozenset(true), owners)


Published = Iterator[tuple[float, str]]
Chains = Sequence[Sequence[str]]


def _chains(draw: random.Random, sources: Sequence[str]) -> list[list[str]]:
    left = draw.sample(sources, len(sources))
    chains = []
    for _ in range(CHAINS):
        size = draw.randint(*CHAIN_SITES)
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
