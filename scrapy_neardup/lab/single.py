"""Find and read the one document that an argument of a command names."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from scrapy_neardup.content import decode_html
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.lab.feed import STDIN, RecordedDocument, WrongLine, read_feed, shown
from scrapy_neardup.lab.pages import PageReader
from scrapy_neardup.settings import NearDupSettings

_TIMEOUT = 20.0  # seconds
_USER_AGENT = "scrapy-neardup (+https://scrapy.org)"
_HTML = re.compile(r"<(?:!doctype|html|head|body|article|div|p)\b", re.IGNORECASE)
_HTML_NAME = re.compile(r"\.(?:x?html|htm)$", re.IGNORECASE)
_HEAD = 4096  # bytes or characters
_PACKED = (b"%PDF-", b"PK\x03\x04", b"\x1f\x8b", b"\xfd7zXZ")
"""Beginnings of files that people take for articles: PDF, zip (.docx, .epub), gzip, xz."""

_JSON_LINES_NAME = re.compile(r"\.(?:jsonl|jl|ndjson)(?:\.gz|\.xz)*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Given:
    """A document to be compared."""

    text: str
    url: str = ""
    title: str = ""


def read_single(name: str, settings: NearDupSettings, why_fetched: str = "") -> Given:
    """Return main content, url and title of the named document. Raise InputError, which repeats the name.

    ``why_fetched`` is for the message, if the document is a page that was looked for in a window first.
    """
    try:
        with PageReader(settings, workers=1) as reader:
            (page,) = reader.read([_find(name, settings)])
        if isinstance(page, WrongLine) or page.error is not None:
            raise InputError(page.error)
    except InputError as error:
        if not why_fetched:
            raise
        said = str(error).removeprefix(f"{name}: ")
        raise InputError(f"{name}: {why_fetched}. So the page itself was tried: {said}") from error
    return Given(page.text, page.recorded.url, page.recorded.title)


def _find(name: str, settings: NearDupSettings) -> RecordedDocument | WrongLine:
    if name == str(STDIN):
        return _recorded(shown(STDIN), sys.stdin.buffer.read(settings.max_html_bytes + 1))
    if name.startswith(("http://", "https://")):
        return _recorded(name, *_fetch(name, settings.max_html_bytes), url=name)
    before, _, wanted = name.partition("#")
    for path in filter(Path.is_file, map(Path, (name, before))):
        if wanted and path == Path(before):
            return _line(path, wanted)
        if _JSON_LINES_NAME.search(name):
            documents = (entry for entry in read_feed(path) if isinstance(entry, RecordedDocument))
            first = next((f"; name one, as {path}#{entry.id}" for entry in documents), "")
            raise InputError(f"{name}: a file of JSON lines holds many documents{first}")
        try:
            return _recorded(name, path.read_bytes())
        except OSError as error:
            raise InputError(f"{name}: cannot be read: {error.strerror}") from error
    raise InputError(
        f"{name}: there is no such file; a document is a file, -, an http(s) url, or INPUT#id of JSON lines"
    )


def _fetch(url: str, most: int) -> tuple[bytes, str | None]:
    """Return body and content type."""
    from http.client import HTTPException
    from urllib.request import Request, urlopen

    try:
        request = Request(url, headers={"User-Agent": _USER_AGENT, "Accept-Encoding": "identity"})
        with urlopen(request, timeout=_TIMEOUT) as response:
            body, content_type = response.read(most + 1), response.headers.get("Content-Type")
    except (OSError, HTTPException, ValueError) as error:
        raise InputError(f"{url}: cannot be fetched: {error}") from error
    if len(body) > most:
        raise InputError(f"{url}: over NEARDUP_MAX_HTML_BYTES = {most}")
    return body, content_type


def _recorded(name: str, body: bytes, content_type: str | None = None, url: str = "") -> RecordedDocument:
    is_utf_16 = body.startswith((b"\xff\xfe", b"\xfe\xff"))
    if body.startswith(_PACKED) or (b"\0" in body[:_HEAD] and not is_utf_16):
        raise InputError(f"{name}: is neither HTML nor text; convert it to text first")
    content = decode_html(body, content_type)
    is_html = _HTML_NAME.search(name) or _HTML.search(content[:_HEAD])
    text, html = (None, content) if is_html else (content, None)
    return RecordedDocument(1, name, name, url, "", None, text, html, None)


def _line(path: Path, wanted: str) -> RecordedDocument | WrongLine:
    first = None
    for entry in read_feed(path):
        if str(entry.id) == wanted:
            return entry
        if entry.id and (first is None or str(entry.line) == wanted):  # perhaps a line was meant
            first = entry
    if first is None:
        raise InputError(f"{path}: the file has no document with an id")
    raise InputError(f"{path}: no line has the id {wanted!r}; line {first.line} has the id {str(first.id)!r}")
