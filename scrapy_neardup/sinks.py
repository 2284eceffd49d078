"""Where events go: a Scrapy feed, a Redis stream, a webhook."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.project import data_path

from scrapy_neardup.index.connection import connect
from scrapy_neardup.stories.outbox import Outbox
from scrapy_neardup.stories.stream import RedisStream, stream_of
from scrapy_neardup.stories.webhook import Webhook

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedStorageProtocol

    from scrapy_neardup.settings import NearDupSettings

logger = logging.getLogger(__name__)

_APPENDING = ("", "file", "ftp")


class EventFeed:
    """JSON lines in any place a Scrapy feed can go, opened with the first event and stored when the spider closes."""

    def __init__(self, crawler: Crawler, uri: str) -> None:
        self._crawler = crawler
        self._uri = uri
        self._storage: FeedStorageProtocol | None = None
        self._file: IO[bytes] | None = None

    def put(self, report: Mapping[str, Any]) -> None:
        """Raises what the storage raises."""
        if self._file is None:
            self._storage, self._file = self._open()
        self._file.write((json.dumps(report, ensure_ascii=False) + "\n").encode())
        self._file.flush()  # a reader of a local file sees it now

    async def close(self) -> None:
        if self._storage is None or self._file is None:
            return
        storage, file = self._storage, self._file
        self._storage = self._file = None
        stored = storage.store(file)
        if stored is not None:
            from scrapy.utils.defer import maybe_deferred_to_future

            await maybe_deferred_to_future(stored)

    def _open(self) -> tuple[FeedStorageProtocol, IO[bytes]]:
        from datetime import datetime, timezone

        spider = self._crawler.spider
        assert spider is not None
        now = datetime.now(timezone.utc).replace(microsecond=0).isoformat().replace(":", "-")
        uri = self._uri % {"name": spider.name, "time": now} if "%(" in self._uri else self._uri
        # As FeedExporter reads it: what has no scheme is a path, and a Windows drive is no scheme.
        storages = self._crawler.settings.getwithbase("FEED_STORAGES")
        scheme = urlsplit(uri).scheme
        cls = load_object(storages.get(scheme) or storages["file"])
        options = {"format": "jsonlines", **({"overwrite": False} if scheme in _APPENDING else {})}
        storage: FeedStorageProtocol = build_from_crawler(cls, self._crawler, uri, feed_options=options)
        return storage, storage.open(spider)


class EventSinks:
    """Every sink the settings name. Nothing here raises: an event that cannot be passed on stops no crawl."""

    def __init__(self, crawler: Crawler, settings: NearDupSettings) -> None:
        self._feed = EventFeed(crawler, settings.events_feed) if settings.events_feed else None
        self._receivers: dict[str, RedisStream | Webhook] = {}
        if settings.events_stream:
            self._receivers["stream"] = RedisStream(*stream_of(settings.events_stream, settings.store), connect)
        if settings.events_webhook:
            self._receivers["webhook"] = Webhook(settings.events_webhook, settings.events_webhook_secret)
        self._outboxes: list[Outbox] = []

    async def open(self) -> None:
        for name, receiver in self._receivers.items():
            outbox = Outbox(name, Path(data_path(f"neardup-events/{name}")), receiver.deliver)
            await outbox.open()
            self._outboxes.append(outbox)

    def put(self, report: Mapping[str, Any]) -> None:
        for outbox in self._outboxes:
            outbox.put(report)
        if self._feed is not None:
            try:
                self._feed.put(report)
            except Exception as error:
                logger.error("NEARDUP_EVENTS_FEED: event %s is not written: %s", report["id"], error)

    async def close(self) -> None:
        for outbox in self._outboxes:
            await outbox.close()
        for receiver in self._receivers.values():
            await receiver.close()
        if self._feed is not None:
            try:
                await self._feed.close()
            except Exception as error:
                logger.error("NEARDUP_EVENTS_FEED cannot be stored: %s", error)
