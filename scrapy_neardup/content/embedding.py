"""Ask the user's own language model for vectors (``NEARDUP_EMBEDDER``), in one worker process of this process.

The worker is made once, so the model is loaded once. All detectors of a process share it. Texts that come while the
worker is busy go to it together. If the model fails or is too slow, documents are judged without a vector.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from math import inf
from typing import Any

from scrapy_neardup.content.worker import TEXTS, Sketching, WorkerOptions, encode
from scrapy_neardup.content.worker_process import STARTUP_SECONDS, WorkerProcess, in_this_loop
from scrapy_neardup.document import Document
from scrapy_neardup.evidence.vectors import pack_raw, text_to_embed
from scrapy_neardup.exceptions import ExtractionError, SettingsError, explain_failure
from scrapy_neardup.imports import load_callable
from scrapy_neardup.timings import Timings

logger = logging.getLogger(__name__)

SETTING = "NEARDUP_EMBEDDER"
ALLOWED = "the import path of a callable embed(texts), of a class with such a method, or None"
PAUSE = 60.0  # seconds without the model after it was late or its process ended

_FACTORY = f"{__name__}.load_embedder"
_MOST_TOGETHER = 16  # texts
_MOST_REMEMBERED = 8 << 20  # bytes of vectors of the newest texts: copies often have the same title and lead
_EXAMPLE = "The ferry ran aground off the island\nIts steering failed in heavy seas, the coast guard said."


def load_embedder(path: str) -> Callable[[Sequence[str]], list[bytes]]:
    """Return the function that the worker process calls with texts.

    It returns the dimension and the version of the model, and then one packed vector for each text.
    """
    found: Any = load_callable(SETTING, path, ALLOWED)
    made = found() if isinstance(found, type) else found
    embed: Callable[[list[str]], object] = getattr(made, "embed", made)
    version = str(getattr(made, "version", ""))

    def answer(texts: Sequence[str]) -> list[bytes]:
        packed = pack_raw(embed(list(texts)), len(texts))
        dimension = max(map(len, packed)) // 2
        return [f"{dimension} {version}".encode("utf-8", "replace"), *packed]

    return answer


@lru_cache(8)
def shared_embedding(path: str, timeout: float) -> Embedding:
    """Return the embedding of this process for an embedder. Raise SettingsError if the embedder does not work."""
    return Embedding(path, timeout)


class Embedding:
    """Vectors of texts by one embedder.

    ``timeout`` is in seconds, for up to 16 texts. If the embedder fails, its texts have no vector. If it is late or its
    process ends, no text has a vector for ``PAUSE`` seconds, and then a new process is started. The first failure is
    logged, and ``failures`` counts the texts. Raise SettingsError if the embedder cannot be loaded, or fails for an
    example.
    """

    def __init__(self, path: str, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.timings = Timings()
        self.failures = 0
        self.version = ""  # dimension and version, as the worker says
        self._path = path
        self._timeout = timeout
        self._clock = clock
        self._paused_until = -inf
        self._child: WorkerProcess | None = None
        self._jobs: queue.SimpleQueue[tuple[str, Future[bytes]]] = queue.SimpleQueue()
        self._known: OrderedDict[str, bytes] = OrderedDict()
        self._known_bytes = 0
        self._lock = threading.Lock()
        self._leader: threading.Thread | None = None
        try:
            self._ask([_EXAMPLE])
        except (ExtractionError, ValueError) as error:
            self.close()
            raise SettingsError(SETTING, path, str(error)) from error
        atexit.register(self.close)

    @property
    def identity(self) -> str:
        """Return everything that makes vectors comparable: import path, dimension and version."""
        return f"{self._path} {self.version}"

    def ask(self, document: Document) -> asyncio.Future[Document]:
        """Return the document with its vector to come. Ask for many documents before you wait for one."""

        async def answer() -> Document:
            return replace(document, vector=await vector)

        vector = in_this_loop(self.submit(text_to_embed(document.title, document.text)))
        return asyncio.ensure_future(answer())

    def with_vector(self, document: Document) -> Document:
        """Return the document with its vector. Use it only where nothing else waits."""
        return replace(document, vector=self.submit(text_to_embed(document.title, document.text)).result())

    def submit(self, text: str) -> Future[bytes]:
        """Return the vector of a text to come, packed by ``pack_raw``; b"" if there is none."""
        vector: Future[bytes] = Future()
        with self._lock:
            if (known := self._known.get(text)) is not None:
                vector.set_result(known)
                return vector
            self._jobs.put((text, vector))
            if self._leader is None:
                # A daemon thread: the process must not wait for it when it ends.
                self._leader = threading.Thread(target=self._lead, name="neardup-embed", daemon=True)
                self._leader.start()
        return vector

    def close(self) -> None:
        """End the worker process. The next text would start a new one."""
        if (child := self._child) is not None:
            child.kill()
            child.wait()

    def _lead(self) -> None:
        """Send texts to the worker process, as many together as wait."""
        while True:
            jobs = [self._jobs.get()]
            while len(jobs) < _MOST_TOGETHER and not self._jobs.empty():
                jobs.append(self._jobs.get())
            texts = list(dict.fromkeys(text for text, _ in jobs))
            vectors = dict(zip(texts, self._vectors(texts), strict=True))
            for text, vector in jobs:
                if vector.set_running_or_notify_cancel():
                    vector.set_result(vectors[text])

    def _vectors(self, texts: list[str]) -> list[bytes]:
        """Return the vectors of texts, b"" for each if the embedder fails. Never raise."""
        with self._lock:
            known = [self._known.get(text, b"") for text in texts]
        if all(known):
            return known
        if self._clock() < self._paused_until:
            self.failures += len(texts)
            return [b""] * len(texts)
        try:
            vectors = self._ask(texts)
        except BaseException as error:  # whatever happens, the documents are judged
            if not self.failures:
                logger.warning(
                    "NEARDUP_EMBEDDER = %s failed, so documents have no vectors; more failures are counted: %s",
                    self._path,
                    error if isinstance(error, ExtractionError) else explain_failure(error),
                )
            self.failures += len(texts)
            return [b""] * len(texts)
        with self._lock:
            for text, vector in zip(texts, vectors, strict=True):
                self._known_bytes += len(vector) if text not in self._known else 0
                self._known[text] = vector
            while self._known_bytes > _MOST_REMEMBERED:
                self._known_bytes -= len(self._known.popitem(last=False)[1])
        return vectors

    def _ask(self, texts: Sequence[str]) -> list[bytes]:
        """Return the worker's answer. Raise ExtractionError or ValueError if there is none that can be used."""
        child = self._usable_child()
        start = time.perf_counter()
        try:
            with _killed_after(self._timeout, child):
                answer = child.ask((TEXTS, *map(encode, texts)), inf)
        except ExtractionError as error:
            self._paused_until = self._clock() + PAUSE
            is_late = time.perf_counter() - start >= self._timeout
            why = f"no answer within NEARDUP_EMBED_TIMEOUT = {self._timeout:g} s" if is_late else error
            raise ExtractionError(f"{why}; the next try is in {PAUSE:g} s") from None
        if answer.problem:
            raise ExtractionError(answer.problem)
        version, *vectors = answer.extracted.sketches
        self.version = self.version or version.decode("utf-8", "replace")
        dimension = int(self.version.split()[0])
        if version.decode("utf-8", "replace") != self.version or len(vectors) != len(texts):
            raise ValueError(f"the model changed: dimension and version were {self.version!r}")
        if any(len(each) not in (0, 2 * dimension) for each in vectors):
            raise ValueError("the worker's answer is damaged")
        self.timings.add(1000 * (time.perf_counter() - start), len(texts))
        return vectors

    def _usable_child(self) -> WorkerProcess:
        if self._child is None or not self._child.is_usable():
            if self._child is not None:
                self._child.end()
            options = WorkerOptions("", self._timeout, 0, None, Sketching(_FACTORY, self._path))
            self._child = WorkerProcess(options, most_pages=1 << 31)
            with _killed_after(STARTUP_SECONDS, self._child):
                self._child.wait_until_ready()
        return self._child


@contextmanager
def _killed_after(seconds: float, child: WorkerProcess) -> Iterator[None]:
    timer = threading.Timer(seconds, child.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
