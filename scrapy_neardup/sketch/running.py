"""Use a sketcher in a running crawl: keep the event loop free, and exchange what it learns with other processes.

Short documents are sketched at once, long ones in a thread. Feature frequencies and boilerplate are exchanged through
the store.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from scrapy_neardup.document import LONG_TEXT, Document, Fingerprint
from scrapy_neardup.sketch.ahead import unpack_sketch
from scrapy_neardup.sketch.fingerprint import Sketcher

logger = logging.getLogger(__name__)

R = TypeVar("R")

_MOST_CHARACTERS = 30_000  # of a group
_DIGIT_EFFORT = 6


class PacedSketcher:
    """Makes fingerprints without holding up the event loop. All long texts, and the first ones, share one thread."""

    def __init__(self, sketcher: Sketcher) -> None:
        self._sketcher = sketcher
        self._is_prepared = False  # the first sketch builds tables
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="neardup-sketch")

    async def fingerprints(self, documents: Sequence[Document]) -> list[Fingerprint]:
        """Return the fingerprints of documents in their order."""
        if self._is_prepared and sum(map(_effort, documents)) < LONG_TEXT:
            return self._fingerprints(documents)
        made = await self.run_in_thread(self._fingerprints, documents)
        self._is_prepared = True
        return made

    def _fingerprints(self, documents: Sequence[Document]) -> list[Fingerprint]:
        ahead = [unpack_sketch(each.sketch) if each.sketch else None for each in documents]
        for _, milliseconds in filter(None, ahead):
            self._sketcher.timings.add(milliseconds)
        return self._sketcher.fingerprints(documents, [each and each[0] for each in ahead])

    async def run_in_thread(self, function: Callable[..., R], *arguments: object) -> R:
        """Call a function that takes too long for the event loop, and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    def close(self) -> None:
        """Cancel the calls that have not begun; the thread ends by itself."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def grouped(documents: Sequence[Document], most: int) -> Iterator[list[Document]]:
    """Split documents into groups of a bounded length, and of at most so many, that are sketched together."""
    group: list[Document] = []
    characters = 0
    for document in documents:
        if group and (len(group) == most or characters + len(document.text) >= _MOST_CHARACTERS):
            yield group
            group, characters = [], 0
        group.append(document)
        characters += len(document.text)
    if group:
        yield group


def _effort(document: Document) -> int:
    """Return the work of sketching a document, in characters of prose. Digits take the most."""
    text = document.text
    if document.sketch or len(text) >= LONG_TEXT:  # a sketch from a worker has the figures
        return len(text)
    return len(text) + _DIGIT_EFFORT * sum(map(text.count, "0123456789"))
