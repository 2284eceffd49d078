"""Arrow files by which the tasks of one step hand rows to those of the next, in a folder that all workers see.

If a worker is killed, another one writes the same file again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

_MOST_BUFFERED = 32 << 20  # bytes of a run of rows


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


class Writer:
    """Writes rows in runs, each sorted by the first column."""

    def __init__(self, file: pa.RecordBatchFileWriter, schema: pa.Schema) -> None:
        self._file = file
        self._schema = schema
        self._rows: list[pa.Table] = []
        self._size = 0

    def add(self, columns: Iterable[Any]) -> None:
        """Add rows, given as one sequence for each column. No column is no row."""
        arrays = [pa.array(each, kind) for each, kind in zip(columns, self._schema.types, strict=False)]
        if not arrays:
            return
        self._rows.append(pa.Table.from_arrays(arrays, schema=self._schema))
        self._size += self._rows[-1].nbytes
        if self._size >= _MOST_BUFFERED:
            self.end_run()

    def end_run(self) -> None:
        if self._rows:
            rows = pa.concat_tables(self._rows).combine_chunks()
            self._file.write_table(rows.sort_by(self._schema.names[0]).combine_chunks())
            self._rows, self._size = [], 0


@contextmanager
def writing(path: Path, schema: pa.Schema) -> Iterator[Writer]:
    with whole_file(path) as file, pa.ipc.new_file(file, schema) as rows:
        writer = Writer(rows, schema)
        yield writer
        writer.end_run()


@lru_cache(1024)
def read(path: Path) -> pa.Table:
    """Return the rows of a file that never changes. Only what is used of it is read."""
    with pa.memory_map(str(path)) as file:  # the rows need no open file, and may be of thousands of files
        return pa.ipc.open_file(file).read_all()


def in_order(paths: Iterable[Path], least: int, most: int, at_once: int) -> Iterator[pa.Table]:
    """Yield the rows whose first column is from ``least`` to below ``most``, sorted by the first two columns.

    About ``at_once`` rows are in memory, however many there are. Rows with one first value come together.
    """
    runs = [run for path in paths for run in read(path).to_batches()]
    columns = [run.column(0).to_numpy() for run in runs]
    slices = [slice(*_places(column, least, most)) for column in columns]
    bounds = [least, most]
    spans = sum(each.stop - each.start for each in slices) // at_once + 1
    if spans > 1:
        sampled = np.concatenate([column[each][::spans] for column, each in zip(columns, slices, strict=True)])
        sampled.sort()
        bounds[1:1] = np.unique(sampled[np.arange(1, spans) * len(sampled) // spans]).tolist()
    for start, end in pairwise(bounds):
        found = list[pa.RecordBatch]()
        for run, column in zip(runs, columns, strict=True):
            first, last = _places(column, start, end)
            if first < last:
                found.append(run.slice(first, last - first))
        if found:
            rows = pa.Table.from_batches(found)
            yield rows.sort_by([(name, "ascending") for name in rows.schema.names[:2]])


def _places(column: np.ndarray[Any, Any], least: int, most: int) -> tuple[int, int]:
    """Return where the values from ``least`` to below ``most`` begin and end."""
    return int(column.searchsorted(np.uint64(least))), int(column.searchsorted(np.uint64(most - 1), "right"))
