"""Extract in worker processes: they use all cores and keep the time limit, and a crash costs one page."""

import asyncio
import atexit
import json
import logging
import queue
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import asdict

from scrapy_neardup.content.extractors import BUILT_IN, Extracted, load_extractor
from scrapy_neardup.content.worker import (
    GONE_SECONDS,
    PAGE,
    TEXTS,
    WorkerOptions,
    WorkerProcess,
    decode,
    encode,
)
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.exceptions import ExtractionError, explain_failure
from scrapy_neardup.settings import NearDupSettings

logger = logging.getLogger(__name__)

IN_FLIGHT = 16  # pages for each worker

# How many of the next pages of a source are left out after a slow one, if there are pages of other sources. The user's
# own extractor leaves out none: it may load a model, or wait for a service.
LEFT_OUT = 50
SLOW = 0.2  # of the time limit, in CPU seconds: more than 100 usual pages take


def worker_options(settings: NearDupSettings, *, sketches: bool) -> WorkerOptions:
    """Return what extraction processes do. They sketch nothing if a sketch depends on more than the text."""
    preset = settings.resolved_preset()
    sketching = None
    if sketches and preset.signature == "minhash" and not preset.with_title:
        # Not imported here, because it loads numpy.
        sketching = (
            "scrapy_neardup.sketch.text_sketch.sketch_ahead",
            json.dumps({"preset": asdict(preset), "min_words": settings.min_words}),
        )
    return WorkerOptions(settings.extractor, settings.extract_timeout, sketching=sketching)


