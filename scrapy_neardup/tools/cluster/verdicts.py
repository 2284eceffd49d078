"""The last three steps of a replay on a cluster: pair documents, decide what they are, write the verdicts of each file.

``find_pairs`` pairs each document with the newest ones of a look-up key that came before it in the window. ``decide``
reads what is stored of these candidates. ``write_part`` follows each copy to the match of its match, until the original
is found.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scrapy_neardup import Document
from scrapy_neardup.assembly import judge_of
from scrapy_neardup.document import WHOLE_TEXT, counted_names
from scrapy_neardup.index.postings import MOST_POSTINGS, choose_candidates
from scrapy_neardup.records.documents import NO_TEXT, Record
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.rules.decision import Decision, Judge
from scrapy_neardup.rules.findings import any_applies
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.second_look import chosen_for_second_look
from scrapy_neardup.rules.systems import NOT_DROPPED
from scrapy_neardup.tools.cluster.exchange import (
    POSTINGS,
    Job,
    between,
    in_order,
    known_value_at,
    pack,
    read,
    value_at,
    whole_file,
    writing,
)
from scrapy_neardup.tools.cluster.sketches import Stats
from scrapy_neardup.tools.lab.replay import VERDICT_FIELDS

_MOST_IN_MEMORY = 1 << 18  # postings
_TOGETHER = 4096  # documents whose pairs are in memory
_MOST_KNOWN = 16_384  # originals of copies
_ROWS = 4096  # of Parquet, together
_IDS = "id", "match", "original"
_TYPES = {
    **dict.fromkeys(("similarity", "containment", "share"), pa.float64()),
    **dict.fromkeys(("changes", "news"), pa.list_(pa.string())),
    "would_drop": pa.bool_(),
}
_WRITTEN = pa.schema([(name, _TYPES.get(name, pa.string())) for name in ("id", *VERDICT_FIELDS, "error")])


def find_pairs(job: Job, tasks: int, number: int, first: int, last: int) -> Stats:
    """Find the pairs whose later posting is in a range of places, which are look-up key and second.

    Also count the documents whose id another one has, of the ids whose hash is in the range.
    """
    files = job.files("postings", tasks)
    window = job.settings.window
    crowded = 0
    with writing(job.file("pairs", number), POSTINGS) as add_pairs:
        for start, end in _spans(files, first, last):
            rows = pa.Table.from_batches(between(files, max(0, start - window), end), POSTINGS)
            rows = rows.sort_by([("place", "ascending"), ("key", "ascending")])
            place, key, address, weight = (each.to_numpy() for each in rows.columns)
            second = (place & np.uint64(0xFFFF_FFFF)).astype(np.int64)
            of_key = place >> np.uint64(32)
            for lag in range(1, MOST_POSTINGS + 2):
                is_pair = (of_key[lag:] == of_key[:-lag]) & (second[lag:] - second[:-lag] <= window)
                is_pair &= place[lag:] >= start
                if lag <= MOST_POSTINGS:
                    add_pairs(each[is_pair] for each in (address[lag:], key[:-lag], address[:-lag], weight[lag:]))
            crowded += int(is_pair.sum())
    ids = in_order(job.files("ids", len(job.inputs)), first, last)
    repeated = [given for (_, given), (_, next_one) in pairwise(ids) if given == next_one]
    told = [f"{given!r}: two documents have this id" for given in repeated[:1]]
    return {"counts": Counter(crowded=crowded, repeated=len(repeated)), "errors": told}


def _spans(files: Sequence[Path], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Halve a range of places until its rows fit into memory, or are of one second."""
    if last - first == 1 or sum(run.num_rows for run in between(files, first, last)) <= _MOST_IN_MEMORY:
        yield first, last
    else:
        middle = (first + last) // 2
        yield from _spans(files, first, middle)
        yield from _spans(files, middle, last)


def decide(job: Job, tasks: int, number: int, documents: int) -> Stats:
    """Decide what the documents are that one task has stored. Their *links* lead to what they were compared with."""
    judge = judge_of(job.settings)
    counts = Counter[str]()
    files = job.files("pairs", tasks)
    start = number << 32
    with writing(job.file("verdicts", number)) as add_verdicts, writing(job.file("links", number)) as add_links:
        for first in range(0, documents, _TOGETHER):
            addresses = range(start, start + documents)[first : first + _TOGETHER]
            candidates_of = _candidates(files, addresses)
            read.cache_clear()  # what is mapped stays in memory: many records, here and there
            rows = []
            links = []
            for address in addresses:
                given, record = known_value_at(job.work, "records", address)
                place, document = value_at(job.work, "texts", address)
                candidates = candidates_of[address]
                decision = _decided(judge, job.work, document, record, candidates)
                verdict = decision.verdict
                row = {"id": given, **{name: getattr(verdict, name) for name in VERDICT_FIELDS}, "story": None}
                match = candidates[decision.match.key] if decision.match else None
                if match is not None:
                    row["match"], _ = known_value_at(job.work, "records", match)
                rows.append((place, pack((None if match is None else address, row))))
                links.append(pack((match, decision.record.original != record.original, *_share(decision))))
                counts.update(["documents", *counted_names(verdict)])
            add_verdicts(zip(*rows, strict=True))
            add_links((addresses, links))
    return {"documents": documents, "counts": counts}


def _candidates(files: Sequence[Path], addresses: range) -> dict[int, dict[bytes, int]]:
    """Return for each address those of the likeliest candidates, by their keys."""
    pairs = pa.Table.from_batches(between(files, addresses.start, addresses.stop), POSTINGS)
    names = ["place", "key", "address"]
    rows = pairs.group_by(names).aggregate([("weight", "sum")])
    found = defaultdict[int, dict[bytes, int]](dict)
    votes = defaultdict[int, list[tuple[int, bytes]]](list)
    for place, key, address, weight in zip(*(rows[name].to_pylist() for name in (*names, "weight_sum")), strict=True):
        packed = key.to_bytes(8, "big")
        found[place][packed] = address
        votes[place].append((weight, packed))
    return {each: {key: found[each][key] for key in choose_candidates(votes[each])} for each in addresses}


def _decided(judge: Judge, work: Path, document: Document, record: Record, candidates: dict[bytes, int]) -> Decision:
    old = {key: known_value_at(work, "records", address)[1] for key, address in candidates.items()}
    pairs = [Pair(key, record, each, judge.policy) for key, each in old.items()]
    pairs = [*filter(judge.system.may_match, pairs)]
    texts = dict[bytes, StoredText]()
    for pair in chosen_for_second_look(pairs):
        if pair.old.text_at != NO_TEXT:
            _, stored = value_at(work, "texts", candidates[pair.key])
            texts[pair.key] = StoredText.of(stored.title, stored.text)
    return judge.decide(document, record, pairs, texts)


def _share(decision: Decision) -> tuple[float | None, bool]:
    """Return what share of a dropped document its match has, and whether it is kept if its match is dropped."""
    if decision.match is None or not decision.verdict.would_drop:
        return None, False
    # A guard may keep a copy of what is dropped.
    pair = copy(decision.match.pair)
    pair.old = replace(pair.old, kept_share_parts=WHOLE_TEXT - 1)
    return pair.share, any_applies(NOT_DROPPED, pair)


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
        for own, share in reversed(passed):
            held = self._held(parts, *share)
            parts = WHOLE_TEXT if held is None else held
            self._copies[own] = original, parts
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
