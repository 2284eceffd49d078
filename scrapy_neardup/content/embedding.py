"""Ask the user's own language model for vectors (``NEARDUP_EMBEDDER``), in one worker process of this process.

The worker is made once, so the model is loaded once. All detectors of a process share it. Texts that come while the
worker is busy go to it together. If the model fails or is too slow, documents are judged without a vector.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import lru_cache, partial
from math import inf
from typing import Any, NoReturn, TypeAlias

from scrapy_neardup.content.extractors import Extracted
from scrapy_neardup.content.processes import ExtractionProcesses
from scrapy_neardup.content.worker import Sketching
from scrapy_neardup.content.worker_process import in_this_loop
from scrapy_neardup.document import Document
from scrapy_neardup.evidence.vectors import pack_raw, text_to_embed
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.imports import load_callable
from scrapy_neardup.timings import Timings

logger = logging.getLogger(__name__)

SETTING = "NEARDUP_EMBEDDER"
ALLOWED = "the import path of a callable embed(texts), of a class with such a method, or None"
PAUSE = 10
"""After a failure the model is not asked for so many times as long as the failure took."""

_LEAST_SECONDS = 0.01  # that a failure counts for
_MOST_TOGETHER = 16  # texts
_MOST_REMEMBERED = 1 << 13  # newest texts: copies often have the same title and lead
_EXAMPLE = "The ferry ran aground off the island\nIts steering failed in heavy seas, the coast guard said."

_Job: TypeAlias = tuple[str, Future[bytes]]


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


def no_extraction(html: str, url: str) -> NoReturn:
    """Stand in for the extractor that the worker of a model does not need."""
    raise NotImplementedError


@lru_cache(8)
def shared_embedding(path: str, timeout: float) -> Embedding:
    """Return the embedding of this process for an embedder. Raise SettingsError if the embedder does not work."""
    return Embedding(path, timeout)


class Embedding:
    """Vectors of texts by one embedder.

    ``timeout`` is in seconds, for up to 16 texts. If the embedder fails, is late or ends its process, its texts have no
    vector, and neither have those of the next while: see ``PAUSE``. The first failure is logged, and ``failures``
    counts the texts. Raise SettingsError if the embedder cannot be loaded, or fails for an example.
    """

    def __init__(self, path: str, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.timings = Timings()
        self.failures = 0
        self._path = path
        self._clock = clock
        self._paused_until = -inf
        self._problem = ""
        self._known: OrderedDict[str, bytes] = OrderedDict()
        self._waiting: list[_Job] = []
        self._is_busy = False
        self._lock = threading.RLock()
        self._worker = ExtractionProcesses(
            f"{__name__}.no_extraction",
            workers=1,
            timeout=timeout,
            recycle_after=1 << 31,
            memory=None,
            sketching=Sketching(f"{__name__}.load_embedder", path),
            on_problem=self._note,
        )
        self._version, *vectors = self._answer_of(self._worker.submit_texts([_EXAMPLE]))  # and dimension
        if not vectors:
            self.close()
            raise SettingsError(SETTING, path, self._problem)

    @property
    def identity(self) -> str:
        """Return everything that makes vectors comparable: import path, dimension and version."""
        return f"{self._path} {self._version.decode('utf-8', 'replace')}"

    def ask(self, document: Document) -> asyncio.Future[Document]:
        """Return the document with its vector to come. Ask for many documents before you wait for one."""

        async def answer() -> Document:
            return replace(document, vector=await vector)

        vector = in_this_loop(self.vector(document))
        return asyncio.ensure_future(answer())

    def vector(self, document: Document) -> Future[bytes]:
        return self.submit(text_to_embed(document.title, document.text))

    def submit(self, text: str) -> Future[bytes]:
        """Return the vector of a text to come, packed by ``pack_raw``; b"" if there is none."""
        vector: Future[bytes] = Future()
        with self._lock:
            self._waiting.append((text, vector))
            if not self._is_busy:
                self._send()
        return vector

    def close(self) -> None:
        """End the worker process. Texts have no vectors from now on."""
        self._worker.close()

    def _note(self, problem: str) -> None:
        self._problem = problem.replace(
            "not extracted within NEARDUP_EXTRACT_TIMEOUT", "no answer within NEARDUP_EMBED_TIMEOUT"
        )

    def _answer_of(self, done: Future[Extracted]) -> tuple[bytes, ...]:
        """Return the dimension and version of the model, then the vectors. If it failed, there are none."""
        if (error := done.exception()) is not None:
            self._note(str(error))
            return (b"",)
        return done.result().sketches or (b"",)

    def _send(self) -> None:
        """Answer the texts whose vectors are known, and send the next ones to the worker process."""
        self._is_busy = False
        while self._waiting and not self._is_busy:
            jobs, self._waiting = self._waiting[:_MOST_TOGETHER], self._waiting[_MOST_TOGETHER:]
            texts = list(dict.fromkeys(text for text, _ in jobs if text not in self._known))
            start = self._clock()
            if texts and start >= self._paused_until:
                self._is_busy = True
                self._worker.submit_texts(texts).add_done_callback(partial(self._receive, jobs, texts, start))
            else:
                self._answer(jobs)

    def _receive(self, jobs: list[_Job], texts: list[str], start: float, answer: Future[Extracted]) -> None:
        """Take the vectors from the worker's answer, which a thread brings."""
        with self._lock:
            now = self._clock()
            version, *vectors = self._answer_of(answer)
            if version == self._version and len(vectors) == len(texts):
                self._known.update(zip(texts, vectors, strict=True))
                while len(self._known) > _MOST_REMEMBERED:
                    self._known.popitem(last=False)
                self.timings.add(1000 * (now - start), len(texts))
            else:
                if not self.failures:
                    problem = f"the model changed, its dimension and version were {self.identity}" if version else ""
                    logger.warning(
                        "NEARDUP_EMBEDDER = %s failed, so documents have no vectors; more failures are counted: %s",
                        self._path,
                        problem or self._problem,
                    )
                self._paused_until = now + PAUSE * max(now - start, _LEAST_SECONDS)
            self._answer(jobs)
            self._send()

    def _answer(self, jobs: list[_Job]) -> None:
        for text, vector in jobs:
            known = self._known.get(text)
            self.failures += known is None
            if vector.set_running_or_notify_cancel():
                vector.set_result(known or b"")
