"""Measure what somebody who writes pages can do to events: silence them, hold them back, or lie in their reports.

Print a table in Markdown for each attack. All texts are invented, and no data is needed.

usage: python benchmarks/attacks_on_events.py [fake-events] [backdated-pages] [false-figures]
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Fingerprint, Verdict
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index import Index
from scrapy_neardup.records.documents import Record
from scrapy_neardup.rules.decision import NO_TEXTS, Candidate, Decision, Judge, Texts
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.story import Join, Member, Story

START = 1_700_006_400  # a midnight, UTC
MINUTE = 60
HOUR = 3600
DAY = 24 * HOUR
STARTS = ("ba", "ke", "mi", "so", "tu", "pla", "dre", "gor", "fi", "no")
ENDS = ("ran", "lo", "vit", "na", "sel", "dum", "ki", "pot", "rix", "bem", "wal", "hut", "zo", "fen", "jar")
WORDS = [f"{start}{end}" for start in STARTS for end in ENDS]


def main() -> None:
    chosen = sys.argv[1:] or list(ATTACKS)
    for name in chosen:
        if name not in ATTACKS:
            sys.exit(f"{name!r} is no attack: choose from {', '.join(ATTACKS)}")
    for name in chosen:
        ATTACKS[name]()


class Published(NamedTuple):
    """A source prints a story, at a time in Unix seconds."""

    at: float
    source: str
    story: str


@dataclass(frozen=True, slots=True)
class Told(Judge):
    """Lets each document join a story as it is told."""

    join: Join | None = None

    def decide(
        self, document: Document, new: Record, candidates: Sequence[Candidate], texts: Texts = NO_TEXTS
    ) -> Decision:
        return Decision(Verdict("related"), new, join=self.join)


async def _join(detector: NearDupDetector, join: Join) -> StoryEvent | None:
    """Let a document join a story, and return the event if it tips the story to a level."""
    member = join.member
    number = int(member.id[8:], 16)
    fingerprint = Fingerprint(1, bytes.fromhex(member.id), bytes(8), bytes(4), identity_keys=(number,))
    document = Document(member.id, "", member.source, member.title, "", member.seen_at)
    index = detector.index
    told = Index(
        index.store, index.layout.namespace, index.layout.config, Told(index.documents.judge.policy, join=join)
    )
    (checked,) = await told.documents.check([(fingerprint, document)])
    assert not isinstance(checked, StoreError)
    return await detector.stories.joined(join, checked.story) if isinstance(checked.story, Story) else None


def words(seed: object, count: int = 70) -> str:
    """Return a text of invented words, the same for the same seed."""
    return " ".join(random.Random(repr(seed)).choices(WORDS, k=count))


def table(title: str, head: Sequence[object], rows: Sequence[Sequence[object]]) -> None:
    print(f"\n## {title}\n")
    for row in (head, ["---"] * len(head), *rows):
        print(f"| {' | '.join(map(str, row))} |")


# Fake events, which raise the threshold of ``breaking``

PAPERS = [f"paper{number}.example" for number in range(240)]
REAL_A_DAY = 5
REAL_SOURCES = 10


def fake_events() -> None:
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
    table(title, head, rows)


async def _under_fake_events(
    days: int, choose: Callable[[int, random.Random], list[str]], quiet_days: int
) -> tuple[int, int]:
    """Return the highest threshold, and how many of the real events of four days were ``breaking``.

    The attack begins with the first of these days.
    """
    draw = random.Random(7)
    published = list[Published]()
    for day in range(quiet_days + 4):
        begin = START + day * DAY
        if 0 <= day - quiet_days < days:
            for number in range(100):
                at = begin + draw.uniform(0, 6 * HOUR)
                published += _event(draw, f"fake {day} {number}", at, choose(day, draw), 30 * MINUTE)
        for number in range(REAL_A_DAY):
            kind = "real" if day >= quiet_days else "earlier"
            papers = draw.sample(PAPERS, REAL_SOURCES)
            published += _event(draw, f"{kind} {day} {number}", begin + (10 + 2 * number) * HOUR, papers, 55 * MINUTE)
        published += [Published(begin + minute * MINUTE, "", "") for minute in range(24 * 60)]  # unrelated news
    detector = NearDupDetector(NearDupSettings(store="memory://"), run="")
    await detector.open()
    highest, breaking = 0, set[str]()
    firsts: dict[str, Member] = {}
    for number, each in enumerate(sorted(published)):
        key = int(each.at).to_bytes(4, "big").hex() + f"{number:08x}"
        member = Member(key, "", each.story, each.source, each.source, "duplicate")
        first = firsts.setdefault(each.story, member)
        event = await _join(detector, Join(first, member)) if each.story and first is not member else None
        if event and event.level == "breaking" and each.story.startswith("real"):
            breaking.add(each.story)
        await detector.stories.advance(int(each.at))
        highest = max(highest, detector.stories.breaking_over)
    await detector.close()
    return highest, len(breaking)


def _event(draw: random.Random, story: str, begin: float, sources: Sequence[str], spread: float) -> list[Published]:
    return [Published(begin + draw.uniform(0, spread), source, story) for source in sources]


# Backdated pages, which make an event look old


def backdated_pages() -> None:
    rows = []
    process = CrawlerProcess({"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False})
    with tempfile.TemporaryDirectory() as folder:
        cases = [(liars, apart) for apart in (1, 0) for liars in (0, 4, 5, 14)]
        feeds = {case: Path(folder, f"{case[0]} {case[1]}.jsonl") for case in cases}
        for (liars, apart), feed in feeds.items():
            settings = {
                "ADDONS": {"scrapy_neardup.Addon": 500},
                "NEARDUP_STORE": "memory://",  # a new window, in which documents count at their own times
                "NEARDUP_ITEM_FIELDS": {"time": "published"},
                "NEARDUP_EVENTS_FEED": str(feed),
                "NEARDUP_DATA_DIR": folder,
            }
            attributes = {"liars": liars, "apart": apart, "custom_settings": settings}
            process.crawl(type("Backdated", (Backdated,), attributes))
        process.start()
        for (liars, apart), feed in feeds.items():
            reports = [json.loads(line) for line in feed.read_text().splitlines()] if feed.exists() else []
            levels = ", ".join(report["level"] for report in reports) or "none"
            rows.append((liars, "each in an hour of its own" if apart else "all in one hour", levels))
    title = "Backdated pages in a new window: eight papers print a story within a minute"
    table(title, ("backdated pages", "dated back", "levels raised"), rows)


class Backdated(scrapy.Spider):
    """One paper, pages of other hosts that say that they are hours old, and seven more papers."""

    name = "backdated"
    start_urls = ("data:,",)
    liars = apart = 0

    def parse(self, response: Response) -> Iterator[dict[str, str]]:
        now = datetime.now(timezone.utc)
        for number, hours in enumerate((0, *(2 + self.apart * liar for liar in range(self.liars)), *[0] * 7)):
            published = (now - timedelta(hours=hours)).isoformat()
            url = f"https://source{number}.example/ferry"
            yield {"url": url, "title": "Ferry", "text": words("ferry"), "published": published}


# False figures, in the report of an event


def false_figures() -> None:
    rows = [
        (papers, *(asyncio.run(_pages_until_told(papers, liars)) for liars in ("update", "report")))
        for papers in (3, 4, 7, 20, 40)
    ]
    head = ("papers with the old figure", "pages of further hosts until an update tells it", "until a report has it")
    table("False figures: hosts that print 400 dead after papers that print 4", head, rows)


async def _pages_until_told(papers: int, where: str) -> str:
    """Return how many hosts must print a figure until it is in an update, or in any report of the event."""
    for liars in range(1, 31):
        detector = NearDupDetector(NearDupSettings(store="memory://"), run="")
        await detector.open()
        dead = [4] * papers + [400] * liars
        for number, count in enumerate(dead):
            text = f"{words('fire', 120)}\nRescue workers said that {count} people were dead after the fire."
            url = f"https://source{number}.example/fire"
            await detector.check(detector.document(text, url=url, title="Fire", seen_at=START + number * MINUTE))
        await detector.finish(all_over=True)
        reports = [special_report(event) for event in detector.take_events()]
        await detector.close()
        told = [report["update"] for report in reports] if where == "update" else reports
        if any(change["new"] == "400" for each in told if each for change in each["figures"]):
            return str(liars)
    return "more than 30"


ATTACKS: dict[str, Callable[[], None]] = {
    "fake-events": fake_events,
    "backdated-pages": backdated_pages,
    "false-figures": false_figures,
}

if __name__ == "__main__":
    main()
