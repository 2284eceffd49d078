"""Ask the user's own language model for vectors (``NEARDUP_EMBEDDER``), in one worker process of this process.

The worker is made once, so the model is loaded once. All detectors of a process share it. Texts that come while the
worker is busy go to it together. If the model fails or is too slow, documents are judged without a vector.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import lru_cache
from queue import SimpleQueue
from typing import Any

from scrapy_neardup.content.processes import ExtractionProcesses
from scrapy_neardup.content.worker import Sketching, WorkerOptions
from scrapy_neardup.document import Document
from scrapy_neardup.evidence.vectors import pack_raw, text_to_embed
from scrapy_neardup.exceptions import ExtractionError, SettingsError
from scrapy_neardup.imports import load_callable
from scrapy_neardup.timings import Timings

logger = logging.getLogger(__name__)

SETTING = "NEARDUP_EMBEDDER"
PAUSE = 10
"""After a failure the model is not asked for so many times as long as the failure took."""

SECONDS = 60.0
"""How long a model may take for the texts that it gets together."""

_MOST_TOGETHER = 16  # texts
_MOST_REMEMBERED = 1 << 13  # newest texts: copies often have the same title and lead
_EXAMPLE = "The ferry ran aground off the island\nIts steering failed in heavy seas, the coast guard said."


def load_embedder(path: str) -> Callable[[Sequence[str]], list[bytes]]:
    """Return the function that the worker process calls with texts.

    It returns the dimension and the version of the model, and then one packed vector for each text.
    """
    found: Any = load_callable(
        SETTING, path, "the import path of a callable embed(texts), of a class with such a method, or None"
    )
    made = found() if isinstance(found, type) else found
    embed: Callable[[list[str]], object] = getattr(made, "embed", made)

    def answer(texts: Sequence[str]) -> list[bytes]:
        packed = pack_raw(embed(list(texts)), len(texts))
        return [f"{max(map(len, packed)) // 2} {getattr(made, 'version', '')}".encode("utf-8", "replace"), *packed]

    return answer


@lru_cache(8)
def shared_embedding(path: str, timeout: float = SECONDS) -> Embedding:
    """Return the embedding of this process for an embedder. Raise SettingsError if the embedder does not work."""
    return Embedding(path, timeout)


class Embedding:
    """Vectors of texts by one embedder.

    ``timeout`` is in seconds, for up to 16 texts. If the embedder fails, is late or ends its process, its texts have no
    vector, and neither have those of the next while: see ``PAUSE``. The first failure is logged, and ``failures``
    counts the texts. ``identity`` is everything that makes vectors comparable: import path, dimension and version.
    Raise SettingsError if the embedder cannot be loaded, or fails for an example.
    """

    def __init__(self, path: str, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.timings = Timings()
        self.failures = 0
        self._path = path
        self._clock = clock
        self._paused_until = clock()
        self._model = b""  # its dimension and version
        self._known: dict[str, bytes] = {}
        self._waiting: SimpleQueue[tuple[str, Future[bytes]]] = SimpleQueue()
        factory = f"{__name__}.load_embedder"  # stands in for an extractor too: no page comes
        options = WorkerOptions(factory, timeout, memory=None, sketching=Sketching(factory, path))
        self._worker = ExtractionProcesses(options, recycle_after=1 << 31)
        try:
            self._vectors_of([_EXAMPLE])
        except ExtractionError as error:
            self.close()
            raise SettingsError(SETTING, path, _explained(error)) from error
        self.identity = f"{path} {self._model.decode('utf-8', 'replace')}"
        threading.Thread(target=self._lead, name="neardup-embed", daemon=True).start()

    async def ask(self, document: Document) -> Document:
        """Return the document with its vector. Texts of tasks that ask at the same time go to the model together."""
        vector = self.submit(text_to_embed(document.title, document.text))
        return replace(document, vector=await asyncio.wrap_future(vector))

    def submit(self, text: str) -> Future[bytes]:
        """Return the vector of a text to come, packed by ``pack_raw``; b"" if there is none."""
        vector: Future[bytes] = Future()
        if (known := self._known.get(text)) is None:
            self._waiting.put((text, vector))
        else:
            vector.set_result(known)
        return vector

    def close(self) -> None:
        """End the worker process. Texts that are not known have no vectors from now on."""
        self._worker.close()

    def _lead(self) -> None:
        """Send the texts that wait to the worker, in a thread of its own."""
        while True:
            jobs = self._next_jobs()
            if self._clock() >= self._paused_until:
                self._embed(list(dict.fromkeys(text for text, _ in jobs if text not in self._known)))
            for text, vector in jobs:
                known = self._known.get(text)
                self.failures += known is None
                if vector.set_running_or_notify_cancel():
                    vector.set_result(known or b"")
            for text in list(self._known)[:-_MOST_REMEMBERED]:
                del self._known[text]

    def _next_jobs(self) -> list[tuple[str, Future[bytes]]]:
        jobs = [self._waiting.get()]
        while len(jobs) < _MOST_TOGETHER and not self._waiting.empty():
            jobs.append(self._waiting.get())
        return jobs

    def _embed(self, texts: Sequence[str]) -> None:
        if not texts:
            return
        start = self._clock()
        try:
            vectors = self._vectors_of(texts)
        except ExtractionError as error:
            self._paused_until = self._clock() + PAUSE * (self._clock() - start)
            if not self.failures:
                logger.warning(
                    "NEARDUP_EMBEDDER = %s failed, so documents have no vectors; more failures are counted: %s",
                    self._path,
                    _explained(error),
                )
        else:
            self._known.update(zip(texts, vectors, strict=True))
            self.timings.add(1000 * (self._clock() - start), len(texts))

    def _vectors_of(self, texts: Sequence[str]) -> Sequence[bytes]:
        """Return the vectors of texts. Raise ExtractionError if the worker fails, or has another model than before."""
        model, *vectors = self._worker.submit_texts(texts).result().sketches
        self._model = self._model or model
        if model != self._model:  # the worker was started again
            raise ExtractionError("the model changed, so the crawl must be started again")
        return vectors


def _explained(error: ExtractionError) -> str:
    return str(error).replace("not extracted within NEARDUP_EXTRACT_TIMEOUT =", "no answer within")
