"""How main content travels beside its item, from the spider middleware to the verdict pipeline.

A declared item takes no unknown field, and an earlier pipeline may replace the item object. So the middleware leaves
the content under the item's identity; the first pipeline of all takes it from there into a context variable, which
lasts as long as this item's way through the pipelines.
"""

from __future__ import annotations

from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import is_asyncio_available

from scrapy_neardup.document import Reason
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.timings import Timings
from scrapy_neardup.turns import Turns

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

MOST_ITEMS = 10_000  # items between the spider and the first pipeline; Scrapy holds far fewer


@dataclass(frozen=True, slots=True)
class Content:
    """What the middleware found out about an item's page."""

    text: str = ""
    sketch: bytes = b""  # of the text, where the worker that extracted it made one
    url: str = ""
    canonical: str = ""  # the url that the page gives as its own
    language: str = ""  # ISO 639 code, as the page says
    reason: Reason | None = None  # why there is no text
    opted_out: bool = False
    serial: int = 0  # of the item among those of its response


@dataclass(frozen=True, slots=True)
class Captured:
    """The item on its way through the pipelines, as the spider yielded it, and its content."""

    item: object = None
    content: Content | None = None


current: ContextVar[Captured] = ContextVar("neardup_captured", default=Captured())  # noqa: B039 (frozen)


class Carriage:
    """Contents by the identity of their items, bounded; the oldest goes first."""

    def __init__(self) -> None:
        self.extract_times = Timings()  # of the pages whose contents these are
        self.turns = Turns()
        self._contents: OrderedDict[int, tuple[object, Content, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._contents)

    def put(self, item: object, content: Content) -> None:
        # The item is kept with its content: its id could otherwise be another item's soon. A spider may yield one
        # object several times.
        _, _, times = self._contents.pop(id(item), (item, content, 0))
        self._contents[id(item)] = (item, content, times + 1)
        while len(self._contents) > MOST_ITEMS:
            self._contents.popitem(last=False)

    def take(self, item: object) -> Content | None:
        _, content, times = self._contents.pop(id(item), (item, None, 0))
        if content is not None and times > 1:
            self._contents[id(item)] = (item, content, times - 1)
        return content

    def forget(self, item: object) -> None:
        """Let go of an item that left the pipelines before it was captured."""
        if current.get().item is not item:
            self.take(item)


_carriages: WeakKeyDictionary[Crawler, Carriage] = WeakKeyDictionary()


def carriage_of(crawler: Crawler) -> Carriage:
    """The one carriage of a crawler, shared by its middleware and its capture pipeline."""
    return _carriages.setdefault(crawler, Carriage())


def settings_of(crawler: Crawler) -> NearDupSettings:
    """The settings of a crawler's components. Raises NotConfigured where they have nothing to do, or no asyncio."""
    settings = NearDupSettings.from_mapping(crawler.settings)
    if not settings.enabled:
        raise NotConfigured
    if not is_asyncio_available():
        raise NotConfigured(
            "scrapy-neardup needs asyncio: leave TWISTED_REACTOR at its default, "
            "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"
        )
    return settings
