"""Replay an archive on a Dask cluster: give out the tasks of each step, and note what they have done.

Everything that tasks make is in files below the output. So a worker that is killed costs the tasks that it was doing,
and a replay that is started again goes on where it was.
"""

import logging
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from distributed import Client, as_completed

from scrapy_neardup.exceptions import InputError, NearDupError
from scrapy_neardup.records.learned import NOTHING, add_counts
from scrapy_neardup.tools.cluster.exchange import Job, known_value_at, pack, read, unpack, whole_file
from scrapy_neardup.tools.cluster.steps import Stats, decide, find_pairs, fingerprint, read_file, write_part

_DOCUMENTS = 20_000  # of a task, about
_POSTINGS = 1_000_000
_FEWEST_TASKS = 16  # of a step
_WAIT_SECONDS = 60  # for the first worker
_TOLD = 4  # lines of progress of a step

UNFINISHED = "unfinished"  # a folder of the output


def connected(address: str, workers: int) -> Client:
    """Connect to a scheduler, or to one that is started here with so many workers."""
    options: dict[str, Any] = {"address": address, "timeout": _WAIT_SECONDS}
    if address == "local":
        options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
        options |= {"preload": [__package__], "silence_logs": logging.ERROR}
    try:
        client = Client(**options)
        client.wait_for_workers(1, timeout=_WAIT_SECONDS)
        client.get_versions(check=True, packages=["scrapy_neardup"])  # warns if they differ
    except (OSError, ValueError, ImportError) as error:  # a TimeoutError is an OSError
        raise InputError(f"--cluster {address}: no scheduler with workers: {error}") from error
    return client


def resumed(job: Job) -> Job:
    """Return the job that goes on with what its output has, if that is not finished, and else a new one."""
    files = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in job.inputs]
    work = job.out / UNFINISHED / sha256(repr((files, job.settings, job.as_parquet)).encode()).hexdigest()
    if job.out.exists() and any(job.out.iterdir()) and not work.exists():
        raise InputError(f"{job.out}: has other files, or unfinished ones of another replay; name another folder")
    work.mkdir(0o700, parents=True, exist_ok=True)
    return replace(job, work=work, now=max(modified for *_, modified in files) / 1e9)


def replay_archive(client: Client, job: Job, tell: Callable[[str], None]) -> tuple[Counter[str], list[str]]:
    """Write all parts. Return what was counted, and the first errors of each file.

    What is made is kept until all parts are written.
    """
    do = partial(_do, client, job, tell)
    found = do(read_file, job.inputs)
    lines_before = [0, *accumulate(stats["lines"] for stats in found)]
    terms = reduce(add_counts, (path.read_bytes() for path in sorted(job.work.glob("terms-*"))), NOTHING)
    stored = do(fingerprint, _ranges(sum(stats["documents"] for stats in found) // _DOCUMENTS), lines_before, terms)
    paired = do(find_pairs, _ranges(sum(stats["postings"] for stats in stored) // _POSTINGS), len(stored))
    decided = do(decide, [stats["documents"] for stats in stored], len(paired))
    do(write_part, job.inputs, len(stored))
    # Renamed, because a worker that was thought lost may still be at a task: now it finds no folder to write to.
    shutil.rmtree((job.out / UNFINISHED).rename(job.out / f".{UNFINISHED}"))
    counts = sum((Counter(stats["counts"]) for stats in (*found, *paired, *decided)), Counter[str]())
    return counts, [line for stats in found for line in stats["errors"]]


def _ranges(tasks: int) -> list[tuple[int, int]]:
    """Return equal ranges of places that begin with a hash of 32 bits."""
    tasks += _FEWEST_TASKS
    return [*pairwise(((1 << 32) * number // tasks) << 32 for number in range(tasks + 1))]


def _do(
    client: Client,
    job: Job,
    tell: Callable[[str], None],
    step: Callable[..., Stats],
    tasks: Sequence[object],
    *shared: Any,
) -> list[Stats]:
    """Do what is not done yet of the tasks of a step. Return the stats of all."""
    paths = job.files(step.__name__, len(tasks))
    # What the tasks share is a task of its own: the scheduler would keep it for each of them.
    common = client.submit(partial, step, job, *shared, pure=False)
    waiting = [
        client.submit(_task, common, path, number, task, key=str(path))
        for number, (path, task) in enumerate(zip(paths, tasks, strict=True))
        if not path.exists()
    ]
    start = time.perf_counter()
    documents = 0
    for done, future in enumerate(as_completed(waiting), len(paths) - len(waiting) + 1):
        if error := future.exception():
            reason = f"{Path(future.key).name}: {type(error).__name__}: {error}"
            raise NearDupError(f"{reason}; give the command again to go on") from error
        documents += future.result().get("documents", 0)
        if done == len(paths) or done % (len(paths) // _TOLD + 1) == 0:
            seconds = time.perf_counter() - start
            speed = f", {documents / seconds:,.0f} documents a second" if documents else ""
            tell(f"{step.__name__}: {done} of {len(paths)} tasks in {seconds:.1f} s{speed}")
    return [unpack(path.read_bytes()) for path in paths]


def _task(step: Callable[..., Stats], path: Path, number: int, task: object) -> Stats:
    """Do a task in a worker. Its stats are written last: it is done if ``path`` is there."""
    stats = step(number, task)
    known_value_at.cache_clear()
    read.cache_clear()  # so that the files can be removed
    with whole_file(path, path.parent) as file:
        file.write(pack(stats))
    return stats
