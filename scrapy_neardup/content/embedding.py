"""Ask the user's own language model for vectors (``NEARDUP_EMBEDDER``), in one worker process of this process.

The worker is made once, so the model is loaded once. All detectors of a process share it. Texts that come while the
worker is busy go to it together. If the model fails or is too slow, documents are judged without a vector.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from scrapy_neardup.content.processes import ExtractionProcesses
from scrapy_neardup.content.worker import NO_ANSWER, WorkerOptions
from scrapy_neardup.document import Document
from scrapy_neardup.evidence.sources import Newest
from scrapy_neardup.evidence.vectors import pack_raw, text_to_embed
from scrapy_neardup.exceptions import ExtractionError, SettingsError
from scrapy_neardup.settings.values import load_callable

logger = logging.getLogger(__name__)

SETTING = "NEARDUP_EMBEDDER"
# After a failure the model is not asked for so many times as long as the failure took.
PAUSE = 10


def load_embedder(path: str) -> Callable[[Sequence[str]], list[bytes]]:
    """Return the function that the worker process calls with texts.

    It returns for each text the dimension and the version of the model, a line feed, and the packed vector.
    """
    found: Any = load_callable(
        SETTING, path, "the import path of a callable embed(texts), of a class with such a method, or None"
    )
    made = found() if isinstance(found, type) else found
    embed: Callable[[list[str]], object] = getattr(made, "embed", made)

    def answer(texts: Sequence[str]) -> list[bytes]:
        packed = pack_raw(embed(list(texts)), len(texts))
        model = f"{max(map(len, packed)) // 2} {getattr(made, 'version', '')}".replace("\n", " ")
        return [b"%b\n%b" % (model.encode("utf-8", "replace"), each) for each in packed]

    return answer


class Embedding:
    """Vectors of texts by one embedder.

    ``timeout`` is in seconds, for the texts that go to the model together. If the embedder fails, is late or ends its
    process, its texts have no vector, and neither have those of the next while: see ``PAUSE``. The first failure is
    logged, and ``failures`` counts the texts. ``identity`` is everything that makes vectors comparable: import path,
    dimension and version. Raise SettingsError if the embedder cannot be loaded, or fails for an example.
    """

    def __init__(self, path: str, timeout: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.failures = 0
        self._path = path
        self._clock = clock
        self._paused_until = clock()
        self._known = Newest[str, bytes](1 << 13)  # enough: copies often have the same title and lead
        factory = f"{__name__}.load_embedder"  # stands in for an extractor too: no page comes
        self.worker = ExtractionProcesses(
            WorkerOptions(factory, timeout, (factory, path), memory=None, too_slow=NO_ANSWER), recycle_after=1 << 31
        )
        try:
            example = self.worker.submit_text(
                "The ferry ran aground off the island\nIts steering failed in heavy seas."
            ).result()
        except ExtractionError as error:
            self.worker.close()
            raise SettingsError(SETTING, path, str(error)) from error
        self._model = example.sketch.partition(b"\n")[0]
        self.identity = f"{path} {self._model.decode('utf-8', 'replace')}"

    async def ask(self, document: Document) -> Document:
        """Return the document with its vector. Texts of tasks that ask at the same time go to the model together."""
        return replace(document, vector=await self.vector(text_to_embed(document.title, document.text)))

    async def vector(self, text: str) -> bytes:
        """Return the vector of a text, packed by ``pack_raw``; b"" if there is none."""
        if (known := self._known.get(text)) is not None:
            return known
        asked = self._clock()
        if asked < self._paused_until:
            self.failures += 1
            return b""
        try:
            extracted = await asyncio.wrap_future(self.worker.submit_text(text))
            model, _, vector = extracted.sketch.partition(b"\n")  # see ``load_embedder``
            if model != self._model:  # the worker was started again
                raise ExtractionError("the model changed, so the crawl must be started again")
        except ExtractionError as error:
            now = self._clock()
            self._paused_until = now + PAUSE * (now - asked)
            self.failures += 1
            if self.failures == 1:
                logger.warning(
                    "NEARDUP_EMBEDDER = %s failed, so documents have no vectors; more failures are counted: %s",
                    self._path,
                    error,
                )
            return b""
        self._known[text] = vector
        return vector


shared_embedding = lru_cache(8)(Embedding)  # the one of this process for an embedder; raises SettingsError as it does
