"""Pages before and after extraction, in threads and in processes alike, and the limits of an extracted text."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from contextlib import suppress
from typing import NamedTuple, TypeVar

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
