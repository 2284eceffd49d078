"""Bytes of a page -> its text."""

from __future__ import annotations


def decode_html(body: bytes, content_type: str | None = None) -> str:
    """By byte order mark, header, meta tag and, failing these, what decodes; a wrong byte becomes U+FFFD."""
    from w3lib.encoding import html_to_unicode

    return html_to_unicode(content_type, body, auto_detect_fun=_guess)[1]


def _guess(body: bytes) -> str:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"
