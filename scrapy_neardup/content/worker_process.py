"""One worker process as its parent sees it: start it, send pages, read answers, and end it in any state."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple, NoReturn, cast

from scrapy_neardup.content.outcome import Extracted, explain_memory_limit
from scrapy_neardup.content.worker import FAILED, LATE, WorkerOptions, decode, encode, receive, send
from scrapy_neardup.exceptions import ExtractionError

STARTUP_SECONDS = 60.0
GONE_SECONDS = 5.0
"""How long to wait for a process or thread that was ended: a killed process takes milliseconds."""

_ENDS_WITHOUT_MEMORY = (-signal.SIGABRT, -signal.SIGSEGV)


class Answer(NamedTuple):
    """What a worker process made of a request: the text of a page, and the sketch of it or of each text."""

    extracted: Extracted
    seconds: float  # that extraction took
    problem: str  # why there is no sketch


class WorkerProcess:
    """One worker process, and its pipes. It is usable for ``most_pages``."""

    def __init__(self, options: WorkerOptions, most_pages: int) -> None:
        # Outside the terminal's process group: Ctrl-C is for the crawl, which ends its workers when it has their pages.
        separate: dict[str, Any] = (
            {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
            if sys.platform == "win32"
            else {"start_new_session": True}
        )
        # A large buffer: most answers then take one read, and each read releases the interpreter lock.
        self._process = subprocess.Popen(
            options.command(), bufsize=1 << 16, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **separate
        )
        self._requests = cast("BinaryIO", self._process.stdin)
        self._answers = cast("BinaryIO", self._process.stdout)
        self._options = options
        self._pages_left = most_pages
        self.deadline = time.monotonic() + STARTUP_SECONDS
        self.is_late = False
        self.seconds = 0.0  # CPU seconds of the last request; seconds of the clock if the worker did not answer it

    def wait_until_ready(self) -> None:
        """Wait for the worker's first answer. Raise ExtractionError if none comes in time."""
        try:
            self._receive()
        except (OSError, EOFError):
            self._raise_lost(f"its worker process did not start within {STARTUP_SECONDS:g} s")

    def ask(self, request: Sequence[bytes], most_seconds: float) -> Answer:
        """Return the answer to a request. Raise ExtractionError if the worker fails, ends or takes too long.

        ``most_seconds`` are CPU seconds if the worker forks, so that a busy machine makes no page late.
        """
        self._pages_left -= 1
        timeout, forks = self._options.timeout, self._options.forks
        too_slow = f"not extracted within NEARDUP_EXTRACT_TIMEOUT = {timeout:g} s"
        if most_seconds < timeout:
            too_slow = too_slow.replace("within", f"within {most_seconds:.2g} s, which its source may take of")
        start = time.monotonic()
        self.deadline = start + (timeout if forks else min(most_seconds, timeout))
        try:
            send(self._requests, encode(str(most_seconds if forks and most_seconds < timeout else 0)), *request)
            kind, *parts = self._receive()
        except (OSError, EOFError):
            self.seconds = time.monotonic() - start
            self._raise_lost(too_slow)
        if kind == LATE:
            self.seconds = most_seconds
            raise ExtractionError(too_slow)
        seconds, cpu_seconds, text, problem, *sketches = parts
        self.seconds = float(cpu_seconds)
        if kind == FAILED:
            raise ExtractionError(decode(text))
        return Answer(Extracted(decode(text), tuple(sketches)), float(seconds), decode(problem))

    def _receive(self) -> list[bytes]:
        message = receive(self._answers)
        self.deadline = float("inf")
        return message

    def _raise_lost(self, too_slow: str) -> NoReturn:
        """Raise ExtractionError with the reason why the process stopped answering."""
        self._pages_left = 0
        self.kill()
        status = self.wait()
        if self.is_late:
            raise ExtractionError(too_slow)
        ended = f"by signal {-status}" if status is not None and status < 0 else f"with exit status {status}"
        # lxml and other libraries end their process if there is no memory.
        why = explain_memory_limit(self._options.memory) if status in _ENDS_WITHOUT_MEMORY else ""
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
