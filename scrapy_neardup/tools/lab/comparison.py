"""Find the documents that arguments of commands name, in a window or in a file, and say how two of them compare."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from scrapy_neardup import Document, Fingerprint, Kind, NearDupDetector, NearDupSettings, Status
from scrapy_neardup.content.head import decode_html
from scrapy_neardup.content.urls import url_identity
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.evidence.topic import shared_words
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.index.postings import LEAST_WEIGHT, weights_of
from scrapy_neardup.records.documents import Record, new_record, seconds_of
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.rules.findings import Measured
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.tools.ask import Ask, is_document_id
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_feed
from scrapy_neardup.tools.lab.replay import PageReader, RecordedPage, document_of

_JSON_LINES_NAME = re.compile(r"\.(?:jsonl|jl|ndjson)(?:\.gz|\.xz)*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as a store keeps it: one of the window, or one that was just read."""

    key: bytes
    record: Record
    kept: StoredText | None = None  # title and text, None if the window does not have them
    fingerprint: Fingerprint | None = None  # of a document that was just read

    @property
    def document(self) -> Document:
        """Return the document, without a text if the window does not have it."""
        url = self.record.url.decode("utf-8", "replace")
        title = self.record.title.decode("utf-8", "replace")
        text = self.kept.text if self.kept else ""
        return Document(self.key.hex(), url, source_of(url), title, text, float(seconds_of(self.key)))


async def named_document(detector: NearDupDetector, name: str) -> StoredDocument:
    """Return the document of the window with this id, or the newest one of this page, or else the file or line.

    A document that is read is not registered. Raise InputError if there is no such document.
    """
    if is_document_id(name) or url_identity(name):
        key, record = await Ask(detector).find(name)
        return StoredDocument(key, record, await detector.index.documents.text_of(record))
    document = document_of(read_single(name, detector.settings), detector)
    if detector.embedding is not None:
        document = await detector.embedding.ask(document)
    return as_stored(detector, document)


def as_stored(detector: NearDupDetector, document: Document) -> StoredDocument:
    """Return a document as a store would keep it. It is not registered."""
    fingerprint = detector.sketcher.fingerprint(document)
    kept = StoredText.of(document.title, document.text)
    return StoredDocument(bytes.fromhex(document.id), new_record(fingerprint, document), kept, fingerprint)


def read_single(name: str, settings: NearDupSettings) -> RecordedPage:
    """Return the named page with its main content. Raise InputError, which repeats the name."""
    with PageReader(settings, workers=1) as reader:
        (page,) = reader.read([_find(name, settings)])
    if page.error is not None:
        raise InputError(page.error)
    return page


def _find(name: str, settings: NearDupSettings) -> RecordedDocument:
    before, _, wanted = name.partition("#")
    for path in filter(Path.is_file, map(Path, (name, before))):
        if wanted and path == Path(before):
            return _line(path, wanted)
        if _JSON_LINES_NAME.search(name):
            first = next((f"; name one, as {path}#{each.id}" for each in read_feed(path) if each.error is None), "")
            raise InputError(f"{name}: a file of JSON lines holds many documents{first}")
        try:
            content = decode_html(path.read_bytes())
        except OSError as error:
            raise InputError(f"{name}: cannot be read: {error.strerror}") from error
        if content.lstrip().startswith("<"):
            return RecordedDocument(1, name, name, html=content)
        return RecordedDocument(1, name, name, text=content)
    raise InputError(
        f"{name}: there is no such file; a document is a url or id of the window, INPUT#id of JSON lines, or a file"
    )


def _line(path: Path, wanted: str) -> RecordedDocument:
    known = "no line has an id"
    for entry in read_feed(path):
        if str(entry.id) == wanted:
            return entry
        known = f"line {entry.line} has the id {str(entry.id)!r}"
    raise InputError(f"{path}: no line has the id {wanted!r}; {known}")


@dataclass(frozen=True, slots=True)
class Explanation:
    """How two fingerprints compare, and the verdict on the second document if only the first one came before.

    Resemblance and containment are estimated, in [0, 1].
    """

    status: Status
    kind: Kind | None
    why: tuple[str, ...]
    resemblance: float
    containment: float
    score: float  # compared with the thresholds
    share: float | None  # of the text of the second that the first holds; None if it is no match
    terms: tuple[str, ...]  # that the topics share, as words of the second; those that add most come first
    changes: tuple[str, ...]  # of figures, times and codes; none if the window lacks a text
    sentences: tuple[tuple[str, str, str], ...]  # that differ: in the first text ("" if it has none like it), in the
    # second, and in what they differ


def explain_pair(detector: NearDupDetector, first: StoredDocument, second: StoredDocument) -> Explanation:
    """Judge the second document as if the window held only the first one."""
    judge = detector.index.documents.judge
    texts = {first.key: first.kept} if first.kept else {}
    pair = Pair(first.key, second.record, first.record, judge.policy)
    decision = judge.decide(second.document, second.record, [pair], texts)
    judged = decision.verdict
    notes = []
    for name, each in (("A", first), ("B", second)):
        if each.record.is_boilerplate:
            notes.append(f"all of {name} is boilerplate: only the same page matches")
        elif each.record.is_too_short:
            notes.append(f"{name} is too short to compare: only exact repeats match")
    weight = _weight_of_shared_keys(first, second)
    if weight is not None:
        notes.append(str(weight))
        if not weight.is_reached:
            notes.append("so they are never compared; if they were:")
            judged = judge.decide(second.document, second.record, []).verdict
    likeness = pair.likeness
    share = None
    sentences: list[tuple[str, str, str]] = []
    if decision.match is not None:
        share = decision.match.pair.share
        if (compared := decision.match.pair.comparison) is not None:
            sentences = [(each.partner, each.text, each.shown) for each in compared.differing]
    return Explanation(
        status=judged.status,
        kind=judged.kind,
        why=(*notes, *decision.trace),
        resemblance=likeness.similarity,
        containment=likeness.containment,
        score=likeness.score,
        share=share,
        terms=shared_words(second.record.topic, first.record.topic, second.document.title, second.document.text),
        changes=decision.verdict.changes,
        sentences=tuple(sentences),
    )


def _weight_of_shared_keys(first: StoredDocument, second: StoredDocument) -> Measured | None:
    """Return by which weight an index would find the first document, None if a document is of a window."""
    if first.fingerprint is None or second.fingerprint is None:
        return None
    keys = {*first.fingerprint.identity_keys, *first.fingerprint.text_keys}
    own = (*second.fingerprint.identity_keys, *second.fingerprint.text_keys)
    weights = dict(zip(own, weights_of(second.fingerprint), strict=True))
    shared = sum(weights[key] for key in weights.keys() & keys)
    return Measured("weight of the look-up keys that both have", shared, LEAST_WEIGHT)
