"""The objects that the middlewares and the pipelines of one crawler share."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from itemadapter import is_item
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import is_asyncio_available

from scrapy_neardup.crawl.event_loop import Backlog, FairTurns
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
