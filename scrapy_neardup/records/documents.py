"""Pack what a store keeps of a document: its record, with its life, and its text. All stores use the same bytes.

The life is how far the item of a document has come, see docs/architecture.md.

A packed text is a byte that says whether it was cut, a checksum of 4 bytes, and title and text as a raw deflate stream.
The checksum finds damage that deflate does not: a text with one letter changed would be another text. A preset
dictionary of frequent words in seven languages saved 1 to 3 %, so there is none.
"""

import re
import zlib
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from scrapy_neardup.document import WHOLE_TEXT, Document, Evidence, Fingerprint
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.records.packing import PackedFields, cut_to_bytes
from scrapy_neardup.text.display import one_line

VERSION = 21
KEY_BYTES = 8
MAX_URL_BYTES = 2000
# Instead of the key of the document that holds a text.
NO_TEXT = bytes(KEY_BYTES)

RECORD = PackedFields(
    "record",
    {
        "size": "I",
        "text_hash": "8s",
        "url_hash": "8s",
        "source_hash": "4s",
        "article_hash": "4s",
        "content_hash": "8s",
        "language": "2s",
        "signature": "H*",
        "topic": "B*",
        "names": "B*",
        "titles": "B*",
        "kept_share_parts": "B",
        "is_variant": "B",
        "original": "8s",
        "story": "8s",
        "match": "8s",
        "first_topic": "B*",
        "url": "H*",
        "title": "H*",
        "original_url": "H*",
        "original_title": "H*",
        "counted_at": "I",
        "life": "I",
        "text_at": "8s",
        "vector": "H*",
    },
    VERSION,
)

_EVIDENCE = [each.name for each in fields(Evidence)]
_VALUES = attrgetter(*RECORD.fields)

# How far a document has come.
IS_DROPPED = 1 << 31
DELIVERED = 0
WITHDRAWN = IS_DROPPED - 1
LARGEST_RUN = WITHDRAWN - 1  # so ``WITHDRAWN`` is the number of no run


@dataclass(slots=True)
class Record(Evidence):
    """One registered document, its fields in the order of ``RECORD``.

    ``original`` and ``story`` are document keys; an original has its own key in both. A copy also has the url and title
    of its original, so that it can link to an original whose own slice has expired.

    ``kept_share_parts`` is the share of the document's text, in parts of ``WHOLE_TEXT``, that a crawl that drops copies
    still has in its feed. It is ``WHOLE_TEXT`` if the document was kept. Otherwise it is the share of the text that its
    match has, times ``kept_share_parts`` of the match.

    ``text_at`` is the key of the document that holds the text: its own, or that of an equal one. It is zeros if no text
    is stored.

    ``life`` is the number of the run that has yet to deliver the document, with the bit ``IS_DROPPED`` if the run drops
    it as a copy; or ``DELIVERED``, or ``WITHDRAWN``.
    """

    kept_share_parts: int = WHOLE_TEXT
    is_variant: int = 0  # 1 if its page has another url that it gives as its own
    original: bytes = b""
    story: bytes = b""
    match: bytes = b""  # the document that it was judged against, its own key if there was none
    first_topic: bytes = b""  # of the first document of its story in its language, empty if that is its own topic
    url: bytes = b""
    title: bytes = b""
    original_url: bytes = b""  # of a copy
    original_title: bytes = b""
    counted_at: int = 0  # when it counts for events, in Unix seconds
    life: int = DELIVERED
    text_at: bytes = NO_TEXT
    vector: bytes = b""  # empty without ``NEARDUP_EMBEDDER``
    # These are known of a new document only, and not packed.
    learned: tuple[str, ...] = ()  # lines that are boilerplate of its source
    tells_title: bool = False  # whether the text says what the title says
    is_boilerplate: bool = False  # whether too little text is left without the boilerplate

    @property
    def is_too_short(self) -> bool:
        return not self.signature  # boilerplate does not count as text

    @property
    def run(self) -> int:
        """The run that has yet to deliver the document or its match: 0 if it is delivered, that of nobody if lost."""
        return self.life & ~IS_DROPPED

    @property
    def is_dropped(self) -> bool:
        """Whether the document was dropped as a copy of one that is not delivered. It counts as seen if that does."""
        return self.life >= IS_DROPPED

    @property
    def language_code(self) -> str:
        """Return the language, ISO 639-1; "" if it is unknown."""
        code = self.language.decode("ascii", "replace")
        if code.isascii() and code.isalpha() and code.islower():
            return code
        return ""

    def of_original(self, key: bytes) -> tuple[bytes, bytes]:
        """Return url and title of this document's original, which may be the document itself.

        ``key`` is the key of this document.
        """
        if self.original == key:
            return self.url, self.title
        return self.original_url, self.original_title

    def pack(self) -> bytes:
        return RECORD.pack(*_VALUES(self))


