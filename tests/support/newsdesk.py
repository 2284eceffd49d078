"""Make texts, and a detector that collects the events of published texts, for the tests of events."""

import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Verdict
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.rules import sources
from scrapy_neardup.story import Ledger, Level, Story

START = 1_700_000_000
MINUTE = 60
HOUR = 3600


def made_up(seed: object, count: int) -> list[str]:
    """Return random words, the same for the same seed: no figures, no real language."""
    letters = random.Random(repr(seed))
    return ["".join(letters.choices("abdegiklmnoprstuv", k=7)) for _ in range(count)]


@lru_cache(maxsize=2000)
def text(seed: object, size: int = 150) -> str:
    """Return a text of such words, in lines of thirty."""
    words = made_up(seed, size)
    return "\n".join(" ".join(words[start : start + 30]) for start in range(0, size, 30))


class Newsroom:
    """A detector, and the events of what was published."""

    def __init__(self, detector: NearDupDetector) -> None:
        self.detector = detector
        self.events: list[StoryEvent] = []

    def article(self, seed: object, source: object, at: float, **more: Any) -> Document:
        url = more.pop("url", f"https://www.{source}.example/{seed}/{at}")
        body = more.pop("text", text(seed))
        title = more.pop("title", f"News of {seed}")
        return self.detector.document(body, url=url, title=title, seen_at=START + at, **more)

    async def publish(self, seed: object, source: object, at: float, **more: Any) -> Verdict:
        verdict = await self.detector.check(self.article(seed, source, at, **more))
        self.events += self.detector.take_events()
        return verdict

    async def spread(self, seed: object, numbers: Iterable[int], source: str = "s", **more: Any) -> list[Verdict]:
        """Publish an article by sources of these numbers, each at the minute of its number."""
        return [await self.publish(seed, f"{source}{n}", n * MINUTE, **more) for n in numbers]

    async def pass_time(self, begin: float, end: float) -> None:
        """Unrelated news, one a minute."""
        for minute in range(int(begin // MINUTE), int(end // MINUTE)):
            await self.publish(f"other {minute}", f"other{minute}", minute * MINUTE)

    @property
    def levels(self) -> list[str]:
        return [event.level for event in self.events]


def without_watch(story: Story, time: float, breaking_over: int) -> Level | None:
    """Raise what the rule ``sources`` raises, whoever was harmed, but no ``watch``.

    Most tests are about the levels after it, and some of their texts have tolls.
    """
    level = sources(replace(story, ledger=Ledger()), time, breaking_over)
    return None if level == "watch" else level


@asynccontextmanager
async def opened(*, run: str = "test", delivers_later: bool = False, **settings: Any) -> AsyncIterator[Newsroom]:
    """Open a newsroom whose detector has these settings. Six sources break, and none is a ``watch`` by default."""
    settings = {"event_rule": f"{__name__}.without_watch", "events_min_sources": 6, **settings}
    room = Newsroom(NearDupDetector(NearDupSettings(**settings), run=run, delivers_later=delivers_later))
    await room.detector.open()
    try:
        yield room
    finally:
        await room.detector.close()


def toll(dead: int) -> str:
    """Return the report of one fire with this number of dead."""
    body = f"Rescue workers said that {dead} people were dead after the great fire in the old harbour."
    return f"{body}\n{text('fire', 200)}"


# Reports in words of their own, which share nothing but names. ``BOTH`` has those of ``BUDGET`` and of ``STRIKE``, so
# with it their two stories turn out to be one.

_LINE = 10  # words between two names


def report(names: str, seed: object) -> str:
    """Return a text of random words with these names in its first lines."""
    filler = iter(text(seed, 150).split())
    return "\n".join(f"{' '.join(next(filler) for _ in range(_LINE))} {name} {next(filler)}" for name in names.split())


_SHARED = "Skerrow Tamsin"
_BUDGET = "Aldermoor Brandreth Calverley Dunstable Everleigh Fairweather"
_STRIKE = "Garroway Hollingbury Inchbold Jellicoe Kirkwhelp Lanchester"

BUDGET_NAMES = f"{_SHARED} {_BUDGET}"
BUDGET = report(BUDGET_NAMES, "budget")
STRIKE = report(f"{_SHARED} {_STRIKE}", "strike")
BOTH = report(f"{_SHARED} {_BUDGET} {_STRIKE}"[: -len(" Lanchester")], "both")
