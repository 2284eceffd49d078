"""What the middlewares and the pipelines of one crawler share, and how they keep the event loop free."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from itemadapter import is_item
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import is_asyncio_available

from scrapy_neardup.crawl.file_locations import locate_files
from scrapy_neardup.crawl.item_context import ItemContexts
from scrapy_neardup.crawl.item_fields import load_item_class
from scrapy_neardup.document import one_line
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.timings import Timings

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self
import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger(__name__)


_OURS = str(Path(__file__).parents[1])
_LONGEST_SUBJECT = 200  # characters


class SharedState:
    """The objects that the middlewares and the pipelines of one crawler share."""

    def __init__(self, settings: NearDupSettings) -> None:
        self.settings = settings
        self.item_classes = tuple(map(load_item_class, settings.item_classes))
        self.contexts = ItemContexts()
        self.extraction_timings = Timings()
        self.turns = FairTurns()
        self.extracting, self.checking = Backlog(), Backlog()
        self._logged: set[tuple[type, str, int]] = set()

    def log_fault(self, error: Exception, subject: str) -> None:
        """Log an error of this package's own code if it is the first of its kind. No item is lost because of it."""
        kind = (type(error), *_place(error))
        if kind in self._logged:
            return
        self._logged.add(kind)
        logger.error(
            "%s: a bug in scrapy-neardup caused an error; the item is kept. Further errors of this kind are only"
            " counted, in the stat neardup/errors",
            one_line(subject, _LONGEST_SUBJECT),
            exc_info=error,
        )


states: WeakKeyDictionary[Crawler, SharedState | None] = WeakKeyDictionary()
"""The state of each crawler, None if the plugin does nothing in it."""


class Component:
    """A middleware or pipeline. Raise NotConfigured if the plugin or asyncio is turned off."""

    def __init__(self, crawler: Crawler) -> None:
        if crawler not in states:
            states[crawler] = _new_state(crawler)
        if (shared := states[crawler]) is None:
            raise NotConfigured
        self.crawler = crawler
        self.shared = shared
        self.settings = shared.settings

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        try:
            return cls(crawler)
        except SettingsError as error:
            from scrapy_neardup.crawl.wrong_settings import wrong_spider_setting

            raise wrong_spider_setting(error) from None

    def is_judged(self, item: object) -> bool:
        """Decide whether an item is one of ``NEARDUP_ITEM_CLASSES``. An empty list selects every item."""
        return is_item(item) and isinstance(item, self.shared.item_classes or object)

    def log_fault(self, error: Exception, subject: str) -> None:
        """Log an error of this package's own code. ``subject`` is what failed, such as the url of an item."""
        self.count("errors")
        self.shared.log_fault(error, subject)

    def count(self, name: str) -> None:
        """Add one to the stat ``neardup/<name>``."""
        if self.crawler.stats is not None:
            self.crawler.stats.inc_value(f"neardup/{name}")


def _new_state(crawler: Crawler) -> SharedState | None:
    settings = NearDupSettings.from_mapping(crawler.settings)
    if not settings.enabled:
        return None
    if not is_asyncio_available():
        logger.error(
            "No item is checked: scrapy-neardup needs asyncio. Leave TWISTED_REACTOR at its default, "
            "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"
        )
        return None
    return SharedState(locate_files(settings, crawler.settings))


def _place(error: Exception) -> tuple[str, int]:
    """Return file and line of this package at which an error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(_OURS)] or frames
    return (ours[-1].filename, ours[-1].lineno or 0) if ours else ("", 0)


MOST_WAITING = 32
"""While this many pages wait for extraction, or items for verdicts, no response is passed on. They keep all busy."""


class FairTurns:
    """Gives each task that awaits ``yield_turn`` its own round of the event loop.

    Responses arrive in bursts, and checks are answered in batches. Thirty pages for which a spider takes 5 ms each, all
    in one round, would keep timers and sockets waiting for 150 ms.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()  # passes to the tasks in the order in which they ask

    async def yield_turn(self) -> None:
        """Wait for a round of the event loop in which no other waiting task goes on."""
        await self._turn.acquire()
        asyncio.get_running_loop().call_soon(self._turn.release)  # in the next round


class Backlog:
    """Counts the pages that wait for extraction or are extracted, or the items that wait for their verdicts.

    Scrapy keeps ``CONCURRENT_ITEMS`` tasks for each response that it has passed to the spider. With hundreds of
    responses each full garbage collection would visit all these tasks, and block the event loop for 100 ms. Thousands
    of small responses would take 700 MB. A response that is held back still counts as one of ``CONCURRENT_REQUESTS``,
    so no further page is requested meanwhile. Responses wait for nothing but extractions and verdicts, because these
    are certain to end.
    """

    def __init__(self) -> None:
        self._waiting = 0
        self._has_room = asyncio.Event()
        self._has_room.set()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a page or an item in this context."""
        self._waiting += 1
        if self._waiting >= MOST_WAITING:
            self._has_room.clear()
        try:
            yield
        finally:
            self._waiting -= 1
            if self._waiting < MOST_WAITING:
                self._has_room.set()

    async def wait_for_room(self) -> None:
        await self._has_room.wait()


_holders = 0
_is_ours = False


def freeze() -> None:
    """Exclude all present objects from garbage collection, until ``unfreeze`` has been called as often.

    Otherwise each full collection would visit the objects of all modules again, and block the event loop for 100 ms.
    Freezing affects the whole process. So several crawlers share one freeze, and nothing is done if the program itself
    has frozen objects already.
    """
    global _holders, _is_ours
    _holders += 1
    if not gc.get_freeze_count():
        gc.freeze()
        _is_ours = True


def unfreeze() -> None:
    global _holders, _is_ours
    _holders -= 1
    if not _holders and _is_ours:
        gc.unfreeze()
        _is_ours = False