@lru_cache(4096)  # most candidates were candidates before; nobody changes a record
def read_record(data: bytes) -> Record | None:
    """Return a record, or None for bytes that are not a record of this version: they are not a candidate."""
    try:
        return Record(*RECORD.unpack(data))  # type: ignore[arg-type]  # in the order and types of the fields
    except StoreError:
        return None


def new_record(
    fingerprint: Fingerprint, document: Document, life: int = DELIVERED, *, keep_text: bool = True
) -> Record:
    """Return the record that a document has if it is an original."""
    key = bytes.fromhex(document.id)
    return Record(
        **{name: getattr(fingerprint, name) for name in _EVIDENCE},
        is_variant=int(document.link != document.url),
        original=key,
        story=key,
        match=key,
        url=cut_to_bytes(document.link, MAX_URL_BYTES),
        title=one_line(document.title, 150).encode("utf-8", "replace"),
        counted_at=document.counted_second,
        life=life,
        text_at=key if keep_text else NO_TEXT,
        vector=fingerprint.vector,
        tells_title=fingerprint.tells_title,
        is_boilerplate=fingerprint.is_boilerplate,
        learned=fingerprint.learned,
    )


def with_next_key(new: Record) -> Record:
    """Return a new record under the next key of the same second, because another document has its key."""
    number = int.from_bytes(new.original[4:], "big")
    key = new.original[:4] + ((number + 1) % (1 << 32)).to_bytes(4, "big")
    return replace(new, original=key, story=key, match=key, text_at=key if any(new.text_at) else NO_TEXT)


def seconds_of(key: bytes) -> int:
    """Return the whole second in which the document of this key was seen."""
    return int.from_bytes(key[:4], "big")


# Texts, which are compared sentence by sentence


# Characters of a text that are stored.
MOST_STORED = 20_000

_MOST_OF_TITLE = 300  # characters
_END = re.compile("\n|[.!?](?=\\s)|[\u3002\uff01\uff1f\u0964\u0965\u061f\u06d4]")
_WHOLE = b"\1"
_CUT = b"\2"
_CHECKSUM_BYTES = 4
_RAW = -15


class StoredText(NamedTuple):
    """Title and text of a document as they are printed. The title is one line."""

    title: str
    text: str
    is_cut: bool = False  # whether the document's text is longer

    @classmethod
    def of(cls, title: str, text: str) -> "StoredText":
        """Return what a window stores of a text. A long one is cut at the end of a line or sentence, if one is near.

        What UTF-8 cannot encode becomes a question mark.
        """
        title = " ".join(title[: 2 * _MOST_OF_TITLE].split())[:_MOST_OF_TITLE]
        end = len(text)
        if end > MOST_STORED:
            end = max((each.end() for each in _END.finditer(text, MOST_STORED - 500, MOST_STORED)), default=MOST_STORED)
        title, kept = (each.encode("utf-8", "replace").decode() for each in (title, text[:end]))
        return cls(title, kept, is_cut=end < len(text))


def pack_text(text: StoredText) -> bytes:
    encoded = f"{text.title}\n{text.text}".encode()
    packer = zlib.compressobj(6, zlib.DEFLATED, _RAW)
    head = (_CUT if text.is_cut else _WHOLE) + zlib.crc32(encoded).to_bytes(_CHECKSUM_BYTES, "big")
    return head + packer.compress(encoded) + packer.flush()


def unpack_text(packed: bytes) -> StoredText | None:
    """Return a packed text, or None if the bytes are damaged. It never unpacks more than the longest text has."""
    start = 1 + _CHECKSUM_BYTES
    unpacker = zlib.decompressobj(_RAW)
    try:
        # In UTF-8 a character has at most 4 bytes.
        encoded = unpacker.decompress(packed[start:], 4 * (_MOST_OF_TITLE + 1 + MOST_STORED))
        title, _, text = encoded.decode().partition("\n")
    except (zlib.error, UnicodeDecodeError):
        return None
    is_whole = unpacker.eof and not unpacker.unused_data and packed[:1] in (_WHOLE, _CUT)
    if not is_whole or zlib.crc32(encoded).to_bytes(_CHECKSUM_BYTES, "big") != packed[1:start]:
        return None
    return StoredText(title, text, packed[:1] == _CUT)
