"""Item pipelines: item -> verdict -> tag or drop, signals, stats."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter, is_item
from scrapy.exceptions import DropItem
from scrapy.utils.project import data_path

from scrapy_neardup import signals
from scrapy_neardup.carriage import Captured, Content, carriage_of, current, settings_of
from scrapy_neardup.content import language_code, url_identity
from scrapy_neardup.detector import NearDupDetector, unchecked
from scrapy_neardup.document import Document, Verdict
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.freezing import freeze, unfreeze
from scrapy_neardup.selection import ItemSelection, text_of
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sinks import EventSinks
from scrapy_neardup.stories import special_report
from scrapy_neardup.tagging import Tagger
from scrapy_neardup.times import parse_time
from scrapy_neardup.wipeout import WipeoutGuard

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logging.getLogger(__name__)


class NearDuplicate(DropItem):
    """A dropped duplicate; names its url, its original and how alike they are."""

    def __init__(self, url: str, verdict: Verdict) -> None:
        super().__init__(
            f"{url or 'an item'} is a duplicate ({verdict.kind}) of {verdict.original_url or verdict.original}: "
            f"similarity {verdict.similarity}, containment {verdict.containment}",
            log_level="DEBUG",
        )
        self.url = url
        self.verdict = verdict


class CapturePipeline:
    """The first pipeline of all: takes an item's content over before another pipeline replaces the item."""

    def __init__(self, crawler: Crawler) -> None:
        self.carriage = carriage_of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        # Also where there is none: the context may still hold the content of the item before.
        current.set(Captured(item, self.carriage.take(item)))
        return item


