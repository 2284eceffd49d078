"""Texts whose bytes were UTF-8, and were read as cp1252: "CafÃ©" instead of "Café"."""

import re

# The bytes of the signs that only cp1252 has. Five bytes have no sign, and stay as they are.
_SIGNS = {sign: byte for byte in range(0x80, 0xA0) for sign in bytes([byte]).decode("cp1252", "ignore")}
_BYTES = str.maketrans(_SIGNS)
_MISREAD = re.compile(f"[\xc2-\xf4][\x80-\xbf{''.join(_SIGNS)}]")


def repaired(text: str) -> str:
    """Return a text as it was written if all of it was misread, any other text as it is.

    One such pair of characters proves nothing: "BEYONCÉ’S".
    """
    if len(_MISREAD.findall(text)) < 2:
        return text
    try:
        return text.translate(_BYTES).encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
