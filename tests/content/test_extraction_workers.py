"""Extraction in worker processes: a crash or a hang costs one page, and nothing is left behind."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import Any

import psutil
import pytest
from news_site import NewsSite, article, page
from projects import ITEM_A_PAGE, Crawl, Project

from scrapy_neardup.content.extractors import Extracted
from scrapy_neardup.content.processes import IN_FLIGHT, ExtractionProcesses
from scrapy_neardup.content.worker import WorkerOptions
from scrapy_neardup.exceptions import ExtractionError

EXTRACTOR = """
    import os
    import signal
    import sys
    import time
    from pathlib import Path

    print("imported by", os.getpid())


    def extract(html, url):
        do = url.rpartition("/")[2]
        if do.startswith("killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        if do.startswith("stopped"):
            os.kill(os.getpid(), signal.SIGSTOP)
        if do.startswith("exits"):
            os._exit(7)
        if do.startswith("endless"):
            while True:
                pass
        if do.startswith("asleep"):
            Path(do).touch()
            time.sleep(3600)
        if do.startswith("forks"):
            if os.fork() == 0:
                time.sleep(3600)
            os.kill(os.getpid(), signal.SIGKILL)
        if do == "leaves":
            raise SystemExit(3)
        if do == "none":
            return None
        if do == "huge":
            return "x" * 6_000_000
        if do == "deep":
            return extract(html, url)
        if do == "pid":
            return str(os.getpid())
        if do == "waits":
            Path(html).touch()
            while Path(html).exists():
                time.sleep(0.01)
        return html
    """


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Of this process alone: workers have to be told where it imports from."""
    (tmp_path / "awkward.py").write_text(dedent(EXTRACTOR))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("awkward", None)


@pytest.fixture
def processes(folder: Path) -> Iterator[Callable[..., ExtractionProcesses]]:
    """Starts workers, and sees to it that none of them outlives its pool."""
    started = []

    def start(workers: int = 1, timeout: float = 20, **options: Any) -> ExtractionProcesses:
        started.append(ExtractionProcesses(WorkerOptions("awkward.extract", timeout), workers, **options))
        return started[-1]

    yield start
    for pool in started:
        pool.close()
    assert children() == []


_before: set[int] = set()


@pytest.fixture(autouse=True)
def _servers_of_other_tests() -> None:
    _before.clear()
    _before.update(child.pid for child in psutil.Process().children(recursive=True))


def started(*, recursive: bool = False) -> list[psutil.Process]:
    """Processes this test has started and not reaped."""
    return [child for child in psutil.Process().children(recursive=recursive) if child.pid not in _before]


def children() -> list[str]:
    return [f"{child.pid} {child.status()}" for child in started(recursive=True)]


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def of(name: str) -> str:
    return f"http://site.example/{name}"


WRONG = {
    "killed": "its worker process ended by signal 9",
    "exits": "its worker process ended with exit status 7",
    "endless": "not extracted within NEARDUP_EXTRACT_TIMEOUT = 2 s",
    "stopped": "not extracted within NEARDUP_EXTRACT_TIMEOUT = 2 s",
    "forks": "not extracted within NEARDUP_EXTRACT_TIMEOUT = 2 s",
    "leaves": "SystemExit: 3",
    "none": "TypeError: the extractor returned NoneType, not str",
    "huge": "ValueError: the extractor returned 6000000 characters, over the limit of 5000000",
    "deep": "RecursionError: maximum recursion depth exceeded",
}


async def test_what_goes_wrong_costs_its_page_alone(
    processes: Callable[..., ExtractionProcesses], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, Path("nowhere")])  # Python passes over it
    pool = processes(timeout=2)
    pages = [page for name in WRONG for page in (("text", of("good")), ("text", of(name)))] + [("text", of("good"))]
    answers = await asyncio.gather(*(pool.extract(*page) for page in pages), return_exceptions=True)
    assert answers[::2] == [Extracted("text")] * (len(WRONG) + 1)
    for answer, (name, what) in zip(answers[1::2], WRONG.items(), strict=True):
        assert isinstance(answer, ExtractionError)
        assert str(answer).startswith(f"{of(name)}: {what}")


@pytest.fixture
def _every_page_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_neardup.content.processes.SLOW", 0)
    monkeypatch.setattr("scrapy_neardup.content.processes.LEFT_OUT", 2)


LEFT_OUT = "a page of bad.example took too long, so its next 2 pages are left out"


async def problems(pool: ExtractionProcesses, *urls: str) -> list[str]:
    """Extract a page for each of these urls, of which all wait for the worker. Return what went wrong."""
    slow = f"<p{''.join(f' a{number}=1' for number in range(60_000))}>text"
    pages = (pool.extract(slow if url.endswith("slow") else "<p>text", url) for url in urls)
    answers = await asyncio.gather(*pages, return_exceptions=True)
    pool.close()
    return [str(answer).partition(": ")[2] if isinstance(answer, ExtractionError) else "" for answer in answers]


@pytest.mark.usefixtures("_every_page_is_slow")
async def test_a_slow_page_costs_its_source_its_next_pages() -> None:
    """No page of another source, and nothing if it is the first page of its worker, which loads the extractor."""
    pool = ExtractionProcesses(WorkerOptions("trafilatura", 60))
    good, bad = "http://good.example/", "http://bad.example/"
    assert await problems(pool, good, bad, good, bad, bad, bad, of("1")) == ["", "", "", LEFT_OUT, LEFT_OUT, "", ""]


