"""One worker process as its parent sees it: start it, send pages, read answers, and end it in any state."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, BinaryIO, NoReturn, cast

from scrapy_neardup.content.outcome import Extracted, explain_memory_limit
from scrapy_neardup.content.worker import ANSWER, FAILED, REQUEST, decode, read, split
from scrapy_neardup.exceptions import ExtractionError

STARTUP_SECONDS = 60.0
GONE_SECONDS = 5.0
"""How long to wait for a process or thread that was ended: a killed process takes milliseconds."""

_ENDS_WITHOUT_MEMORY = (-signal.SIGABRT, -signal.SIGSEGV)


class Job:
    """One page, or several texts, on the way to a worker process and back."""

    __slots__ = ("answer", "encoding", "kind", "page", "url")

    def __init__(self, kind: bytes, page: bytes, url: bytes, encoding: bytes = b"") -> None:
        self.encoding = encoding
        self.kind = kind
        self.page = page
        self.url = url
        self.answer: Future[Extracted] = Future()


class WorkerProcess:
    """One worker process, and its pipes."""

    def __init__(
        self, command: list[str], timeout: float, most_pages: int, memory: int | None, *, is_sketching: bool
    ) -> None:
        # Outside the terminal's process group: Ctrl-C is for the crawl, which ends its workers when it has their pages.
        separate: dict[str, Any] = (
            {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
            if sys.platform == "win32"
            else {"start_new_session": True}
        )
        # A large buffer: most answers then take one read, and each read releases the interpreter lock.
        self._process = subprocess.Popen(
            command, bufsize=1 << 16, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **separate
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

    def send(self, job: Job) -> None:
        self._pages_left -= 1
        self.deadline = time.monotonic() + self._timeout
        try:
            lengths = map(len, (job.url, job.encoding, job.page))
            self._requests.write(REQUEST.pack(job.kind, *lengths) + job.url + job.encoding)
            self._requests.write(job.page)
            self._requests.flush()
        except OSError:
            self._raise_lost(self._too_slow)

    def text(self) -> tuple[str, float]:
        """Return the text of the page that was sent, and the seconds it took. Read its sketch next."""
        kind, data, seconds = self._receive(self._too_slow)
        if kind == FAILED or not self._is_sketching:
            self.deadline = float("inf")
        if kind == FAILED:
            raise ExtractionError(decode(data))
        return decode(data), seconds

    def sketches(self) -> tuple[bytes, ...]:
        """Return the sketch of the text that was received, or the sketches of the texts that were sent."""
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
            self._raise_lost(too_slow)

    def _raise_lost(self, too_slow: str) -> NoReturn:
        """Raise ExtractionError with the reason why the process stopped answering."""
        self._pages_left = 0
        self.kill()
        status = self.wait()
        if self.is_late:
            raise ExtractionError(too_slow)
        ended = f"by signal {-status}" if status is not None and status < 0 else f"with exit status {status}"
        # lxml and other libraries end their process if there is no memory.
        why = explain_memory_limit(self._memory) if status in _ENDS_WITHOUT_MEMORY else ""
        raise ExtractionError(f"its worker process ended {ended}{why}")

    def is_usable(self) -> bool:
        return self._pages_left > 0 and not self.is_late and self._process.poll() is None

    def kill(self) -> None:
        """Kill the process and everything its extractor started: a pipe that any of them holds open would never end."""
        if self._process.returncode is not None:
            return
        if sys.platform == "win32":
            self._process.kill()
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def wait(self) -> int | None:
        """Reap the process, so that no zombie is left. Return None if it hangs in a system call."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(GONE_SECONDS)
        return None

    def end(self) -> None:
        """Kill the process and close its pipes. Only the thread that serves it may call this: it reads the pipes."""
        self.kill()
        if self.wait() is not None:
            for pipe in (self._requests, self._answers):
                with suppress(OSError):  # the rest of the page has no reader
                    pipe.close()
