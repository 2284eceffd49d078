"""A worker process from both sides: its program, how its parent serves it, and the bytes in which they talk.

A message is several byte strings, after their number and lengths. Nothing is pickled. A page may be hostile, so the
parent reads a worker's answers only as JSON, texts and sketches.

A request is PAGE with a url, the name of an encoding and a page, or TEXTS with texts to be sketched. An answer is JSON
with the error message, the seconds and the CPU seconds that it took, and then the text of the page, or the sketches.
"""

import gc
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from math import inf
from typing import Any, BinaryIO, NamedTuple, NoReturn, cast

from scrapy_neardup.content.extractors import BUILT_IN, checked_text, load_extractor
from scrapy_neardup.content.head import decode_html
from scrapy_neardup.exceptions import ExtractionError, explain_failure
from scrapy_neardup.settings.values import load_callable

PAGE = b"p"
TEXTS = b"t"

# Its arguments are the import path of the parent, and the options. ``multiprocessing`` would import the user's script,
# and crawl a second time if that has no ``if __name__ == "__main__"``.
# What it loads first is no garbage, and it looks for none.
COMMAND = (
    "import gc, json, sys; gc.set_threshold(0); sys.path[:] = json.loads(sys.argv[1]);"
    " from scrapy_neardup.content import worker; worker.main()"
)

# New objects after which a process looks for garbage. Python's default takes 6 % of the time of a sketch and a check.
OBJECTS_A_COLLECTION = 10_000

STARTUP_SECONDS = 60.0

# How long to wait for a process or thread that was ended: a killed process takes milliseconds.
GONE_SECONDS = 5.0

# What is said of a worker that reads no pages, if it is too slow.
NO_ANSWER = "did not answer within {seconds:g} s"


class WorkerOptions(NamedTuple):
    """What a worker needs to know when it starts.

    ``sketching`` is an import path and its argument. The worker calls it when it starts, and gets a callable that makes
    one sketch for each of several texts. To the worker a sketch is bytes.
    """

    extractor: str | None
    timeout: float = 10.0  # seconds for a page
    sketching: tuple[str, str] | None = None
    memory: int | None = 2_000_000_000  # bytes that it may take for its pages, on Linux
    too_slow: str = "not extracted within NEARDUP_EXTRACT_TIMEOUT = {seconds:g} s"

    @property
    def memory_limit(self) -> str:
        """Return the end of a message about a page that took, or may have taken, too much memory."""
        return "" if self.memory is None else f"; a worker process may take {self.memory} bytes"


def send(pipe: BinaryIO, *parts: bytes) -> None:
    # All at once: the thread that reads it waits for the interpreter lock each time it wakes.
    pipe.write(b"".join((struct.pack(f">I{len(parts)}Q", len(parts), *map(len, parts)), *parts)))
    pipe.flush()


def receive(pipe: BinaryIO) -> list[bytes]:
    """Read a message. Raise EOFError if the other side is gone."""
    (count,) = struct.unpack(">I", _read(pipe, 4))
    return [_read(pipe, size) for size in struct.unpack(f">{count}Q", _read(pipe, 8 * count))]