async def test_a_page_over_the_limit_costs_its_source_its_next_pages_even_if_it_is_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a site of such pages would give each page a new worker, and never lose one."""
    monkeypatch.setattr("scrapy_neardup.content.processes.LEFT_OUT", 2)
    pool = ExtractionProcesses(WorkerOptions("trafilatura", 0.5))
    first, _, last = await problems(pool, "http://bad.example/slow", "http://good.example/", "http://bad.example/")
    assert (first, last) == ("not extracted within NEARDUP_EXTRACT_TIMEOUT = 0.5 s", LEFT_OUT)


@pytest.mark.usefixtures("_every_page_is_slow")
async def test_slow_pages_of_an_own_extractor_cost_no_other_page(processes: Callable[..., ExtractionProcesses]) -> None:
    """It may load a model, or ask a service."""
    assert await problems(processes(), *(f"http://{name}.example/" for name in "ababab")) == [""] * 6


async def test_a_worker_is_replaced_after_a_crash_and_after_so_many_pages(
    processes: Callable[..., ExtractionProcesses],
) -> None:
    pool = processes(recycle_after=3)
    pids = [(await pool.extract("", of("pid"))).text for _ in range(7)]
    assert [pids.index(pid) for pid in pids] == [0, 0, 0, 3, 3, 3, 6]
    with pytest.raises(ExtractionError):
        await pool.extract("", of("killed"))
    assert (await pool.extract("", of("pid"))).text not in pids


async def test_a_bounded_number_of_pages_is_in_flight(folder: Path) -> None:
    class Counting(ExtractionProcesses):
        submitted = 0

        def submit(self, page: str | bytes, url: str, encoding: str | None = None) -> Future[Extracted]:
            self.submitted += 1
            return super().submit(page, url, encoding)

    pool = Counting(WorkerOptions("awkward.extract"))
    gate = folder / "gate"
    tasks = [asyncio.create_task(pool.extract(str(gate), of("waits")))]
    await asyncio.to_thread(until, gate.exists)
    tasks += [asyncio.create_task(pool.extract("text", of(f"{number}"))) for number in range(50)]
    for _ in range(100):  # all of them have asked by then
        await asyncio.sleep(0)
    assert pool.submitted == IN_FLIGHT
    gate.unlink()
    assert await asyncio.gather(*tasks) == list(map(Extracted, [str(gate)] + ["text"] * 50))
    pool.close()


async def test_closing_with_a_full_queue_fails_every_page_at_once(
    processes: Callable[..., ExtractionProcesses], folder: Path
) -> None:
    pool = processes(workers=2, timeout=3600)
    tasks = [asyncio.create_task(pool.extract("", of(f"endless{number}"))) for number in range(100)]
    await asyncio.to_thread(until, lambda: len(started()) == 2)
    pool.close()
    answers = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)
    assert [type(answer) for answer in answers] == [ExtractionError] * 100
    assert children() == []
    pool.close()
    with pytest.raises(ExtractionError, match="extraction is closed"):
        await pool.extract("", of("late"))


def test_the_list_of_suffixes_is_read_while_a_worker_starts() -> None:
    code = "import sys, scrapy_neardup.content.processes as p\nx = p.ExtractionProcesses(p.WorkerOptions(None))"
    code += "\nx.start(); x.close(); assert 'tldextract' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def project(project: Project) -> Project:
    project.write("news/awkward.py", EXTRACTOR)
    return project


def left_behind(project: Project) -> list[str]:
    """Processes that still run, or are dead and not reaped, and were started for this project."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # gone by now
            if str(project.folder) in " ".join(process.cmdline()) or process.cwd() == str(project.folder):
                found.append(f"{process.pid} {process.status()} {process.cmdline()[:3]}")
    return found


def start_with_busy_workers(project: Project, site: NewsSite) -> subprocess.Popen[str]:
    """A crawl, started, whose workers are both in a page that never ends, with a full queue behind them."""
    urls = [site.publish(f"/asleep{number}", page(article(number))) for number in range(10)]
    settings = {"NEARDUP_EXTRACT_WORKERS": 2, "NEARDUP_EXTRACTOR": "news.awkward.extract", "NEARDUP_EXTRACT_TIMEOUT": 1}
    project.prepare(ITEM_A_PAGE, {**settings, "LOG_LEVEL": "INFO", "LOGSTATS_INTERVAL": 0})
    process = project.start("crawl", "news", "-a", f"urls={' '.join(urls)}", "-O", "items.jsonl", fresh=True)
    until(lambda: len(list(project.folder.glob("asleep*"))) >= 2)
    until(lambda: len(psutil.Process(process.pid).children()) == 2)
    return process


@pytest.mark.slow
@pytest.mark.parametrize("signals", ["SIGINT", "SIGINT SIGINT", "SIGKILL"])
def test_workers_end_with_their_crawl(project: Project, site: NewsSite, signals: str) -> None:
    """An interrupt lets it finish what it has begun; a second one ends it at once."""
    process = start_with_busy_workers(project, site)
    sent = iter(signals.split())

    def has_ended() -> bool:  # two signals that come at once may count as one
        number = next(sent, signals.split()[-1] if signals != "SIGINT" else None)
        if number is not None:
            process.send_signal(getattr(signal, number))
        return process.poll() is not None

    try:
        until(has_ended, 90)
        log, _ = process.communicate(timeout=90)
    finally:
        process.kill()
    crawl = Crawl(project.folder, process.returncode, log)
    assert not crawl.lines("exception calling callback")
    if signals == "SIGINT":
        assert (crawl.status, crawl.stats["finish_reason"], crawl.stats["waiting_contexts"]) == (0, "shutdown", 0)
        assert len(crawl.items) == crawl.neardup["checked"] > 0
        assert not crawl.lines("Traceback")
    until(lambda: left_behind(project) == [])
