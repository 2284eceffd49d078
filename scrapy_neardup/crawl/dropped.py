"""The feed of dropped items: with ``NEARDUP_ACTION = "drop"`` nothing goes away unseen."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scrapy_neardup.crawl.feeds import JsonLinesFeed
from scrapy_neardup.crawl.file_locations import in_data_dir
from scrapy_neardup.settings import DEFAULT_DROPPED_FEED, NearDupSettings

if TYPE_CHECKING:
    from itemadapter import ItemAdapter
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

SETTING = "NEARDUP_DROPPED_FEED"


class DroppedItems:
    """Writes each dropped item with its tags, whether or not its type can take them."""

    def __init__(self, feed: JsonLinesFeed) -> None:
        self._feed = feed
        self._is_told = False

    def put(self, adapter: ItemAdapter, tags: Mapping[str, Any]) -> bool:
        """Whether the item was written; if not, it must not be dropped, and the log says once why."""
        try:
            self._feed.put({**_fields(adapter), **tags})
        except Exception as error:
            self._tell(logging.ERROR, "cannot be written, so duplicates are kept and tagged: %s", error)
            return False
        self._tell(logging.INFO, "dropped items are written to %s", self._feed.uri)
        return True

    async def close(self) -> None:
        """Store the feed. Never raises."""
        try:
            await self._feed.close()
        except Exception as error:
            logger.error("%s cannot be stored: %s", SETTING, error)

    def _tell(self, level: int, what: str, about: object) -> None:
        if not self._is_told:
            self._is_told = True
            logger.log(level, f"{SETTING}: {what}", about)


def dropped_items(crawler: Crawler, settings: NearDupSettings) -> DroppedItems | None:
    """The feed of a crawl that drops items, None if it does not or the user wants no feed.

    Raises SettingsError if nothing can be stored under its uri.
    """
    uri = settings.dropped_feed
    if uri is None or settings.action != "drop" or settings.dry_run:
        return None
    path = in_data_dir(settings, uri) if uri == DEFAULT_DROPPED_FEED else uri
    return DroppedItems(JsonLinesFeed(crawler, SETTING, path))


def _fields(adapter: ItemAdapter) -> dict[str, Any]:
    """As Scrapy's feeds export them: with the serializers that fields declare."""
    return {name: _serialized(adapter, name) for name in adapter}


def _serialized(adapter: ItemAdapter, name: str) -> Any:
    value = adapter[name]
    serializer = adapter.get_field_meta(name).get("serializer")
    try:
        return serializer(value) if callable(serializer) else value
    except Exception:  # the value as it is, rather than no row
        return value
