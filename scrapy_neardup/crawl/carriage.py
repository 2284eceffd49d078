"""How main content travels beside its item, from the spider middleware to the verdict pipeline.

A declared item takes no unknown field, and an earlier pipeline may replace the item object. So the middleware leaves
the content under the item's identity; the first pipeline of all takes it from there into a context variable, which
lasts as long as this item's way through the pipelines.
"""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import is_asyncio_available

from scrapy_neardup.crawl.fairness import Turns
from scrapy_neardup.crawl.faults import Faults
from scrapy_neardup.crawl.file_locations import locate_files
from scrapy_neardup.crawl.order import Ticket
from scrapy_neardup.crawl.page import Page
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.timings import Timings

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_neardup.crawl.delivery import Parcel

logger = logging.getLogger(__name__)

MOST_ITEMS_UNDER_WAY = 10_000  # items between the spider and the first pipeline; Scrapy holds far fewer


@dataclass(frozen=True, slots=True)
class Content:
    """What the middleware knows about an item: its page, and its place in the order of verdicts."""

    page: Page | None = None
    ticket: Ticket | None = None
    opted_out: bool = False

    def held(self) -> AbstractContextManager[None]:
        """Let no item behind this one pass meanwhile."""
        return nullcontext() if self.ticket is None else self.ticket.place.held()

    def leave(self) -> None:
        """Let the items behind this one go on."""
        if self.ticket is not None:
            self.ticket.leave()


@dataclass(slots=True)
class Captured:
    """The item on its way through the pipelines, as the spider yielded it; its content, and its parcel."""

    item: object = None
    content: Content | None = None
    parcel: Parcel | None = None

    def take_parcel(self) -> Parcel | None:
        """Return the parcel once: an item leaves the crawl once."""
        parcel, self.parcel = self.parcel, None
        return parcel


_NOTHING = Captured()
current: ContextVar[Captured] = ContextVar("neardup_captured", default=_NOTHING)


class Carriage:
    """Contents by the identity of their items, bounded; the oldest goes first."""

    def __init__(self) -> None:
        self.extraction_timings = Timings()  # of the pages whose contents these are
        self.turns = Turns()
        self.faults = Faults()
        # By the identity of an item: the item, and a content for each time it was yielded.
        self._contents: OrderedDict[int, tuple[object, deque[Content]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._contents)

    def put(self, item: object, content: Content) -> None:
        # The item is kept with its content: its id could otherwise be another item's soon. A spider may yield one
        # object several times.
        _, contents = self._contents.pop(id(item), (item, deque()))
        contents.append(content)
        self._contents[id(item)] = (item, contents)
        while len(self._contents) > MOST_ITEMS_UNDER_WAY:
            _, (_, lost) = self._contents.popitem(last=False)
            for each in lost:
                each.leave()

    def take(self, item: object) -> Content | None:
        if (found := self._contents.get(id(item))) is None:
            return None
        _, contents = found
        content = contents.popleft()
        if not contents:
            del self._contents[id(item)]
        return content

    async def forget(self, item: object) -> None:
        """Let go of an item that left the pipelines before its verdict; those behind it no longer wait for it."""
        captured = current.get()
        content = captured.content if captured.item is item else self.take(item)
        if content is not None:
            content.leave()
            if content.page is not None:
                await content.page.settle()


_carriages: WeakKeyDictionary[Crawler, Carriage] = WeakKeyDictionary()
_told: WeakSet[Crawler] = WeakSet()  # that they have no asyncio


def carriage_of(crawler: Crawler) -> Carriage:
    """The one carriage of a crawler, shared by its middleware and its capture pipeline."""
    return _carriages.setdefault(crawler, Carriage())


def settings_of(crawler: Crawler) -> NearDupSettings:
    """Return the settings of a crawler's components. Raise NotConfigured if they are turned off, or if asyncio is."""
    settings = NearDupSettings.from_mapping(crawler.settings)
    if not settings.enabled:
        raise NotConfigured
    if not is_asyncio_available():
        if crawler not in _told:
            _told.add(crawler)
            logger.error(
                "No item is checked: scrapy-neardup needs asyncio. Leave TWISTED_REACTOR at its default, "
                "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"
            )
        raise NotConfigured
    return locate_files(settings, crawler.settings)
