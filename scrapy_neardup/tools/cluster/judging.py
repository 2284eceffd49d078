"""The last steps of a replay on a cluster.

4. ``decide`` reads what is stored of the candidates of some documents, and decides what these documents are.
5. ``write_part`` writes the verdicts of a file in its order. It follows each copy to the match of its match, until it
   finds the original.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scrapy_neardup import Document
from scrapy_neardup.assembly import judge_of
from scrapy_neardup.document import WHOLE_TEXT, counted_names
from scrapy_neardup.index.postings import LEAST_WEIGHT, MAX_CANDIDATES
from scrapy_neardup.records.documents import NO_TEXT, Record, read_record
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.rules.decision import Decision, Judge
from scrapy_neardup.rules.findings import ask
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.rules.second_look import chosen_for_second_look
from scrapy_neardup.rules.systems import NOT_DROPPED
from scrapy_neardup.tools.cluster.exchange import in_order, read, whole_file, writing
from scrapy_neardup.tools.cluster.steps import ANSWERS, PAIRS, TOGETHER, Job, Stats, row_of, unpack
from scrapy_neardup.tools.lab.replay import VERDICT_FIELDS

PART_BITS = 12  # of an address: 4,096 documents are decided in a task
_MOST_STORED = 16_384  # stored documents in memory
_PAIRS_TOGETHER = 1 << 20

_LINKS = pa.schema(
    {
        "address": pa.uint64(),
        "match": pa.uint64(),
        "is_copy": pa.bool_(),
        "share": pa.float64(),
        "is_guarded": pa.bool_(),
    }
)
_TYPES = {
    **dict.fromkeys(("similarity", "containment", "share"), pa.float64()),
    **dict.fromkeys(("changes", "news"), pa.list_(pa.string())),
    "would_drop": pa.bool_(),
}
_WRITTEN = pa.schema([(name, _TYPES.get(name, pa.string())) for name in ("id", *VERDICT_FIELDS, "error")])


class _Stored(NamedTuple):
    record: Record
    given: str | int | None
    packed: bytes


@lru_cache(_MOST_STORED)
def _stored(work: Path, address: int) -> _Stored:
    number, at = divmod(address, 1 << 32)
    (row,) = read(work / f"stored-{number}").slice(at, 1).to_pylist()
    record = read_record(row["record"])
    assert record is not None, "workers have one version of the package"
    return _Stored(record, json.loads(row["given"]), row["document"])


def forget() -> None:
    """Close the files that this worker keeps open, so that their space is free when they are removed."""
    _stored.cache_clear()
    read.cache_clear()


# 4. Decide


def decide(job: Job, tasks: int, number: int, part: int, documents: int) -> Stats:
    """Decide what so many documents are, whose addresses begin with ``part``."""
    judge = judge_of(job.settings)
    counts = Counter[str]()
    start = part << PART_BITS
    files = job.files("pairs", range(tasks))
    with writing(job.file("verdicts", part), ANSWERS) as answers, writing(job.file("links", part), _LINKS) as links:
        for address, shared in _shared(files, start, start + documents):
            own = _stored(job.work, address)
            (place, known), document = unpack(own.packed)
            candidates = {key: _stored(job.work, other) for key, other in shared.items()}
            decision = _decide(judge, document, replace(own.record, **known), candidates)
            verdict = replace(decision.verdict, story=None)
            match, more = address, {}
            if decision.match is not None:
                match, more = shared[decision.match.key], {"match": candidates[decision.match.key].given}
            answers.add(([place], [address if more else None], [row_of(own.given, verdict, **more)]))
            is_copy = decision.record.original != own.record.original
            links.add([each] for each in (address, match, is_copy, *_share(decision)))
            counts.update(["documents", *counted_names(verdict)])
    return {"documents": documents, "counts": counts}


def _shared(files: Sequence[Path], start: int, end: int) -> Iterator[tuple[int, dict[bytes, int]]]:
    """Yield each address, and the addresses of its document's candidates by their keys, the likeliest first."""
    names = ["later", "key", "address"]
    pairs = pa.concat_tables([PAIRS.empty_table(), *in_order(files, start, end, _PAIRS_TOGETHER)])
    rows = pairs.group_by(names).aggregate([("weight", "sum")]).sort_by("later")
    places = rows["later"].to_numpy().searchsorted(np.arange(start, end + 1, dtype=np.uint64)).tolist()
    for address, (first, last) in zip(range(start, end), pairwise(places), strict=True):
        columns = (rows[name].slice(first, last - first).to_pylist() for name in ("key", "address", "weight_sum"))
        found = [(-weight, key, other) for key, other, weight in zip(*columns, strict=True) if weight >= LEAST_WEIGHT]
        yield address, {key.to_bytes(8, "big"): other for _, key, other in sorted(found)[:MAX_CANDIDATES]}


