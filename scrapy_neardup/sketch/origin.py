"""Where a document comes from: hashes of its source, page, article number and title."""

from typing import NamedTuple

import xxhash

from scrapy_neardup.document import Document
from scrapy_neardup.evidence.titles import site_terms, title_terms, title_without_site

# Instead of the hash of a source or article.
NO_HASH = bytes(4)


class Origin(NamedTuple):
    """Hashes of a document's source, page and title."""

    source_hash: bytes  # zeros if it has no source
    url_hash: bytes
    article_hash: bytes  # of source and article number, zeros if it has none
    terms: frozenset[int]  # of the title
    site_terms: frozenset[int]  # terms of the title that may be the name of the site
    page: int  # 32-bit hash of the url, or of the text if there is no url

    @property
    def article(self) -> int:
        return int.from_bytes(self.article_hash, "big")

    @classmethod
    def of(cls, document: Document) -> "Origin":
        source, article = document.source, document.article
        return cls(
            source_hash=source_hash(source),
            url_hash=page_hash(document.url_identity),
            article_hash=xxhash.xxh32_digest(_encoded(f"{source}\n{article}")) if source and article else NO_HASH,
            terms=title_terms(title_without_site(document.title, source)),
            site_terms=site_terms(document.title),
            page=xxhash.xxh32_intdigest(_encoded(document.url_identity or document.text)),
        )


def packed_language(code: str) -> bytes:
    """Return the two letters of an ISO 639-1 code, zeros for any other."""
    packed = code.encode("ascii", "ignore")[:2]
    return packed if len(packed) == 2 else bytes(2)


def source_hash(source: str) -> bytes:
    """Return a hash of a source in 4 bytes, zeros if there is none."""
    return xxhash.xxh32_digest(_encoded(source)) if source else NO_HASH


def page_hash(identity: str) -> bytes:
    """Return a hash of a url identity in 8 bytes, zeros if it is empty."""
    return xxhash.xxh64_digest(_encoded(identity)) if identity else bytes(8)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
