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
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import astuple, replace
from functools import lru_cache, partial, reduce
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client

from scrapy_neardup import Document, NearDupDetector, Verdict
from scrapy_neardup.detector import judge_of, sketcher_of
from scrapy_neardup.document import WHOLE_TEXT, counted_names
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.index.postings import MOST_POSTINGS, Keys, choose_candidates
from scrapy_neardup.records.documents import Record, new_record
from scrapy_neardup.records.learned import NOTHING, add_counts
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.rules.decision import Decision, Judge, chosen_for_second_look
from scrapy_neardup.rules.match import any_applies
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.rules.systems import NOT_DROPPED
from scrapy_neardup.sketch.origin import Origin, source_hash
from scrapy_neardup.sketch.text_sketch import pack_sketch
from scrapy_neardup.text.words import has_words
from scrapy_neardup.tools.cluster.tasks import (
    POSTINGS,
    STORED,
    UNFINISHED,
    Job,
    Stats,
    do_tasks,
    pack,
    read,
    whole_file,
    writing,
)
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_documents, take
from scrapy_neardup.tools.lab.replay import VERDICT_FIELDS, Judged, OutputFormat, PageReader, document_of

# Leads a document to its match.
#
# The address of the match, whether it is a copy of it, what share of its text the match has if it may be dropped, and
# whether it is kept if its match is dropped.
Link = tuple[int, bool, float | None, bool]

_TOGETHER = 256  # documents that are sketched and written together, or decided with the same files in memory
_DECIDED = 4096  # documents whose pairs are in memory, and rows of Parquet that are written together
_MOST_KNOWN = 16_384  # records, and originals of copies
_COLUMNS = pa.schema(
    {
        **dict.fromkeys(("id", *VERDICT_FIELDS, "error"), pa.string()),
        **dict.fromkeys(("similarity", "containment", "share"), pa.float64()),
        **dict.fromkeys(("changes", "news"), pa.list_(pa.string())),
        "would_drop": pa.bool_(),
    }
)


