"""Remember the main content of recent pages, so that an exact repeat is not extracted again."""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

from scrapy_neardup.content.outcome import Extracted

_MOST_PAGES = 256
_MOST_CHARACTERS = 65_536  # a longer text is not kept
_MOST_BYTES = 16 << 20


class ExtractedPages:
    """A cache of a bounded number of pages. The least recently used page is removed first. Failures are not kept."""

    def __init__(self, most: int = _MOST_PAGES) -> None:
        self._most = most
        self._pages: OrderedDict[object, Extracted] = OrderedDict()
        self._bytes = 0
        self._underway: dict[object, asyncio.Task[Extracted]] = {}

    async def page(self, key: object, extract: Callable[[], Coroutine[Any, Any, Extracted]]) -> Extracted:
        """Return the page under ``key``. If there is none, call ``extract`` once for all callers that wait for it."""
        if (page := self._pages.get(key)) is not None:
            self._pages.move_to_end(key)
            return page
        if (task := self._underway.get(key)) is None:
            task = self._underway[key] = asyncio.create_task(extract())
            task.add_done_callback(lambda done: self._keep(key, done))
        # Others may wait for the page too: a cancelled caller must not cancel it.
        return await asyncio.shield(task)

    def _keep(self, key: object, task: asyncio.Task[Extracted]) -> None:
        del self._underway[key]
        if task.cancelled() or task.exception() is not None:
            return
        page = task.result()
        if len(page.text) <= _MOST_CHARACTERS:
            self._pages[key] = page
            self._bytes += _size(page)
            while len(self._pages) > self._most or self._bytes > _MOST_BYTES:
                self._bytes -= _size(self._pages.popitem(last=False)[1])


def _size(page: Extracted) -> int:
    return sys.getsizeof(page.text) + sys.getsizeof(page.sketch)
