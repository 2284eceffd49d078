"""Replay an archive on a Dask cluster: give out the tasks of each step, and note what they have done.

Everything that tasks make is in files below the output. So a worker that is killed costs the tasks that it was doing,
and a replay that is started again goes on where it was.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, reduce
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, as_completed

from scrapy_neardup.exceptions import InputError, NearDupError
from scrapy_neardup.records.learned import NOTHING, add_counts
from scrapy_neardup.tools.cluster.exchange import whole_file
from scrapy_neardup.tools.cluster.judging import PART_BITS, decide, forget, write_part
from scrapy_neardup.tools.cluster.steps import SLOTS, Job, Stats, find_pairs, fingerprint, read_file

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
        client.get_versions(check=True, packages=["scrapy_neardup"])  # warns if they differ
    except (OSError, ValueError, ImportError) as error:  # a TimeoutError is an OSError
        raise InputError(f"--cluster {address}: no scheduler with workers: {error}") from error
    with client:
        yield client


class Replay:
    """One replay. Its work is kept until all parts are written."""

    def __init__(self, client: Client, job: Job, tell: Tell) -> None:
        self._client = client
        self._tell = tell
        self.job = job

    def run(self) -> tuple[Counter[str], list[str]]:
        """Write all parts. Return what was counted, and the errors of lines: the first ones of each file."""
        job = self.job
        files = len(job.inputs)
        found = self._do(read_file, [()] * files)
        lines_before = [0, *accumulate(stats["lines"] for stats in found)]
        self._add_terms()
        before = np.cumsum([[0, *stats["slots"]] for stats in found], axis=1).sum(axis=0)  # documents before a slot
        most = min(_MOST_DOCUMENTS, int(before[-1]) // _FEWEST_TASKS + 1)
        last = np.flatnonzero(np.diff(before // most)) + 1  # slots after which a task has enough
        stored = self._do(fingerprint, [*pairwise(sorted({0, *last.tolist(), SLOTS}))], lines_before)
        postings = sum(stats["postings"] for stats in stored)
        ranges = max(postings // _POSTINGS_A_TASK, min(_FEWEST_TASKS, postings)) + 1
        bounds = [(1 << 32) * number // ranges for number in range(ranges + 1)]
        paired = self._do(find_pairs, [*pairwise(bounds)], len(stored))
        size = 1 << PART_BITS
        parts = {
            ((task << 32) + start) >> PART_BITS: min(size, stats["documents"] - start)
            for task, stats in enumerate(stored)
            for start in range(0, stats["documents"], size)
        }
        decided = self._do(decide, [*parts.items()], ranges)
        self._do(write_part, [()] * files, [*parts])
        counts = sum((Counter[str](stats["counts"]) for stats in (*found, *decided)), Counter[str]())
        counts["crowded"] = sum(stats["passed_over"] for stats in paired)
        self._client.run(forget)
        shutil.rmtree(job.out / UNFINISHED)
        return counts, [line for stats in found for line in stats["told"]]

    def _add_terms(self) -> None:
        files = sorted(self.job.work.glob("terms-*"))
        with whole_file(self.job.work / "terms") as file:
            file.write(reduce(add_counts, (each.read_bytes() for each in files), NOTHING))

    def _do(self, step: Callable[..., Stats], tasks: Sequence[tuple[int, ...]], *shared: Any) -> list[Stats]:
        """Do what is not done yet of the tasks of a step. Return the stats of all."""
        name = step.__name__
        paths = self.job.files(name, range(len(tasks)))
        done = {number: json.loads(path.read_bytes()) for number, path in enumerate(paths) if path.exists()}
        # What the tasks share is a task of its own: the scheduler would keep it for each of them.
        common = self._client.submit(partial, step, self.job, *shared, pure=False)
        start = told = time.perf_counter()
        documents = 0
        waiting = {
            self._client.submit(_task, common, path, number, *tasks[number], key=str(path)): number
            for number, path in enumerate(paths)
            if number not in done
        }
        for future in as_completed(list(waiting)):
            number = waiting.pop(future)
            if error := future.exception():
                reason = f"{name}, task {number}: {type(error).__name__}: {error}"
                raise NearDupError(f"{reason}; give the command again to go on") from error
            done[number] = future.result()
            documents += done[number].get("documents", 0)
            now = time.perf_counter()
            if not waiting or now - told > _TOLD_SECONDS:
                told = now
                speed = f", {documents / (now - start):,.0f} documents a second" if documents else ""
                self._tell(f"{name}: {len(done)} of {len(paths)} tasks in {now - start:.1f} s{speed}")
        return [done[number] for number in range(len(paths))]


def _task(step: Callable[..., Stats], path: Path, number: int, *arguments: int) -> Stats:
    """Do a task in a worker. Its stats are written last: it is done if ``path`` is there."""
    stats = step(number, *arguments)
    with whole_file(path) as file:
        file.write(json.dumps(stats).encode())
    return stats


def resumed(job: Job) -> Job:
    """Return the job that goes on with what its output has, if that is not finished, and else a new one."""
    files = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in job.inputs]
    state = sha256(repr((files, job.settings, job.as_parquet)).encode()).hexdigest()
    folder = job.out / UNFINISHED
    known = folder / "job"
    if known.exists():
        earlier = json.loads(known.read_bytes())
        if earlier["state"] != state:
            raise InputError(f"{job.out}: has unfinished parts of other files or settings; name another folder")
        return replace(job, work=folder / earlier["work"], now=earlier["now"])
    if job.out.exists() and any(job.out.iterdir()):
        raise InputError(f"{job.out}: is not empty; name another folder")
    # No other replay has files of the same names: workers keep such files open.
    job = replace(job, work=folder / os.urandom(4).hex())
    job.work.mkdir(parents=True)
    with whole_file(known) as file:
        file.write(json.dumps({"state": state, "work": job.work.name, "now": job.now}).encode())
    return job
