"""Extraction in worker processes: all cores, a time limit that is kept, and a crash that costs one page."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, BinaryIO, Literal, NoReturn, cast
from weakref import WeakSet

from scrapy_neardup.content.extractors import load_extractor
from scrapy_neardup.content.outcome import MOST_EXTRACTED_CHARACTERS, MOST_MEMORY, Extracted, Undecoded, of_memory
from scrapy_neardup.content.worker import (
    ANSWER,
    BYTES,
    FAILED,
    REQUEST,
    TEXT,
    TEXTS,
    Sketching,
    arguments,
    decode,
    encode,
    join,
    read,
    split,
)
from scrapy_neardup.exceptions import ExtractionError
from scrapy_neardup.timings import Timings

logger = logging.getLogger(__name__)

RECYCLE_AFTER = 2000  # pages; caches of extractors and of lxml grow
STARTUP_SECONDS = 60.0
_ENDS_WITHOUT_MEMORY = (-signal.SIGABRT, -signal.SIGSEGV)
_GONE_SECONDS = 5.0  # a killed process takes milliseconds


class ExtractionProcesses:
    """``workers`` processes, each led by a thread of this one over a pipe of its own.

    A page that takes over ``timeout`` seconds, counted from when its worker reads it, ends its worker and raises
    ExtractionError; so does one that crashes it, or takes more than ``memory`` bytes. The next page has a new worker.
    They start with the first pages. ``extract`` holds at most four times as many pages as there are workers, further
    callers wait. A sketch that cannot be made costs no text, and its time is no part of the ``timings``. Raises
    SettingsError for an extractor that cannot be imported.
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
        load_extractor(extractor, for_processes=True)  # a wrong name is an error now, not in a worker
        self.workers = _cores() if workers == "auto" else workers
        self.timings = timings or Timings()
        self._extractor = extractor
        self._most_characters = most_characters
        self._memory = memory
        self._sketching = sketching
        self._is_warned = False
        self._timeout = timeout
        self._recycle_after = recycle_after
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._room = asyncio.Semaphore(4 * self.workers)
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._children: set[_Child] = set()
        self._idle = 0
        self._closing = threading.Event()
        _open.add(self)

    async def extract(self, html: str | Undecoded, url: str) -> Extracted:
        """Main content of one page. Raises ExtractionError, naming the url, where it fails or is too slow."""
        async with self._room:
            try:
                return await _awaited(self.submit(html, url))
            except ExtractionError as error:
                raise ExtractionError(f"{url}: {error}") from None

    def submit(self, page: str | bytes | Undecoded, url: str) -> Future[Extracted]:
        """The same for callers without an event loop; bytes are decoded by the worker. They count what is in flight."""
        if isinstance(page, str):
            return self._put(_Job(TEXT, encode(page), encode(url)))
        body, encoding = page if isinstance(page, Undecoded) else (page, None)
        return self._put(_Job(BYTES, body, encode(url), (encoding or "").encode("ascii", "replace")))

    def submit_texts(self, texts: Sequence[str]) -> Future[Extracted]:
        """The sketches of these texts, in their order; none where they cannot be made."""
        return self._put(_Job(TEXTS, join(list(map(encode, texts))), b""))

    def _put(self, job: _Job) -> Future[Extracted]:
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
        """End all workers, and fail what they have in hand. Takes milliseconds; may be called again."""
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
            thread.join(_GONE_SECONDS)
        self._fail_waiting()

    def _start_thread(self, target: Callable[[], None]) -> None:
        # Daemons: a thread of ThreadPoolExecutor would be joined at the end of this process.
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
        """Hand pages to one worker, and to its successors."""
        child: _Child | None = None
        while (job := self._next_job()) is not None:
            if not job.answer.set_running_or_notify_cancel():
                continue
            try:
                child = child if child is not None and child.is_usable() else self._start()
                extracted = self._extract(child, job)
            except ExtractionError as error:
                job.answer.set_exception(error)
            except BaseException as error:  # no thread to start a process, no memory: this page is lost, not the pool
                job.answer.set_exception(ExtractionError(f"no worker process: {type(error).__name__}: {error}"))
            else:
                job.answer.set_result(extracted)
            if child is not None and not child.is_usable():
                self._discard(child)
                child = None
        if child is not None:
            self._discard(child)

    def _extract(self, child: _Child, job: _Job) -> Extracted:
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

    def _sketches(self, child: _Child) -> tuple[bytes, ...]:
        try:
            return child.sketches()
        except ExtractionError as error:
            self._warn(error)
            return ()

    def _warn(self, error: Exception) -> None:
        if not self._is_warned and not self._closing.is_set():
            self._is_warned = True
            logger.warning("A worker process could not sketch a text, which is said once: %s", error)

    def _next_job(self) -> _Job | None:
        with self._lock:
            self._idle += 1
        try:
            return self._jobs.get()
        finally:
            with self._lock:
                self._idle -= 1

    def _start(self) -> _Child:
        command = arguments(self._extractor, self._timeout, self._most_characters, self._memory, self._sketching)
        with self._lock:
            if self._closing.is_set():
                raise ExtractionError("extraction is closed")
            child = _Child(
                command, self._timeout, self._recycle_after, self._memory, is_sketching=self._sketching is not None
            )
            self._children.add(child)
        try:
            child.wait_until_ready()
        except ExtractionError:
            self._discard(child)
            raise
        return child

    def _discard(self, child: _Child) -> None:
        child.end()
        with self._lock:
            self._children.discard(child)

    def _watch(self) -> None:
        """Keep the time limit. Also a worker that stands still, or reads nothing, is seen here."""
        while not self._closing.wait(min(0.1, self._timeout / 5)):
            with self._lock:
                children = list(self._children)
            for child in children:
                if time.monotonic() > child.deadline:
                    child.is_late = True
                    child.kill()


