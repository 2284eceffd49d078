"""Extract in worker processes: on all cores, with a time limit that holds, and a crash costs one page."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Literal
from weakref import WeakSet

from scrapy_neardup.content.extractors import load_extractor
from scrapy_neardup.content.outcome import MOST_EXTRACTED_CHARACTERS, MOST_MEMORY, Extracted, Undecoded
from scrapy_neardup.content.worker import BYTES, TEXT, TEXTS, Sketching, arguments, encode, join
from scrapy_neardup.content.worker_process import GONE_SECONDS, Job, WorkerProcess
from scrapy_neardup.exceptions import ExtractionError
from scrapy_neardup.timings import Timings

logger = logging.getLogger(__name__)

RECYCLE_AFTER = 2000  # pages of one worker: the caches of extractors and of lxml grow


class ExtractionProcesses:
    """``workers`` processes, each led by a thread of this process over its own pipe.

    A page fails with ExtractionError, and ends its worker, if it takes more than ``timeout`` seconds after the worker
    began to read it, if it crashes the worker, or if it takes more than ``memory`` bytes. The next page gets a new
    worker.
    Workers start with the first pages. ``extract`` holds at most four times as many pages as there are workers, and
    further callers wait. If a sketch fails, the text is still returned. The ``timings`` do not count sketches.

    Raise SettingsError if the extractor cannot be imported.
    """

    def __init__(
        self,
        extractor: str,
        *,
        workers: int | Literal["auto"] = "auto",
        timeout: float = 10.0,
        recycle_after: int = RECYCLE_AFTER,
        most_characters: int = MOST_EXTRACTED_CHARACTERS,
        memory: int | None = MOST_MEMORY,
        timings: Timings | None = None,
        sketching: Sketching | None = None,
    ) -> None:
        load_extractor(extractor, for_processes=True)  # raise now, not in a worker, if the name is wrong
        self.workers = _cores() if workers == "auto" else workers
        self.timings = timings or Timings()
        self._extractor = extractor
        self._most_characters = most_characters
        self._memory = memory
        self._sketching = sketching
        self._has_warned = False
        self._timeout = timeout
        self._recycle_after = recycle_after
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._slots = asyncio.Semaphore(4 * self.workers)
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._children: set[WorkerProcess] = set()
        self._idle = 0
        self._closing = threading.Event()
        _open.add(self)

    async def extract(self, html: str | Undecoded, url: str) -> Extracted:
        """Return the main content of one page. Raise ExtractionError with its url if it fails or is too slow."""
        async with self._slots:
            try:
                return await _awaited(self.submit(html, url))
            except ExtractionError as error:
                raise ExtractionError(f"{url}: {error}") from None

    def submit(self, page: str | bytes | Undecoded, url: str) -> Future[Extracted]:
        """Extract a page for a caller without an event loop, who has to bound the pages in flight.

        The worker decodes bytes.
        """
        if isinstance(page, str):
            return self._put(Job(TEXT, encode(page), encode(url)))
        body, encoding = page if isinstance(page, Undecoded) else (page, None)
        return self._put(Job(BYTES, body, encode(url), (encoding or "").encode("ascii", "replace")))

    def submit_texts(self, texts: Sequence[str]) -> Future[Extracted]:
        """Sketch these texts, and return the sketches in their order. There are none if sketching fails."""
        return self._put(Job(TEXTS, join(list(map(encode, texts))), b""))

    def _put(self, job: Job) -> Future[Extracted]:
        with self._lock:
            if self._closing.is_set():
                job.answer.set_exception(ExtractionError("extraction is closed"))
                return job.answer
            self._jobs.put(job)
            if len(self._threads) < self.workers and self._idle < self._jobs.qsize():
                self._start_thread(self._lead)
                if len(self._threads) == 1:
                    threading.Thread(target=self._watch, name="neardup-extract", daemon=True).start()
        return job.answer

    def close(self) -> None:
        """End all workers, and fail their pages. This takes milliseconds and may be called again."""
        with self._lock:
            self._closing.set()
            children = list(self._children)
        for child in children:
            child.kill()
        for child in children:
            child.wait()
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(GONE_SECONDS)
        self._fail_waiting()

    def _start_thread(self, target: Callable[[], None]) -> None:
        # A daemon thread: the end of this process would wait for a thread of ThreadPoolExecutor.
        thread = threading.Thread(target=target, name="neardup-extract", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _fail_waiting(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job is not None and job.answer.set_running_or_notify_cancel():
                job.answer.set_exception(ExtractionError("extraction is closed"))

    def _lead(self) -> None:
        """Send pages to one worker process, and start a new one after it has ended."""
        child: WorkerProcess | None = None
        while (job := self._next_job()) is not None:
            if not job.answer.set_running_or_notify_cancel():
                continue
            try:
                child = child if child is not None and child.is_usable() else self._start()
                extracted = self._extract(child, job)
            except ExtractionError as error:
                job.answer.set_exception(error)
            except BaseException as error:  # such as no memory for a process: fail this page, and keep the thread
                job.answer.set_exception(ExtractionError(f"no worker process: {type(error).__name__}: {error}"))
            else:
                job.answer.set_result(extracted)
            if child is not None and not child.is_usable():
                self._discard(child)
                child = None
        if child is not None:
            self._discard(child)

    def _extract(self, child: WorkerProcess, job: Job) -> Extracted:
        if job.kind == TEXTS:
            child.send(job)
            return Extracted("", self._sketches(child))
        start = time.perf_counter()
        seconds: float | None = None
        try:
            child.send(job)
            text, seconds = child.text()
        finally:
            self.timings.add(1000 * (time.perf_counter() - start if seconds is None else seconds))
        return Extracted(text, self._sketches(child))

    def _sketches(self, child: WorkerProcess) -> tuple[bytes, ...]:
        try:
            return child.sketches()
        except ExtractionError as error:
            self._warn(error)
            return ()

    def _warn(self, error: Exception) -> None:
        if not self._has_warned and not self._closing.is_set():
            self._has_warned = True
            logger.warning("A worker process could not sketch a text; further cases are not logged: %s", error)

    def _next_job(self) -> Job | None:
        with self._lock:
            self._idle += 1
        try:
            return self._jobs.get()
        finally:
            with self._lock:
                self._idle -= 1

    def _start(self) -> WorkerProcess:
        command = arguments(self._extractor, self._timeout, self._most_characters, self._memory, self._sketching)
        with self._lock:
            if self._closing.is_set():
                raise ExtractionError("extraction is closed")
            child = WorkerProcess(
                command, self._timeout, self._recycle_after, self._memory, is_sketching=self._sketching is not None
            )
            self._children.add(child)
        try:
            child.wait_until_ready()
        except ExtractionError:
            self._discard(child)
            raise
        return child

    def _discard(self, child: WorkerProcess) -> None:
        child.end()
        with self._lock:
            self._children.discard(child)

    def _watch(self) -> None:
        """End every worker that is over its time limit, also one that hangs or reads nothing."""
        while not self._closing.wait(min(0.1, self._timeout / 5)):
            with self._lock:
                children = list(self._children)
            for child in children:
                if time.monotonic() > child.deadline:
                    child.is_late = True
                    child.kill()


def _awaited(answer: Future[Extracted]) -> asyncio.Future[Extracted]:
    """Return the answer as a future of the running loop.

    ``asyncio.wrap_future`` would log an error if the loop is closed before the answer comes.
    """
    loop = asyncio.get_running_loop()
    awaited: asyncio.Future[Extracted] = loop.create_future()

    def settle() -> None:
        if awaited.done():
            return
        if (error := answer.exception()) is not None:
            awaited.set_exception(error)
        else:
            awaited.set_result(answer.result())

    def done(_: Future[Extracted]) -> None:
        with suppress(RuntimeError):  # the loop is closed: the crawl is over
            loop.call_soon_threadsafe(settle)

    answer.add_done_callback(done)
    awaited.add_done_callback(lambda future: answer.cancel() if future.cancelled() else None)
    return awaited


_open: WeakSet[ExtractionProcesses] = WeakSet()


@atexit.register
def _close_all() -> None:
    """End all workers when this process ends. A crawl that was stopped by force does not close them."""
    for processes in list(_open):
        processes.close()


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