class NearDupPipeline:
    """Judges items. Pipelines before it may clean them; those after it see the tags."""

    def __init__(self, crawler: Crawler) -> None:
        self.settings = settings_of(crawler)
        self.crawler = crawler
        self.selection = ItemSelection(self.settings.item_classes)
        self.tagger = Tagger(self.settings.fields)
        self.wipeout = WipeoutGuard()
        self.detector = NearDupDetector(in_data_path(self.settings))
        self.sinks = EventSinks(crawler, _without_alarms(self.settings) if self.settings.dry_run else self.settings)
        self.turns = carriage_of(crawler).turns
        self._prepared: asyncio.Task[None] | None = None
        self._is_frozen = False
        self._closing: asyncio.Future[None] | None = None
        self._time_warned = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def open_spider(self) -> None:
        # The client belongs to the running loop. An exception here would abort the crawl.
        await self.sinks.open()
        try:
            await self.detector.open()
        except StoreError as error:
            logger.error("The store cannot be opened: %s", error)
            self._count("store/errors")
            await self._store_lost()

    async def close_spider(self) -> None:
        try:
            await self.detector.finish()
            await self._send_events()
            await self.sinks.close()
        finally:
            await self._close_detector()
        self._tell_times()

    async def _close_detector(self) -> None:
        try:
            await self.detector.close()
        except StoreError as error:
            logger.error("The store cannot be closed: %s", error)
        finally:
            if self._is_frozen:
                unfreeze()

    async def process_item(self, item: Any) -> Any:
        content = current.get().content
        if (content is not None and content.opted_out) or not is_item(item) or not self.selection.includes(item):
            return item
        await self._prepare()
        adapter = ItemAdapter(item)
        document = self._document(adapter, content)
        verdict = await self._judge(document, content)
        await self.turns.next()
        self._count_verdict(verdict)
        await self._send(signals.document_checked, item, verdict)
        await self._send_events()
        if verdict.status == "duplicate":
            await self._send(signals.duplicate_found, item, verdict)
        elif verdict.reason == "store-unavailable":
            self._count("store/errors")
            await self._store_lost()
        if self.settings.action == "drop" and self._may_drop(document, verdict):
            if not self.settings.dry_run:
                self._count("dropped")
                raise NearDuplicate(document.url, verdict)
            self._count("would_drop")
        self.tagger.tag(adapter, verdict)
        return item

    async def _prepare(self) -> None:
        """Once, before the first item: what it needs is imported elsewhere than on the event loop."""
        if self._prepared is None:
            self._prepared = asyncio.create_task(self._import_and_freeze())
        if not self._prepared.done():
            await asyncio.shield(self._prepared)

    async def _import_and_freeze(self) -> None:
        try:
            await self.detector.prepare()
        except Exception:  # an item will say it again
            logger.exception("What items are judged with cannot be loaded")
        freeze()
        self._is_frozen = True

    def _may_drop(self, document: Document, verdict: Verdict) -> bool:
        is_duplicate = verdict.status == "duplicate"
        copies_other_url = is_duplicate and verdict.kind != "revisit" and verdict.original_url != document.url
        return self.wipeout.seen(document.source, copies_other_url) and is_duplicate

    def _document(self, adapter: ItemAdapter, content: Content | None) -> Document:
        own_text = text_of(adapter, self.settings.text_field)
        own_url = text_of(adapter, self.settings.url_field)
        page = _page_of(own_url, content)
        page_text, page_url, serial = (content.text, content.url, content.serial) if content else ("", "", 0)
        return self.detector.document(
            own_text or page_text,
            url=own_url or page_url,
            title=text_of(adapter, self.settings.title_field),
            seen_at=self._seen_at(adapter),
            canonical=page.canonical,
            language=language_code(text_of(adapter, self.settings.language_field)) or page.language,
            # The second text of one page is not that page's text changed.
            url_is_own=bool(own_url) or not own_text or serial == 0,
        )

    async def _judge(self, document: Document, content: Content | None) -> Verdict:
        if not document.text.strip() and content is not None and content.reason is not None:
            return unchecked(content.reason)
        try:
            if content is not None and content.sketch and document.text == content.text:
                self.detector.take_over(document, content.sketch)
            return await self.detector.check(document)
        except Exception:  # ours to mend, and no reason to lose an item
            self._count("errors")
            logger.exception("%s: could not be judged", document.url or "An item")
            return unchecked("extraction-failed")

    def _tell_times(self) -> None:
        """Nothing is extracted any more: pipelines are closed behind the last item."""
        steps = {"extract": carriage_of(self.crawler).extract_times, **self.detector.times}
        lines = [line for step, times in steps.items() if (line := times.line(step))]
        if lines:
            logger.info("Time taken: %s", "; ".join(lines))
        if self.crawler.stats is not None:
            for step, times in steps.items():
                for name, value in times.summary().items():
                    self.crawler.stats.set_value(f"neardup/{step}/{name}", value)

    def _seen_at(self, adapter: ItemAdapter) -> float | None:
        name = self.settings.time_field
        value = adapter.get(name) if name else None
        if value is None:
            return None
        try:
            return min(parse_time(value), time.time())
        except ValueError as error:
            self._count("time_errors")
            if not self._time_warned:
                self._time_warned = True
                logger.warning("NEARDUP_TIME_FIELD = %r: %s; such items count as seen now", name, error)
            return None

    def _count_verdict(self, verdict: Verdict) -> None:
        self._count("checked")
        self._count(verdict.status)
        if verdict.kind is not None:
            self._count(f"{verdict.status}/{verdict.kind}")
        if verdict.reason is not None:
            self._count(f"{verdict.status}/{verdict.reason}")

    def _count(self, name: str) -> None:
        if self.crawler.stats is not None:
            self.crawler.stats.inc_value(f"neardup/{name}")

    async def _send(self, signal: object, item: Any, verdict: Verdict) -> None:
        await self.crawler.signals.send_catch_log_async(signal, item=item, verdict=verdict, spider=self.crawler.spider)

    async def _send_events(self) -> None:
        for event in self.detector.take_events():
            self._count(f"events/{event.level}")
            report = special_report(event)
            self.sinks.put(report)
            await self.crawler.signals.send_catch_log_async(
                signals.story_event, event=event, report=report, spider=self.crawler.spider
            )

    async def _store_lost(self) -> None:
        if self.settings.on_store_error != "close" or self._closing is not None:
            return
        logger.error("The spider is closed: NEARDUP_ON_STORE_ERROR = 'close'")
        if (engine := self.crawler.engine) is not None:
            # Not awaited: closing waits for the items under way, and this may be one of them.
            self._closing = asyncio.ensure_future(engine.close_spider_async(reason="neardup_store_unavailable"))


def _page_of(own_url: str, content: Content | None) -> Content:
    """What is known of the page an item comes from; nothing where the item names another page."""
    is_page = content is not None and (not own_url or url_identity(own_url) == url_identity(content.url))
    return content if content is not None and is_page else Content()


def _without_alarms(settings: NearDupSettings) -> NearDupSettings:
    """Nobody is woken by a dry run; its feed of events can be read."""
    return replace(settings, events_stream=None, events_webhook=None)


def in_data_path(settings: NearDupSettings) -> NearDupSettings:
    """Relative SQLite files live under the project's data directory, so that hourly crawls share a window."""
    scheme, separator, path = settings.store.partition(":///")
    if scheme != "sqlite" or not separator or path.startswith("/"):
        return settings
    return replace(settings, store=f"sqlite:///{data_path(path)}")