class _Job:
    __slots__ = ("answer", "encoding", "kind", "page", "url")

    def __init__(self, kind: bytes, page: bytes, url: bytes, encoding: bytes = b"") -> None:
        self.encoding = encoding
        self.kind = kind
        self.page = page
        self.url = url
        self.answer: Future[Extracted] = Future()


class _Child:
    """One worker process."""

    def __init__(
        self, command: list[str], timeout: float, most_pages: int, memory: int | None, *, is_sketching: bool
    ) -> None:
        # Out of the terminal's process group: Ctrl-C is for the crawl, which ends its workers when it has their pages.
        apart: dict[str, Any] = (
            {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
            if sys.platform == "win32"
            else {"start_new_session": True}
        )
        # Most answers are one read: each lets go of the interpreter.
        self._process = subprocess.Popen(
            command, bufsize=1 << 16, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **apart
        )
        self._requests = cast("BinaryIO", self._process.stdin)
        self._answers = cast("BinaryIO", self._process.stdout)
        self._timeout = timeout
        self._pages_left = most_pages
        self._memory = memory
        self._is_sketching = is_sketching
        self.deadline = time.monotonic() + STARTUP_SECONDS
        self.is_late = False

    def wait_until_ready(self) -> None:
        self._receive(f"its worker process did not start within {STARTUP_SECONDS:g} s")
        self.deadline = float("inf")

    def send(self, job: _Job) -> None:
        self._pages_left -= 1
        self.deadline = time.monotonic() + self._timeout
        try:
            lengths = map(len, (job.url, job.encoding, job.page))
            self._requests.write(REQUEST.pack(job.kind, *lengths) + job.url + job.encoding)
            self._requests.write(job.page)
            self._requests.flush()
        except OSError:
            self._lost(self._too_slow)

    def text(self) -> tuple[str, float]:
        """Of the page sent, and the seconds it took; its sketch comes next."""
        kind, data, seconds = self._receive(self._too_slow)
        if kind == FAILED or not self._is_sketching:
            self.deadline = float("inf")
        if kind == FAILED:
            raise ExtractionError(decode(data))
        return decode(data), seconds

    def sketches(self) -> tuple[bytes, ...]:
        """Of the text received, or of the texts sent."""
        if not self._is_sketching:
            return ()
        kind, data, _ = self._receive(self._too_slow)
        self.deadline = float("inf")
        if kind == FAILED:
            raise ExtractionError(decode(data))
        return tuple(split(data))

    @property
    def _too_slow(self) -> str:
        return f"not extracted within NEARDUP_EXTRACT_TIMEOUT = {self._timeout:g} s"

    def _receive(self, too_slow: str) -> tuple[bytes, bytes, float]:
        try:
            kind, size, seconds = ANSWER.unpack(read(self._answers, ANSWER.size))
            return kind, read(self._answers, size), seconds
        except (OSError, EOFError):
            self._lost(too_slow)

    def _lost(self, too_slow: str) -> NoReturn:
        self._pages_left = 0
        self.kill()
        status = self.wait()
        if self.is_late:
            raise ExtractionError(too_slow)
        ended = f"by signal {-status}" if status is not None and status < 0 else f"with exit status {status}"
        # lxml and other libraries end their process if there is no memory.
        why = of_memory(self._memory) if status in _ENDS_WITHOUT_MEMORY else ""
        raise ExtractionError(f"its worker process ended {ended}{why}")

    def is_usable(self) -> bool:
        return self._pages_left > 0 and not self.is_late and self._process.poll() is None

    def kill(self) -> None:
        """With all that its extractor started: a pipe that is open anywhere would never end."""
        if self._process.returncode is not None:
            return
        if sys.platform == "win32":
            self._process.kill()
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def wait(self) -> int | None:
        """Reap the process, so that no zombie is left. None for one in a system call that cannot be interrupted."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(_GONE_SECONDS)
        return None

    def end(self) -> None:
        """For the thread that leads it: pipes are closed where nobody reads them."""
        self.kill()
        if self.wait() is not None:
            for pipe in (self._requests, self._answers):
                with suppress(OSError):  # what was not written yet has no reader
                    pipe.close()


def _awaited(answer: Future[Extracted]) -> asyncio.Future[Extracted]:
    """The same in the running loop; of ``asyncio.wrap_future`` the log hears where the loop is closed by then."""
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
    """A crawl that is stopped by force closes nothing."""
    for processes in list(_open):
        processes.close()


def _cores() -> int:
    """Those this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
