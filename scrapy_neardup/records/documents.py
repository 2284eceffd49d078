"""What a store keeps of a document, packed; ``scripts/window.lua`` reads and writes the same bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import cast

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.exceptions import StoreError

KEY_BYTES = 8
# version, size, held, text hash, url hash, source hash, article hash, language, edition, original, story, candidate;
# lengths of signature, figures, specifics, topic, titles, own url and title, url and title of the original; run
_HEADER = struct.Struct(">BIB8s8s4s4s2sB8s8s8sHBBBBHBHBI")
HEADER_BYTES = _HEADER.size
VERSION = 5
MAX_URL_BYTES = 2000
MAX_TITLE_BYTES = 120
WHOLE = 255  # what ``held`` is counted in
IS_DROPPED = 1 << 31
"""Added to the run of a document that its crawl drops as a copy."""

_RUN_AT = HEADER_BYTES - 4


@dataclass(frozen=True, slots=True)
class Record:
    """One registered document. ``original`` and ``story`` are keys; of an original they are its own.

    A copy has the url and title of its original too, so that a link outlives the original's own hour. ``held`` is the
    share of the document's text, in parts of ``WHOLE``, that the feed of a crawl that drops copies holds: all of it if
    the document was kept, else the share in its match times the match's own.

    ``run`` is 0 if the document is delivered, else the number of the run that registered it, with ``IS_DROPPED`` added
    if that run drops it as a copy.
    """

    size: int
    held: int
    text_hash: bytes
    url_hash: bytes
    source_hash: bytes
    article_hash: bytes
    language: bytes
    edition: int  # of the dates in the title, 0 if there are none
    original: bytes
    story: bytes
    candidate: bytes  # the best match at the time of registration, its own key where there was none
    signature: bytes
    figures: bytes
    specifics: bytes
    topic: bytes
    titles: bytes
    url: bytes
    title: bytes
    original_url: bytes = b""  # of a copy
    original_title: bytes = b""
    run: int = 0

    def of_original(self, key: bytes) -> tuple[bytes, bytes]:
        """Return url and title of the original of the document of this key, which may be the document itself."""
        return (self.url, self.title) if self.original == key else (self.original_url, self.original_title)

    def pack(self) -> bytes:
        parts = self._parts
        header = _HEADER.pack(
            VERSION,
            self.size,
            self.held,
            self.text_hash,
            self.url_hash,
            self.source_hash,
            self.article_hash,
            self.language,
            self.edition,
            self.original,
            self.story,
            self.candidate,
            *map(len, parts),
            self.run,
        )
        return header + b"".join(parts)

    @property
    def _parts(self) -> tuple[bytes, ...]:
        sketches = self.signature, self.figures, self.specifics, self.topic, self.titles
        return (*sketches, self.url, self.title, self.original_url, self.original_title)

    @classmethod
    def unpack(cls, data: bytes) -> Record:
        """Raises StoreError on bytes that are no record of this version."""
        if len(data) < HEADER_BYTES or data[0] != VERSION:
            raise StoreError(f"a record of {len(data)} bytes is not one of version {VERSION}")
        fields = _HEADER.unpack_from(data)[1:]
        fixed, lengths, run = fields[:11], fields[11:-1], fields[-1:]
        if HEADER_BYTES + sum(lengths) != len(data):
            raise StoreError(f"a record of {len(data)} bytes says it has {HEADER_BYTES + sum(lengths)}")
        parts = []
        start = HEADER_BYTES
        for length in cast("list[int]", lengths):
            parts.append(data[start : start + length])
            start += length
        return cls(*fixed, *parts, *run)


def read_record(data: bytes) -> Record | None:
    """None for bytes that are no record of this version: what is damaged is no candidate."""
    try:
        return Record.unpack(data)
    except StoreError:
        return None


def mark_delivered(packed: bytes) -> bytes | None:
    """The packed record of a document once it is delivered; None if it is so already, or no record of this version."""
    if len(packed) < HEADER_BYTES or packed[0] != VERSION or not any(packed[_RUN_AT:HEADER_BYTES]):
        return None
    return packed[:_RUN_AT] + bytes(4) + packed[HEADER_BYTES:]


def new_record(fingerprint: Fingerprint, document: Document, run: int = 0) -> Record:
    """The record of a document that turns out to be the first of its kind."""
    key = bytes.fromhex(document.id)
    return Record(
        size=fingerprint.size,
        held=WHOLE,
        text_hash=fingerprint.text_hash,
        url_hash=fingerprint.url_hash,
        source_hash=fingerprint.source_hash,
        article_hash=fingerprint.article_hash,
        language=fingerprint.language,
        edition=fingerprint.edition,
        original=key,
        story=key,
        candidate=key,
        signature=fingerprint.signature,
        figures=fingerprint.figures,
        specifics=fingerprint.specifics,
        topic=fingerprint.topic,
        titles=fingerprint.titles,
        url=cut_to_bytes(document.url, MAX_URL_BYTES),
        title=cut_to_bytes(document.title, MAX_TITLE_BYTES),
        run=run,
    )


def cut_to_bytes(text: str, limit: int) -> bytes:
    """The UTF-8 of a text's beginning in at most ``limit`` bytes, ended between two characters."""
    return text[:limit].encode("utf-8", "replace")[:limit].decode("utf-8", "ignore").encode()


def seconds_of(key: bytes) -> int:
    """The whole second in which the document of this key was seen."""
    return int.from_bytes(key[:4], "big")