def _read(pipe: BinaryIO, size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def main() -> None:
    """Extract and sketch pages for the parent process until it is gone."""
    options = WorkerOptions(*json.loads(sys.argv[2]))
    requests, answers = _pipes()
    if built_in := BUILT_IN.get(options.extractor or ""):
        _load_or_fail(lambda: import_module(built_in.module))  # it does not count for the time limit of the first page
    factory, argument = options.sketching or ("", "")
    sketch = _load_or_fail(lambda: factory and load_callable("factory", factory, "a callable")(argument))
    gc.set_threshold(OBJECTS_A_COLLECTION)  # the user's own extractor may leave garbage
    extract = _load_or_fail(lambda: load_extractor(options.extractor))
    if options.memory is not None:
        _limit_memory(options.memory)
    gc.freeze()  # what is loaded stays

    def answer_to(kind: bytes, *parts: bytes) -> list[bytes]:
        if kind == TEXTS:
            return sketch(list(map(decode, parts))) if sketch and parts else []
        url, encoding, page = parts
        html = decode_html(page, decode(encoding))
        return [encode(checked_text(extract(html, decode(url))))]

    try:
        send(answers, b"ready")
        while True:
            request = receive(requests)
            _set_alarm(2 * options.timeout + 10)
            start = time.perf_counter()
            cpu_start = time.process_time()
            answer: list[bytes] = []
            error = ""
            try:
                answer = answer_to(*request)
            except BaseException as failure:  # whatever a page raises, the worker goes on
                error = explain_failure(failure) + (options.memory_limit if isinstance(failure, MemoryError) else "")
            _set_alarm(0)
            header = error, time.perf_counter() - start, time.process_time() - cpu_start
            send(answers, json.dumps(header).encode(), *answer)
    except (EOFError, BrokenPipeError):
        os._exit(0)  # do not wait for threads that the extractor left behind


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return pipes for pages and answers. From now on an extractor that prints does so to standard error."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # the parent has no standard error
        os.dup2(nothing, 1)
    return requests, answers


def _load_or_fail(load: Callable[[], Any]) -> Any:
    """Return the result of ``load``. If it cannot be loaded, return a function that raises ImportError.

    A worker that ends while it starts would be started again for every page.
    """
    try:
        return load()
    except BaseException as error:
        reason = f"cannot be loaded in a worker process: {explain_failure(error)}"

    def fail(*arguments: object) -> NoReturn:
        raise ImportError(reason)

    return fail


def _limit_memory(most: int) -> None:
    """Let this process take ``most`` bytes more than it has now. Other systems than Linux count more than data."""
    if sys.platform != "linux":
        return
    import resource

    with suppress(OSError, ValueError):
        with open("/proc/self/statm", encoding="ascii") as status:
            wanted = int(status.read().split()[5]) * resource.getpagesize() + most
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard))


def _set_alarm(seconds: float) -> None:
    """End this process after so many seconds; 0 means never. If its parent is killed, nobody else would."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)


class WorkerProcess:
    """A worker process and its pipes, as its parent has them.

    A new process takes the place of one that failed, or had ``most_requests``.
    """

    def __init__(self, options: WorkerOptions, most_requests: int) -> None:
        self.deadline = inf
        self.is_late = False
        self.has_read_page = False
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
                [
                    sys.executable,
                    "-c",
                    COMMAND,
                    json.dumps([each for each in sys.path if isinstance(each, str)]),
                    json.dumps(self._options),
                ],
                bufsize=1 << 16,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
            )
        self._pipes = [cast("BinaryIO", self._process.stdin), cast("BinaryIO", self._process.stdout)]
        self._requests_left = self._most_requests
        self.is_late = self.has_read_page = False
        self.deadline = time.monotonic() + STARTUP_SECONDS
        self._receive(f"its worker process did not start within {STARTUP_SECONDS:g} s")

    def ask(self, *request: bytes) -> list[bytes]:
        """Return the answer to a request: the text of a page, or the sketches of texts.

        Raise ExtractionError if the worker fails, ends or takes too long.
        """
        self._requests_left -= 1
        start = time.monotonic()
        self.deadline = start + self._options.timeout
        try:
            with suppress(OSError):  # a worker that is gone gives no answer
                send(self._pipes[0], *request)
            header, *answer = self._receive(self._options.too_slow.format(seconds=self._options.timeout))
        finally:
            self.seconds = self.cpu_seconds = time.monotonic() - start
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
        ended = f"with exit status {status}"
        if status is not None and status < 0:
            ended = f"by signal {-status}"
        # lxml and other libraries abort the process when memory runs out.
        why = self._options.memory_limit if status in (-signal.SIGABRT, -signal.SIGSEGV) else ""
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
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> int | None:
        """Kill the process, close its pipes, and return its exit status, None if it hangs in a system call.

        Only the thread that serves it may call this: it reads the pipes.
        """
        self.kill()
        with suppress(subprocess.TimeoutExpired):
            status = None if self._process is None else self._process.wait(GONE_SECONDS)
            for pipe in self._pipes:
                with suppress(OSError):  # the rest of the page has no reader
                    pipe.close()
            return status
        return None
