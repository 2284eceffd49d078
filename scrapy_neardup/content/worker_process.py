"""One worker process as its parent sees it: start it, send pages, read answers, and end it in any state.

The time that slow pages may take together is bounded too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from math import inf
from typing import BinaryIO, cast

from scrapy_neardup.content.worker import LATE, WorkerOptions, encode, receive, send
from scrapy_neardup.exceptions import ExtractionError

STARTUP_SECONDS = 60.0
GONE_SECONDS = 5.0
"""How long to wait for a process or thread that was ended: a killed process takes milliseconds."""

_ENDS_WITHOUT_MEMORY = (-signal.SIGABRT, -signal.SIGSEGV)


class WorkerProcess:
    """A worker process and its pipes. A new process takes the place of one that failed, or had ``most_requests``."""

    def __init__(self, options: WorkerOptions, most_requests: int) -> None:
        self.deadline = inf
        self.is_late = False
        self.seconds = 0.0  # of the last request
        self.cpu_seconds = 0.0  # of the last request; seconds of the clock if the worker did not answer it
        self._options = options
        self._most_requests = most_requests
        self._requests_left = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._pipes: list[BinaryIO] = []  # for requests and for answers
        self._is_closed = False
        self._starting = threading.Lock()

    def make_ready(self) -> None:
        """Start the process unless it runs. Raise ExtractionError if it does not start in time."""
        if self._requests_left > 0 and not self.is_late and self._process and self._process.poll() is None:
            return
        self.end()
        with self._starting:
            if self._is_closed:
                raise ExtractionError("extraction is closed")
            # A large buffer: most answers then take one read, and each read releases the interpreter lock.
            # A session of its own: Ctrl-C is for the crawl, which ends its workers when it has their pages.
            self._process = subprocess.Popen(
                self._options.command(),
                bufsize=1 << 16,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
            )
        self._pipes = [cast("BinaryIO", self._process.stdin), cast("BinaryIO", self._process.stdout)]
        self._requests_left = self._most_requests
        self.is_late = False
        self.deadline = time.monotonic() + STARTUP_SECONDS
        self._receive(f"its worker process did not start within {STARTUP_SECONDS:g} s")

    def ask(self, *request: bytes, most_seconds: float = inf) -> list[bytes]:
        """Return the answer to a request: the text of a page, or the sketches of texts.

        Raise ExtractionError if the worker fails, ends or takes too long. ``most_seconds`` are CPU seconds if the
        worker forks, so that a busy machine makes no page late.
        """
        self._requests_left -= 1
        timeout, forks = self._options.timeout, self._options.forks
        too_slow = f"not extracted within NEARDUP_EXTRACT_TIMEOUT = {timeout:g} s"
        if most_seconds < timeout:
            too_slow = too_slow.replace("within", f"within {most_seconds:.2g} s, which a slow page may take of")
        start = time.monotonic()
        self.deadline = start + (timeout if forks else min(most_seconds, timeout))
        try:
            with suppress(OSError):  # a worker that is gone gives no answer
                send(self._pipes[0], encode(str(most_seconds if forks and most_seconds < timeout else 0)), *request)
            header, *answer = self._receive(too_slow)
        finally:
            self.seconds = self.cpu_seconds = time.monotonic() - start
        if header == LATE:
            self.cpu_seconds = most_seconds
            raise ExtractionError(too_slow)
        error, self.seconds, self.cpu_seconds = json.loads(header)
        if error:
            raise ExtractionError(error)
        return answer

    def _receive(self, too_slow: str) -> list[bytes]:
        """Return the next message. If the worker ends instead, raise ExtractionError with the reason."""
        try:
            return receive(self._pipes[1])
        except (OSError, EOFError):
            self._requests_left = 0
            status = self.end()
        finally:
            self.deadline = inf
        if self.is_late:
            raise ExtractionError(too_slow)
        ended = f"by signal {-status}" if status is not None and status < 0 else f"with exit status {status}"
        # lxml and other libraries end their process if there is no memory.
        why = self._options.memory_limit if status in _ENDS_WITHOUT_MEMORY else ""
        raise ExtractionError(f"its worker process ended {ended}{why}")

    def end_if_late(self) -> None:
        """End a process that is over its time limit, also one that hangs or reads nothing."""
        if time.monotonic() > self.deadline:
            self.is_late = True
            self.kill()

    def close(self) -> None:
        """End the process, and start no other one."""
        with self._starting:
            self._is_closed = True
            self.kill()

    def kill(self) -> None:
        """Kill the process and everything its extractor started: a pipe that any of them holds open would never end."""
        if self._process is None or self._process.returncode is not None:
            return
        if sys.platform == "win32":
            self._process.kill()
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> int | None:
        """Kill the process, close its pipes, and return its exit status, None if it hangs in a system call.

        Only the thread that serves it may call this: it reads the pipes.
        """
        self.kill()
        with suppress(subprocess.TimeoutExpired):
            status = self._process.wait(GONE_SECONDS) if self._process is not None else None
            for pipe in self._pipes:
                with suppress(OSError):  # the rest of the page has no reader
                    pipe.close()
            return status
        return None


_EXPECTED = 5e-8  # seconds for each byte, until pages are known: as much as trafilatura takes on a fast machine
_TIMES = 10  # a page may always take this many times what other pages take
_FEWEST = 11  # pages that show what is usual
_PAGE = 30_000  # bytes: a page takes the time of so many, however small it is


class TimeBudget:
    """Says how long a page may take, by the time that recent pages took for each byte, in the median.

    A page may always take ten times that, and a tenth of ``seconds``. What pages take beyond ten times comes out of one
    reserve of ``seconds``, which pages that come in time fill again. A source whose page is late has to earn the time
    that the page took: its next pages are refused, and each of them earns what it would usually take.

    While all pages are of one source there is no limit, because there are no others to protect. Call ``expect`` with
    the source of each page as soon as it waits.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._spent = 0.0  # seconds of the reserve
        self._rates = deque([_EXPECTED] * _FEWEST, maxlen=101)  # seconds for each byte
        self._debts: dict[str, float] = {}  # seconds, of sources with a late page
        self._some_sources: set[str] = set()  # at most two
        self._lock = threading.Lock()

    def expect(self, source: str) -> None:
        """Note the source of a page that waits for its turn."""
        if len(self._some_sources) < 2:
            self._some_sources.add(source)

    def limit(self, source: str, size: int) -> float:
        """Return how many seconds a page may take. Raise ExtractionError if its source had a late page."""
        with self._lock:
            if len(self._some_sources) < 2:
                return inf
            if (debt := self._debts.pop(source, 0.0)) <= 0:
                return _TIMES * self._usual(size) + max(self._seconds / 10, self._seconds - self._spent)
            self._debts[source] = debt - self._usual(size)
        raise ExtractionError(
            f"a page of {source} took much longer than pages of other sources, so some of its next pages are left out"
        )

    def add(self, source: str, size: int, limit: float, seconds: float) -> None:
        """Count the time that a page took, whose limit was ``limit``."""
        with self._lock:
            usual = self._usual(size)
            beyond = seconds - _TIMES * usual
            self._spent = max(0.0, self._spent + (beyond if beyond > 0 else -usual))
            self._rates.append(seconds / (size + _PAGE))
            if seconds >= limit:
                self._debts[source] = seconds

    def _usual(self, size: int) -> float:
        return sorted(self._rates)[len(self._rates) // 2] * (size + _PAGE)
