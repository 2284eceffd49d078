"""Pass events on to a Scrapy feed, a Redis stream and a webhook."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_neardup.crawl.feeds import JsonLinesFeed
from scrapy_neardup.crawl.file_locations import in_data_dir
from scrapy_neardup.index.redis.connection import connect
from scrapy_neardup.stories.outbox import Outbox
from scrapy_neardup.stories.stream import RedisStream, stream_of
from scrapy_neardup.stories.webhook import Webhook

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_neardup.settings import NearDupSettings

logger = logging.getLogger(__name__)


class EventSinks:
    """The sinks that the settings name. An event that cannot be passed on does not stop the crawl.

    Raise SettingsError if nothing can be stored under the uri of the feed. The methods raise nothing.
    """

    def __init__(self, crawler: Crawler, settings: NearDupSettings) -> None:
        feed = settings.events_feed
        self._feed = JsonLinesFeed(crawler, "NEARDUP_EVENTS_FEED", feed) if feed is not None else None
        self._receivers: dict[str, RedisStream | Webhook] = {}
        if settings.events_stream:
            self._receivers["stream"] = RedisStream(*stream_of(settings.events_stream, settings.store), connect)
        if settings.events_webhook:
            self._receivers["webhook"] = Webhook(settings.events_webhook, settings.events_webhook_secret)
        self._folder = Path(in_data_dir(settings, "neardup-events"))
        self._outboxes: list[Outbox] = []

    async def open(self) -> None:
        for name, receiver in self._receivers.items():
            outbox = Outbox(name, self._folder / name, receiver.deliver)
            await outbox.open()
            self._outboxes.append(outbox)

    def put(self, report: Mapping[str, Any]) -> None:
        for outbox in self._outboxes:
            outbox.put(report)
        if self._feed is not None:
            try:
                self._feed.put(report)
            except Exception as error:
                reason = _without_login(error)
                logger.error("NEARDUP_EVENTS_FEED: event %s is not written: %s", report["id"], reason)

    async def close(self) -> None:
        await asyncio.gather(*(outbox.close() for outbox in self._outboxes))
        for receiver in self._receivers.values():
            await receiver.close()
        if self._feed is not None:
            try:
                await self._feed.close()
            except Exception as error:
                logger.error("NEARDUP_EVENTS_FEED cannot be stored: %s", _without_login(error))


def _without_login(error: Exception) -> str:
    """Return the message of an error, without user and password of a url in it."""
    return re.sub(r"//[^/\s]*@", "//***@", f"{type(error).__name__}: {error}")
