"""Record each judged document, so that it can be replayed with other settings."""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from typing import Any

from scrapy.crawler import Crawler

from scrapy_neardup.crawl.feeds import JsonLinesFeed, without_login
from scrapy_neardup.document import MOST_CHARACTERS, Document
from scrapy_neardup.settings import NearDupSettings

logger = logging.getLogger(__name__)

_PLAIN = (".jsonl", ".jl", ".ndjson", ".json")


class Recorder:
    """Writes documents as input of ``scrapy neardup replay``, in the order in which they are judged."""

    def __init__(self, feed: JsonLinesFeed) -> None:
        self._feed = feed
        self._has_begun = self._has_failed = False

    def put(self, document: Document, canonical: str, *, url_is_own: bool) -> bool:
        """Write a document. If that fails, log the reason once and return False.

        ``canonical`` and ``url_is_own`` are those that ``NearDupDetector.document`` got.
        """
        if not self._has_begun and not self._has_failed and self._feed.holds_earlier_lines():
            logger.warning(
                "NEARDUP_RECORD: %s has documents of an earlier crawl, and those of this crawl are added to them. For"
                " one crawl alone, remove the file first, or put %%(time)s into its name",
                self._feed.shown_uri,
            )
        try:
            self._feed.put(_row(document, canonical, url_is_own=url_is_own))
        except Exception as error:
            if not self._has_failed:
                logger.error("NEARDUP_RECORD: documents cannot be recorded: %s", without_login(error))
            self._has_failed = True
            return False
        if not self._has_begun:
            logger.info("NEARDUP_RECORD: judged documents are recorded in %s", self._feed.shown_uri)
        self._has_begun = True
        return True

    async def close(self) -> None:
        await self._feed.close()


def recorder(crawler: Crawler, settings: NearDupSettings) -> Recorder | None:
    """Return the recorder of a crawl, None if nothing is to be recorded.

    Raise SettingsError if nothing can be stored under the uri.
    """
    if settings.record is None:
        return None
    is_packed = not settings.record.lower().endswith(_PLAIN)
    return Recorder(JsonLinesFeed(crawler, "NEARDUP_RECORD", settings.record, packed=is_packed))


def _row(document: Document, canonical: str, *, url_is_own: bool) -> dict[str, Any]:
    row = {
        "id": document.id,
        "url": document.url,
        "title": document.title,
        "time": datetime.fromtimestamp(document.seen_at, timezone.utc).isoformat(),
        "language": document.language,
        "text": document.text[:MOST_CHARACTERS],
    }
    if canonical not in ("", document.url):
        row["canonical"] = canonical
    return row if url_is_own else {**row, "url_is_own": False}
