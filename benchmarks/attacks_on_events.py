"""Measure what somebody who writes pages can do to events: silence them, hold them back, or lie in their reports.

Print a table in Markdown for each attack. All texts are invented, and no data is needed.

usage: python benchmarks/attacks_on_events.py [fake_events] [backdated_pages] [false_figures]
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from itertools import product

from shared import chosen_parts, print_table
from simulated_news import DAY, HOUR, START, Item, raised

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.report import special_report

MINUTE = 60
TITLE = "Ferry on fire"
STARTS = ("ba", "ke", "mi", "so", "tu", "pla", "dre", "gor", "fi", "no")
ENDS = ("ran", "lo", "vit", "na", "sel", "dum", "ki", "pot", "rix", "bem", "wal", "hut", "zo", "fen", "jar")
WORDS = [f"{start}{end}" for start in STARTS for end in ENDS]


def words(seed: object, count: int = 70) -> str:
    """Return a text of invented words, the same for the same seed."""
    return " ".join(random.Random(repr(seed)).choices(WORDS, k=count))


# Fake events, which raise the threshold of ``breaking``

PAPERS = [f"paper{number}.example" for number in range(240)]
REAL_A_DAY = 5
REAL_SOURCES = 10


def fake_events() -> None:
    """Raise the threshold of ``breaking`` by 100 events a day."""

    def hosts(count: int, first: int = 0) -> list[str]:
        return [f"fake{number}.example" for number in range(first, first + count)]

    attacks: dict[str, tuple[int, Callable[[int, random.Random], list[str]]]] = {
        "none": (0, lambda day, draw: []),
        "13 hosts, 1 day": (1, lambda day, draw: hosts(13)),
        "13 hosts, 4 days": (4, lambda day, draw: hosts(13)),
        "13 new hosts each day": (4, lambda day, draw: hosts(13, 13 * day)),
        "30 hosts, 13 in turn, 4 days": (4, lambda day, draw: draw.sample(hosts(30), 13)),
        "60 hosts, 13 in turn, 4 days": (4, lambda day, draw: draw.sample(hosts(60), 13)),
        "120 hosts, 13 in turn, 4 days": (4, lambda day, draw: draw.sample(hosts(120), 13)),
    }
    rows = []
    for store in ("new", "a week old"):
        for name, (days, choose) in attacks.items():
            highest, found = asyncio.run(_under_fake_events(days, choose, quiet_days=0 if store == "new" else 7))
            rows.append((store, name, 5, highest, f"{found} of {4 * REAL_A_DAY}"))
    head = ("store", "fake events: 100 a day by", "k before", "k, highest", "real events breaking")
    title = f"Fake events: {4 * REAL_A_DAY} real events of {REAL_SOURCES} papers in an hour, on four days"
    print_table(title, head, rows)


async def _under_fake_events(
    days: int, choose: Callable[[int, random.Random], list[str]], quiet_days: int
) -> tuple[int, int]:
    """Return the highest threshold, and how many of the real events of four days were ``breaking``.

    The attack begins with the first of these days.
    """
    draw = random.Random(7)
    items = list[Item]()

    def add_event(story: str, begin: float, sources: Sequence[str], spread: float) -> None:
        items.extend(Item(begin + draw.uniform(0, spread), story, source) for source in sources)

    for day in range(quiet_days + 4):
        begin = START + day * DAY
        if 0 <= day - quiet_days < days:
            for number in range(100):
                at = begin + draw.uniform(0, 6 * HOUR)
                add_event(f"fake {day} {number}", at, choose(day, draw), 30 * MINUTE)
        for number in range(REAL_A_DAY):
            kind = "real" if day >= quiet_days else "earlier"
            papers = draw.sample(PAPERS, REAL_SOURCES)
            add_event(f"{kind} {day} {number}", begin + (10 + 2 * number) * HOUR, papers, 55 * MINUTE)
        times = range(begin, begin + DAY, MINUTE)
        items += [Item(at, f"unrelated {at}", "") for at in times]
    highest = 0
    breaking = set[object]()
    ordered = sorted(items, key=lambda item: (item.time, item.source))
    async for item, event, _, threshold in raised(ordered, {}):
        if event and event.level == "breaking" and str(item.story).startswith("real"):
            breaking.add(item.story)
        highest = max(highest, threshold)
    return highest, len(breaking)


# Backdated pages, which make an event look old


def backdated_pages() -> None:
    """Let eight papers print a story within a minute; pages that say that they are hours old come after the first."""
    rows = []
    for apart, liars in product((1, 0), (0, 4, 5, 14)):
        ages = [0, *(2 + apart * liar for liar in range(liars)), *[0] * 7]
        text = words("ferry")
        pages = [(text, f"https://source{number}.example/ferry", -age * HOUR) for number, age in enumerate(ages)]
        levels = ", ".join(event.level for event in asyncio.run(_events_of(pages))) or "none"
        rows.append((liars, "each in an hour of its own" if apart else "all in one hour", levels))
    print_table("Backdated pages in a new window", ("backdated pages", "dated back", "levels raised"), rows)


async def _events_of(pages: Sequence[tuple[str, str, float]]) -> list[StoryEvent]:
    """Return what texts raise that are printed at urls, so many seconds after the start."""
    detector = NearDupDetector(NearDupSettings(store="memory://"), run="")
    await detector.open()
    for text, url, seconds in pages:
        await detector.check(detector.document(text, url=url, title=TITLE, seen_at=START + seconds))
    await detector.finish(all_over=True)
    events = detector.take_events()
    await detector.close()
    return list(events)


# False figures, in the report of an event


def false_figures() -> None:
    """Print 400 dead after papers that print 4."""
    head = ("papers with the old figure", "pages of further hosts until an update tells it", "until a report has it")
    found = [(papers, *map(_pages_until_told(papers).get, ("update", "report"))) for papers in (3, 4, 7, 20, 40)]
    print_table("False figures: hosts that print 400 dead after papers that print 4", head, found)


def _pages_until_told(papers: int) -> dict[str, int]:
    """Return how many hosts must print a figure until it is in an update, and until it is in any report."""
    needed: dict[str, int] = {}
    for liars in range(1, 31):
        pages = []
        for number, count in enumerate([4] * papers + [400] * liars):
            text = f"Rescue workers said that {count} people were dead after the fire.\n{words('fire', 120)}"
            pages.append((text, f"https://source{number}.example/fire", number * MINUTE))
        reports = [special_report(event) for event in asyncio.run(_events_of(pages))]
        for where, told in (("update", [each["update"] for each in reports]), ("report", reports)):
            if any(change["new"] == "400" for each in told if each for change in each["figures"]):
                needed.setdefault(where, liars)
        if len(needed) == 2:
            break
    return needed


if __name__ == "__main__":
    for attack in chosen_parts((fake_events, backdated_pages, false_figures), __doc__):
        attack()
