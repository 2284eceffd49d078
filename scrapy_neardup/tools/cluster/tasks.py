"""The tasks of a replay on a Dask cluster, and the files by which those of one step hand rows to those of the next.

All files are below the output, in a folder that all workers see. So a worker that is killed costs the tasks that it was
doing: another one writes the same files again. A replay that is started again goes on where it was. Rows are in Arrow
files, of which only what is used is read.
"""

import logging
import os
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import msgpack
import numpy as np
import pyarrow as pa
from distributed import Client, as_completed

from scrapy_neardup import NearDupSettings
from scrapy_neardup.exceptions import InputError, NearDupError, explain_failure

_WAIT_SECONDS = 60  # for the first worker
_MOST_BYTES = 4 << 20  # of rows in memory
_ERRORS = "surrogatepass"  # half characters in texts

UNFINISHED = "unfinished"  # a folder of the output
VALUES = pa.schema({"place": pa.uint64(), "value": pa.binary()})
STORED = pa.schema({"place": pa.uint64(), "record": pa.binary(), "document": pa.binary()})
POSTINGS = pa.schema(dict.fromkeys(("place", "key", "address", "weight"), pa.uint64()))


# What a task has counted, "done" documents among it.
Stats = Counter[str]


@dataclass(frozen=True, eq=False)
class Job:
    """What all tasks of a replay know. The second half is known when all files are read."""

    out: Path
    settings: NearDupSettings
    inputs: tuple[Path, ...]
    work: Path
    as_parquet: bool = False
    now: float = 0.0  # of documents that give no time

    lines_before: Sequence[int] = ()  # of each file
    ranges: Sequence[tuple[int, int]] = ()  # of places that begin with a hash of 32 bits, one for each task
    terms: bytes = b""  # in how many documents each term is, packed

    def file(self, name: str, number: int) -> Path:
        return self.work / f"{name}-{number:09}"

    def rows(self, name: str, least: int, most: int) -> Iterator[pa.Table]:
        """Yield the rows that a step has written whose place is from ``least`` to below ``most``.

        The tables fit into memory and come in the order of their places. The rows of each are not sorted, but those of
        one place are in the order in which they were written.
        """
        runs = (run for path in sorted(self.work.glob(f"{name}-*")) for run in read(path).to_batches())
        return _tables(runs, least, most)

    def values(self, name: str, least: int, most: int) -> Iterator[Any]:
        """Yield the values of such rows by their place."""
        found = (rows.sort_by("place")["value"] for rows in self.rows(name, least, most))
        yield from (unpack(value.as_py()) for values in found for value in values)

    def value_at(self, name: str, column: str, address: int) -> Any:
        """Return a value of a document: the number of its task is in the high 32 bits, and its number there below."""
        return unpack(read(self.file(name, address >> 32))[column][address % (1 << 32)].as_py())


def _tables(runs: Iterable[pa.RecordBatch], least: int, most: int) -> Iterator[pa.Table]:
    """Halve a range of places until its rows fit into memory."""
    found = []
    for run in runs:
        places = run["place"].to_numpy()
        first = places.searchsorted(np.uint64(least))
        end = places.searchsorted(np.uint64(most - 1), "right")
        if first < end:
            found.append(run.slice(first, end - first))
    if most - least == 1:
        yield from (pa.Table.from_batches([each]) for each in found)
    elif sum(each.nbytes for each in found) > _MOST_BYTES:
        middle = (least + most) // 2
        yield from _tables(found, least, middle)
        yield from _tables(found, middle, most)
    elif found:
        yield pa.Table.from_batches(found)


@lru_cache(1024)
def read(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as file:  # the rows need no open file, and may be of thousands of files
        return pa.ipc.open_file(file).read_all()


@contextmanager
def writing(path: Path, schema: pa.Schema = VALUES) -> Iterator[Callable[[Iterable[Any]], None]]:
    """Yield a function that adds rows, given as one sequence for each column, or none if there are no rows.

    Each time they are a run of their own, which is sorted by place.
    """

    def add(columns: Iterable[Any]) -> None:
        if arrays := [pa.array(each, kind) for each, kind in zip(columns, schema.types, strict=False)]:
            rows = pa.Table.from_arrays(arrays, schema=schema)
            file.write_table(rows.sort_by("place").combine_chunks())

    with whole_file(path, path.parent) as whole, pa.ipc.new_file(whole, schema) as file:
        yield add


@contextmanager
def whole_file(path: Path, drafts: Path) -> Iterator[IO[bytes]]:
    """Open a file that is only there when it is whole. Until then it is in the folder of drafts."""
    draft = drafts / f".{path.name}.{os.urandom(6).hex()}"
    with draft.open("wb") as file:
        yield file
    draft.replace(path)


def pack(value: Any) -> bytes:
    # An id may have more than 64 bits.
    plain = msgpack.packb(value, default=lambda each: msgpack.ExtType(0, str(each).encode()), unicode_errors=_ERRORS)
    return zlib.compress(plain, 1)


def unpack(packed: bytes) -> Any:
    plain = zlib.decompress(packed)
    return msgpack.unpackb(plain, ext_hook=lambda _, each: int(each), use_list=False, unicode_errors=_ERRORS)


def connected(address: str, workers: int) -> Client:
    """Connect to a scheduler, or to one that is started here with so many workers."""
    options: dict[str, Any] = {"address": address, "timeout": _WAIT_SECONDS}
    if address == "local":
        options = {
            "n_workers": workers,
            "threads_per_worker": 1,
            "dashboard_address": ":0",  # any port that is free
            "preload": ["import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"],  # Ctrl-C is for the command
            "silence_logs": logging.CRITICAL,
        }
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


def do_tasks(
    client: Client,
    tell: Callable[[str], None],
    job: Job,
    step: Callable[[Job, int, Any], Stats],
    tasks: Sequence[object],
) -> list[Stats]:
    """Do what is not done yet of the tasks of a step. Return the stats of all."""
    paths = [job.file(step.__name__, number) for number in range(len(tasks))]
    # What the tasks share is a task of its own: the scheduler would keep it for each of them.
    common = client.submit(partial, step, job, pure=False)
    waiting = [
        client.submit(_task, common, path, number, task, key=str(path))
        for number, (path, task) in enumerate(zip(paths, tasks, strict=True))
        if not path.exists()
    ]
    start = time.perf_counter()
    documents = 0
    for done, future in enumerate(as_completed(waiting), len(paths) - len(waiting) + 1):
        if error := future.exception():
            name = Path(future.key).name
            raise NearDupError(f"{name}: {explain_failure(error)}; give the command again to go on") from error
        documents += future.result()["done"]
        if done == len(paths) or done % (len(paths) // 4 + 1) == 0:
            seconds = time.perf_counter() - start
            speed = f", {documents / seconds:,.0f} documents a second" if documents else ""
            tell(f"{step.__name__}: {done} of {len(paths)} tasks in {seconds:.1f} s{speed}")
    return [Counter(unpack(path.read_bytes())) for path in paths]


def _task(step: Callable[[int, object], Stats], path: Path, number: int, task: object) -> Stats:
    """Do a task in a worker. Its stats are written last: it is done if ``path`` is there."""
    stats = step(number, task)
    read.cache_clear()  # so that the files can be removed
    with whole_file(path, path.parent) as file:
        file.write(pack(stats))
    return stats
