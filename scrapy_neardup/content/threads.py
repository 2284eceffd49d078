"""Extract in threads: a bounded number, with a time limit, and none delays the end of the process."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from scrapy_neardup.content.decoding import decode_as
from scrapy_neardup.content.extractors import Extractor
from scrapy_neardup.content.outcome import (
    MOST_EXTRACTED_CHARACTERS,
    Extracted,
    Undecoded,
    checked_text,
    explain_failure,
)
from scrapy_neardup.exceptions import ExtractionError
from scrapy_neardup.timings import Timings

T = TypeVar("T")


class ExtractionThreads:
    """``workers`` daemon threads, which hold at most four times as many pages. Further callers wait.

    There is one by default: concurrent pages now and then corrupt memory of lxml and end the process
    (adbar/trafilatura issues 840 and 925), and they would share one interpreter lock anyway.

    A page that takes over ``timeout`` seconds, counted from its start, raises ExtractionError. Its thread cannot be
    stopped: a new one takes its place, up to ``workers`` + ``spares`` in all. If all of them are stuck, pages fail at
    once until a thread comes back. A ThreadPoolExecutor is not used: the process could not end before its threads.
    """

    def __init__(
        self,
        extractor: Extractor,
        *,
        workers: int = 1,
        timeout: float = 10.0,
        spares: int = 4,
        most_characters: int = MOST_EXTRACTED_CHARACTERS,
        timings: Timings | None = None,
    ) -> None:
        self.timings = timings or Timings()
        self._extractor = extractor
        self._most_characters = most_characters
        self._workers = workers
        self._timeout = timeout
        self._spares = spares
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._in_flight = 4 * workers
        self._slots = asyncio.Semaphore(self._in_flight)
        self._alive = 0  # threads that serve the queue
        self._stuck = 0  # threads given up, still in their page
        self._closed = False

    async def extract(self, html: str | Undecoded, url: str) -> Extracted:
        """Return the main content of one page. Raise ExtractionError with its url if it fails or is too slow."""
        async with self._slots:
            if self._closed:
                raise ExtractionError(f"{url}: extraction is closed")
            if not self._serve():
                raise ExtractionError(f"{url}: all extraction threads are stuck in pages over {self._timeout:g} s")
            return Extracted(await self._run(html, url))

    def close(self) -> None:
        """End idle threads. A stuck one ends with the process."""
        self._closed = True
        for _ in range(self._alive):
            self._jobs.put(None)

    def _serve(self) -> bool:
        """Start the threads that are missing. Return False if none is alive."""
        while self._alive < self._workers and self._alive + self._stuck < self._workers + self._spares:
            self._alive += 1
            threading.Thread(target=self._work, name="neardup-extract", daemon=True).start()
        return self._alive > 0

    async def _run(self, html: str | Undecoded, url: str) -> str:
        job = _Job(html, url, asyncio.get_running_loop())
        self._jobs.put(job)
        # A page ahead of this one in the queue may be slow too, and so may the one ahead of that.
        await asyncio.wait([job.started], timeout=self._in_flight * self._timeout)
        if not job.started.done():
            job.started.cancel()
            raise ExtractionError(f"{url}: all extraction threads are stuck in pages over {self._timeout:g} s")
        done, _ = await asyncio.wait([job.answer], timeout=self._timeout)
        if done:
            return job.answer.result()
        self._give_up(job)
        raise ExtractionError(f"{url}: not extracted within NEARDUP_EXTRACT_TIMEOUT = {self._timeout:g} s")

    def _give_up(self, job: _Job) -> None:
        self._alive -= 1
        self._stuck += 1
        self._serve()
        job.answer.add_done_callback(self._take_back)

    def _take_back(self, answer: asyncio.Future[str]) -> None:
        answer.exception()  # ignore it: the page has failed already
        self._stuck -= 1
        self._alive += 1
        if self._alive > self._workers:
            self._alive -= 1
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not job.start():
                continue
            try:
                with self.timings.measure():
                    html = job.html if isinstance(job.html, str) else decode_as(*job.html)
                    text = checked_text(self._extractor(html, job.url), self._most_characters)
            except BaseException as error:  # whatever a page raises, the thread goes on
                job.fail(error)
            else:
                job.finish(text)


class _Job:
    """One page on its way to a thread and back. Its futures change in their own event loop only."""

    def __init__(self, html: str | Undecoded, url: str, loop: asyncio.AbstractEventLoop) -> None:
        self.html = html
        self.url = url
        self.started: asyncio.Future[None] = loop.create_future()
        self.answer: asyncio.Future[str] = loop.create_future()
        self._loop = loop

    def start(self) -> bool:
        """Note the start. Return False if nobody waits for this page any more."""
        return not self.started.cancelled() and self._in_loop(self._resolve, self.started, None)

    def finish(self, text: str) -> None:
        self._in_loop(self._resolve, self.answer, text)

    def fail(self, error: BaseException) -> None:
        explained = ExtractionError(f"{self.url}: {explain_failure(error)}")
        self._in_loop(self._reject, self.answer, explained)

    @staticmethod
    def _resolve(future: asyncio.Future[T], value: T) -> None:
        if not future.done():
            future.set_result(value)

    @staticmethod
    def _reject(future: asyncio.Future[T], error: Exception) -> None:
        if not future.done():
            future.set_exception(error)

    def _in_loop(self, step: Callable[..., object], *arguments: object) -> bool:
        try:
            self._loop.call_soon_threadsafe(step, *arguments)
        except RuntimeError:  # the loop is closed: the crawl is over
            return False
        return True
