"""The first steps of a replay on a cluster. Each is a function of a ``Job`` and of what earlier steps have written.

1. ``read_file`` reads a file, extracts its pages, sketches its texts, and sorts its documents by source and time.
2. ``fingerprint`` learns the boilerplate of some sources in the order of time, as a crawl does. It stores fingerprints
   and texts, and posts each document under its look-up keys.
3. ``find_pairs`` finds who shares keys: with each document the newest ones of a key that came before it in the window.

The *address* of a document is the number of the task that stored it (32 bits), and its number there. Its key is as in a
window: the second, then its number among all lines of all files. So keys sort by time, then in the order of the input.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from scrapy_neardup import Document, NearDupDetector, NearDupSettings, Verdict
from scrapy_neardup.assembly import sketcher_of
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.index.postings import MOST_POSTINGS, Keys
from scrapy_neardup.records.documents import new_record
from scrapy_neardup.sketch import has_words, source_hash
from scrapy_neardup.sketch.origin import Origin
from scrapy_neardup.sketch.text_sketch import ahead_options, sketch_ahead, unpack_sketch
from scrapy_neardup.tools.cluster.exchange import Writer, in_order, whole_file, writing
from scrapy_neardup.tools.lab.archives import read_documents
from scrapy_neardup.tools.lab.feed import RecordedDocument, take
from scrapy_neardup.tools.lab.replay import VERDICT_FIELDS, Judged, PageReader, RecordedPage, document_of

Stats = dict[str, Any]

SLOTS = 1024  # into which sources are sorted
TOGETHER = 4096  # rows
_DOCUMENTS_TOGETHER = 64
_POSTINGS_TOGETHER = 1 << 17
_MOST_READ = MOST_POSTINGS + 1  # of a look-up key; the last one is only counted
_TOLD = 10  # errors of a file

# The first column says where a row belongs: slot, second and line; look-up key and second; address; or file and line.
_NUMBER = pa.uint64()
_DOCUMENTS = pa.schema(
    {"place": _NUMBER, "file": _NUMBER, "line": _NUMBER, "given": pa.string(), "sketch": pa.binary()}
)
_DOCUMENTS = _DOCUMENTS.append(pa.field("document", pa.binary()))
_STORED = pa.schema({"address": _NUMBER, "record": pa.binary(), "given": pa.string(), "document": pa.binary()})
_POSTINGS = pa.schema({"place": _NUMBER, "key": _NUMBER, "address": _NUMBER, "weight": _NUMBER})
PAIRS = pa.schema({"later": _NUMBER, "key": _NUMBER, "address": _NUMBER, "weight": _NUMBER})
ANSWERS = pa.schema({"place": _NUMBER, "address": _NUMBER, "row": pa.string()})

# All fields that are text or numbers: the others come last, and nobody needs them any more.
_values_of = attrgetter(*(each.name for each in fields(Document) if each.name not in ("sketch", "vector")))


@dataclass(frozen=True)
class Job:
    """What all tasks of a replay know. ``now`` is the time of documents that give none."""

    work: Path
    out: Path
    settings: NearDupSettings
    inputs: tuple[Path, ...]
    now: float
    as_parquet: bool = False

    def file(self, name: str, number: int) -> Path:
        return self.work / f"{name}-{number}"

    def files(self, name: str, numbers: Sequence[int]) -> list[Path]:
        return [self.file(name, number) for number in numbers]

    def part(self, number: int) -> Path:
        """Return the file that gets the verdicts of an input."""
        name = self.inputs[number].name.partition(".")[0]
        return self.out / f"{number:05}-{name}.{'parquet' if self.as_parquet else 'jsonl'}"


def pack(*values: Any) -> bytes:
    return zlib.compress(json.dumps(values).encode(), 1)


def unpack(packed: bytes) -> tuple[Any, Document]:
    """Return something, and the document whose values were packed behind it."""
    first, *values = json.loads(zlib.decompress(packed))
    return first, Document(*values)


def row_of(given: str | int | None, verdict: Verdict, **more: Any) -> str:
    return json.dumps({"id": given, **{name: getattr(verdict, name) for name in VERDICT_FIELDS}, **more})


# 1. Read


def read_file(job: Job, number: int) -> Stats:
    detector = NearDupDetector(job.settings, run="")
    slots = [0] * SLOTS
    line = 0
    clock = job.now
    told: list[str] = []
    counts = Counter[str]()
    with (
        PageReader(job.settings, 1) as reader,
        writing(job.file("documents", number), _DOCUMENTS) as documents,
        writing(job.file("answers", number), ANSWERS) as answers,
    ):
        pages = _pages(reader, job.inputs[number])
        while batch := take(pages, _DOCUMENTS_TOGETHER):
            found = list[tuple[int, str, Document]]()
            for page in batch:
                line = page.recorded.line
                clock = clock if page.recorded.time is None else page.recorded.time
                if page.error is None and has_words(page.text):
                    found.append((line, json.dumps(page.recorded.id), document_of(page, detector, clock)))
                    continue
                told = [*told, *filter(None, [page.error])][:_TOLD]
                row, counted = _without_text(page)
                counts.update(counted)
                answers.add(([number << 32 | line], [None], [row]))
            rows = []
            for (at, given, _), document in zip(found, _sketched(detector, [each[2] for each in found]), strict=True):
                slot = (int.from_bytes(source_hash(document.source), "big") or at) % SLOTS
                slots[slot] += 1
                place = slot << 54 | int(document.seen_at) << 22 | min(at, (1 << 22) - 1)
                rows.append((place, number, at, given, document.sketch, pack(None, *_values_of(document))))
            documents.add(zip(*rows, strict=True))
    if detector.sketcher.topics:
        with whole_file(job.file("terms", number)) as file:
            file.write(detector.sketcher.topics.frequencies.take_pending())
    return {"documents": sum(slots), "lines": line, "slots": slots, "told": told, "counts": counts}


def _without_text(page: RecordedPage) -> tuple[str, list[str]]:
    """Return the line of the output for a page, and how it is counted."""
    verdict = Verdict("unchecked", reason="no-text" if page.error is None else page.reason)
    more = {} if page.error is None else {"error": page.error}
    return row_of(page.recorded.id, verdict, **more), Judged(page, verdict).counted


def _sketched(detector: NearDupDetector, documents: Sequence[Document]) -> list[Document]:
    """Return documents with the sketches of their texts, and count the terms of these."""
    if not (documents and detector.preset.is_of_text_alone):
        return [*documents]
    sketch = _sketcher(ahead_options(detector.preset, min_words=detector.settings.min_words))
    sketches = sketch([each.text for each in documents])
    if detector.sketcher.topics:
        for document, sketched in zip(documents, sketches, strict=True):
            detector.sketcher.topics.topic(unpack_sketch(sketched).lead, Origin.of(document).terms)
    return [replace(document, sketch=sketched) for document, sketched in zip(documents, sketches, strict=True)]


_sketcher = lru_cache(1)(sketch_ahead)


def _pages(reader: PageReader, path: Path) -> Iterator[RecordedPage]:
    """Yield the pages of a file. Of one that cannot be read, yield one that says why."""
    try:
        yield from reader.read(read_documents(path))
    except InputError as error:
        wrong = RecordedDocument(1, str(path), None, error=str(error))
        yield RecordedPage(wrong, "", error=wrong.error)


# 2. Make fingerprints


def fingerprint(job: Job, lines_before: Sequence[int], number: int, first: int, last: int) -> Stats:
    """Make the fingerprints of the sources that are in some slots."""
    sketcher = sketcher_of(job.settings)
    if sketcher.topics:
        sketcher.topics.frequencies.replace((job.work / "terms").read_bytes())
    address = number << 32
    count = 0
    files = job.files("documents", range(len(job.inputs)))
    rows = chain.from_iterable(each.to_pylist() for each in in_order(files, first << 54, last << 54, TOGETHER))
    with (
        writing(job.file("stored", number), _STORED) as stored,
        writing(job.file("postings", number), _POSTINGS) as postings,
    ):
        while batch := [*islice(rows, _DOCUMENTS_TOGETHER)]:
            documents = [replace(unpack(row["document"])[1], sketch=row["sketch"]) for row in batch]
            kept = []
            posted = []
            for row, document, each in zip(batch, documents, sketcher.fingerprints(documents), strict=True):
                second = int(document.seen_at)
                key = second << 32 | (lines_before[row["file"]] + row["line"]) % (1 << 32)
                document = replace(document, id=f"{key:016x}")
                record = new_record(each, document, keep_text=job.settings.keep_texts)
                known = {name: getattr(record, name) for name in ("learned", "tells_title", "is_boilerplate")}
                packed = pack((row["file"] << 32 | row["line"], known), *_values_of(document))
                kept.append((address, record.pack(), row["given"], packed))
                keys = Keys.of(each)
                posted += [
                    (look_up_key << 32 | second, key, address, weight)
                    for look_up_key, weight in zip(keys.numbers, keys.weights, strict=True)
                ]
                address += 1
            stored.add(zip(*kept, strict=True))
            postings.add(zip(*posted, strict=True))
            count += len(posted)
    return {"documents": address - (number << 32), "postings": count}


# 3. Find pairs


def find_pairs(job: Job, tasks: int, number: int, first: int, last: int) -> Stats:
    """Find pairs among the postings of some look-up keys."""
    files = job.files("postings", range(tasks))
    passed_over = 0
    newest = _POSTINGS.empty_table()
    with writing(job.file("pairs", number), PAIRS) as pairs:
        for new in in_order(files, first << 32, last << 32, _POSTINGS_TOGETHER):
            rows = pa.concat_tables([newest, new])
            passed_over += _pair(rows, newest.num_rows, job.settings.window, pairs)
            # The next documents of the last look-up key are paired with the newest ones.
            newest = rows.slice(max(0, rows.num_rows - _MOST_READ))
    return {"passed_over": passed_over}


def _pair(rows: pa.Table, known: int, window: int, pairs: Writer) -> int:
    """Add the pairs of postings with older ones. Return how many had more of these than are read.

    The first ``known`` of the rows have their pairs already.
    """
    place, key, address, weight = (rows[name].to_numpy() for name in _POSTINGS.names)
    second = (place & np.uint64(0xFFFF_FFFF)).astype(np.int64)
    of_key = place >> np.uint64(32)
    for lag in range(1, _MOST_READ + 1):
        is_pair = (of_key[lag:] == of_key[:-lag]) & (second[lag:] - second[:-lag] <= window)
        is_pair[: max(0, known - lag)] = False
        if lag == _MOST_READ:
            break
        columns = (address[lag:], key[:-lag], address[:-lag], weight[lag:])
        pairs.add(column[is_pair] for column in columns)
    return int(is_pair.sum())
