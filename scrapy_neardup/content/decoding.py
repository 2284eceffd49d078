"""Decode the bytes of a page."""

from __future__ import annotations

import codecs

SHORT_PAGE = 1 << 15
"""A page of at most this many bytes is decoded in the event loop, a longer one in a thread."""

# Python takes quadratic time to decode some of these, and cannot decode the others to text. No browser knows them.
_REFUSED = frozenset({"punycode", "idna", "undefined", "unicode-escape", "unicode_escape", "raw-unicode-escape"})


def decode_html(body: bytes, content_type: str | None = None) -> str:
    """Decode a page by byte order mark, header or meta tag, else as UTF-8 or cp1252. A wrong byte becomes U+FFFD."""
    return decode_as(body, declared_encoding(body, content_type))


def declared_encoding(body: bytes, content_type: str | None = None) -> str | None:
    """Return the encoding that a page or its header declares, None if none does."""
    from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom

    return read_bom(body)[0] or http_content_type_encoding(content_type) or html_body_declared_encoding(body)


def decode_as(body: bytes, encoding: str | None) -> str:
    """Decode a page by its declared encoding, or by a guess if that is missing or not for text.

    Decode in pieces, so that other threads run between them.
    """
    from w3lib.encoding import read_bom

    by_mark, mark = read_bom(body)
    name = by_mark or (encoding if encoding is not None and is_of_text(encoding) else guess_encoding(body))
    if name in ("utf-16", "utf-32"):
        name += "-be"
    start, errors = len(mark or b""), _on_errors(name)
    if len(body) <= SHORT_PAGE:
        return body[start:].decode(name, errors)
    decoder = codecs.getincrementaldecoder(name)(errors)
    pieces = [decoder.decode(body[at : at + SHORT_PAGE]) for at in range(start, len(body), SHORT_PAGE)]
    return "".join((*pieces, decoder.decode(b"", final=True)))


def is_of_text(encoding: str) -> bool:
    """Decide whether an encoding is one that pages are written in."""
    try:
        codec = codecs.lookup(encoding)
    except LookupError:
        return False
    return codec.name not in _REFUSED and codec._is_text_encoding


def _on_errors(encoding: str) -> str:
    """Return the name of the handler with which w3lib decodes wrong bytes. Older versions of w3lib have none."""
    errors = "w3lib_gb18030_replace" if "18030" in encoding else "replace"
    try:
        codecs.lookup_error(errors)
    except LookupError:
        return "replace"
    return errors


def guess_encoding(body: bytes) -> str:
    """Return "utf-8" if a page can be read as that, else "cp1252"."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(body), SHORT_PAGE):
            decoder.decode(body[at : at + SHORT_PAGE])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"
