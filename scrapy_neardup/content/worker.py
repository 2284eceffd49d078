"""The program of a worker process, and the frames in which it talks to its parent.

A frame is a struct with lengths, and then bytes of these lengths. Nothing is pickled: anybody may have written a page
that a worker reads, so its answers are read as texts and sketches only.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import accumulate, pairwise
from typing import BinaryIO, NamedTuple, TypeAlias

from scrapy_neardup.content.decoding import decode_as, decode_html
from scrapy_neardup.content.extractors import Extractor, load_extractor
from scrapy_neardup.content.outcome import checked_text, explain_failure, explain_memory_limit
from scrapy_neardup.imports import load_callable

REQUEST = struct.Struct(">cIII")  # kind, bytes of the url, of the name of the encoding and of the page
ANSWER = struct.Struct(">cQd")  # kind, bytes of the text, of joined sketches or of what is wrong, seconds of a text
TEXT, BYTES = b"t", b"b"  # a page as text, or to be decoded; answered by its text, and then the text's sketch
TEXTS = b"s"  # to be sketched, joined; answered by their sketches
READY, DONE, FAILED = b"r", b"+", b"-"

COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from scrapy_neardup.content import worker; worker.main()"
)
"""Run it with ``arguments``. ``multiprocessing`` would import the user's script, and crawl a second time if that has no
``if __name__ == "__main__"``."""


Sketch: TypeAlias = Callable[[Sequence[str]], list[bytes]]


class Sketching(NamedTuple):
    """How workers sketch the texts they extract. They treat a sketch as bytes.

    ``factory`` is an import path. A worker calls it with ``options`` when it starts, and gets a callable that makes one
    sketch for each of several texts.
    """

    factory: str
    options: str


def arguments(
    extractor: str, timeout: float, most_characters: int, memory: int | None, sketching: Sketching | None
) -> list[str]:
    """Return the command line of a worker, with the import path of its parent."""
    options = {
        "extractor": extractor,
        "timeout": timeout,
        "most_characters": most_characters,
        "memory": memory,
        "sketching": sketching,
    }
    return [sys.executable, "-c", COMMAND, json.dumps(sys.path), json.dumps(options)]


def read(pipe: BinaryIO, size: int) -> bytes:
    """Read bytes. Raise EOFError if the other side is gone."""
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def join(parts: Sequence[bytes]) -> bytes:
    """Join several byte strings to one frame."""
    return b"".join((struct.pack(f">I{len(parts)}I", len(parts), *map(len, parts)), *parts))


def split(frame: bytes) -> list[bytes]:
    """Return the byte strings that were joined."""
    (count,) = struct.unpack_from(">I", frame)
    ends = list(accumulate(struct.unpack_from(f">{count}I", frame, 4), initial=4 + 4 * count))
    return [frame[start:end] for start, end in pairwise(ends)]


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def main() -> None:
    """Extract and sketch pages for the parent process until it is gone."""
    options = json.loads(sys.argv[2])
    requests, answers = _pipes()
    extract = _load(options["extractor"])
    sketch = _load_sketch(options["sketching"])
    alarm, limit = _alarm(), 2 * options["timeout"] + 10
    memory = options["memory"]
    if memory is not None:
        _limit_memory(memory)
    try:
        _send(answers, [_frame(READY, b"")])
        while True:
            kind, *sizes = REQUEST.unpack(read(requests, REQUEST.size))
            url, encoding, page = (read(requests, size) for size in sizes)
            alarm(limit)
            frames: list[bytes] = []
            if kind == TEXTS:
                texts = list(map(decode, split(page)))
            else:
                start = time.perf_counter()
                html = partial(_html, kind, page, encoding.decode("ascii"))
                outcome, text = _outcome(extract, html, decode(url), options["most_characters"], memory)
                frames, texts = [_frame(outcome, encode(text), time.perf_counter() - start)], [text] * (outcome == DONE)
            if sketch is not None and texts:
                frames.append(_sketched(sketch, texts))
            alarm(0)
            # Send all at once: the thread that reads them waits for the interpreter lock each time it wakes.
            _send(answers, frames)
    except (EOFError, BrokenPipeError):
        os._exit(0)  # do not wait for threads that the extractor left behind


def _html(kind: bytes, page: bytes, encoding: str) -> str:
    if kind == TEXT:
        return decode(page)
    return decode_as(page, encoding) if encoding else decode_html(page)


def _outcome(
    extract: Extractor, html: Callable[[], str], url: str, most_characters: int, memory: int | None
) -> tuple[bytes, str]:
    try:
        return DONE, checked_text(extract(html(), url), most_characters)
    except MemoryError as error:
        return FAILED, explain_failure(error) + explain_memory_limit(memory)
    except BaseException as error:  # whatever a page raises, the worker goes on
        return FAILED, explain_failure(error)


def _sketched(sketch: Sketch, texts: list[str]) -> bytes:
    try:
        return _frame(DONE, join(sketch(texts)))
    except BaseException as error:  # whatever a sketch raises, the worker goes on
        return _frame(FAILED, encode(explain_failure(error)))


def _load_sketch(sketching: tuple[str, str] | None) -> Sketch | None:
    if sketching is None:
        return None
    factory, options = sketching
    try:
        sketch: Sketch = load_callable("factory", factory, "a callable")(options)
        return sketch
    except BaseException as error:
        reason = explain_failure(error)

    def fail(texts: Sequence[str]) -> list[bytes]:
        raise RuntimeError(reason)

    return fail


def _frame(kind: bytes, data: bytes, seconds: float = 0.0) -> bytes:
    return ANSWER.pack(kind, len(data), seconds) + data


def _send(answers: BinaryIO, frames: Sequence[bytes]) -> None:
    answers.write(b"".join(frames))
    answers.flush()


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return pipes for pages and answers. From now on an extractor that prints does so to standard error."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # the parent has no standard error
        os.dup2(nothing, 1)
    return requests, answers


def _load(name: str) -> Extractor:
    try:
        if name == "trafilatura":
            import_module(name)  # now: the time limit of the first page does not count it
        return load_extractor(name)
    except BaseException as error:
        # A worker that ends here would be started again for every page.
        reason = explain_failure(error)

    def fail(html: str, url: str) -> str:
        raise ImportError(f"NEARDUP_EXTRACTOR = {name!r} cannot be loaded in a worker process: {reason}")

    return fail


def _alarm() -> Callable[[float], object]:
    """Return a function that sets an alarm. It ends this worker if a page never ends and the parent was killed."""
    if sys.platform == "win32":
        return lambda seconds: None
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)


def _limit_memory(most: int) -> None:
    """Let this process take ``most`` bytes more than it has now. Only on Linux: other systems count more than data."""
    if sys.platform != "linux":
        return
    import resource

    with suppress(OSError, ValueError, StopIteration):
        with open("/proc/self/status", encoding="ascii") as status:
            now = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData:"))
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = now + most
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard))
