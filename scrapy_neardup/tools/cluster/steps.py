"""The steps of a replay on a cluster. Each is a function of a ``Job`` and of what earlier steps have written.

1. ``read_file`` reads a file, extracts its pages, sketches its texts, and sorts its documents by source.
2. ``fingerprint`` learns the boilerplate of some sources in the order of time, as a crawl does. It stores fingerprints
   and texts, and posts each document under its look-up keys.
3. ``find_pairs`` finds who shares keys: with each document the newest ones of a key that came before it in the window.
4. ``decide`` reads what is stored of the candidates of some documents, and decides what these documents are.
5. ``follow`` lets each copy point to the match of its match, until it points to its original.
6. ``write_part`` writes the verdicts of a file in its order.

The *address* of a document is the number of the task that stored it (32 bits), and its number there. Its key is as in a
window: the second, then its number among all lines of all files. So keys sort by time, then in the order of the input.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scrapy_neardup import Document, NearDupDetector, NearDupSettings, Verdict
from scrapy_neardup.assembly import judge_of, sketcher_of
from scrapy_neardup.document import WHOLE_TEXT, counted_names
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.index.postings import MOST_POSTINGS, Generation, Keys, find_candidates
from scrapy_neardup.records.documents import NO_TEXT, Record, new_record, read_record
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.rules.decision import Decision, Judge
from scrapy_neardup.rules.findings import ask
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.rules.second_look import chosen_for_second_look
from scrapy_neardup.rules.systems import NOT_DROPPED
from scrapy_neardup.sketch import has_words, source_hash
from scrapy_neardup.sketch.origin import Origin
from scrapy_neardup.sketch.text_sketch import ahead_options, sketch_ahead, unpack_sketch
from scrapy_neardup.tools.cluster.exchange import (
    Array,
    ColumnWriter,
    RowWriter,
    Stats,
    columns_of,
    load,
    pack,
    rows_of,
    save,
    unpack,
    whole_file,
)
from scrapy_neardup.tools.lab.archives import read_documents
from scrapy_neardup.tools.lab.feed import RecordedDocument, take
from scrapy_neardup.tools.lab.replay import VERDICT_FIELDS, Judged, PageReader, RecordedPage, document_of

SLOTS = 1024  # into which sources are sorted
_TOGETHER = 64  # documents
_DECIDED_TOGETHER = 4096  # documents whose candidates are read together
_MOST_STORED = 16_384  # stored documents in memory
_MOST_POSTINGS = 1 << 20  # in memory
_PAIRED_TOGETHER = 1 << 17  # postings
_MOST_READ = MOST_POSTINGS + 1  # of a look-up key; the last one is only counted
_WRITTEN_TOGETHER = 4096  # lines of the output
_TOLD = 10  # errors of a file
_IS_DROPPED = 1 << 8  # added to the share of a copy that is held

_POSTING = np.dtype([("key", "u8"), ("address", "u8"), ("weight", "u2")])
_SHARED = np.dtype([("key", "u8"), ("address", "u8"), ("weight", "u4")])
_LINK = np.dtype([("match", "u8"), ("is_copy", "?"), ("held", "u2", (WHOLE_TEXT + 1,))])
_TYPES = {
    **dict.fromkeys(("similarity", "containment", "share"), pa.float64()),
    **dict.fromkeys(("changes", "news"), pa.list_(pa.string())),
    "would_drop": pa.bool_(),
}
_SCHEMA = pa.schema([(name, _TYPES.get(name, pa.string())) for name in ("id", *VERDICT_FIELDS, "error")])


@dataclass(frozen=True)
class Job:
    """What all tasks of a replay know. ``now`` is the time of documents that give none."""

    work: Path
    out: Path
    settings: NearDupSettings
    inputs: tuple[Path, ...]
    now: float
    as_parquet: bool = False

    def stem(self, step: str, number: int) -> Path:
        return self.work / f"{step}-{number}"

    def part(self, number: int) -> Path:
        """Return the file that gets the verdicts of an input."""
        name = self.inputs[number].name.partition(".")[0]
        return self.out / f"{number:05}-{name}.{'parquet' if self.as_parquet else 'jsonl'}"


class Answer(NamedTuple):
    """A line of the output. ``links`` are the addresses of a document and of its match, ``match`` its given id."""

    given: str | int | None
    verdict: Verdict
    counted: Sequence[str] = ()  # nothing if it was decided
    error: str | None = None
    links: tuple[int, int] | None = None
    match: str | int | None = None


# 1. Read


def read_file(job: Job, number: int) -> Stats:
    detector = NearDupDetector(job.settings, run="")
    rows = RowWriter(job.stem("documents", number))
    answers = RowWriter(job.stem("answers", number))
    slots = [0] * SLOTS
    line = 0
    clock = job.now
    told: list[str] = []
    with PageReader(job.settings, 1) as reader:
        pages = _pages(reader, job.inputs[number])
        while batch := take(pages, _TOGETHER):
            found = list[tuple[int, str | int | None, Document]]()
            for page in batch:
                line = page.recorded.line
                clock = clock if page.recorded.time is None else page.recorded.time
                if page.error is None and has_words(page.text):
                    found.append((line, page.recorded.id, document_of(page, detector, clock)))
                    continue
                told = [*told, *filter(None, [page.error])][:_TOLD]
                answers.add(number, line, 0, pickle.dumps(tuple(_without_text(page))))
            for (at, given, _), document in zip(found, _sketched(detector, [each[2] for each in found]), strict=True):
                slot = (int.from_bytes(source_hash(document.source), "big") or at) % SLOTS
                slots[slot] += 1
                rows.add(slot, int(document.seen_at), at, pack((number, at, given, document)))
    rows.end_run()
    answers.end_run()
    if detector.sketcher.topics:
        with whole_file(job.stem("terms", number)) as file:
            file.write(detector.sketcher.topics.frequencies.take_pending())
    stats = {"documents": sum(slots), "lines": line, "slots": slots, "told": told}
    return {**stats, "runs": rows.runs, "answers": answers.runs}


def _without_text(page: RecordedPage) -> Answer:
    verdict = Verdict("unchecked", reason="no-text" if page.error is None else page.reason)
    return Answer(page.recorded.id, verdict, Judged(page, verdict).counted, page.error)


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


def fingerprint(
    job: Job, number: int, slots: tuple[int, int], runs: Sequence[str], lines_before: Sequence[int]
) -> Stats:
    sketcher = sketcher_of(job.settings)
    if sketcher.topics:
        sketcher.topics.frequencies.replace((job.work / "terms").read_bytes())
    posted = ColumnWriter(job.stem("postings", number))
    count = 0
    offsets = [0]
    rows = (row for slot in range(*slots) for *_, row in rows_of(runs, slot))
    with whole_file(job.stem("stored", number)) as file:
        while batch := [unpack(row) for row in islice(rows, _TOGETHER)]:
            fingerprints = sketcher.fingerprints([document for *_, document in batch])
            for (of_file, line, given, document), each in zip(batch, fingerprints, strict=True):
                key = int(document.seen_at) << 32 | (lines_before[of_file] + line) % (1 << 32)
                document = replace(document, id=f"{key:016x}", sketch=b"")
                record = new_record(each, document, keep_text=job.settings.keep_texts)
                known = {name: getattr(record, name) for name in ("learned", "tells_title", "is_boilerplate")}
                keys = Keys.of(each)
                postings = np.zeros(len(keys.weights), _POSTING)
                postings["key"], postings["address"] = key, number << 32 | len(offsets) - 1
                postings["weight"] = keys.weights
                posted.add(np.array([*keys.numbers], np.uint32), postings)
                count += len(postings)
                row = pickle.dumps((record.pack(), given, pack((of_file, line, document, known))))
                file.write(row)
                offsets.append(offsets[-1] + len(row))
    posted.end_run()
    save(job.stem("offsets", number), np.array(offsets, np.uint64))
    return {"documents": len(offsets) - 1, "postings": count, "runs": posted.runs}


# 3. Find pairs


def find_pairs(job: Job, number: int, keys: tuple[int, int], runs: Sequence[str]) -> Stats:
    """Find pairs among the postings of some look-up keys. If they are many, take one span of time after the other."""
    slices = [columns_of(run, *keys) for run in runs]
    postings = sum(len(first) for first, _ in slices)
    spans = postings // _MOST_POSTINGS + 1
    bounds = [0, (1 << 64) - 1]
    if spans > 1:
        sampled = np.sort(np.concatenate([others["key"][:: 64 * spans] for _, others in slices]))
        bounds[1:1] = np.unique(sampled[[len(sampled) * span // spans for span in range(1, spans)]]).tolist()
    pairs = ColumnWriter(job.stem("pairs", number))
    passed_over = 0
    of_keys, rest = np.zeros(0, np.uint32), np.zeros(0, _POSTING)
    for start, end in pairwise(bounds):
        chosen = [(others["key"] >= start) & (others["key"] < end) for _, others in slices]
        of_keys = np.concatenate([of_keys, *(each[0][mask] for each, mask in zip(slices, chosen, strict=True))])
        rest = np.concatenate([rest, *(each[1][mask] for each, mask in zip(slices, chosen, strict=True))])
        order = np.lexsort((rest["key"], of_keys))
        of_keys, rest = of_keys[order], rest[order]
        for first in range(0, len(rest), _PAIRED_TOGETHER):
            before = max(0, first - _MOST_READ)
            block = slice(before, first + _PAIRED_TOGETHER)
            is_new = rest["key"][block] >= start
            is_new[: first - before] = False
            passed_over += _pair(of_keys[block], rest[block], is_new, job.settings.window, pairs)
        # The next documents are paired with the newest ones of each look-up key.
        is_newest = np.ones(len(rest), bool)
        is_newest[:-_MOST_READ] = of_keys[_MOST_READ:] != of_keys[:-_MOST_READ]
        of_keys, rest = of_keys[is_newest], rest[is_newest]
    pairs.end_run()
    return {"runs": pairs.runs, "passed_over": passed_over}


def _pair(of_keys: Array, postings: Array, is_new: Array, window: int, pairs: ColumnWriter) -> int:
    """Add the pairs of new postings with older ones. Return how many had more of these than are read."""
    second = (postings["key"] >> np.uint64(32)).astype(np.int64)
    for lag in range(1, _MOST_READ + 1):
        is_pair = (of_keys[lag:] == of_keys[:-lag]) & (second[lag:] - second[:-lag] <= window) & is_new[lag:]
        if lag == _MOST_READ:
            break
        shared = np.zeros(int(is_pair.sum()), _SHARED)
        shared["key"], shared["address"] = (postings[name][:-lag][is_pair] for name in ("key", "address"))
        shared["weight"] = postings["weight"][lag:][is_pair]
        pairs.add(postings["address"][lag:][is_pair], shared)
    return int(is_pair.sum())


# 4. Decide


class Stored(NamedTuple):
    record: Record
    given: str | int | None
    packed: bytes

    @property
    def document(self) -> Document:
        document: Document = unpack(self.packed)[2]
        return document


@lru_cache(_MOST_STORED)
def stored(work: Path, address: int) -> Stored:
    number, at = divmod(address, 1 << 32)
    start, end = load(work / f"offsets-{number}")[at : at + 2].tolist()
    file = _open(work / f"stored-{number}")
    file.seek(start)
    packed, given, rest = pickle.loads(file.read(end - start))
    record = read_record(packed)
    assert record is not None, "workers have one version of the package"
    return Stored(record, given, rest)


@lru_cache(256)
def _open(path: Path) -> BinaryIO:
    return path.open("rb")


def forget() -> None:
    """Close the files that this worker keeps open, so that their space is free when they are removed."""
    for each in (stored, _open, load):
        each.cache_clear()


class _Votes(Generation):
    """What the look-up keys that candidates share with a document count, by the keys of the candidates."""

    def __init__(self, counted: dict[bytes, int]) -> None:
        super().__init__("", 0, 0)
        self._counted = counted

    def votes(self, keys: Keys, first: int, last: int, room: dict[int, int]) -> dict[bytes, int]:
        return self._counted

    def key_of(self, posting: bytes) -> bytes:
        return posting


def decide(job: Job, number: int, addresses: tuple[int, int], runs: Sequence[str]) -> Stats:
    """Decide what the documents of a range of addresses are."""
    judge = judge_of(job.settings)
    answers = RowWriter(job.stem("verdicts", number))
    links = ColumnWriter(job.stem("links", number))
    linked: list[tuple[int, int, bool, Array]] = []
    for first in range(*addresses, _DECIDED_TOGETHER):
        last = min(first + _DECIDED_TOGETHER, addresses[1])
        votes = _votes(runs, first, last)
        for address in range(first, last):
            own = stored(job.work, address)
            of_file, line, document, known = unpack(own.packed)
            record = replace(own.record, **known)
            shared = votes(address)
            found = _Votes({key: weight for key, (_, weight) in shared.items()})
            chosen = find_candidates(Keys((), ()), [found], record.original, job.settings.window)
            candidates = {key: stored(job.work, shared[key][0]) for key in chosen}
            decision = _decide(judge, document, record, candidates)
            verdict = replace(decision.verdict, story=None)
            answer = Answer(own.given, verdict)
            if verdict.match is not None and decision.match is not None:
                match = shared[decision.match.key][0]
                answer = answer._replace(links=(address, match), match=candidates[decision.match.key].given)
                is_copy = decision.record.original != record.original
                linked.append((address, match, is_copy, _held(decision, judge.policy)))
            answers.add(of_file, line, 0, pickle.dumps(tuple(answer)))
    answers.end_run()
    rows = np.zeros(len(linked), _LINK)
    for place, (_, *values) in enumerate(linked):
        rows[place] = tuple(values)
    links.add(np.array([address for address, *_ in linked], np.uint64), rows)
    links.end_run()
    return {"documents": addresses[1] - addresses[0], "runs": answers.runs, "links": links.runs[0]}


def _votes(runs: Sequence[str], first: int, last: int) -> Callable[[int], dict[bytes, tuple[int, int]]]:
    """Return who shares keys with the document of an address: by their keys, their addresses and what that counts."""
    slices = [columns_of(run, first, last) for run in runs]
    later = np.concatenate([np.zeros(0, np.uint64), *(each for each, _ in slices)])
    shared = np.concatenate([np.zeros(0, _SHARED), *(each for _, each in slices)])
    order = np.lexsort((shared["key"], later))
    later, shared = later[order], shared[order]
    is_first = np.ones(len(later), bool)
    is_first[1:] = (later[1:] != later[:-1]) | (shared["key"][1:] != shared["key"][:-1])
    starts = np.flatnonzero(is_first)
    weights = np.add.reduceat(shared["weight"], starts) if len(starts) else starts
    later, shared = later[starts], shared[starts]

    def votes(address: int) -> dict[bytes, tuple[int, int]]:
        some = slice(*later.searchsorted(np.array([address, address + 1], np.uint64)))
        rows = zip(shared["key"][some].tolist(), shared["address"][some].tolist(), weights[some].tolist(), strict=True)
        return {key.to_bytes(8, "big"): (other, weight) for key, other, weight in rows}

    return votes


def _decide(judge: Judge, document: Document, record: Record, candidates: dict[bytes, Stored]) -> Decision:
    pairs = [Pair(key, record, each.record, judge.policy) for key, each in candidates.items()]
    pairs = [each for each in pairs if judge.system.may_match(each)]
    texts = dict[bytes, StoredText]()
    for pair in chosen_for_second_look(pairs):
        if pair.old.text_at != NO_TEXT:
            old = candidates[pair.key].document
            texts[pair.key] = StoredText.of(old.title, old.text)
    return judge.decide(document, record, pairs, texts)


def _held(decision: Decision, policy: Policy) -> Array:
    """Return for each share of the match's text that is held what share of the document's text is held then.

    Shares are in parts of ``WHOLE_TEXT``, those that are held. If the document is dropped, ``_IS_DROPPED`` is added.
    """
    assert decision.match is not None
    if not decision.verdict.would_drop:
        return _held_parts(0.0, policy)
    # A guard may keep a copy of what is dropped.
    pair = copy(decision.match.pair)
    pair.old = replace(pair.old, kept_share_parts=WHOLE_TEXT - 1)
    held = _held_parts(pair.share, policy)
    if ask(pair, NOT_DROPPED).applying:
        held = np.append(_held_parts(0.0, policy)[:-1], held[-1])
    return held


@lru_cache(4096)
def _held_parts(share: float, policy: Policy) -> Array:
    held = np.full(WHOLE_TEXT + 1, WHOLE_TEXT, np.uint16)
    for parts in range(WHOLE_TEXT + 1):
        kept_share = share * parts / WHOLE_TEXT
        if kept_share >= policy.drop_share:
            held[parts] = policy.held_parts(kept_share) + _IS_DROPPED
    return held


# 5. Follow


def follow(job: Job, number: int, links: Sequence[str], starts: Sequence[int]) -> Stats:
    """Move the links of a part on. ``links`` has the files of all parts, which begin at the addresses ``starts``."""
    first, others = _links(links[number])
    moved = others.copy()
    count = 0
    parts = np.searchsorted(starts, others["match"], "right") - 1
    for part in np.unique(parts).tolist():
        their_first, theirs = _links(links[part])
        if not len(their_first):
            continue
        mine = np.flatnonzero(parts == part)
        place = their_first.searchsorted(others["match"][mine]).clip(max=len(their_first) - 1)
        is_linked = (their_first[place] == others["match"][mine]) & theirs["is_copy"][place]
        mine, place = mine[is_linked], place[is_linked]
        moved["match"][mine] = theirs["match"][place]
        inner = (theirs["held"][place] % _IS_DROPPED).astype(np.int64)
        moved["held"][mine] = np.take_along_axis(others["held"][mine], inner, axis=1)
        count += len(mine)
    writer = ColumnWriter(Path(f"{links[number]}+"))
    writer.add(first, moved)
    writer.end_run()
    return {"links": writer.runs[0], "moved": count}


def _links(run: str) -> tuple[Array, Array]:
    return columns_of(run, 0, 1 << 64)


# 6. Write


def write_part(
    job: Job,
    number: int,
    undecided: Sequence[str],
    runs: Sequence[str],
    links: Sequence[str],
    starts: Sequence[int],
) -> Stats:
    counts = Counter[str]()
    answers = (Answer(*pickle.loads(row)) for *_, row in rows_of([*undecided, *runs], number))
    with whole_file(job.part(number), job.work) as file:
        table = pq.ParquetWriter(file, _SCHEMA) if job.as_parquet else None
        while batch := list(islice(answers, _WRITTEN_TOGETHER)):
            rows = [_row(job, answer, links, starts, counts) for answer in batch]
            if table is None:
                file.writelines(json.dumps(row).encode() + b"\n" for row in rows)
            else:
                texts = ("id", "match", "original")
                rows = [row | {name: _as_text(row[name]) for name in texts} for row in rows]
                table.write_table(pa.Table.from_pylist(rows, _SCHEMA))
        if table is not None:
            table.close()
    return dict(counts)


def _as_text(given: str | int | None) -> str | None:
    return None if given is None else str(given)


def _row(job: Job, answer: Answer, links: Sequence[str], starts: Sequence[int], counts: Counter[str]) -> dict[str, Any]:
    """Return a line of the output. Count it."""
    verdict = answer.verdict
    more: dict[str, Any] = {}
    if answer.links is not None:
        address, _ = answer.links
        first, others = _links(links[int(np.searchsorted(starts, address, "right")) - 1])
        link = others[first.searchsorted(np.uint64(address))]
        original = stored(job.work, int(link["match"]))
        more = {"match": answer.match, "original": original.given}
        verdict = replace(
            verdict,
            original_url=original.record.url.decode("utf-8", "replace") or None,
            would_drop=bool(link["held"][WHOLE_TEXT] >= _IS_DROPPED),
        )
    if answer.error is not None:
        more["error"] = answer.error
    counts.update(answer.counted or ("documents", *counted_names(verdict)))
    return {"id": answer.given, **{name: getattr(verdict, name) for name in VERDICT_FIELDS}, **more}
