"""Files by which the tasks of one step hand rows to those of the next, in a folder that all workers see.

A task writes its files first, and then its ``Stats``. A task that has stats is done, and is never done again. If a
worker is killed, another one writes the same files again.
"""

from __future__ import annotations

import heapq
import json
import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Array = NDArray[Any]
Stats = dict[str, Any]

_MOST_BUFFERED = 32 << 20  # bytes of a run of rows
_ROWS_AT_ONCE = 4096  # that are read of all runs together
_PLACE = np.dtype([("group", "u4"), ("second", "u4"), ("line", "u4"), ("offset", "u8"), ("size", "u4")])


def pack(value: object) -> bytes:
    raw = pickle.dumps(value)
    return len(raw).to_bytes(4, "big") + bytes(pa.compress(raw, "zstd"))


def unpack(packed: bytes) -> Any:
    return pickle.loads(pa.decompress(packed[4:], int.from_bytes(packed[:4], "big"), "zstd", asbytes=True))


@contextmanager
def whole_file(path: Path, drafts: Path | None = None) -> Iterator[IO[bytes]]:
    """Open a file that is only there when it is whole. Until then it is in another folder, or beside its place."""
    draft = (drafts or path.parent) / f".{path.name}.{os.urandom(6).hex()}"
    try:
        with draft.open("wb") as file:
            yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def save(path: Path, array: Array) -> None:
    with whole_file(path) as file:
        np.save(file, array)


@lru_cache(1024)
def load(path: Path) -> Array:
    """Return an array of a file that never changes. Only what is used of it is read."""
    array: Array = np.load(path, mmap_mode="r")
    return array


class RowWriter:
    """Writes rows in runs, each sorted by group, second and line. A row is some bytes."""

    def __init__(self, stem: Path) -> None:
        self._stem = stem
        self._rows: list[tuple[int, int, int, bytes]] = []
        self._size = 0
        self.runs: list[str] = []

    def add(self, group: int, second: int, line: int, row: bytes) -> None:
        self._rows.append((group, second, line, row))
        self._size += len(row)
        if self._size >= _MOST_BUFFERED:
            self.end_run()

    def end_run(self) -> None:
        if not self._rows:
            return
        self._rows.sort(key=lambda each: each[:3])
        sizes = [len(row) for *_, row in self._rows]
        places = np.zeros(len(sizes), _PLACE)
        for name, column in zip(("group", "second", "line"), zip(*self._rows, strict=True), strict=False):
            places[name] = column
        places["size"] = sizes
        places["offset"] = np.cumsum([0, *sizes[:-1]])
        run = f"{self._stem}.{len(self.runs)}"
        with whole_file(Path(f"{run}.rows")) as file:
            file.writelines(row for *_, row in self._rows)
        save(Path(f"{run}.npy"), places)
        self.runs.append(run)
        self._rows, self._size = [], 0


def rows_of(runs: Sequence[str], group: int) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield the rows of a group by second, number of the run and line. Whatever their number, few are in memory."""
    at_once = max(1, _ROWS_AT_ONCE // max(1, len(runs)))
    return heapq.merge(*(_rows_of_run(run, number, group, at_once) for number, run in enumerate(runs)))


def _rows_of_run(run: str, number: int, group: int, at_once: int) -> Iterator[tuple[int, int, int, bytes]]:
    places = load(Path(f"{run}.npy"))
    first, last = np.searchsorted(places["group"], [group, group + 1])
    for start in range(first, last, at_once):
        block = places[start : min(last, start + at_once)]
        offset = int(block["offset"][0])
        with Path(f"{run}.rows").open("rb") as file:
            file.seek(offset)
            data = memoryview(file.read(int(block["size"].sum())))
        for _, second, line, at, size in block.tolist():
            yield second, number, line, bytes(data[at - offset : at - offset + size])


class ColumnWriter:
    """Writes columns of numbers in runs, each sorted by the first column. Begins a new run after ``most`` rows."""

    def __init__(self, stem: Path, most: int = 1 << 20) -> None:
        self._stem = stem
        self._most = most
        self._rows: list[tuple[Array, Array]] = []
        self._left = most
        self.runs: list[str] = []

    def add(self, first: Array, others: Array) -> None:
        self._rows.append((first, others))
        self._left -= len(first)
        if self._left <= 0:
            self.end_run()

    def end_run(self) -> None:
        if not self._rows:
            return
        first, others = map(np.concatenate, zip(*self._rows, strict=True))
        order = first.argsort(kind="stable")
        run = f"{self._stem}.{len(self.runs)}"
        save(Path(f"{run}.first.npy"), first[order])
        save(Path(f"{run}.others.npy"), others[order])
        self.runs.append(run)
        self._rows, self._left = [], self._most


def columns_of(run: str, least: int, most: int) -> tuple[Array, Array]:
    """Return the rows of a run whose first column is from ``least`` to below ``most``."""
    first = load(Path(f"{run}.first.npy"))
    start = first.searchsorted(first.dtype.type(least))
    end = first.searchsorted(first.dtype.type(most - 1), "right")
    return first[start:end], load(Path(f"{run}.others.npy"))[start:end]


def stats_of(path: Path) -> Stats | None:
    """Return the stats of a task, None if it is not done."""
    try:
        found: Stats = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    return found
