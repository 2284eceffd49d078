"""The objects that the middleware and the pipelines of one crawler share, and the settings that they read."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import is_asyncio_available

from scrapy_neardup.crawl.fairness import FairTurns
from scrapy_neardup.crawl.faults import FaultLog
from scrapy_neardup.crawl.file_locations import locate_files
from scrapy_neardup.crawl.item_context import ItemContexts
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.timings import Timings

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class SharedState:
    """The objects that the middleware and the pipelines of one crawler share."""

    def __init__(self) -> None:
        self.contexts = ItemContexts()
        self.extraction_timings = Timings()
        self.turns = FairTurns()
        self.faults = FaultLog()


_states: WeakKeyDictionary[Crawler, SharedState] = WeakKeyDictionary()
_without_asyncio: WeakSet[Crawler] = WeakSet()  # crawlers whose log says so already


def shared_state(crawler: Crawler) -> SharedState:
    """Return the one state of a crawler."""
    return _states.setdefault(crawler, SharedState())


def settings_of(crawler: Crawler) -> NearDupSettings:
    """Return the settings of a crawler's components. Raise NotConfigured if they are turned off, or if asyncio is."""
    settings = NearDupSettings.from_mapping(crawler.settings)
    if not settings.enabled:
        raise NotConfigured
    if not is_asyncio_available():
        if crawler not in _without_asyncio:
            _without_asyncio.add(crawler)
            logger.error(
                "No item is checked: scrapy-neardup needs asyncio. Leave TWISTED_REACTOR at its default, "
                "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"
            )
        raise NotConfigured
    return locate_files(settings, crawler.settings)