def replay_archive(client: Client, job: Job, tell: Callable[[str], None]) -> Stats:
    """Write all parts, and return what was counted. What is made is kept until all parts are written."""
    do = partial(do_tasks, client, tell)
    found = do(job, read_file, job.inputs)
    counts = sum(found, Stats())
    tasks = counts["done"] // 20_000 + 16  # of so many documents, about
    job = replace(
        job,
        lines_before=[*accumulate((stats["lines"] for stats in found), initial=0)],
        ranges=[*pairwise(((1 << 32) * number // tasks) << 32 for number in range(tasks + 1))],
        terms=reduce(add_counts, (path.read_bytes() for path in sorted(job.work.glob("terms-*"))), NOTHING),
    )
    for step in (fingerprint, find_pairs, decide):
        counts = sum(do(job, step, job.ranges), counts)
    do(job, write_part, job.inputs)
    # Renamed, because a worker that was thought lost may still be at a task: now it finds no folder to write to.
    shutil.rmtree((job.out / UNFINISHED).rename(job.out / f".{UNFINISHED}"))
    return counts


def read_file(job: Job, number: int, path: Path) -> Stats:
    detector = NearDupDetector(job.settings, run="")
    topics = detector.sketcher.topics
    counts = Stats()
    clock = job.now
    with (
        PageReader(job.settings, 1) as reader,
        writing(job.file("documents", number)) as add_documents,
        writing(job.file("verdicts-unchecked", number)) as add_verdicts,
    ):
        pages = reader.read(_documents(path))
        while batch := take(pages, _TOGETHER):
            found = list[tuple[int, Any, Document]]()
            unchecked = []
            for page in batch:
                counts["lines"] = page.recorded.line
                place = number << 32 | page.recorded.line
                clock = clock if page.recorded.time is None else page.recorded.time
                if page.error is None and has_words(page.text):
                    found.append((place, page.recorded.id, document_of(page, detector, clock)))
                else:
                    judged = Judged(page, Verdict("unchecked", reason=page.reason if page.error else "no-text"))
                    unchecked.append((place, pack((None, OutputFormat().row(judged)))))
                    counts.update(judged.counted)
            counts["done"] += len(found)
            add_verdicts(zip(*unchecked, strict=True))
            add_documents(zip(*_sketched(detector, found), strict=True))
    if topics:
        with whole_file(job.file("terms", number), job.work) as file:
            file.write(topics.frequencies.take_pending())
    return counts


def _documents(path: Path) -> Iterator[RecordedDocument]:
    """Yield the documents of a file. For one that cannot be read, yield one that says why."""
    try:
        yield from read_documents(path)
    except InputError as error:
        yield RecordedDocument(1, str(path), None, error=str(error))


def _sketched(detector: NearDupDetector, found: Sequence[tuple[int, Any, Document]]) -> Iterator[tuple[int, bytes]]:
    """Yield the rows of documents. If terms are counted, count them in the sketches, which the documents keep.

    Their place is the hash of the source, and the second.
    """
    topics = detector.sketcher.topics
    sketches = iter(detector.sketcher.whole(*(document.text for *_, document in found)) if topics else ())
    for place, given, document in found:
        sketch = b""
        if topics:
            made = next(sketches)
            topics.topic(made.lead, Origin.of(document).terms)
            sketch = pack_sketch(made)
        source = source_hash(document.source or repr(given))
        of_source = int.from_bytes(source, "big") << 32 | int(document.seen_at)
        yield of_source, pack((place, given, astuple(replace(document, sketch=sketch))))


def fingerprint(job: Job, number: int, bounds: tuple[int, int]) -> Stats:
    """Make the fingerprints of the sources whose hashes are in a range of places."""
    sketcher = sketcher_of(job.settings)
    if sketcher.topics:
        sketcher.topics.frequencies.replace(job.terms)
    start = address = number << 32
    rows = job.values("documents", *bounds)
    with (
        writing(job.file("stored", number), STORED) as add_stored,
        writing(job.file("postings", number), POSTINGS) as add_postings,
    ):
        while batch := [*islice(rows, _TOGETHER)]:
            documents = [Document(*values) for *_, values in batch]
            stored = []
            postings = []
            for (place, given, _), document, made in zip(
                batch, documents, sketcher.fingerprints(documents), strict=True
            ):
                second = int(document.seen_at)
                key = second << 32 | (job.lines_before[place >> 32] + place) % (1 << 32)
                document = replace(document, id=f"{key:016x}", sketch=b"")
                record = new_record(made, document, keep_text=job.settings.keep_texts)
                stored.append((address, pack((given, astuple(record))), pack((place, astuple(document)))))
                keys = Keys.of(made)
                weighted = zip(keys.numbers, keys.weights, strict=True)
                postings += [(each << 32 | second, key, address, weight) for each, weight in weighted]
                address += 1
            add_stored(zip(*stored, strict=True))
            add_postings(zip(*postings, strict=True))
    return Stats(done=address - start)


def find_pairs(job: Job, number: int, bounds: tuple[int, int]) -> Stats:
    """Find the pairs whose later posting is in a range of places, which are look-up key and second."""
    crowded = 0
    last = POSTINGS.empty_table()  # which the next rows may be paired with
    with writing(job.file("pairs", number), POSTINGS) as add_pairs:
        for found in job.rows("postings", *bounds):
            rows = pa.concat_tables([last, found.sort_by([("place", "ascending"), ("key", "ascending")])])
            place, key, address, weight = (each.to_numpy() for each in rows.columns)
            # How many rows before each one have its key, and are in its window.
            earliest = place - np.minimum(place % (1 << 32), job.settings.window)
            near = (np.arange(len(place)) - place.searchsorted(earliest))[len(last) :]
            crowded += int((near > MOST_POSTINGS).sum())
            later, back = (near[:, None] > np.arange(MOST_POSTINGS)).nonzero()
            later += len(last)
            earlier = later - back - 1
            add_pairs([address[later], key[earlier], address[earlier], weight[later]])
            last = rows.slice(max(0, len(rows) - MOST_POSTINGS - 1))
    return Stats(crowded=crowded)


def decide(job: Job, number: int, bounds: tuple[int, int]) -> Stats:
    """Decide what the documents are that one task has stored."""
    judge = judge_of(job.settings)
    counts = Stats()
    addresses = range(number << 32, (number << 32) + len(read(job.file("stored", number))))
    with writing(job.file("verdicts", number)) as add_verdicts, writing(job.file("links", number)) as add_links:
        while some := addresses[:_DECIDED]:
            addresses = addresses[_DECIDED:]
            votes = _votes(job, some)
            verdicts = []
            links = []
            for address in some:
                if address % _TOGETHER == 0:
                    read.cache_clear()  # what is mapped stays in memory: many records, here and there
                given, record = _record_at(job, address)
                place, values = job.value_at("stored", "document", address)
                candidates = {each[:8]: int.from_bytes(each[8:], "big") for each in choose_candidates(votes[address])}
                decision = _decision(job, judge, Document(*values), record, candidates)
                link = _link(decision, record, candidates)
                row = {"id": given, **{name: getattr(decision.verdict, name) for name in VERDICT_FIELDS}, "story": None}
                verdicts.append((place, pack((link, row))))
                links.append(pack(link))
                counts.update(["done", "documents", *counted_names(decision.verdict)])
            add_verdicts(zip(*verdicts, strict=True))
            add_links((some, links))
    return counts


def _votes(job: Job, addresses: range) -> dict[int, list[tuple[int, bytes]]]:
    """Return how much the keys count that each of these documents shares with a candidate.

    A candidate is named by its key and its address, 8 bytes each.
    """
    votes = defaultdict[int, list[tuple[int, bytes]]](list)
    for pairs in job.rows("pairs", addresses.start, addresses.stop):
        shared = pairs.group_by(["place", "key", "address"]).aggregate([("weight", "sum")])
        for place, key, address, weight in zip(*(column.to_pylist() for column in shared.columns), strict=True):
            votes[place].append((weight, (key << 64 | address).to_bytes(16, "big")))
    return votes


@lru_cache(_MOST_KNOWN)
def _record_at(job: Job, address: int) -> tuple[Any, Record]:
    """Return the id that a document has in the input, and its record as an original."""
    given, values = job.value_at("stored", "record", address)
    return given, Record(*values)


def _decision(job: Job, judge: Judge, document: Document, record: Record, candidates: dict[bytes, int]) -> Decision:
    pairs = [Pair(key, record, _record_at(job, address)[1], judge.policy) for key, address in candidates.items()]
    pairs = [*filter(judge.system.may_match, pairs)]
    texts = dict[bytes, StoredText]()
    for pair in chosen_for_second_look(pairs).values() if job.settings.keep_texts else ():
        _, values = job.value_at("stored", "document", candidates[pair.key])
        old = Document(*values)
        texts[pair.key] = StoredText.of(old.title, old.text)
    return judge.decide(document, record, pairs, texts)


def _link(decision: Decision, record: Record, candidates: dict[bytes, int]) -> Link | None:
    if decision.match is None:
        return None
    share = None
    is_guarded = False
    if decision.verdict.would_drop:
        pair = copy(decision.match.pair)
        pair.old = replace(pair.old, kept_share_parts=WHOLE_TEXT - 1)
        share = pair.share
        is_guarded = any_applies(NOT_DROPPED, pair)
    return candidates[decision.match.key], decision.record.original != record.original, share, is_guarded


def write_part(job: Job, number: int, path: Path) -> Stats:
    suffix = "parquet" if job.as_parquet else "jsonl"
    rows = _completed(job, job.values("verdicts", number << 32, (number + 1) << 32))
    with whole_file(job.out / f"{number:05}-{path.name.partition('.')[0]}.{suffix}", job.work) as file:
        if job.as_parquet:
            with pq.ParquetWriter(file, _COLUMNS) as table:
                while some := [*islice(rows, _DECIDED)]:
                    table.write_table(pa.Table.from_pylist(some, _COLUMNS))
        else:
            file.writelines(json.dumps(row).encode() + b"\n" for row in rows)
    return Stats()


def _completed(job: Job, verdicts: Iterator[tuple[Link | None, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield verdicts with their matches and originals, to which copies of copies are followed."""
    policy = judge_of(job.settings).policy
    known = dict[int, tuple[int, int]]()
    for link, row in verdicts:
        if link is not None:
            original, parts = _original(job, policy, known, link[0])
            row["match"], _ = _record_at(job, link[0])
            row["original"], record = _record_at(job, original)
            row["original_url"] = record.url.decode("utf-8", "replace") or None
            row["would_drop"], _ = _drop(policy, parts, link)
        if job.as_parquet:
            row |= {name: str(row[name]) for name in ("id", "match", "original") if row[name] is not None}
        yield row


def _original(job: Job, policy: Policy, known: dict[int, tuple[int, int]], address: int) -> tuple[int, int]:
    """Return the address of the original of a document, and how much of its text is kept, as a record has it.

    ``known`` has what was found before.
    """
    copies = []
    while address not in known and (link := job.value_at("links", "value", address)) and link[1]:
        copies.append((address, link))
        address = link[0]
    original, parts = known.get(address, (address, WHOLE_TEXT))
    if len(known) > _MOST_KNOWN:
        known.clear()
    for address, link in reversed(copies):
        _, parts = _drop(policy, parts, link)
        known[address] = original, parts
    return original, parts


def _drop(policy: Policy, parts: int, link: Link) -> tuple[bool, int]:
    """Return whether a document is dropped of whose match so much is kept, and how much of its own text is kept."""
    _, _, share, is_guarded = link
    if share is not None and not (is_guarded and parts < WHOLE_TEXT):
        share *= parts / WHOLE_TEXT
        if share >= policy.drop_share:
            return True, policy.held_parts(share)
    return False, WHOLE_TEXT
