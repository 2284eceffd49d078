"""Replay an archive on a Dask cluster: give out the tasks of each step, and note what they have done.

Everything that tasks make is in files below the output. So a worker that is killed costs the tasks that it was doing,
and a replay that is started again goes on where it was.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, reduce
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, cast

from distributed import Client, as_completed

from scrapy_neardup import __version__
from scrapy_neardup.exceptions import InputError, NearDupError
from scrapy_neardup.records.learned import NOTHING, add_counts
from scrapy_neardup.tools.cluster import steps
from scrapy_neardup.tools.cluster.exchange import Stats, stats_of, whole_file

_MOST_DOCUMENTS = 20_000  # of a task
_FEWEST_TASKS = 16  # of a step, if there are enough documents
_POSTINGS_A_TASK = 1_000_000
_WAIT_SECONDS = 60  # for the first worker
_TOLD_SECONDS = 30.0  # between two lines of progress

UNFINISHED = "unfinished"  # a folder of the output

Tell = Callable[[str], None]


@contextmanager
def connected(address: str, workers: int) -> Iterator[Client]:
    """Connect to a scheduler, or to one that is started here with so many workers."""
    options: dict[str, Any] = {"address": address, "timeout": _WAIT_SECONDS}
    if address == "local":
        options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    try:
        client = Client(**options)
        client.wait_for_workers(1, timeout=_WAIT_SECONDS)
        versions = client.run(_version)
    except (OSError, ValueError, ImportError) as error:  # a TimeoutError is an OSError
        raise InputError(f"--cluster {address}: no scheduler with workers that have this package: {error}") from error
    with client:
        if others := {worker: each for worker, each in versions.items() if each != __version__}:
            raise InputError(f"--cluster {address}: workers have other versions than {__version__}: {others}")
        yield client


def _version() -> str:
    return __version__


class Replay:
    """One replay. Its work is kept until all parts are written."""

    def __init__(self, client: Client, job: steps.Job, tell: Tell) -> None:
        self._client = client
        self._tell = tell
        self.job = job

    def run(self) -> tuple[Counter[str], list[str]]:
        """Write all parts. Return what was counted, and the errors of lines: the first ones of each file."""
        job = self.job
        numbers = range(len(job.inputs))
        read = self._do(steps.read_file, [()] * len(numbers), lambda stats: stats["documents"])
        lines_before = [0, *accumulate(stats["lines"] for stats in read)]
        self._add_terms()
        runs = _listed(read, "runs")
        documents = sum(stats["documents"] for stats in read)
        size = min(_MOST_DOCUMENTS, documents // _FEWEST_TASKS + 1)
        slots = [sum(each) for each in zip(*(stats["slots"] for stats in read), strict=True)]
        tasks = [(each,) for each in _grouped(slots, size)]
        stored = self._do(steps.fingerprint, tasks, lambda stats: stats["documents"], (runs, lines_before))
        postings = sum(stats["postings"] for stats in stored)
        ranges = max(postings // _POSTINGS_A_TASK, min(_FEWEST_TASKS, postings)) + 1
        bounds = [(1 << 32) * number // ranges for number in range(ranges + 1)]
        tasks = [(each,) for each in pairwise(bounds)]
        paired = self._do(steps.find_pairs, tasks, shared=(_listed(stored, "runs"),))
        parts = [
            ((task << 32) + start, (task << 32) + min(start + size, stats["documents"]))
            for task, stats in enumerate(stored)
            for start in range(0, stats["documents"], size)
        ]
        runs = _listed(paired, "runs")
        decided = self._do(steps.decide, [(each,) for each in parts], lambda stats: stats["documents"], (runs,))
        links = self._follow([stats["links"] for stats in decided], starts := [start for start, _ in parts])
        tasks = [(each["answers"],) for each in read]
        shared = (_listed(decided, "runs"), links, starts)
        written = self._do(steps.write_part, tasks, lambda stats: stats.get("documents", 0), shared)
        counts = sum(map(Counter, written), Counter[str]())
        counts["crowded"] = sum(stats["passed_over"] for stats in paired)
        self._client.run(steps.forget)
        shutil.rmtree(job.out / UNFINISHED)
        return counts, [line for stats in read for line in stats["told"]]

    def _follow(self, links: list[str], starts: list[int]) -> list[str]:
        """Move all links on until they point to originals. Each time they become twice as long."""
        moved = bool(links)
        while moved:
            name = f"follow{links[0].count('+')}"
            done = self._do(steps.follow, [()] * len(links), shared=(links, starts), name=name)
            links = [stats["links"] for stats in done]
            moved = any(stats["moved"] for stats in done)
        return links

    def _add_terms(self) -> None:
        files = sorted(self.job.work.glob("terms-*"))
        with whole_file(self.job.work / "terms") as file:
            file.write(reduce(add_counts, (each.read_bytes() for each in files), NOTHING))

    def _do(
        self,
        step: Callable[..., Stats],
        tasks: Sequence[tuple[Any, ...]],
        documents_of: Callable[[Stats], int] = lambda stats: 0,
        shared: tuple[Any, ...] = (),
        name: str = "",
    ) -> list[Stats]:
        """Do what is not done yet of the tasks of a step. Return the stats of all.

        What the tasks share is in a file: the scheduler would keep it for each of them.
        """
        stem = self.job.work / (name or step.__name__)
        paths = [Path(f"{stem}-{number}.done") for number in range(len(tasks))]
        done = {number: stats for number, path in enumerate(paths) if (stats := stats_of(path))}
        common = Path(f"{stem}.shared")
        with whole_file(common) as file:
            pickle.dump((self.job, shared), file)
        start = told = time.perf_counter()
        documents = 0
        waiting = {
            self._client.submit(_task, path, common, step, number, tasks[number], key=str(path)): number
            for number, path in enumerate(paths)
            if number not in done
        }
        for future in as_completed(list(waiting)):
            number = waiting.pop(future)
            if error := future.exception():
                reason = f"{stem.name}, task {number}: {type(error).__name__}: {error}"
                raise NearDupError(f"{reason}; give the command again to go on") from error
            done[number] = future.result()
            documents += documents_of(done[number])
            now = time.perf_counter()
            if not waiting or now - told > _TOLD_SECONDS:
                told = now
                self._tell(_progress(stem.name, len(done), len(paths), documents, now - start))
        return [done[number] for number in range(len(paths))]


def _progress(name: str, done: int, tasks: int, documents: int, seconds: float) -> str:
    speed = f", {documents / seconds:,.0f} documents a second" if documents else ""
    return f"{name}: {done} of {tasks} tasks in {seconds:.1f} s{speed}"


def _task(path: Path, common: Path, step: Callable[..., Stats], number: int, arguments: tuple[Any, ...]) -> Stats:
    """Do a task in a worker. ``path`` then has its stats."""
    job, shared = _shared(common)
    stats = step(job, number, *arguments, *shared)
    with whole_file(path) as file:
        file.write(json.dumps(stats).encode())
    return stats


@lru_cache(1)
def _shared(common: Path) -> tuple[steps.Job, tuple[Any, ...]]:
    found: tuple[steps.Job, tuple[Any, ...]] = pickle.loads(common.read_bytes())
    return found


def _listed(all_stats: Sequence[Stats], name: str) -> list[str]:
    return [each for stats in all_stats for each in stats[name]]


def _grouped(sizes: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Return ranges of slots that have so many documents or more."""
    groups = []
    first = total = 0
    for slot, size in enumerate(sizes, 1):
        total += size
        if total >= most or (slot == len(sizes) and total):
            groups.append((first, slot))
            first, total = slot, 0
    return groups


def resumed(job: steps.Job) -> steps.Job:
    """Return the job that goes on with what its output has, if that is not finished, and else a new one."""
    state = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in job.inputs]
    folder = job.out / UNFINISHED
    known = folder / "job"
    if known.exists():
        earlier, its_state = pickle.loads(known.read_bytes())
        if (its_state, replace(earlier, now=job.now, work=job.work)) != (state, job):
            raise InputError(f"{job.out}: has unfinished parts of other files or settings; name another folder")
        return cast("steps.Job", earlier)
    if job.out.exists() and any(job.out.iterdir()):
        raise InputError(f"{job.out}: is not empty; name another folder")
    # No other replay has files of the same names: workers keep such files open.
    job = replace(job, work=folder / os.urandom(4).hex())
    job.work.mkdir(parents=True)
    with whole_file(known) as file:
        pickle.dump((job, state), file)
    return job
