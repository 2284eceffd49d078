"""Extract in a thread of this process, with a time limit, and without delaying the end of the process."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

from scrapy_neardup.content.extractors import (
    MOST_EXTRACTED_CHARACTERS,
    Extracted,
    Extractor,
    Undecoded,
    checked_text,
)
from scrapy_neardup.content.head import decode_as
from scrapy_neardup.content.worker_process import in_this_loop
from scrapy_neardup.exceptions import ExtractionError, explain_failure
from scrapy_neardup.timings import Timings

_MOST_STUCK = 4  # threads


class ExtractionThread:
    """Extracts one page after the other, each in a daemon thread of its own.

    There is only one at a time: pages that are extracted at the same time now and then corrupt the memory of lxml and
    end the process (adbar/trafilatura issues 840 and 925), and they would share one interpreter lock anyway.

    A page that takes over ``timeout`` seconds raises ExtractionError. Its thread cannot be stopped. If too many threads
    are stuck, pages fail at once until one of these threads is done. A ThreadPoolExecutor is not used: the process
    could not end before its threads.
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
        self._stuck = 0
        self._is_closed = False

    async def extract(self, html: str | Undecoded, url: str) -> Extracted:
        """Return the main content of one page. Raise ExtractionError with its url if it fails or is too slow."""
        async with self._one_page:
            if self._is_closed:
                raise ExtractionError(f"{url}: extraction is closed")
            if self._stuck > _MOST_STUCK:
                raise ExtractionError(f"{url}: all extraction threads are stuck in pages of over {self._timeout:g} s")
            extracted: Future[Extracted] = Future()
            answer = in_this_loop(extracted)
            page = html, url, extracted
            threading.Thread(target=self._extract, args=page, name="neardup-extract", daemon=True).start()
            await asyncio.wait([answer], timeout=self._timeout)
            if answer.done():
                return answer.result()
            self._stuck += 1
            answer.add_done_callback(self._note_return)
            raise ExtractionError(f"{url}: not extracted within NEARDUP_EXTRACT_TIMEOUT = {self._timeout:g} s")

    def close(self) -> None:
        """Extract no further page. A thread that is stuck ends with the process."""
        self._is_closed = True

    def _note_return(self, answer: asyncio.Future[Extracted]) -> None:
        answer.exception()  # ignore it: the page has failed already
        self._stuck -= 1

    def _extract(self, html: str | Undecoded, url: str, extracted: Future[Extracted]) -> None:
        try:
            with self.timings.measure():
                page = html if isinstance(html, str) else decode_as(*html)
                text = checked_text(self._extractor(page, url), self._most_characters)
        except BaseException as error:  # whatever a page raises
            extracted.set_exception(ExtractionError(f"{url}: {explain_failure(error)}"))
        else:
            extracted.set_result(Extracted(text))
