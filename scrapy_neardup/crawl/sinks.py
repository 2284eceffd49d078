"""Pass on what a crawl finds: events to a Scrapy feed, a stream and a webhook, and counts of verdicts to the store."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.crawler import Crawler

from scrapy_neardup.crawl.feeds import JsonLinesFeed
from scrapy_neardup.crawl.file_locations import in_data_dir
from scrapy_neardup.document import Verdict, counted_names
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index import Index
from scrapy_neardup.settings import NearDupSettings

if TYPE_CHECKING:  # most crawls have no receiver
    from scrapy_neardup.stories.outbox import Outbox
    from scrapy_neardup.stories.stream import RedisStream
    from scrapy_neardup.stories.webhook import Webhook


class EventSinks:
    """The sinks that the settings name. An event that cannot be passed on does not stop the crawl.

    A dry run writes its feed of events, but sends no event to anybody. In the quiet hours people get only what breaks:
    the webhook gets no other event, neither then nor later.

    Raise SettingsError if nothing can be stored under the uri of the feed. The methods raise nothing.
    """

    def __init__(self, crawler: Crawler, settings: NearDupSettings) -> None:
        self._settings = settings
        feed = settings.events_feed
        self._feed = JsonLinesFeed(crawler, "NEARDUP_EVENTS_FEED", feed, "events") if feed is not None else None
        self._receivers: dict[str, RedisStream | Webhook] = {}
        if settings.events_stream and not settings.dry_run:
            from scrapy_neardup.index.redis.connection import connect
            from scrapy_neardup.stories.stream import RedisStream, stream_of

            self._receivers["stream"] = RedisStream(*stream_of(settings.events_stream, settings.store), connect)
        if settings.events_webhook and not settings.dry_run:
            from scrapy_neardup.stories.webhook import Webhook

            form = settings.events_webhook_format
            self._receivers["webhook"] = Webhook(settings.events_webhook, settings.events_webhook_secret, form=form)
        self._folder = Path(in_data_dir(settings, "neardup-events"))
        self._outboxes: dict[str, Outbox] = {}

    async def open(self) -> None:
        for name, receiver in self._receivers.items():
            from scrapy_neardup.stories.outbox import Outbox

            outbox = Outbox(name, self._folder / name, receiver.deliver)
            await outbox.open()
            self._outboxes[name] = outbox

    def put(self, report: Mapping[str, Any]) -> None:
        is_quiet = report["level"] != "breaking" and self._settings.is_quiet(time.time())
        for name, outbox in self._outboxes.items():
            if not (is_quiet and name == "webhook"):
                outbox.put(report)
        if self._feed is not None:
            self._feed.put(report)

    async def close(self) -> None:
        await asyncio.gather(*(outbox.close() for outbox in self._outboxes.values()))
        for receiver in self._receivers.values():
            await receiver.close()
        if self._feed is not None:
            await self._feed.close()


_PAUSE = 2.0  # seconds between two writes of one process
_MOST_NAMES = 100  # between two writes


class VerdictCounter:
    """Adds what it counts to the store, at most every two seconds. If the store is away, counts are lost."""

    def __init__(self, index: Index, is_away: Callable[[], bool]) -> None:
        self._index = index
        self._is_away = is_away
        self._counts: Counter[str] = Counter()
        self._waiting: asyncio.Task[None] | None = None

    def add(self, verdict: Verdict) -> None:
        names = counted_names(verdict)
        if verdict.would_drop:
            names.append("would_drop")
        if verdict.status in ("duplicate", "update", "related") and verdict.kind != "revisit":
            names.append(f"story:{verdict.story}")
        self._add(names)

    def add_event(self, level: str) -> None:
        self._add([f"event/{level}"])

    def _add(self, names: list[str]) -> None:
        self._counts.update(name for name in names if name in self._counts or len(self._counts) < _MOST_NAMES)
        if self._waiting is None or self._waiting.done():
            self._waiting = asyncio.create_task(self._write_later())

    async def close(self) -> None:
        """Write the last counts."""
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.wait([self._waiting])
        await self._write()

    async def _write_later(self) -> None:
        await asyncio.sleep(_PAUSE)
        await self._write()

    async def _write(self) -> None:
        counts, self._counts = self._counts, Counter()
        if not counts or self._is_away():
            return
        with suppress(StoreError):  # the checks themselves report a store that is away
            await self._index.count_verdicts(int(time.time()) // 60, counts)
