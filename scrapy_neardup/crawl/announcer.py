"""Tell of verdicts and events: by signals, stats, feeds, and the summary of the run."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from scrapy.crawler import Crawler

from scrapy_neardup import signals
from scrapy_neardup.crawl.component import Component
from scrapy_neardup.crawl.feeds import feeds_of
from scrapy_neardup.crawl.run_summary import RunSummary
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Verdict, counted_names
from scrapy_neardup.stories.event import Sender
from scrapy_neardup.stories.receivers import receivers_of
from scrapy_neardup.stories.report import special_report


class Announcer(Component):
    """Tells what one crawl finds. Raise SettingsError if nothing can be stored under the uri of a feed."""

    def __init__(self, crawler: Crawler, detector: NearDupDetector) -> None:
        super().__init__(crawler)
        self._detector = detector
        self.feeds = feeds_of(crawler, self.settings)
        self.summary = RunSummary(self.settings)
        self._sending = asyncio.Lock()
        receivers = receivers_of(self.settings)
        if receivers and self.settings.action != "dry-run":
            outbox = detector.stories.outbox
            report = partial(special_report, zone=self.settings.zone)
            senders = {each.key: Sender(each, report, outbox.note_result) for each in receivers}
            outbox.send_to(senders, self.settings.events_levels, self.settings.events_sections)

    def write(self, setting: str, row: Mapping[str, Any]) -> bool:
        """Write a line to the feed of a setting, if there is one. Return False if that fails, and count the failure."""
        if setting not in self.feeds or self.feeds[setting].put(row):
            return True
        self.count(f"{setting.removeprefix('NEARDUP_').lower()}/errors")
        return False

    async def tell(self, item: Any, verdict: Verdict, title: str, url: str) -> None:
        """Tell of the verdict on an item. Never raises."""
        try:
            self.summary.add(verdict, title=title, url=url)
            for name in ("checked", *counted_names(verdict)):
                self.count(name)
            await self._send(signals.document_checked, item=item, verdict=verdict)
            await self.send_events()
            if verdict.reason == "store-unavailable":
                self.count("store/errors")
        except Exception as error:
            self.log_fault(error, "Announcing a verdict")

    async def send_events(self) -> None:
        """Write and signal the events that wait, then confirm them. One item sends also those that others raise."""
        if self._sending.locked():
            return
        async with self._sending:
            while events := self._detector.take_events():
                for event in events:
                    try:
                        report = special_report(event, zone=self.settings.zone)
                        self.write("NEARDUP_EVENTS_FEED", report)
                        self.count(f"events/{event.level}")
                        self.summary.levels[event.level] += 1
                        await self._send(signals.story_event, event=event, report=report)
                    except Exception as error:  # noqa: PERF203  the other events are passed on
                        self.log_fault(error, f"Event {event.id}")
                await self._detector.confirm_events()

    async def _send(self, signal: object, **arguments: object) -> None:
        await self.crawler.signals.send_catch_log_async(signal, spider=self.crawler.spider, **arguments)

    async def finish(self) -> None:
        await self.send_events()
        if final_stories := await self._detector.final_stories():
            self.set_stat("stories_united", len(final_stories))
            self.summary.unite(final_stories)
        await self._detector.stories.outbox.close()
        await self._detector.confirm_events()

    async def close(self) -> None:
        for feed in self.feeds.values():
            await feed.close()

    def count_run(self, failures: int, lost: int) -> None:
        """Add to the stats what the run did, and the time that each step took.

        ``failures`` are those of feeds, and ``lost`` are items that a later pipeline dropped.
        """
        self.summary.problems["feed"] = failures
        self.summary.lost = lost
        if (embedding := self._detector.embedding) is not None:
            self.set_stat("embed/failures", embedding.failures)
        for step, spent in {"extract": self.shared.extraction_timings, "check": self._detector.timings}.items():
            if spent["documents"]:
                milliseconds = spent["microseconds"] / 1000
                self.set_stat(f"{step}/ms_count", spent["documents"])
                self.set_stat(f"{step}/ms_total", round(milliseconds, 1))
                self.set_stat(f"{step}/ms_mean", round(milliseconds / spent["documents"], 3))
        for name, value in self.summary.stats():
            self.set_stat(name, value)
