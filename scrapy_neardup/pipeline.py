"""Item pipelines: get the verdict on each item, and tag or drop the item."""

import asyncio
import gc
import logging
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.signals import engine_stopped, feed_exporter_closed

from scrapy_neardup.content.head import PageHead, language_code
from scrapy_neardup.crawl.component import Component, adapter_of, tags_of
from scrapy_neardup.crawl.feeds import dropped_row, overwritten_feed, recorded_row
from scrapy_neardup.crawl.item_context import ItemContext, Page, PendingDocument, current_item
from scrapy_neardup.document import HOUR, Document, Verdict
from scrapy_neardup.evidence.sources import LONGEST_URL
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.settings import DEFAULT_DROPPED_FEED
from scrapy_neardup.settings.values import name_of, text_of, url_of
from scrapy_neardup.text.display import counted, one_line, without_password

if TYPE_CHECKING:
    from itemadapter import ItemAdapter

logger = logging.getLogger(__name__)


class NearDuplicate(DropItem):
    """A dropped duplicate: its url, its original, and how alike they are."""

    def __init__(self, url: str, verdict: Verdict) -> None:
        super().__init__(
            f"{one_line(url, LONGEST_URL) or 'an item'} is a duplicate ({verdict.kind}) of "
            f"{one_line(verdict.original_url or verdict.original or '', LONGEST_URL)}: "
            f"similarity {verdict.similarity}, containment {verdict.containment}",
            log_level="DEBUG",
        )
        self.url = url
        self.verdict = verdict


class CapturePipeline(Component):
    """The first pipeline: it takes the context of an item before another pipeline may replace the item object."""

    async def process_item(self, item: Any) -> Any:
        # The variable may still hold the previous item, if that item was lost in the pipelines.
        await current_item.get().let_next_ask()
        current_item.set(self.shared.contexts.take(item))
        return item


