"""Pages before and after extraction, in threads and in processes alike, and the limits of an extracted text."""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from scrapy_neardup.document import MOST_CHARACTERS

T = TypeVar("T")

MOST_EXTRACTED_CHARACTERS = 5_000_000
"""Default limit of the characters of a main content."""

MOST_MEMORY = 2_000_000_000
"""Default limit of the bytes that a worker process may take for its pages."""


class Undecoded(NamedTuple):
    """A page as bytes. A worker decodes it: that takes a while for millions of bytes."""

    body: bytes
    encoding: str | None  # None if it is not known


class Extracted(NamedTuple):
    """The main content of a page, and its sketch if a worker process made one; or the sketches of several texts."""

    text: str
    sketches: tuple[bytes, ...] = ()

    @property
    def sketch(self) -> bytes:
        """Return the sketch of a page, b"" if there is none."""
        return b"".join(self.sketches)


def checked_text(text: object, most_characters: int) -> str:
    """Return the beginning of an extractor's answer, of at most ``MOST_CHARACTERS``: the rest is not compared.

    Raise TypeError if the answer is not a text, ValueError if it is longer than ``most_characters``.
    """
    if not isinstance(text, str):
        raise TypeError(f"the extractor returned {type(text).__name__}, not str")
    if len(text) > most_characters:
        size = f"the extractor returned {len(text)} characters"
        raise ValueError(f"{size}, over NEARDUP_MAX_HTML_BYTES = {most_characters}")
    return text[:MOST_CHARACTERS]


def explain_failure(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def explain_memory_limit(most: int | None) -> str:
    """Return the end of a message about a page that took, or may have taken, too much memory."""
    return f"; a worker process may take NEARDUP_EXTRACT_MEMORY = {most} bytes" if most is not None else ""


def in_this_loop(answer: Future[T]) -> asyncio.Future[T]:
    """Return the answer of another thread as a future of the running loop.

    ``asyncio.wrap_future`` would log an error if the loop is closed before the answer comes.
    """
    loop = asyncio.get_running_loop()
    awaited: asyncio.Future[T] = loop.create_future()

    # An answer keeps its callback. So the callback must not keep the answer: only the garbage collector would free it.
    def done(answer: Future[T]) -> None:
        with suppress(RuntimeError):  # the loop is closed: the crawl is over
            loop.call_soon_threadsafe(_pass_on, answer, awaited)

    answer.add_done_callback(done)
    awaited.add_done_callback(lambda future: answer.cancel() if future.cancelled() else None)
    return awaited


def _pass_on(answer: Future[T], awaited: asyncio.Future[T]) -> None:
    if awaited.done():
        return
    if (error := answer.exception()) is not None:
        awaited.set_exception(error)
    else:
        awaited.set_result(answer.result())


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