def _decide(judge: Judge, document: Document, record: Record, candidates: dict[bytes, _Stored]) -> Decision:
    pairs = [Pair(key, record, each.record, judge.policy) for key, each in candidates.items()]
    pairs = [each for each in pairs if judge.system.may_match(each)]
    texts = dict[bytes, StoredText]()
    for pair in chosen_for_second_look(pairs):
        if pair.old.text_at != NO_TEXT:
            _, old = unpack(candidates[pair.key].packed)
            texts[pair.key] = StoredText.of(old.title, old.text)
    return judge.decide(document, record, pairs, texts)


def _share(decision: Decision) -> tuple[float | None, bool]:
    """Return what share of a dropped document its match has, and whether it is kept if its match is dropped."""
    if decision.match is None or not decision.verdict.would_drop:
        return None, False
    # A guard may keep a copy of what is dropped.
    pair = copy(decision.match.pair)
    pair.old = replace(pair.old, kept_share_parts=WHOLE_TEXT - 1)
    return pair.share, bool(ask(pair, NOT_DROPPED).applying)


# 5. Write


class _Chains:
    """Follows copies of copies to their originals."""

    def __init__(self, job: Job, policy: Policy) -> None:
        self._job = job
        self._policy = policy
        self._copies: dict[int, tuple[int, int]] = {}  # as ``end``

    def end(self, address: int) -> tuple[int, bool]:
        """Return the address of a document's original, and whether the document is dropped."""
        links = [self._link(address)]
        while (match := links[-1]["match"]) not in self._copies and (link := self._link(match))["is_copy"]:
            links.append(link)
        original, parts = self._copies.get(match, (match, WHOLE_TEXT))
        if len(self._copies) > _MOST_STORED:
            self._copies.clear()
        share = None
        for link in reversed(links):
            share = self._held_share(link, parts)
            parts = WHOLE_TEXT if share is None else self._policy.held_parts(share)
            if link["is_copy"]:
                self._copies[link["address"]] = original, parts
        return original, share is not None

    def _link(self, address: int) -> dict[str, Any]:
        part, at = divmod(address, 1 << PART_BITS)
        found: list[dict[str, Any]] = read(self._job.file("links", part)).slice(at, 1).to_pylist()
        return found[0]

    def _held_share(self, link: dict[str, Any], parts: int) -> float | None:
        """Return what share of a document is held if it is dropped. ``parts`` are those of its match."""
        if link["share"] is None or (link["is_guarded"] and parts < WHOLE_TEXT):
            return None
        share: float = link["share"] * parts / WHOLE_TEXT
        return share if share >= self._policy.drop_share else None


def write_part(job: Job, parts: Sequence[int], number: int) -> Stats:
    chains = _Chains(job, judge_of(job.settings).policy)
    documents = 0
    files = [job.file("answers", number), *job.files("verdicts", parts)]
    with whole_file(job.part(number), job.work) as file:
        table = pq.ParquetWriter(file, _WRITTEN) if job.as_parquet else None
        for answers in in_order(files, number << 32, (number + 1) << 32, TOGETHER):
            rows = [_row(job, chains, json.loads(each["row"]), each["address"]) for each in answers.to_pylist()]
            documents += len(rows)
            if table is None:
                file.writelines(json.dumps(row).encode() + b"\n" for row in rows)
            else:
                texts = ("id", "match", "original")
                rows = [row | {name: row[name] and str(row[name]) for name in texts} for row in rows]
                table.write_table(pa.Table.from_pylist(rows, _WRITTEN))
        if table is not None:
            table.close()
    return {"documents": documents}


def _row(job: Job, chains: _Chains, row: dict[str, Any], address: int | None) -> dict[str, Any]:
    """Return a line of the output: with the original if the document, which then has an address, has a match."""
    if address is None:
        return row
    original, is_dropped = chains.end(address)
    stored = _stored(job.work, original)
    url = stored.record.url.decode("utf-8", "replace") or None
    return {**row, "original": stored.given, "original_url": url, "would_drop": is_dropped}
