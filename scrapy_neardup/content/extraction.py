"""Start the extraction of main content, in threads or in processes, behind one interface."""

from __future__ import annotations

from typing import Literal, Protocol

from scrapy_neardup.content.extractors import is_built_in, load_extractor
from scrapy_neardup.content.outcome import MOST_EXTRACTED_CHARACTERS, MOST_MEMORY, Extracted, Undecoded
from scrapy_neardup.content.processes import ExtractionProcesses
from scrapy_neardup.content.threads import ExtractionThreads
from scrapy_neardup.content.worker import Sketching
from scrapy_neardup.timings import Timings


class Extraction(Protocol):
    """Extracts a bounded number of pages at a time, outside the event loop."""

    timings: Timings  # of the pages, without their wait for a worker

    async def extract(self, html: str | Undecoded, url: str) -> Extracted:
        """Return the main content of one page. Raise ExtractionError with its url if it fails or is too slow."""
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
    """Return an extraction that starts its threads or processes with the first page.

    For ``workers`` see ``worker_processes``. Only processes also make sketches, and respect the limit of ``memory``.

    Raise SettingsError if the extractor cannot be used.
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
    """Return the number of processes: "auto" means one for each core, and 0 means a thread of this process.

    ``None`` means one process for a built-in extractor, so that extraction does not compete with the event loop for the
    interpreter. A user's own extractor may share objects with the spider, so for it ``None`` means a thread.
    """
    if workers is None:
        return 1 if is_built_in(extractor) else 0
    return workers