class NearDupPipeline(Component):
    """Judges items. Pipelines before it may clean them; those after it see the tags."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # Not above: these modules load while a worker process starts.
        from scrapy_neardup.crawl.announcer import Announcer
        from scrapy_neardup.crawl.item_fates import ItemFates
        from scrapy_neardup.detector import NearDupDetector

        self.detector = NearDupDetector(self.settings, delivers_later=True)
        assert self.detector.delivery is not None
        hours = f"{self.settings.window / HOUR:g} hours"
        location = without_password(self.settings.store.removeprefix("sqlite:///"))
        if location.startswith("memory:"):
            logger.info("The window of the last %s is kept in memory: it is lost when this process ends", hours)
        else:
            logger.info("The window of the last %s is in %s", hours, location)
        self.announcer = Announcer(crawler, self.detector)
        self.summary = self.announcer.summary
        self.fates = ItemFates(crawler, self.detector.delivery, self.summary.problems)
        self._going_on = asyncio.Lock()  # items go on in their order, each in a round of the event loop of its own
        self._drops = self.settings.action == "drop"
        self._prepared: asyncio.Task[None] | None = None
        self._is_closed = False
        self._under_way = 0  # items
        self._freezes = not gc.get_freeze_count()  # whether to exclude objects from garbage collection, see ``_freeze``
        # Feeds are stored after the pipelines are closed. Keep the detector open to note that documents are delivered.
        crawler.signals.connect(self._close_detector, feed_exporter_closed)
        crawler.signals.connect(self._engine_stopped, engine_stopped)
        crawler.signals.connect(self._log_run, engine_stopped)  # as the last thing: after Scrapy's stats

    # From the start of the crawl to its end

    async def open_spider(self) -> None:
        # Open the store here: its client belongs to the running event loop. An exception would abort the crawl.
        self._freeze()
        try:
            await self.detector.open()
            feed = overwritten_feed(self.crawler.settings)
            if self._drops and feed and await self.detector.index.documents.are_any(int(time.time())):
                logger.warning(
                    "%s is overwritten (-O), and what earlier crawls have seen is dropped, so it will hold only"
                    " what is new. To keep its items, append with -o",
                    feed,
                )
        except StoreError as error:
            logger.error("The store cannot be opened, so items pass unchecked until it can: %s", error)
            self.count("store/errors")
        except Exception as error:
            self.log_fault(error, "Opening the store")

    async def _prepare(self) -> None:
        """Load the modules that the first item needs. Do this in a thread, so that the event loop goes on."""
        try:
            await self.detector.prepare()
        except Exception:  # checks will meet the same error, and their items pass as ``internal-error``
            if not self.summary.late:
                logger.exception("A module for judging items cannot be loaded: items pass unchecked")
        self._freeze()

    def _freeze(self) -> None:
        """Exclude all present objects from garbage collection.

        Each full collection would visit the objects of all modules again, and block the event loop for 100 ms. This
        affects the whole process, so nothing is done if the program, or another crawler, had frozen objects before.
        """
        if self._freezes:
            gc.freeze()

    async def close_spider(self) -> None:
        if self._under_way:
            self.summary.late = self._under_way
            logger.warning(
                "The crawl ends before its items are judged: %s without a verdict. `scrapy parse --pipelines` does not"
                " wait for pipelines. To see verdicts, use `scrapy crawl` with -s NEARDUP_ACTION=dry-run",
                counted(self._under_way, "item"),
            )
        try:
            await self.detector.finish()
            await self.announcer.finish()
        finally:
            for feed in self.announcer.feeds.values():
                await feed.close()
            if self.fates.exporter is None:
                await self._close_detector()
        self.announcer.count_run()

    def _log_run(self) -> None:
        if text := self.summary.text():
            logger.info("%s", text)

    async def _engine_stopped(self) -> None:
        # Ctrl-C while the spider closes stops the engine before the feeds are stored, and then the process ends.
        for _ in range(1200):  # a minute
            if not self.fates.documents:
                break
            await asyncio.sleep(0.05)
        await self._close_detector()

    async def _close_detector(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        # Once more: what no feed has stored is known now.
        self.announcer.count_run()
        try:
            await self.detector.close()
        except StoreError as error:
            logger.error("The store cannot be closed: %s", error)
        finally:
            if self._freezes:
                gc.unfreeze()

    # The way of an item

    async def process_item(self, item: Any) -> Any:
        context = current_item.get()
        if context.opted_out or not self.is_judged(item):
            await context.let_next_ask()
            return item
        adapter = adapter_of(item)
        self._under_way += 1
        try:
            verdict = await self._verdict_on(adapter, context)
        finally:
            self._under_way -= 1
        url = context.page.absolute(url_of(adapter, self.settings.item_fields["url"]))
        await self.announcer.tell(
            item, verdict, text_of(adapter, self.settings.item_fields["title"]) or context.page.head.title, url
        )
        if verdict.would_drop and self._drops_now(adapter, verdict):
            await self.fates.drop(context)
            raise NearDuplicate(url, verdict)
        is_tagged = False
        for name, tag in tags_of(verdict).items():
            with suppress(Exception):  # the item does not declare this field, is frozen, or has validators
                adapter[name] = tag
                is_tagged = True
        if not is_tagged:
            self.summary.miss_tags(item)
        return item

    async def _verdict_on(self, adapter: "ItemAdapter", context: ItemContext) -> Verdict:
        """Ask for the verdict on an item when it is its turn, and wait for the answer.

        It is its turn when its page is read, and all items before it have asked.
        """
        if self._prepared is None:
            self._prepared = asyncio.create_task(self._prepare())
        try:
            # 1. The modules are loaded, while the first page is read and a worker starts.
            if not self._prepared.done():
                await asyncio.shield(self._prepared)
            # 2. The page is read.
            if context.page.reading is not None:
                await asyncio.shield(context.page.reading)
            # 3. It is the item's turn.
            if context.place is not None:
                await context.place.wait_for_turn()
            answer = self._ask(adapter, context)
        finally:
            await context.let_next_ask()
        # 4. The detector answers. While many wait, the middleware holds responses back.
        with self.shared.in_backlog():
            async with self._going_on:  # the verdict is asked for already, see ``_ask``
                # Other items of the page may wait for the same answer.
                verdict = answer if isinstance(answer, Verdict) else await asyncio.shield(answer)
        document = context.document
        # 5. It is known what became of the item of the match.
        if verdict.would_drop and self._drops and document is not None:
            if document.final_verdict is None:  # other items of the page get the same verdict
                document.final_verdict = asyncio.create_task(self._judge_until_match_is_kept(document, verdict))
            verdict = await asyncio.shield(document.final_verdict)
        return verdict

    def _ask(self, adapter: "ItemAdapter", context: ItemContext) -> Verdict | asyncio.Task[Verdict]:
        """Return the task that gets the verdict of an item, or at once the verdict ``unchecked`` if it has no text.

        Items without a text of their own share the verdict of their page.
        """
        page = context.page
        try:
            is_of_page = page.is_named_by(url_of(adapter, self.settings.item_fields["url"]))
            if text := text_of(adapter, self.settings.item_fields["text"]):
                document = self._document(adapter, text, page, is_of_page=is_of_page)
                pending = PendingDocument(document, None, self.fates.finish)
            elif problem := _missing_text(page, is_of_page=is_of_page):
                self.summary.miss_text(adapter, problem)
                return Verdict("unchecked", reason="no-text")
            elif not page.text.strip():
                return Verdict("unchecked", reason=page.reason)
            else:
                if page.document is None:
                    document = self._document(adapter, page.text, page, is_of_page=True)
                    page.document = PendingDocument(document, page.place, self.fates.finish)
                pending = page.document
            if pending.verdict is None:
                pending.verdict = asyncio.create_task(self._ask_detector(pending))
            if context.item is not None:  # else no pipeline of ours has seen the item before
                context.document = pending
                self.fates.add_item(pending)
            return pending.verdict
        except Exception as error:
            self.log_fault(error, "An item")
            return Verdict("unchecked", reason="internal-error")

    def _document(self, adapter: "ItemAdapter", text: str, page: Page, *, is_of_page: bool) -> Document:
        fields = self.settings.item_fields
        url = page.absolute(url_of(adapter, fields["url"]))
        # Only the first text of a page is the text of the page: a second text is not a new version of the first. The
        # entries of a ticker link to places of their page.
        is_page = is_of_page and (url == page.url or "#" not in url or text == page.text) and page.claim_url()
        head = page.head if is_of_page else PageHead()
        canonical = page.canonical_for(url) if is_of_page else ""
        url_is_own = is_page or not is_of_page
        document = self.detector.document(
            text,
            url=url,
            title=text_of(adapter, fields["title"]) or (page.head.title if is_page else ""),
            seen_at=self._seen_at(adapter),
            canonical=canonical,
            language=language_code(name_of(adapter, fields["language"])) or head.language,
            section="\n".join((text_of(adapter, fields["section"]), head.section)),
            publisher=name_of(adapter, fields["publisher"]),
            site_name=head.site_name,
            url_is_own=url_is_own,
            counts_now=bool(fields["time"]),
            sketch=page.sketch if text == page.text else b"",
        )
        if self.settings.record is not None:
            self.announcer.write("NEARDUP_RECORD", recorded_row(document, canonical, url_is_own=url_is_own))
        return document

    def _seen_at(self, adapter: "ItemAdapter") -> float | None:
        if (name := self.settings.item_fields["time"]) is None:
            return None
        from scrapy_neardup.content.document_maker import parse_time  # loads tables, see ``__init__``

        if (value := adapter.get(name)) is None:
            self.summary.problems["no-time"] += 1
            return None
        try:
            return parse_time(value)
        except ValueError as error:
            self.count("time_errors")
            if self.shared.counts["time_errors"] == 1:
                logger.warning("NEARDUP_ITEM_FIELDS: the time in %r: %s; such items get the current time", name, error)
            return None

    async def _ask_detector(self, pending: PendingDocument) -> Verdict:
        # The page keeps this task, and a task its context: an item in there would keep the page in turn, and only the
        # garbage collector would free them.
        current_item.set(ItemContext())
        try:
            (verdict,) = await self.detector.check_in_order([pending.document])
            self.fates.follow_as(pending, verdict.id or pending.id)
            return verdict
        except Exception as error:
            if not self.summary.late:
                self.log_fault(error, pending.document.url or "An item")
            return Verdict("unchecked", reason="internal-error")

    async def _judge_until_match_is_kept(self, document: PendingDocument, verdict: Verdict) -> Verdict:
        """Return the verdict that holds when the item of the match has left the pipelines.

        If the item was lost, judge the document again: it is an original, or a copy of another document.
        """
        current_item.set(ItemContext())  # as in ``_ask_detector``
        for _ in range(8):  # if so many matches are lost one after the other, the copy is kept
            fate = await self.fates.fate_of_match(document.id, verdict.match or "")
            if fate == "kept":
                return verdict
            if fate == "unknown":
                break
            await self.fates.lose(document)
            verdict = await self._ask_detector(document)
            if not verdict.would_drop:
                return verdict
        return replace(verdict, would_drop=False)

    def _drops_now(self, adapter: "ItemAdapter", verdict: Verdict) -> bool:
        """Return whether to drop an item that may be dropped. Count it, and write it to the feed of dropped items."""
        if not self._drops:
            self.count("would_drop")
            return False
        # The default feed is for people who look at drops: it leaves out a page that came again with the same text.
        is_left_out = self.settings.dropped_feed == DEFAULT_DROPPED_FEED and (
            (verdict.kind, verdict.share, verdict.similarity) == ("revisit", 1, 1)
        )
        if not is_left_out and not self.announcer.write("NEARDUP_DROPPED_FEED", dropped_row(adapter, tags_of(verdict))):
            return False
        self.count("dropped")
        return True


def _missing_text(page: Page, *, is_of_page: bool) -> str:
    """Return the hint about an item without a text of its own, "" if its page has one or could not be read."""
    if page.reason == "no-text" and not page.url:
        return "no-page"
    if not is_of_page:
        return "other-page"
    return "no-text" if page.reason == "no-text" and not page.text.strip() else ""
