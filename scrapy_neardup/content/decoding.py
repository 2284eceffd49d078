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
    """Decode a page by its declared encoding. Guess the encoding if none is declared, or if it is not for text.

    Decode in pieces, so that other threads run between them.
    """
    from w3lib.encoding import read_bom

    by_mark, mark = read_bom(body)
    name = by_mark or _text_encoding(encoding) or guess_encoding(body)
    if name in ("utf-16", "utf-32"):
        name += "-be"
    decoder = codecs.getincrementaldecoder(name)(_on_errors(name))
    pieces = [decoder.decode(body[at : at + SHORT_PAGE]) for at in range(len(mark or b""), len(body), SHORT_PAGE)]
    return "".join((*pieces, decoder.decode(b"", final=True)))


def _text_encoding(encoding: str | None) -> str | None:
    """Return the name of an encoding as browsers understand it, None if no page is written in it."""
    from w3lib.encoding import resolve_encoding

    name = resolve_encoding(encoding) if encoding else None
    return name if name and name not in _REFUSED and codecs.lookup(name)._is_text_encoding else None


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
