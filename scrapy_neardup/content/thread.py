"""Extract in a thread of this process, with a time limit, and without delaying the end of the process."""

from __future__ import annotations

import asyncio
import queue
import threading
from concurrent.futures import Future

from scrapy_neardup.content.extractors import Extractor
from scrapy_neardup.content.head import decode_as
from scrapy_neardup.content.outcome import (
    MOST_EXTRACTED_CHARACTERS,
    Extracted,
    Undecoded,
    checked_text,
    explain_failure,
    in_this_loop,
)
from scrapy_neardup.exceptions import ExtractionError
from scrapy_neardup.timings import Timings

_MOST_STUCK = 4  # threads


class ExtractionThread:
    """A daemon thread that extracts one page after the other.

    There is only one: pages that are extracted at the same time now and then corrupt the memory of lxml and end the
    process (adbar/trafilatura issues 840 and 925), and they would share one interpreter lock anyway.

    A page that takes over ``timeout`` seconds raises ExtractionError. Its thread cannot be stopped: the next page gets
    a new one. If too many threads are stuck, pages fail at once until one of these threads is done. A
    ThreadPoolExecutor is not used: the process could not end before its threads.
    """

    def __init__(
        self,
        extractor: Extractor,
        *,
        timeout: float = 10.0,
        most_characters: int = MOST_EXTRACTED_CHARACTERS,
        timings: Timings | None = None,
    ) -> None:
        self.timings = timings or Timings()
        self._extractor = extractor
        self._most_characters = most_characters
        self._timeout = timeout
        self._one_page = asyncio.Lock()
        self._pages: _Pages | None = None  # of the thread that is not stuck
        self._stuck = 0
        self._is_closed = False

    async def extract(self, html: str | Undecoded, url: str) -> Extracted:
        """Return the main content of one page. Raise ExtractionError with its url if it fails or is too slow."""
        async with self._one_page:
            if self._is_closed:
                raise ExtractionError(f"{url}: extraction is closed")
            if self._stuck > _MOST_STUCK:
                raise ExtractionError(f"{url}: all extraction threads are stuck in pages of over {self._timeout:g} s")
            if self._pages is None:
                self._pages = queue.SimpleQueue()
                threading.Thread(target=self._serve, args=[self._pages], name="neardup-extract", daemon=True).start()
            extracted: Future[Extracted] = Future()
            self._pages.put((html, url, extracted))
            answer = in_this_loop(extracted)
            await asyncio.wait([answer], timeout=self._timeout)
            if answer.done():
                return answer.result()
            self._stuck += 1
            answer.add_done_callback(self._note_return)
            self._end_thread()
            raise ExtractionError(f"{url}: not extracted within NEARDUP_EXTRACT_TIMEOUT = {self._timeout:g} s")

    def close(self) -> None:
        """End the thread. If it is stuck it ends with the process."""
        self._is_closed = True
        self._end_thread()

    def _end_thread(self) -> None:
        if self._pages is not None:
            self._pages.put(None)
            self._pages = None

    def _note_return(self, answer: asyncio.Future[Extracted]) -> None:
        answer.exception()  # ignore it: the page has failed already
        self._stuck -= 1

    def _serve(self, pages: _Pages) -> None:
        for html, url, answer in iter(pages.get, None):
            if answer.set_running_or_notify_cancel():
                try:
                    with self.timings.measure():
                        page = html if isinstance(html, str) else decode_as(*html)
                        text = checked_text(self._extractor(page, url), self._most_characters)
                    answer.set_result(Extracted(text))
                except BaseException as error:  # whatever a page raises, the thread goes on
                    answer.set_exception(ExtractionError(f"{url}: {explain_failure(error)}"))


_Pages = queue.SimpleQueue[tuple[str | Undecoded, str, Future[Extracted]] | None]
"""Pages on their way to the thread: each page, its url and its answer to come."""
