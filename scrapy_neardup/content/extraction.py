"""Where main content is extracted: in threads or in processes, behind one interface."""

from __future__ import annotations

from typing import Literal, Protocol

from scrapy_neardup.content.extractors import is_built_in, load_extractor
from scrapy_neardup.content.outcome import MOST_EXTRACTED_CHARACTERS, MOST_MEMORY, Extracted, Undecoded
from scrapy_neardup.content.processes import ExtractionProcesses
from scrapy_neardup.content.threads import ExtractionThreads
from scrapy_neardup.content.worker import Sketching
from scrapy_neardup.timings import Timings


class Extraction(Protocol):
    """Extracts pages off the event loop, a bounded number at a time."""

    timings: Timings  # of the pages, without their wait for a worker

    async def extract(self, html: str | Undecoded, url: str) -> Extracted:
        """Main content of one page. Raises ExtractionError, naming the url, where it fails or is too slow."""
        ...

    def close(self) -> None: ...


def start_extraction(
    extractor: str,
    *,
    workers: int | Literal["auto"] | None = None,
    timeout: float = 10.0,
    most_characters: int = MOST_EXTRACTED_CHARACTERS,
    memory: int | None = MOST_MEMORY,
    timings: Timings | None = None,
    sketching: Sketching | None = None,
) -> Extraction:
    """``workers`` processes, see ``worker_processes``; only these sketch as well, and have a limit of ``memory``.

    Nothing is started before the first page.

    Raises SettingsError where the extractor cannot be used.
    """
    workers = worker_processes(extractor, workers)
    if workers == 0:
        loaded = load_extractor(extractor)
        return ExtractionThreads(loaded, timeout=timeout, most_characters=most_characters, timings=timings)
    return ExtractionProcesses(
        extractor,
        workers=workers,
        timeout=timeout,
        most_characters=most_characters,
        memory=memory,
        timings=timings,
        sketching=sketching,
    )


def worker_processes(extractor: str, workers: int | Literal["auto"] | None) -> int | Literal["auto"]:
    """How many, one a core for "auto", 0 for a thread of this process.

    Unless told: one for our own extractors, which leaves the interpreter to the event loop. One of the user's may share
    what it knows with his spider, so it stays in this process.
    """
    if workers is None:
        return 1 if is_built_in(extractor) else 0
    return workers
