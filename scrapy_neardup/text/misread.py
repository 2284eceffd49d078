"""Texts whose bytes were UTF-8, and were read as cp1252: "CafÃ©" instead of "Café"."""

import codecs
import re

# The bytes of the signs that only cp1252 has, by sign: 0x80 of "€". Five bytes have no sign, and stay as they are.
_BYTES = {ord(sign): byte for byte in range(0x80, 0xA0) for sign in bytes([byte]).decode("cp1252", "ignore")}
_MISREAD = re.compile(f"[\xc2-\xf4][\x80-\xbf{''.join(map(chr, _BYTES))}]")


def repaired(text: str) -> str:
    """Return a text as it was written if all of it was misread, any other text as it is."""
    if len(_MISREAD.findall(text)) < 2:  # one such pair proves nothing
        return text
    try:
        return as_utf_8(text.translate(_BYTES).encode("latin-1")) or text
    except UnicodeError:
        return text


def as_utf_8(data: bytes) -> str:
    """Return bytes, which may be cut, as the text that they are in UTF-8, "" if they are hardly meant so.

    "BEYONCÉ’S" in cp1252 would have a letter of the phonetic alphabet.
    """
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeError:
        return ""
    if re.search("[\u0237-\u02af\u07c0-\u07ff]", text):
        return ""
    return text
