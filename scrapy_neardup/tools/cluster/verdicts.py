"""Decide what documents are, the third step of a replay on a cluster, from what is stored of their candidates."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from scrapy_neardup import Document
from scrapy_neardup.assembly import judge_of
from scrapy_neardup.document import WHOLE_TEXT, counted_names
from scrapy_neardup.index.postings import choose_candidates
from scrapy_neardup.records.documents import NO_TEXT, Record
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.rules.decision import Decision, Judge
from scrapy_neardup.rules.findings import any_applies
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.second_look import chosen_for_second_look
from scrapy_neardup.rules.systems import NOT_DROPPED
from scrapy_neardup.tools.cluster.exchange import POSTINGS, Job, between, known_value_at, pack, read, value_at, writing
from scrapy_neardup.tools.cluster.sketches import Stats
from scrapy_neardup.tools.lab.replay import VERDICT_FIELDS

_TOGETHER = 4096  # documents whose pairs are in memory


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
