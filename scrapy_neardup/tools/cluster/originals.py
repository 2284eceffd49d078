"""Write the verdicts of each file, the last step of a replay on a cluster.

Each copy is followed to the match of its match, until the original is found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from scrapy_neardup.assembly import judge_of
from scrapy_neardup.document import WHOLE_TEXT
from scrapy_neardup.tools.cluster.exchange import Job, in_order, known_value_at, whole_file
from scrapy_neardup.tools.cluster.sketches import Stats
from scrapy_neardup.tools.lab.replay import VERDICT_FIELDS

_MOST_KNOWN = 16_384
_ROWS = 4096  # of Parquet, together
_IDS = "id", "match", "original"
_TYPES = {
    **dict.fromkeys(("similarity", "containment", "share"), pa.float64()),
    **dict.fromkeys(("changes", "news"), pa.list_(pa.string())),
    "would_drop": pa.bool_(),
}
_WRITTEN = pa.schema([(name, _TYPES.get(name, pa.string())) for name in ("id", *VERDICT_FIELDS, "error")])


class _Chains:
    """Follows copies of copies to their originals."""

    def __init__(self, job: Job) -> None:
        self._work = job.work
        self._policy = judge_of(job.settings).policy
        self._copies: dict[int, tuple[int, int]] = {}

    def completed(self, address: int | None, row: dict[str, Any]) -> dict[str, Any]:
        """Return a verdict with its original, if the document has a match, and so an address here."""
        if address is None:
            return row
        match, _, *share = known_value_at(self._work, "links", address)
        original, parts = self._end(match)
        given, record = known_value_at(self._work, "records", original)
        url = record.url.decode("utf-8", "replace") or None
        would_drop = self._held(parts, *share) is not None
        return {**row, "original": given, "original_url": url, "would_drop": would_drop}

    def _end(self, address: int) -> tuple[int, int]:
        """Return the address of the original of a document, and how much of its text is kept, as a record has it."""
        passed = []
        while address not in self._copies:
            match, is_copy, *share = known_value_at(self._work, "links", address)
            if not is_copy:
                break
            passed.append((address, share))
            address = match
        original, parts = self._copies.get(address, (address, WHOLE_TEXT))
        if len(self._copies) > _MOST_KNOWN:
            self._copies.clear()
        for copy, share in reversed(passed):
            held = self._held(parts, *share)
            parts = WHOLE_TEXT if held is None else held
            self._copies[copy] = original, parts
        return original, parts

    def _held(self, parts: int, share: float | None, is_guarded: bool) -> int | None:
        """Return how much of a text its match has of whose text so much is kept. None if the document is kept."""
        if share is None or (is_guarded and parts < WHOLE_TEXT):
            return None
        share = share * parts / WHOLE_TEXT
        return self._policy.held_parts(share) if share >= self._policy.drop_share else None


def write_part(job: Job, tasks: int, number: int) -> Stats:
    chains = _Chains(job)
    files = [job.file("answers", number), *job.files("verdicts", tasks)]
    values = in_order(files, number << 32, (number + 1) << 32)
    rows = (chains.completed(address, row) for _, (address, row) in values)
    name = f"{number:05}-{job.inputs[number].name.partition('.')[0]}.{'parquet' if job.as_parquet else 'jsonl'}"
    with whole_file(job.out / name, job.work) as file:
        if job.as_parquet:
            _write_parquet(file, rows)
        else:
            file.writelines(json.dumps(row).encode() + b"\n" for row in rows)
    return {}


def _write_parquet(file: IO[bytes], rows: Iterator[dict[str, Any]]) -> None:
    with pq.ParquetWriter(file, _WRITTEN) as table:
        while batch := [*islice(rows, _ROWS)]:
            texts = [{**row, **{name: row[name] and str(row[name]) for name in _IDS}} for row in batch]
            table.write_table(pa.Table.from_pylist(texts, _WRITTEN))