class ExtractionProcesses:
    """``workers`` processes, each served by a thread of this process over its own pipe.

    A page fails with ExtractionError, and ends its worker, if it takes more than the ``timeout`` of the options after
    the worker began to read it, or if it crashes the worker. The next page gets a new worker. A page also fails if it
    is one of the next ``LEFT_OUT`` of a source with a ``SLOW`` page: no hostile site stalls a crawl of several.
    Workers start with the first pages. ``extract`` holds at most ``IN_FLIGHT`` pages for each worker, and further
    callers wait. A text waits up to 15 ms for others, and is sketched together with them. If a sketch fails, the text
    is still returned, and the first failure is logged. The ``timings`` do not count sketches.

    A worker is replaced after ``recycle_after`` requests, because the caches of extractors and of lxml grow. Raise
    SettingsError if the extractor cannot be imported.
    """

    def __init__(
        self,
        options: WorkerOptions,
        workers: int = 1,
        *,
        recycle_after: int = 2000,
    ) -> None:
        load_extractor(options.extractor)  # raise now, not in a worker, if the name is wrong
        self.timings = Counter[str]()
        self._options = options
        self._workers = [WorkerProcess(options, recycle_after) for _ in range(workers)]
        self._some_sources: set[str] = set()  # at most two
        self._left_out: dict[str, int] = {}  # next pages of sources with a slow page
        self._has_warned = False
        # A SimpleQueue may wait forever instead of a timeout that has passed before it looks.
        self._jobs: queue.Queue[tuple[tuple[bytes, ...], Future[Extracted]] | None] = queue.Queue()
        self._slots = asyncio.Semaphore(IN_FLIGHT * workers)
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []  # each serves one worker process, and one ends those that are late
        self._closing = threading.Event()
        atexit.register(self.close)  # a crawl that was stopped by force does not close its workers

    def start(self) -> None:
        """Start one worker, before there is a page: it takes half a second to load an extractor."""
        self._put()

    async def extract(self, page: str | bytes, url: str, encoding: str | None = None) -> Extracted:
        """Return the main content of one page. Raise ExtractionError with its url if it fails or is too slow.

        The worker decodes bytes, because that takes a while for millions of them. ``encoding`` is None if it is not
        known.
        """
        async with self._slots:
            try:
                return await asyncio.wrap_future(self.submit(page, url, encoding))
            except ExtractionError as error:
                raise ExtractionError(f"{url}: {error}") from None

    def submit(self, page: str | bytes, url: str, encoding: str | None = None) -> Future[Extracted]:
        """Extract a page for a caller without an event loop, who has to bound the pages in flight."""
        if isinstance(page, str):
            page = encode(page)
            encoding = "utf-8"
        return self._put(PAGE, encode(url), (encoding or "").encode("ascii", "replace"), page)

    def submit_text(self, text: str) -> Future[Extracted]:
        """Sketch a text. The future raises ExtractionError if that fails."""
        return self._put(TEXTS, encode(text))

    def _put(self, *request: bytes) -> Future[Extracted]:
        answer: Future[Extracted] = Future()
        with self._lock:
            if self._closing.is_set():
                answer.set_exception(ExtractionError("extraction is closed"))
                return answer
            self._jobs.put((request, answer))
            if not self._threads:
                # Use daemon threads: this process could not end before the threads of a ThreadPoolExecutor.
                self._threads = [
                    threading.Thread(target=self._watch, daemon=True),
                    *(threading.Thread(target=self._serve, args=(each,), daemon=True) for each in self._workers),
                ]
                for thread in self._threads:
                    thread.start()
        return answer

    def close(self) -> None:
        """End all workers, and fail their pages. This takes milliseconds and may be called again."""
        atexit.unregister(self.close)
        with self._lock:
            self._closing.set()
        for worker in self._workers:
            worker.close()
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:  # they fail the pages in the queue, because no worker can be started any more
            thread.join(GONE_SECONDS)

    def _serve(self, worker: WorkerProcess) -> None:
        """Send pages to one worker process. Sketch texts together if they are enough, or if no page comes."""
        unsketched: list[tuple[Extracted, Future[Extracted]]] = []
        while True:
            # Eight texts take half of the time of as many texts one by one. Nobody waits for a text without a page.
            most = 8 if any(each.is_of_page for each, _ in unsketched) else 32
            if len(unsketched) >= most or sum(len(each.text) for each, _ in unsketched) >= 50_000:
                self._sketch(worker, unsketched)
            try:
                job = self._jobs.get(timeout=0.015 if unsketched else None)
            except queue.Empty:
                self._sketch(worker, unsketched)
                continue
            if job is None:
                break
            request, answer = job
            if answer.set_running_or_notify_cancel() and (extracted := self._extract(worker, request, answer)):
                unsketched.append((extracted, answer))
        self._sketch(worker, unsketched)
        worker.end()

    def _extract(self, worker: WorkerProcess, request: Sequence[bytes], answer: Future[Extracted]) -> Extracted | None:
        """Return what is to be sketched, None if the answer was given."""
        if request[:1] == (TEXTS,):
            return Extracted(decode(request[1]), is_of_page=False)
        try:
            worker.make_ready()
            extracted = Extracted(self._text_of(worker, request) if request else "")
        except ExtractionError as error:
            answer.set_exception(error)
        except BaseException as error:  # keep the thread, for example if there is no memory for a process
            answer.set_exception(ExtractionError(f"the worker process failed: {explain_failure(error)}"))
        else:
            if self._options.sketching is not None and extracted.text:
                return extracted
            answer.set_result(extracted)
        return None

    def _text_of(self, worker: WorkerProcess, request: Sequence[bytes]) -> str:
        source = source_of(decode(request[1]))
        if len(self._some_sources) < 2:
            self._some_sources.add(source)
        if (left := self._left_out.get(source, 0)) and len(self._some_sources) > 1:
            self._left_out[source] = left - 1
            raise ExtractionError(f"a page of {source} took too long, so its next {LEFT_OUT} pages are left out")
        try:
            (text,) = worker.ask(*request)
        finally:
            self.timings.update(documents=1, microseconds=round(1e6 * worker.seconds))
            share = SLOW if worker.has_read_page else 1  # the first page loads parts of the extractor
            worker.has_read_page = True
            if self._options.extractor in BUILT_IN and worker.cpu_seconds > share * self._options.timeout:
                self._left_out[source] = LEFT_OUT
        return decode(text)

    def _sketch(self, worker: WorkerProcess, unsketched: list[tuple[Extracted, Future[Extracted]]]) -> None:
        """Answer with sketches. A page whose text cannot be sketched is answered with its text."""
        if not unsketched:
            return
        problem = "the worker process answered something else"
        sketches: list[bytes] = []
        try:
            worker.make_ready()
            sketches = worker.ask(TEXTS, *(encode(extracted.text) for extracted, _ in unsketched))
        except Exception as error:
            problem = str(error)
        for number, (extracted, answer) in enumerate(unsketched):
            if len(sketches) == len(unsketched):
                answer.set_result(extracted._replace(sketch=sketches[number]))
            elif extracted.is_of_page:
                if not self._has_warned and not self._closing.is_set():
                    self._has_warned = True
                    logger.warning("A worker process could not sketch a text; more are not logged: %s", problem)
                answer.set_result(extracted)
            else:
                answer.set_exception(ExtractionError(problem))
        unsketched.clear()

    def _watch(self) -> None:
        """End workers that are over their time limit."""
        source_of("https://www.example.com/")  # reads the list of public suffixes, while a worker starts
        while not self._closing.wait(min(0.1, self._options.timeout / 5)):
            for worker in self._workers:
                worker.end_if_late()
