"""The hashes of a document's source, page and title."""

from __future__ import annotations

from typing import NamedTuple

import xxhash

from scrapy_neardup.document import Document
from scrapy_neardup.evidence.titles import site_terms, title_terms, title_without_site

_DAY = 24 * 3600  # seconds
NO_ARTICLE = bytes(4)
NO_SOURCE = bytes(4)


class Place(NamedTuple):
    """Hashes of a document's source, page and title."""

    source_hash: bytes  # zeros if it has no source
    url_hash: bytes
    article_hash: bytes  # of source and article number, zeros if it has none
    terms: frozenset[int]  # of the title
    site_terms: frozenset[int]  # terms of the title that may be the name of the site
    page: int  # 32-bit hash of the url, or of the text if there is no url
    day: int  # since 1970

    @property
    def article(self) -> int:
        return int.from_bytes(self.article_hash, "big")

    @classmethod
    def of(cls, document: Document) -> Place:
        source, article = document.source, document.article
        return cls(
            source_hash(source),
            page_hash(document.url_identity),
            xxhash.xxh32_digest(_encoded(f"{source}\n{article}")) if source and article else NO_ARTICLE,
            title_terms(title_without_site(document.title, source)),
            site_terms(document.title),
            xxhash.xxh32_intdigest(_encoded(document.url_identity or document.text)),
            document.counted_second // _DAY,
        )


def source_hash(source: str) -> bytes:
    """Return a hash of a source in 4 bytes, zeros if there is none."""
    return xxhash.xxh32_digest(_encoded(source)) if source else NO_SOURCE


def page_hash(identity: str) -> bytes:
    """Return a hash of a url identity in 8 bytes, zeros if it is empty."""
    return xxhash.xxh64_digest(_encoded(identity)) if identity else bytes(8)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
