"""The steps of a replay on a cluster, in their order. The tasks of a step read the files of those before it.

``read_file`` reads a file, extracts its pages, sketches its texts, and sorts its documents by source and time.
``fingerprint`` learns the boilerplate of some sources in the order of time, as a crawl does. It stores fingerprints and
texts, and posts each document under its look-up keys. ``find_pairs`` pairs each document with the newest ones of a
look-up key that came before it in the window. ``decide`` reads what is stored of these candidates. ``write_part``
follows each copy to the match of its match, until the original is found.

The *place* of a row says where it belongs: source and second, look-up key and second, file and line, or an address. The
*address* of a document is the number of the task that stored it, and its number there. Its key is as in a window: the
second, then its number among all lines of all files. So keys sort by time, then in the order of the input.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scrapy_neardup import Document, NearDupDetector, Verdict
from scrapy_neardup.assembly import judge_of, sketcher_of
from scrapy_neardup.document import WHOLE_TEXT, counted_names
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.index.postings import MOST_POSTINGS, Keys, choose_candidates
from scrapy_neardup.records.documents import NO_TEXT, Record, new_record
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.rules.decision import Decision, Judge
from scrapy_neardup.rules.findings import any_applies
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.rules.second_look import chosen_for_second_look
from scrapy_neardup.rules.systems import NOT_DROPPED
from scrapy_neardup.sketch import has_words, source_hash
from scrapy_neardup.sketch.origin import Origin
from scrapy_neardup.sketch.text_sketch import ahead_options, sketch_ahead, unpack_sketch
from scrapy_neardup.tools.cluster.exchange import (
    POSTINGS,
    STORED,
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
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_documents, take
from scrapy_neardup.tools.lab.replay import VERDICT_FIELDS, Judged, OutputFormat, PageReader, document_of

Stats = dict[str, Any]

_SKETCHED = 64  # documents together
_DECIDED = 4096  # documents whose pairs are in memory
_MOST_POSTINGS = 1 << 18  # in memory
_MOST_COPIES = 16_384  # whose originals are known
_TOLD = 10  # errors of a file
_ROWS = 4096  # of Parquet, together
_IDS = "id", "match", "original"
_TYPES = {
    **dict.fromkeys(("similarity", "containment", "share"), pa.float64()),
    **dict.fromkeys(("changes", "news"), pa.list_(pa.string())),
    "would_drop": pa.bool_(),
}
_WRITTEN = pa.schema([(name, _TYPES.get(name, pa.string())) for name in ("id", *VERDICT_FIELDS, "error")])


def read_file(job: Job, number: int, path: Path) -> Stats:
    detector = NearDupDetector(job.settings, run="")
    counts = Counter[str]()
    errors: list[str] = []
    clock = job.now
    documents = line = 0
    with (
        PageReader(job.settings, 1) as reader,
        writing(job.file("documents", number)) as add_documents,
        writing(job.file("answers", number)) as add_answers,
    ):
        pages = reader.read(_documents(path))
        while batch := take(pages, _SKETCHED):
            found = list[tuple[int, Any, Document]]()
            answers = []
            for page in batch:
                line = page.recorded.line
                clock = clock if page.recorded.time is None else page.recorded.time
                if page.error is None and has_words(page.text):
                    found.append((number << 32 | line, page.recorded.id, document_of(page, detector, clock)))
                    continue
                judged = Judged(page, Verdict("unchecked", reason=page.reason if page.error else "no-text"))
                answers.append((number << 32 | line, pack((None, None, OutputFormat().row(judged)))))
                counts.update(judged.counted)
                errors = [*errors, *filter(None, [page.error])][:_TOLD]
            documents += len(found)
            add_answers(zip(*answers, strict=True))
            add_documents(zip(*_sketched(detector, found), strict=True))
    if detector.sketcher.topics:
        with whole_file(job.file("terms", number), job.work) as file:
            file.write(detector.sketcher.topics.frequencies.take_pending())
    return {"documents": documents, "lines": line, "counts": counts, "errors": errors}


def _documents(path: Path) -> Iterator[RecordedDocument]:
    """Yield the documents of a file. For one that cannot be read, yield one that says why."""
    try:
        yield from read_documents(path)
    except InputError as error:
        yield RecordedDocument(1, str(path), None, error=str(error))


_sketcher = lru_cache(1)(sketch_ahead)


def _sketched(detector: NearDupDetector, found: Sequence[tuple[int, Any, Document]]) -> Iterator[tuple[int, bytes]]:
    """Yield the rows of documents with the sketches of their texts, and count the terms of these.

    Their place is the hash of the source, and the second.
    """
    topics = detector.sketcher.topics
    made = [b""] * len(found)
    if detector.preset.is_of_text_alone:
        sketcher = _sketcher(ahead_options(detector.preset, min_words=detector.settings.min_words))
        made = sketcher([document.text for *_, document in found])
    for (place, given, document), sketch in zip(found, made, strict=True):
        if topics and sketch:
            topics.topic(unpack_sketch(sketch).lead, Origin.of(document).terms)
        source = source_hash(document.source or repr(given))
        of_source = int.from_bytes(source, "big") << 32 | int(document.seen_at)
        yield of_source, pack((place, given, replace(document, sketch=sketch)))


def fingerprint(job: Job, lines_before: Sequence[int], terms: bytes, number: int, bounds: tuple[int, int]) -> Stats:
    """Make the fingerprints of the sources whose hashes are in a range of places."""
    sketcher = sketcher_of(job.settings)
    if sketcher.topics:
        sketcher.topics.frequencies.replace(terms)
    address = number << 32
    count = 0
    rows = in_order(job.files("documents", len(job.inputs)), *bounds)
    with (
        writing(job.file("stored", number), STORED) as add_documents,
        writing(job.file("postings", number), POSTINGS) as add_postings,
    ):
        while batch := [*islice(rows, _SKETCHED)]:
            stored = []
            posted = []
            made = sketcher.fingerprints([document for *_, document in batch])
            for (place, given, document), each in zip(batch, made, strict=True):
                second = int(document.seen_at)
                key = second << 32 | (lines_before[place >> 32] + place) % (1 << 32)
                document = replace(document, id=f"{key:016x}", sketch=b"")
                record = new_record(each, document, keep_text=job.settings.keep_texts)
                stored.append((address, pack((given, record)), pack((place, document))))
                keys = Keys.of(each)
                for look_up_key, weight in zip(keys.numbers, keys.weights, strict=True):
                    posted.append((look_up_key << 32 | second, key, address, weight))
                address += 1
            add_documents(zip(*stored, strict=True))
            add_postings(zip(*posted, strict=True))
            count += len(posted)
    return {"documents": address - (number << 32), "postings": count}


def find_pairs(job: Job, tasks: int, number: int, bounds: tuple[int, int]) -> Stats:
    """Find the pairs whose later posting is in a range of places, which are look-up key and second."""
    files = job.files("postings", tasks)
    window = job.settings.window
    crowded = 0
    with writing(job.file("pairs", number), POSTINGS) as add_pairs:
        for start, end in _spans(files, *bounds):
            rows = between(files, max(0, start - window), end, POSTINGS)
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
    return {"counts": Counter(crowded=crowded)}


def _spans(files: Sequence[Path], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Halve a range of places until its rows fit into memory, or are of one second."""
    if last - first == 1 or between(files, first, last, POSTINGS).num_rows <= _MOST_POSTINGS:
        yield first, last
    else:
        middle = (first + last) // 2
        yield from _spans(files, first, middle)
        yield from _spans(files, middle, last)


