"""Decide when and where documents are sketched: short ones at once, long ones in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.sketch.fingerprint import Sketcher

R = TypeVar("R")

LONG_TEXT = 8_000
"""Texts of this many characters or more are sketched in a thread: the worst of them would block the event loop."""

_MOST_DOCUMENTS = 16  # of a group
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
        if self._is_prepared and sum(_effort(document.text) for document in documents) < LONG_TEXT:
            return self._sketcher.fingerprints(documents)
        made = await self.run_in_thread(self._sketcher.fingerprints, documents)
        self._is_prepared = True
        return made

    async def run_in_thread(self, function: Callable[..., R], *arguments: object) -> R:
        """Call a function that takes too long for the event loop, and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    def close(self) -> None:
        """Cancel what has not begun; the thread ends by itself."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def grouped(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Split documents into groups of a bounded length that are sketched together."""
    group: list[Document] = []
    characters = 0
    for document in documents:
        if group and (len(group) == _MOST_DOCUMENTS or characters + len(document.text) >= _MOST_CHARACTERS):
            yield group
            group, characters = [], 0
        group.append(document)
        characters += len(document.text)
    if group:
        yield group


def _effort(text: str) -> int:
    """Return the work of sketching a text, in characters of prose. Digits take the most."""
    return len(text) + _DIGIT_EFFORT * sum(map(text.count, "0123456789")) if len(text) < LONG_TEXT else len(text)
