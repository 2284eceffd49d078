"""Documents that the window knows: a store keeps fingerprints, titles and urls of them, and no texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone

from scrapy_neardup.content import require_page
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Fingerprint, Match, Status
from scrapy_neardup.evidence.figure_changes import changed_figures
from scrapy_neardup.evidence.figures import unpack_figures
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.index.purging import Selection
from scrapy_neardup.lab.single import Given, read_single
from scrapy_neardup.records.documents import Record, new_record, seconds_of
from scrapy_neardup.rules.decision import most_similar
from scrapy_neardup.rules.scoring import is_same_url
from scrapy_neardup.rules.verdicts import status_of
from scrapy_neardup.sketch import page_hash

_DOCUMENT_ID = re.compile("[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as a store keeps it: one of the window, or one that was just read, with its text."""

    key: bytes
    record: Record
    text: str = ""  # of a document that was just read
    fingerprint: Fingerprint | None = None  # the same

    @property
    def id(self) -> str:
        return self.key.hex()

    @property
    def url(self) -> str:
        return self.record.url.decode("utf-8", "replace")

    @property
    def title(self) -> str:
        return self.record.title.decode("utf-8", "replace")

    @property
    def seen_at(self) -> str:
        return datetime.fromtimestamp(seconds_of(self.key), timezone.utc).isoformat()


def is_document_id(name: str) -> bool:
    return _DOCUMENT_ID.fullmatch(name) is not None


def named_document(
    detector: NearDupDetector, records: Sequence[tuple[bytes, Record]], name: str, *, fetch: bool = False
) -> StoredDocument:
    """Return the document of the window with this id, or the newest one of this page, or else the page, file or line.

    With ``fetch`` no page is looked up in the window. A document that is read is not registered. Raise InputError if
    there is no such document.
    """
    if is_document_id(name):
        for key, record in records:
            if key.hex() == name:
                return StoredDocument(key, record)
        raise InputError(f"{name}: the window has no document with this id")
    why_fetched = ""
    if name.startswith(("http://", "https://")) and not fetch:
        with suppress(ValueError):  # it is no address of a page
            page = page_hash(require_page(name))
            found = [StoredDocument(key, record) for key, record in records if record.url_hash == page]
            if found:
                return max(found, key=lambda each: each.key)
        why_fetched = "the window does not have this page (scrapy neardup status shows where it is, and what it holds)"
    return as_stored(detector, read_single(name, detector.settings, why_fetched))


def as_stored(detector: NearDupDetector, given: Given) -> StoredDocument:
    """Return a document as a store would keep it. It is not registered."""
    document = detector.document(given.text, url=given.url, title=given.title)
    embedding = detector.embedding
    fingerprint = detector.sketcher.fingerprint(embedding.with_vector(document) if embedding else document)
    return StoredDocument(bytes.fromhex(document.id), new_record(fingerprint, document), given.text, fingerprint)


def copies_elsewhere(records: Sequence[tuple[bytes, Record]], selection: Selection) -> int:
    """Count the copies of selected documents that are not selected themselves."""
    selected = {key for key, record in records if selection.takes(record)}
    return sum(record.original in selected and key not in selected for key, record in records)


def similar_to(
    detector: NearDupDetector, records: Sequence[tuple[bytes, Record]], wanted: StoredDocument, most: int
) -> list[tuple[Match, Status]]:
    """Return the documents of the window that match the wanted one, best first, without the page itself.

    The status is that of the wanted document if the match were the only one before it.
    """
    others = {key: record for key, record in records if not _is_page_of(wanted, key, record)}
    policy = detector.index.policy
    return [
        (match, status_of(match, changes_of(others[bytes.fromhex(match.candidate)], wanted.record), policy)[0])
        for match in most_similar(others.items(), wanted.record, policy, most)
    ]


def _is_page_of(wanted: StoredDocument, key: bytes, record: Record) -> bool:
    return key == wanted.key or is_same_url(record, wanted.record)


def changes_of(old: Record, new: Record) -> tuple[str, ...]:
    """Return the figures that changed. Records have no labels of figures."""
    if not (old.figures and new.figures):
        return ()
    try:
        found = changed_figures(unpack_figures(old.figures), unpack_figures(new.figures))
    except ValueError:  # damaged
        return ()
    return tuple(change.line for change in found)