def decide(job: Job, tasks: int, number: int, documents: int) -> Stats:
    """Decide what the documents are that one task has stored.

    A *link* leads a document with a match there, and says whether it is a copy, what share of its text the match has if
    it may be dropped, and whether it is kept if its match is dropped.
    """
    judge = judge_of(job.settings)
    counts = Counter[str]()
    files = job.files("pairs", tasks)
    start = number << 32
    with writing(job.file("verdicts", number)) as add_verdicts, writing(job.file("links", number)) as add_links:
        for first in range(0, documents, _DECIDED):
            addresses = range(start, start + documents)[first : first + _DECIDED]
            candidates_of = _candidates(between(files, addresses.start, addresses.stop, POSTINGS))
            read.cache_clear()  # what is mapped stays in memory: many records, here and there
            verdicts = []
            links = []
            for address in addresses:
                given, record = known_value_at(job.work, "stored", "record", address)
                place, document = value_at(job.work, "stored", "text", address)
                candidates = candidates_of[address]
                decision = _decided(judge, job.work, document, record, candidates)
                row = {"id": given, **{name: getattr(decision.verdict, name) for name in VERDICT_FIELDS}, "story": None}
                link = None
                if decision.match is not None:
                    match = candidates[decision.match.key]
                    row["match"], _ = known_value_at(job.work, "stored", "record", match)
                    link = match, decision.record.original != record.original, _share(decision)
                verdicts.append((place, pack((address, link, row))))
                links.append(pack(link))
                counts.update(["documents", *counted_names(decision.verdict)])
            add_verdicts(zip(*verdicts, strict=True))
            add_links((addresses, links))
    return {"documents": documents, "counts": counts}


