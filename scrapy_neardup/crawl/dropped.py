"""Write the feed of dropped items, so that ``NEARDUP_ACTION = "drop"`` loses no item for good."""

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
    """Writes each dropped item with its tags, even if the item type cannot take them."""

    def __init__(self, feed: JsonLinesFeed) -> None:
        self._feed = feed
        self._has_logged = False

    def put(self, adapter: ItemAdapter, tags: Mapping[str, Any]) -> bool:
        """Write an item. Return False if that fails: then keep the item. The reason is logged once."""
        try:
            self._feed.put({**_fields(adapter), **tags})
        except Exception as error:
            self._log_once(logging.ERROR, "cannot be written, so duplicates are kept and tagged: %s", error)
            return False
        self._log_once(logging.INFO, "dropped items are written to %s", self._feed.uri)
        return True

    async def close(self) -> None:
        """Store the feed. Never raises."""
        try:
            await self._feed.close()
        except Exception as error:
            logger.error("%s cannot be stored: %s", SETTING, error)

    def _log_once(self, level: int, message: str, argument: object) -> None:
        if not self._has_logged:
            self._has_logged = True
            logger.log(level, f"{SETTING}: {message}", argument)


def dropped_items(crawler: Crawler, settings: NearDupSettings) -> DroppedItems | None:
    """Return the feed of a crawl that drops items; None if the crawl drops nothing, or the user wants no feed.

    Raise SettingsError if nothing can be stored under the uri of the feed.
    """
    uri = settings.dropped_feed
    if uri is None or settings.action != "drop" or settings.dry_run:
        return None
    path = in_data_dir(settings, uri) if uri == DEFAULT_DROPPED_FEED else uri
    return DroppedItems(JsonLinesFeed(crawler, SETTING, path))


def _fields(adapter: ItemAdapter) -> dict[str, Any]:
    """Return the fields as Scrapy's feeds export them: with the serializers that they declare."""
    return {name: _serialized(adapter, name) for name in adapter}


def _serialized(adapter: ItemAdapter, name: str) -> Any:
    value = adapter[name]
    serializer = adapter.get_field_meta(name).get("serializer")
    try:
        return serializer(value) if callable(serializer) else value
    except Exception:  # write the value as it is rather than lose the row
        return value
