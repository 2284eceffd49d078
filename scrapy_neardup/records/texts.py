"""Pack the texts that a window stores beside its records, to compare them sentence by sentence.

A packed text is a byte that says whether it was cut, a checksum of 4 bytes, and title and text as a raw deflate stream.
The checksum finds damage that deflate does not: a text with one letter changed would be another text. A preset
dictionary of frequent words in seven languages saved 1 to 3 %, so there is none.
"""

import re
import zlib
from typing import NamedTuple

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