def _candidates(pairs: pa.Table) -> dict[int, dict[bytes, int]]:
    """Return for each address those of the likeliest candidates, by their keys."""
    rows = pairs.group_by(["place", "key", "address"]).aggregate([("weight", "sum")])
    found = defaultdict[int, dict[bytes, int]](dict)
    votes = defaultdict[int, list[tuple[int, bytes]]](list)
    for place, key, address, weight in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        packed = key.to_bytes(8, "big")
        found[place][packed] = address
        votes[place].append((weight, packed))
    for place, each in votes.items():
        found[place] = {key: found[place][key] for key in choose_candidates(each)}
    return found


def _decided(judge: Judge, work: Path, document: Document, record: Record, candidates: dict[bytes, int]) -> Decision:
    old = {key: known_value_at(work, "stored", "record", address)[1] for key, address in candidates.items()}
    pairs = [Pair(key, record, each, judge.policy) for key, each in old.items()]
    pairs = [*filter(judge.system.may_match, pairs)]
    texts = dict[bytes, StoredText]()
    for pair in chosen_for_second_look(pairs):
        if pair.old.text_at != NO_TEXT:
            _, stored = value_at(work, "stored", "text", candidates[pair.key])
            texts[pair.key] = StoredText.of(stored.title, stored.text)
    return judge.decide(document, record, pairs, texts)


def _share(decision: Decision) -> tuple[float | None, bool]:
    if decision.match is None or not decision.verdict.would_drop:
        return None, False
    # A guard may keep a copy of what is dropped.
    pair = copy(decision.match.pair)
    pair.old = replace(pair.old, kept_share_parts=WHOLE_TEXT - 1)
    return pair.share, any_applies(NOT_DROPPED, pair)


def write_part(job: Job, tasks: int, number: int, path: Path) -> Stats:
    files = [job.file("answers", number), *job.files("verdicts", tasks)]
    rows = _completed(job, in_order(files, number << 32, (number + 1) << 32))
    name = f"{number:05}-{path.name.partition('.')[0]}.{'parquet' if job.as_parquet else 'jsonl'}"
    with whole_file(job.out / name, job.work) as file:
        if job.as_parquet:
            _write_parquet(file, rows)
        else:
            file.writelines(json.dumps(row).encode() + b"\n" for row in rows)
    return {}


def _completed(job: Job, verdicts: Iterator[tuple[int, Any, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield verdicts with their originals, to which copies of copies are followed."""
    policy = judge_of(job.settings).policy
    copies: dict[int, tuple[int, int]] = {}
    for _, link, row in verdicts:
        if link is not None:
            match, _, share = link
            original, parts = _followed(job.work, policy, copies, match)
            given, record = known_value_at(job.work, "stored", "record", original)
            url = record.url.decode("utf-8", "replace") or None
            would_drop = _held(policy, parts, *share) is not None
            row |= {"original": given, "original_url": url, "would_drop": would_drop}
        yield row


def _followed(work: Path, policy: Policy, copies: dict[int, tuple[int, int]], address: int) -> tuple[int, int]:
    """Return the address of the original of a document, and how much of its text is kept, as a record has it."""
    passed: list[tuple[int, Any]] = []
    while address not in copies:
        match, is_copy, share = known_value_at(work, "links", "value", address) or (address, False, None)
        if is_copy:
            passed.append((address, share))
            address = match
        else:
            copies[address] = address, WHOLE_TEXT
    original, parts = copies[address]
    if len(copies) > _MOST_COPIES:
        copies.clear()
    for own, share in reversed(passed):
        held = _held(policy, parts, *share)
        parts = WHOLE_TEXT if held is None else held
        copies[own] = original, parts
    return original, parts


def _held(policy: Policy, parts: int, share: float | None, is_guarded: bool) -> int | None:
    """Return how much of a text its match has of whose text so much is kept. None if the document is kept."""
    if share is None or (is_guarded and parts < WHOLE_TEXT):
        return None
    share = share * parts / WHOLE_TEXT
    return policy.held_parts(share) if share >= policy.drop_share else None


def _write_parquet(file: IO[bytes], rows: Iterator[dict[str, Any]]) -> None:
    with pq.ParquetWriter(file, _WRITTEN) as table:
        while batch := [*islice(rows, _ROWS)]:
            texts = [{**row, **{name: row[name] and str(row[name]) for name in _IDS}} for row in batch]
            table.write_table(pa.Table.from_pylist(texts, _WRITTEN))
