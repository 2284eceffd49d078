"""What a worker process of ExtractionProcesses does, and the frames it is spoken to in.

A frame is a struct and what it gives the length of. Nothing is pickled: a worker reads pages that anybody may have
written, and its answers are read as text and nothing else.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import BinaryIO, NamedTuple

from scrapy_neardup.content.decoding import decode_html
from scrapy_neardup.content.extractors import Extractor, load_extractor
from scrapy_neardup.content.outcome import checked_text, failure
from scrapy_neardup.imports import load_callable

REQUEST = struct.Struct(">cII")  # kind, bytes of the url, bytes of the page
ANSWER = struct.Struct(">cQQd")  # kind, bytes of the text or of what is wrong, of what is besides, seconds for that
TEXT, BYTES = b"t", b"b"  # a page as text, or to be decoded
READY, DONE, FAILED = b"r", b"+", b"-"

COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from scrapy_neardup.content import worker; worker.main()"
)
"""Run with ``arguments``. ``multiprocessing`` would import the script that is run, and so crawl a second time where
its last lines are not under ``if __name__ == "__main__"``."""


class Besides(NamedTuple):
    """What a worker makes of each text besides: ``factory``, an import path, called with what ``options`` gives, makes
    the callable from a text to bytes. ``options`` is called when a worker starts, and not in the event loop.
    """

    factory: str
    options: Callable[[], str]


def arguments(extractor: str, timeout: float, most_characters: int, besides: tuple[str, str] | None) -> list[str]:
    """The command line of a worker; it imports from where its parent does."""
    options = {"extractor": extractor, "timeout": timeout, "most_characters": most_characters, "besides": besides}
    return [sys.executable, "-c", COMMAND, json.dumps(sys.path), json.dumps(options)]


def read(pipe: BinaryIO, size: int) -> bytes:
    """Raises EOFError where the other side is gone."""
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def main() -> None:
    """Answer pages until the parent is gone."""
    options = json.loads(sys.argv[2])
    requests, answers = _pipes()
    extract = _loaded(options["extractor"])
    make = _besides(options["besides"])
    alarm, limit = _alarm(), 2 * options["timeout"] + 10
    try:
        _answer(answers, READY)
        while True:
            kind, url_size, size = REQUEST.unpack(read(requests, REQUEST.size))
            url, page = decode(read(requests, url_size)), read(requests, size)
            alarm(limit)
            kind, text = _outcome(extract, kind, page, url, options["most_characters"])
            start = time.perf_counter()
            besides = _made(make, text) if kind == DONE else b""
            alarm(0)
            _answer(answers, kind, encode(text), besides, time.perf_counter() - start)
    except (EOFError, BrokenPipeError):
        os._exit(0)  # threads that an extractor left behind would be waited for


def _outcome(extract: Extractor, kind: bytes, page: bytes, url: str, most_characters: int) -> tuple[bytes, str]:
    try:
        html = decode(page) if kind == TEXT else decode_html(page)
        return DONE, checked_text(extract(html, url), most_characters)
    except BaseException as error:  # a page must not end its worker, whatever it raises
        return FAILED, failure(error)


def _made(make: Callable[[str], bytes] | None, text: str) -> bytes:
    try:
        return make(text) if make is not None and text else b""
    except Exception:  # who needs it makes it again, and says what is wrong
        return b""


def _besides(named: tuple[str, str] | None) -> Callable[[str], bytes] | None:
    if named is None:
        return None
    factory, options = named
    try:
        made: Callable[[str], bytes] = load_callable("besides", factory, "a callable")(options)
    except Exception:
        return None
    return made


def _answer(answers: BinaryIO, kind: bytes, data: bytes = b"", besides: bytes = b"", seconds: float = 0.0) -> None:
    answers.write(ANSWER.pack(kind, len(data), len(besides), seconds) + data + besides)
    answers.flush()


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for pages and answers alone: what an extractor prints goes to standard error."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # the parent has no standard error
        os.dup2(nothing, 1)
    return requests, answers


def _loaded(name: str) -> Extractor:
    try:
        if name == "trafilatura":
            import_module(name)  # now, and not on the time of the first page
        return load_extractor(name)
    except BaseException as error:
        # A worker that ended here would be started again for every page.
        what = failure(error)

    def fail(html: str, url: str) -> str:
        raise ImportError(f"NEARDUP_EXTRACTOR = {name!r} cannot be loaded in a worker process: {what}")

    return fail


def _alarm() -> Callable[[float], object]:
    """The end of a worker in an endless page whose parent was killed; a parent that lives is quicker."""
    if sys.platform == "win32":
        return lambda seconds: None
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
