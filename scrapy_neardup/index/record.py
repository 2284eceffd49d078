"""What a store keeps of a document, packed; ``scripts/window.lua`` reads and writes the same bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import cast

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.exceptions import StoreError

KEY_BYTES = 8
# version, size, text hash, url hash, source hash, original, story, candidate; lengths of signature, figures,
# specifics, topic, url and title
_HEADER = struct.Struct(">BI8s8s4s8s8s8sHBBBHB")
HEADER_BYTES = _HEADER.size
VERSION = 3
MAX_URL_BYTES = 2000
MAX_TITLE_BYTES = 120


@dataclass(frozen=True, slots=True)
class Record:
    """One registered document. ``original`` and ``story`` are keys; of an original they are its own.

    ``url`` and ``title`` are those of the original, so that a link outlives the original's own hour.
    """

    size: int
    text_hash: bytes
    url_hash: bytes
    source_hash: bytes
    original: bytes
    story: bytes
    candidate: bytes  # the best match at the time of registration, its own key where there was none
    signature: bytes
    figures: bytes
    specifics: bytes
    topic: bytes
    url: bytes
    title: bytes

    def pack(self) -> bytes:
        header = _HEADER.pack(
            VERSION,
            self.size,
            self.text_hash,
            self.url_hash,
            self.source_hash,
            self.original,
            self.story,
            self.candidate,
            len(self.signature),
            len(self.figures),
            len(self.specifics),
            len(self.topic),
            len(self.url),
            len(self.title),
        )
        return header + self.signature + self.figures + self.specifics + self.topic + self.url + self.title

    @classmethod
    def unpack(cls, data: bytes) -> Record:
        """Raises StoreError on bytes that are no record of this version."""
        if len(data) < HEADER_BYTES or data[0] != VERSION:
            raise StoreError(f"a record of {len(data)} bytes is not one of version {VERSION}")
        _, size, text, url, source, original, story, candidate, *lengths = _HEADER.unpack_from(data)
        if HEADER_BYTES + sum(lengths) != len(data):
            raise StoreError(f"a record of {len(data)} bytes says it has {HEADER_BYTES + sum(lengths)}")
        parts = []
        start = HEADER_BYTES
        for length in cast("list[int]", lengths):
            parts.append(data[start : start + length])
            start += length
        return cls(size, text, url, source, original, story, candidate, *parts)


def intact(data: bytes) -> Record | None:
    """None for bytes that are no record of this version: what is damaged is no candidate."""
    try:
        return Record.unpack(data)
    except StoreError:
        return None


def new_record(fingerprint: Fingerprint, document: Document) -> Record:
    """The record of a document that turns out to be the first of its kind."""
    key = bytes.fromhex(document.id)
    return Record(
        size=fingerprint.size,
        text_hash=fingerprint.text_hash,
        url_hash=fingerprint.url_hash,
        source_hash=fingerprint.source_hash,
        original=key,
        story=key,
        candidate=key,
        signature=fingerprint.signature,
        figures=fingerprint.figures,
        specifics=fingerprint.specifics,
        topic=fingerprint.topic,
        url=cut(document.url, MAX_URL_BYTES),
        title=cut(document.title, MAX_TITLE_BYTES),
    )


def cut(text: str, limit: int) -> bytes:
    """The UTF-8 of a text's beginning in at most ``limit`` bytes, ended between two characters."""
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore").encode()


def seconds_of(key: bytes) -> int:
    """The whole second in which the document of this key was seen."""
    return int.from_bytes(key[:4], "big")
