"""The documents that arguments of commands name: in a window, in a file, or on the web.

A store keeps fingerprints, titles and urls of documents, and no texts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from scrapy_neardup.content.head import decode_html
from scrapy_neardup.content.urls import require_page
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Fingerprint, Status
from scrapy_neardup.evidence.figures import changed_figures, unpack_figures
from scrapy_neardup.evidence.vectors import text_to_embed
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.index.upkeep import Selection
from scrapy_neardup.lab.feed import STDIN, RecordedDocument, read_feed, shown
from scrapy_neardup.lab.replay import PageReader, RecordedPage, document_of
from scrapy_neardup.records.documents import Record, new_record, seconds_of
from scrapy_neardup.rules.decision import most_similar, status_of
from scrapy_neardup.rules.match import Match
from scrapy_neardup.rules.scoring import is_same_url
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import page_hash

_DOCUMENT_ID = re.compile("[0-9a-f]{16}")
_TIMEOUT = 20.0  # seconds
_USER_AGENT = "scrapy-neardup (+https://scrapy.org)"
_HTML = re.compile(r"<(?:!doctype|html|head|body|article|div|p)\b", re.IGNORECASE)
_HTML_NAME = re.compile(r"\.(?:x?html|htm)$", re.IGNORECASE)
_HEAD = 4096  # bytes or characters
_PACKED = (b"%PDF-", b"PK\x03\x04", b"\x1f\x8b", b"\xfd7zXZ")
"""Beginnings of files that people take for articles: PDF, zip (.docx, .epub), gzip, xz."""

_JSON_LINES_NAME = re.compile(r"\.(?:jsonl|jl|ndjson)(?:\.gz|\.xz)*$", re.IGNORECASE)


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
    is_address, found = name.startswith(("http://", "https://")), list[StoredDocument]()
    if is_document_id(name):
        found = [StoredDocument(key, record) for key, record in records if key.hex() == name]
        if not found:
            raise InputError(f"{name}: the window has no document with this id")
    elif is_address and not fetch:
        with suppress(ValueError):  # it is no address of a page
            page = page_hash(require_page(name))
            found = [StoredDocument(key, record) for key, record in records if record.url_hash == page]
    if found:
        return max(found, key=lambda each: each.key)
    try:
        return as_stored(detector, read_single(name, detector.settings))
    except InputError as error:
        if fetch or not is_address:
            raise
        raise InputError(
            f"{name}: the window does not have this page (scrapy neardup status shows where it is, and what it holds)."
            f" So the page itself was tried: {str(error).removeprefix(f'{name}: ')}"
        ) from error


def as_stored(detector: NearDupDetector, page: RecordedPage) -> StoredDocument:
    """Return a page as a store would keep it. It is not registered."""
    document = document_of(page, detector)
    if detector.embedding is not None:
        asked = detector.embedding.submit(text_to_embed(document.title, document.text))
        document = replace(document, vector=asked.result())
    fingerprint = detector.sketcher.fingerprint(document)
    return StoredDocument(bytes.fromhex(document.id), new_record(fingerprint, document), page.text, fingerprint)


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
    others = {key: each for key, each in records if key != wanted.key and not is_same_url(each, wanted.record)}
    return [
        (match, status_of(match, changes_of(others[bytes.fromhex(match.candidate)], wanted.record))[0])
        for match in most_similar(others.items(), wanted.record, detector.index.policy, most)
    ]


def changes_of(old: Record, new: Record) -> tuple[str, ...]:
    """Return the figures that changed. Records have no labels of figures."""
    found = changed_figures(unpack_figures(old.figures), unpack_figures(new.figures))
    return tuple(change.line for change in found)


def read_single(name: str, settings: NearDupSettings) -> RecordedPage:
    """Return the named page with its main content. Raise InputError, which repeats the name."""
    with PageReader(settings, workers=1) as reader:
        (page,) = reader.read([_find(name, settings)])
    if page.error is not None:
        raise InputError(page.error)
    return page


def _find(name: str, settings: NearDupSettings) -> RecordedDocument:
    if name == str(STDIN):
        return _recorded(shown(STDIN), sys.stdin.buffer.read(settings.max_html_bytes + 1))
    if name.startswith(("http://", "https://")):
        return _recorded(name, *_fetch(name, settings.max_html_bytes), url=name)
    before, _, wanted = name.partition("#")
    for path in filter(Path.is_file, map(Path, (name, before))):
        if wanted and path == Path(before):
            return _line(path, wanted)
        if _JSON_LINES_NAME.search(name):
            first = next((f"; name one, as {path}#{each.id}" for each in read_feed(path) if each.error is None), "")
            raise InputError(f"{name}: a file of JSON lines holds many documents{first}")
        try:
            return _recorded(name, path.read_bytes())
        except OSError as error:
            raise InputError(f"{name}: cannot be read: {error.strerror}") from error
    raise InputError(
        f"{name}: there is no such file; a document is a file, -, an http(s) url, or INPUT#id of JSON lines"
    )


def _fetch(url: str, most: int) -> tuple[bytes, str | None]:
    """Return body and content type."""
    from http.client import HTTPException
    from urllib.request import Request, urlopen

    try:
        request = Request(url, headers={"User-Agent": _USER_AGENT, "Accept-Encoding": "identity"})
        with urlopen(request, timeout=_TIMEOUT) as response:
            body, encoding = response.read(most + 1), response.headers.get_content_charset()
    except (OSError, HTTPException, ValueError) as error:
        raise InputError(f"{url}: cannot be fetched: {error}") from error
    if len(body) > most:
        raise InputError(f"{url}: over NEARDUP_MAX_HTML_BYTES = {most}")
    return body, encoding


def _recorded(name: str, body: bytes, encoding: str | None = None, url: str = "") -> RecordedDocument:
    is_utf_16 = body.startswith((b"\xff\xfe", b"\xfe\xff"))
    if body.startswith(_PACKED) or (b"\0" in body[:_HEAD] and not is_utf_16):
        raise InputError(f"{name}: is neither HTML nor text; convert it to text first")
    content = decode_html(body, encoding)
    is_html = _HTML_NAME.search(name) or _HTML.search(content[:_HEAD])
    text, html = (None, content) if is_html else (content, None)
    return RecordedDocument(1, name, name, url, text=text, html=html)


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
