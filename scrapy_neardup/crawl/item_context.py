"""Carry what the middleware knows about an item beside it, from the spider to the verdict.

A declared item takes no unknown field, and an earlier pipeline may replace the item object. So the middleware leaves
the context of an item under the item's identity. The first pipeline of all takes it from there into a context
variable, which lasts as long as this item's way through the pipelines.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass

from scrapy_neardup.crawl.order import ItemPlace
from scrapy_neardup.crawl.page import Page
from scrapy_neardup.crawl.pending import PendingDocument

_MOST_WAITING = 10_000  # items between the spider and the first pipeline; Scrapy holds far fewer


@dataclass(frozen=True, slots=True)
class ItemContext:
    """What the middleware knows about an item: its page, and its place in the order of verdicts."""

    page: Page | None = None
    place: ItemPlace | None = None
    opted_out: bool = False

    def hold(self) -> AbstractContextManager[None]:
        """Return a context in which no later item passes this one, however long the work takes."""
        return nullcontext() if self.place is None else self.place.response.hold()

    def leave(self) -> None:
        """Let the items behind this one go on."""
        if self.place is not None:
            self.place.leave()


@dataclass(slots=True)
class CurrentItem:
    """The item on its way through the pipelines, as the spider yielded it, and what goes with it."""

    item: object = None
    context: ItemContext | None = None
    document: PendingDocument | None = None  # once the item is judged

    def take_document(self) -> PendingDocument | None:
        """Return the document, and None from the second call on: an item leaves the crawl only once."""
        document, self.document = self.document, None
        return document


_NO_ITEM = CurrentItem()
current_item: ContextVar[CurrentItem] = ContextVar("neardup_current_item", default=_NO_ITEM)


class ItemContexts:
    """The contexts of items by the identity of the item. Their number is bounded: the oldest is removed first."""

    def __init__(self) -> None:
        # By the identity of an item: the item, and a context for each time it was yielded.
        self._contexts: OrderedDict[int, tuple[object, deque[ItemContext]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._contexts)

    def put(self, item: object, context: ItemContext) -> None:
        # Keep the item with its context: if the item were freed, another item could get the same id. A spider may
        # yield the same object several times.
        _, contexts = self._contexts.pop(id(item), (item, deque()))
        contexts.append(context)
        self._contexts[id(item)] = (item, contexts)
        while len(self._contexts) > _MOST_WAITING:
            _, (_, lost) = self._contexts.popitem(last=False)
            for each in lost:
                each.leave()

    def take(self, item: object) -> ItemContext | None:
        if (found := self._contexts.get(id(item))) is None:
            return None
        _, contexts = found
        context = contexts.popleft()
        if not contexts:
            del self._contexts[id(item)]
        return context

    async def forget(self, item: object) -> None:
        """Forget an item that left the pipelines before its verdict: the items behind it no longer wait for it."""
        current = current_item.get()
        context = current.context if current.item is item else self.take(item)
        if context is not None:
            context.leave()
            if context.page is not None:
                await context.page.settle()
