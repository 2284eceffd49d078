"""Sketch each document, the first step of a replay on a cluster, in two passes.

``read_file`` reads a file, extracts its pages, sketches its texts, and sorts its documents by source and time.
``fingerprint`` learns the boilerplate of some sources in the order of time, as a crawl does. It stores fingerprints and
texts, and posts each document under its look-up keys.

The *place* of a row says where it belongs: source and second, look-up key and second, file and line, or an address. The
*address* of a document is the number of the task that stored it, and its number there. Its key is as in a window: the
second, then its number among all lines of all files. So keys sort by time, then in the order of the input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from xxhash import xxh64_intdigest

from scrapy_neardup import Document, NearDupDetector, Verdict
from scrapy_neardup.assembly import sketcher_of
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.index.postings import Keys
from scrapy_neardup.records.documents import new_record
from scrapy_neardup.sketch import has_words, source_hash
from scrapy_neardup.sketch.origin import Origin
from scrapy_neardup.sketch.text_sketch import ahead_options, sketch_ahead, unpack_sketch
from scrapy_neardup.tools.cluster.exchange import POSTINGS, Job, in_order, pack, whole_file, writing
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_documents, take
from scrapy_neardup.tools.lab.replay import Judged, OutputFormat, PageReader, document_of

Stats = dict[str, Any]

_TOGETHER = 64  # documents
_TOLD = 10  # errors of a file


def read_file(job: Job, number: int) -> Stats:
    detector = NearDupDetector(job.settings, run="")
    stats: Stats = {"documents": 0, "lines": 0, "errors": [], "counts": Counter[str]()}
    clock = job.now
    with (
        PageReader(job.settings, 1) as reader,
        writing(job.file("documents", number)) as add_documents,
        writing(job.file("ids", number)) as add_ids,
        writing(job.file("answers", number)) as add_answers,
    ):
        pages = reader.read(_documents(job.inputs[number]))
        while batch := take(pages, _TOGETHER):
            found = list[tuple[int, Any, Document]]()
            answers = []
            for page in batch:
                place = number << 32 | page.recorded.line
                clock = clock if page.recorded.time is None else page.recorded.time
                if page.error is None and has_words(page.text):
                    found.append((place, page.recorded.id, document_of(page, detector, clock)))
                    continue
                judged = Judged(page, Verdict("unchecked", reason="no-text" if page.error is None else page.reason))
                answers.append((place, pack((None, OutputFormat().row(judged)))))
                stats["counts"].update(judged.counted)
                stats["errors"] = [*stats["errors"], *filter(None, [page.error])][:_TOLD]
            stats["lines"] = batch[-1].recorded.line
            stats["documents"] += len(found)
            add_answers(zip(*answers, strict=True))
            add_ids(zip(*((xxh64_intdigest(repr(given).encode()), pack(given)) for _, given, _ in found), strict=True))
            add_documents(zip(*_sketched(detector, found), strict=True))
    if detector.sketcher.topics:
        with whole_file(job.file("terms", number), job.work) as file:
            file.write(detector.sketcher.topics.frequencies.take_pending())
    return stats


def _documents(path: Path) -> Iterator[RecordedDocument]:
    """Yield the documents of a file. For one that cannot be read, yield one that says why."""
    try:
        yield from read_documents(path)
    except InputError as error:
        yield RecordedDocument(1, str(path), None, error=str(error))


def _sketched(detector: NearDupDetector, found: Sequence[tuple[int, Any, Document]]) -> Iterator[tuple[int, bytes]]:
    """Yield the rows of documents with the sketches of their texts, and count the terms of these.

    Their place is the hash of the source, and the second.
    """
    topics = detector.sketcher.topics
    texts = [document.text for *_, document in found if detector.preset.is_of_text_alone]
    made = [b""] * len(found)
    if texts:
        made = _sketcher(ahead_options(detector.preset, min_words=detector.settings.min_words))(texts)
    for (place, given, document), sketch in zip(found, made, strict=True):
        if topics and sketch:
            topics.topic(unpack_sketch(sketch).lead, Origin.of(document).terms)
        source = source_hash(document.source or repr(given))
        of_source = int.from_bytes(source, "big") << 32 | int(document.seen_at)
        yield of_source, pack((place, given, replace(document, sketch=sketch)))


_sketcher = lru_cache(1)(sketch_ahead)


def fingerprint(job: Job, lines_before: Sequence[int], terms: bytes, number: int, first: int, last: int) -> Stats:
    """Make the fingerprints of the sources whose slots are in a range of places."""
    sketcher = sketcher_of(job.settings)
    if sketcher.topics:
        sketcher.topics.frequencies.replace(terms)
    address = number << 32
    count = 0
    rows = in_order(job.files("documents", len(job.inputs)), first, last)
    with (
        writing(job.file("records", number)) as add_records,
        writing(job.file("texts", number)) as add_texts,
        writing(job.file("postings", number), POSTINGS) as add_postings,
    ):
        while batch := [value for _, value in islice(rows, _TOGETHER)]:
            addresses = range(address, address + len(batch))
            address = addresses.stop
            made = sketcher.fingerprints([document for *_, document in batch])
            records = []
            texts = []
            posted = []
            for own, (place, given, document), each in zip(addresses, batch, made, strict=True):
                second = int(document.seen_at)
                key = second << 32 | (lines_before[place >> 32] + place) % (1 << 32)
                document = replace(document, id=f"{key:016x}", sketch=b"")
                records.append(pack((given, new_record(each, document, keep_text=job.settings.keep_texts))))
                texts.append(pack((place, document)))
                keys = Keys.of(each)
                posted += [
                    (look_up_key << 32 | second, key, own, weight)
                    for look_up_key, weight in zip(keys.numbers, keys.weights, strict=True)
                ]
            add_records((addresses, records))
            add_texts((addresses, texts))
            add_postings(zip(*posted, strict=True))
            count += len(posted)
    return {"documents": address - (number << 32), "postings": count}
