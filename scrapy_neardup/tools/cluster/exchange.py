"""Files by which the tasks of one step hand rows to those of the next, in a folder that all workers see.

They are Arrow files, of which only what is used is read. If a worker is killed, another one writes the same file again.
"""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import msgpack
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scrapy_neardup import Document, NearDupSettings
from scrapy_neardup.records.documents import Record

_MOST_BUFFERED = 32 << 20  # bytes of a run of rows
_MOST_KNOWN = 16_384  # unpacked values in memory

_CLASSES = Document, Record  # of packed values
VALUES = pa.schema({"place": pa.uint64(), "value": pa.binary()})
STORED = pa.schema({"place": pa.uint64(), "record": pa.binary(), "text": pa.binary()})
POSTINGS = pa.schema(dict.fromkeys(("place", "key", "address", "weight"), pa.uint64()))


@dataclass(frozen=True)
class Job:
    """What all tasks of a replay know."""

    out: Path
    settings: NearDupSettings
    inputs: tuple[Path, ...]
    work: Path
    as_parquet: bool = False
    now: float = 0.0  # of documents that give no time

    def file(self, name: str, number: int) -> Path:
        return self.work / f"{name}-{number}"

    def files(self, name: str, tasks: int) -> list[Path]:
        return [self.file(name, number) for number in range(tasks)]


@contextmanager
def whole_file(path: Path, drafts: Path) -> Iterator[IO[bytes]]:
    """Open a file that is only there when it is whole. Until then it is in another folder."""
    draft = drafts / f".{path.name}.{os.urandom(6).hex()}"
    try:
        with draft.open("wb") as file:
            yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def writing(path: Path, schema: pa.Schema = VALUES) -> Iterator[Callable[[Iterable[Any]], None]]:
    """Yield a function that adds rows, given as one sequence for each column, or none if there are no rows.

    They are written in runs, each sorted by place. Rows of one place stay in their order.
    """
    waiting: list[pa.RecordBatch] = []

    def add(columns: Iterable[Any]) -> None:
        if arrays := [pa.array(each, kind) for each, kind in zip(columns, schema.types, strict=False)]:
            waiting.append(pa.record_batch(arrays, schema))
        if sum(each.nbytes for each in waiting) > _MOST_BUFFERED:
            end_run()

    def end_run() -> None:
        file.write_table(pa.Table.from_batches(waiting, schema).sort_by("place").combine_chunks())
        waiting.clear()

    with whole_file(path, path.parent) as whole, pa.ipc.new_file(whole, schema) as file:
        yield add
        end_run()


def pack(value: Any) -> bytes:
    return zlib.compress(msgpack.packb(value, default=_extended, unicode_errors="surrogatepass"), 1)


def unpack(packed: bytes) -> Any:
    plain = zlib.decompress(packed)
    return msgpack.unpackb(plain, ext_hook=_object, use_list=False, unicode_errors="surrogatepass")


def _extended(value: Any) -> msgpack.ExtType:
    if isinstance(value, int):  # of more than 64 bits
        return msgpack.ExtType(len(_CLASSES), str(value).encode())
    return msgpack.ExtType(_CLASSES.index(type(value)), pack([getattr(value, each.name) for each in fields(value)]))


def _object(code: int, packed: bytes) -> Any:
    return int(packed) if code == len(_CLASSES) else _CLASSES[code](*unpack(packed))


@lru_cache(1024)
def read(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as file:  # the rows need no open file, and may be of thousands of files
        return pa.ipc.open_file(file).read_all()


def value_at(work: Path, name: str, column: str, address: int) -> Any:
    """Return the value of a document: the number of its task is in the high 32 bits, and its number there below."""
    return unpack(read(work / f"{name}-{address >> 32}")[column][address % (1 << 32)].as_py())


known_value_at = lru_cache(_MOST_KNOWN)(value_at)


def between(paths: Iterable[Path], least: int, most: int, schema: pa.Schema = VALUES) -> pa.Table:
    """Return the rows whose place is from ``least`` to below ``most``, as they are in the files."""
    found = []
    for run in (run for path in paths for run in read(path).to_batches()):
        places = run["place"].to_numpy()
        first = places.searchsorted(np.uint64(least))
        found.append(run.slice(first, places.searchsorted(np.uint64(most - 1), "right") - first))
    return pa.Table.from_batches(found, schema)


def in_order(paths: Iterable[Path], least: int, most: int) -> Iterator[Any]:
    """Yield the values of these rows by their place. They are unpacked one by one, however many there are."""
    rows = between(paths, least, most)
    for index in pc.sort_indices(rows["place"]):
        yield unpack(rows["value"][index.as_py()].as_py())
