"""Make documents and fingerprints for the tests of the index, with an exact number of equal lanes and an exact time."""

from __future__ import annotations

import hashlib
import itertools
import random
import struct
from dataclasses import dataclass, replace
from functools import lru_cache

from scrapy_neardup.document import Document, Fingerprint, Match
from scrapy_neardup.evidence.figures import Figure, pack_figures
from scrapy_neardup.evidence.topic import KEYS, TITLE_BIT
from scrapy_neardup.index import Index

MINUTE = 60
HOUR = 3600
DAY = 24 * HOUR
START = 472_222 * HOUR  # a full hour in November 2023

LANES = 128
BANDS = 42
ROWS = 3

WIRE = "https://wire.example/a"

_serial = itertools.count()


def digest(text: str, size: int = 8) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def estimate(equal: int) -> float:
    """Resemblance of two signatures with so many equal lanes: what is equal by chance, one in 256, is taken off."""
    return (equal / LANES - 1 / 256) / (1 - 1 / 256)


def key_of(*parts: object) -> int:
    return int.from_bytes(digest(repr(parts), 4), "big")


@lru_cache(maxsize=2000)
def lanes(seed: object, equal: int = LANES, other: object = None) -> bytes:
    """A signature: the first ``equal`` lanes are those of ``seed``, the rest those of ``other``."""
    first, rest = (random.Random(repr(each)).randbytes(LANES) for each in (seed, (seed, other)))
    # Never equal by chance: the lowest bit tells the two apart.
    mine = bytes(byte & 0xFE for byte in first[:equal])
    return mine + bytes(byte | 0x01 for byte in rest[equal:])


@lru_cache(maxsize=2000)
def band_keys(signature: bytes) -> tuple[int, ...]:
    width = ROWS
    return (
        tuple(key_of(band, signature[band * width : (band + 1) * width]) for band in range(BANDS)) if signature else ()
    )


def specifics(names: str, figures: str = "", leads: str = "") -> bytes:
    """What fills a template: one letter a name, one digit a figure, each in a place of its own.

    ``leads`` are the names in the first sentence of a short text.
    """
    values = [0x80 | ord(name) for name in names] + [ord(figure) for figure in figures]
    places = [(place, 0x80 | ord(name)) for place, name in enumerate(leads)]
    places += [(100 * place, value) for place, value in enumerate(values, 1)]
    return b"".join(struct.pack(">HB", *place) for place in places)


def topic(terms: str) -> bytes:
    """One letter a term, the heaviest first; a capital letter is a term of the title."""
    return b"".join(struct.pack(">H", ord(term.lower()) + TITLE_BIT * term.isupper()) for term in terms)


def headline(terms: str) -> bytes:
    """One letter a term of a title."""
    return b"".join(struct.pack(">H", ord(term)) for term in sorted(set(terms)))


def figures(values: str) -> bytes:
    """Numbers with blanks between them, each in a place of its own."""
    places = enumerate(values.split())
    return pack_figures([Figure(value, "", struct.pack(">I", place)) for place, value in places])


@dataclass(frozen=True)
class Article:
    """What a test says of a document. ``text`` names the text; ``equal`` of its lanes are those of ``like``."""

    text: str = "wire"
    at: float = 0.0  # seconds after START
    url: str = ""
    source: str = ""
    title: str = ""
    like: str = ""
    equal: int = LANES
    size: int = 300
    short: bool = False
    specifics: bytes = b""
    topic: str = ""  # one letter a term, a capital letter if it is in the title; two in common make a candidate
    headline: str = ""  # one letter a term of the title
    figures: str = ""  # numbers with blanks between them
    number: str = ""  # of the article, in its source
    language: str = ""
    edition: int = 0
    names: str = ""  # one letter a name in one alphabet
    vector: tuple[int, ...] = ()  # packed as signed bytes
    serial: int = -1

    def __post_init__(self) -> None:
        if self.serial < 0:
            object.__setattr__(self, "serial", next(_serial))

    @property
    def id(self) -> str:
        return (struct.pack(">I", int(START + self.at)) + digest(str(self.serial), 4)).hex()

    @property
    def document(self) -> Document:
        return Document(self.id, self.url, self.source, self.title, self.text, START + self.at, self.url)

    @property
    def fingerprint(self) -> Fingerprint:
        signature = lanes(self.like, self.equal, self.text) if self.like else lanes(self.text)
        signature = b"" if self.short else signature
        identities = [key_of("text", self.text)] + ([key_of("url", self.url)] if self.url else [])
        identities += [key_of("number", self.source, self.number)] if self.number else []
        return Fingerprint(
            signature=signature,
            size=0 if self.short else self.size,
            text_hash=digest(self.text),
            url_hash=digest(self.url) if self.url else bytes(8),
            source_hash=digest(self.source, 4) if self.source else bytes(4),
            identity_keys=tuple(identities),
            band_keys=band_keys(signature),
            topic_keys=tuple(key_of("term", term) for term in self.topic.lower()[:KEYS]),
            topic=topic(self.topic),
            name_keys=tuple(key_of("name", name) for name in self.names[:4]),
            names=headline(self.names),
            vector=struct.pack(f"{len(self.vector)}b", *self.vector),
            specifics=self.specifics,
            figures=figures(self.figures),
            titles=headline(self.headline),
            article_hash=digest(f"{self.source} {self.number}", 4) if self.number else bytes(4),
            language=self.language.encode() or bytes(2),
            edition=self.edition,
        )

    def copy(self, **changes: object) -> Article:
        """Another document, alike but for the changes."""
        return replace(self, **{"serial": -1, **changes})  # type: ignore[arg-type]


async def check(index: Index, article: Article) -> Match | None:
    return (await index.check(article.fingerprint, article.document)).match
