"""Pass events on to a Scrapy feed, a Redis stream and a webhook."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.crawler import Crawler

from scrapy_neardup.crawl.feeds import JsonLinesFeed
from scrapy_neardup.crawl.file_locations import in_data_dir
from scrapy_neardup.settings import NearDupSettings

if TYPE_CHECKING:  # most crawls have no receiver
    from scrapy_neardup.stories.outbox import Outbox
    from scrapy_neardup.stories.stream import RedisStream
    from scrapy_neardup.stories.webhook import Webhook


class EventSinks:
    """The sinks that the settings name. An event that cannot be passed on does not stop the crawl.

    A dry run writes its feed of events, but sends no event to anybody.

    Raise SettingsError if nothing can be stored under the uri of the feed. The methods raise nothing.
    """

    def __init__(self, crawler: Crawler, settings: NearDupSettings) -> None:
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
        self._outboxes: list[Outbox] = []

    async def open(self) -> None:
        for name, receiver in self._receivers.items():
            from scrapy_neardup.stories.outbox import Outbox

            outbox = Outbox(name, self._folder / name, receiver.deliver)
            await outbox.open()
            self._outboxes.append(outbox)

    def put(self, report: Mapping[str, Any]) -> None:
        for outbox in self._outboxes:
            outbox.put(report)
        if self._feed is not None:
            self._feed.put(report)

    async def close(self) -> None:
        await asyncio.gather(*(outbox.close() for outbox in self._outboxes))
        for receiver in self._receivers.values():
            await receiver.close()
        if self._feed is not None:
            await self._feed.close()
