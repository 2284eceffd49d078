"""The documents that arguments of commands name: in a window, or in a file.

A store keeps fingerprints, titles, urls and packed texts of documents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

from scrapy_neardup.content.head import decode_html
from scrapy_neardup.content.urls import url_identity
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.evidence.vectors import text_to_embed
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.records.documents import Record, new_record, seconds_of
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import page_hash
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_feed
from scrapy_neardup.tools.lab.replay import PageReader, RecordedPage, document_of

_DOCUMENT_ID = re.compile("[0-9a-f]{16}")
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


def is_document_id(name: str) -> bool:
    return _DOCUMENT_ID.fullmatch(name) is not None


async def named_document(
    detector: NearDupDetector, records: Sequence[tuple[bytes, Record]], name: str
) -> StoredDocument:
    """Return the document of the window with this id, or the newest one of this page, or else the file or line.

    A document that is read is not registered. Raise InputError if there is no such document.
    """
    page = page_hash(url_identity(name))
    if is_document_id(name):
        found = [each for each in records if each[0].hex() == name]
        lacking = "has no document with this id"
    elif any(page):
        found = [each for each in records if each[1].url_hash == page]
        lacking = "does not have this page"
    else:
        return as_stored(detector, read_single(name, detector.settings))
    if not found:
        raise InputError(f"{name}: the window {lacking}; scrapy neardup watch --window shows what it holds")
    key, record = max(found, key=itemgetter(0))
    return StoredDocument(key, record, await detector.index.documents.text_of(record))


def as_stored(detector: NearDupDetector, page: RecordedPage) -> StoredDocument:
    """Return a page as a store would keep it. It is not registered."""
    document = document_of(page, detector)
    if detector.embedding is not None:
        asked = detector.embedding.submit(text_to_embed(document.title, document.text))
        document = replace(document, vector=asked.result())
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
    first = None
    for entry in read_feed(path):
        if str(entry.id) == wanted:
            return entry
        if entry.id and (first is None or str(entry.line) == wanted):  # perhaps a line was meant
            first = entry
    if first is None:
        raise InputError(f"{path}: the file has no document with an id")
    raise InputError(f"{path}: no line has the id {wanted!r}; line {first.line} has the id {str(first.id)!r}")
