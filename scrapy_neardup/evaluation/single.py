"""Read one document: a file, a url, or a line of a file of JSON lines."""

from __future__ import annotations

import re
from pathlib import Path

from scrapy_neardup.content import decode_html
from scrapy_neardup.evaluation.comparison import Given
from scrapy_neardup.evaluation.feed import Recorded, WrongLine, read_feed
from scrapy_neardup.evaluation.pages import extract_page
from scrapy_neardup.exceptions import ExtractionError, InputError
from scrapy_neardup.settings import NearDupSettings

_TIMEOUT = 20.0  # seconds
_USER_AGENT = "scrapy-neardup (+https://scrapy.org)"
_HTML = re.compile(r"<(?:!doctype|html|head|body|article|div|p)\b", re.IGNORECASE)
_JSON_LINES = (".jsonl", ".jl", ".ndjson")
_COMPRESSED = (".gz", ".xz")


def read_single(name: str, settings: NearDupSettings) -> Given:
    """Return main content, url and title of the named document. Raise InputError, which repeats the name."""
    if name.startswith(("http://", "https://")):
        return _of_page(name, *_fetch(name, settings.max_html_bytes), name, settings)
    path = Path(name)
    if path.is_file():
        if _is_json_lines(path):
            raise InputError(f"{name}: a file of JSON lines holds many documents; name one as {name}#id")
        try:
            return _of_page(name, path.read_bytes(), None, "", settings)
        except OSError as error:
            raise InputError(f"{name}: cannot be read: {error.strerror}") from error
    for mark in re.finditer("#", name):
        path = Path(name[: mark.start()])
        if path.is_file():
            return _of_line(path, name[mark.end() :], settings)
    raise InputError(f"{name}: there is no such file; a document is a file, an http(s) url, or INPUT#id of JSON lines")


def _is_json_lines(path: Path) -> bool:
    suffixes = [suffix for suffix in path.suffixes if suffix not in _COMPRESSED]
    return bool(suffixes) and suffixes[-1].lower() in _JSON_LINES


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


def _of_page(name: str, body: bytes, content_type: str | None, url: str, settings: NearDupSettings) -> Given:
    content = decode_html(body, content_type)
    if not name.lower().endswith((".html", ".htm", ".xhtml")) and not _HTML.search(content[:4096]):
        return Given(content, url)
    try:
        return Given(extract_page(settings.extractor, content, url, settings.max_html_bytes), url)
    except ExtractionError as error:
        raise InputError(f"{name}: {error}") from error


def _of_line(path: Path, wanted: str, settings: NearDupSettings) -> Given:
    for entry in read_feed(path):
        if str(entry.id) == wanted:
            if isinstance(entry, WrongLine):
                raise InputError(entry.error)
            return _of_recorded(path, entry, settings)
    raise InputError(f"{path}: no line has the id {wanted!r}")


def _of_recorded(path: Path, recorded: Recorded, settings: NearDupSettings) -> Given:
    text = recorded.text
    if text is None:
        source = recorded.html if recorded.html is not None else recorded.file
        try:
            text = extract_page(settings.extractor, source, recorded.url, settings.max_html_bytes)
        except OSError as error:
            raise InputError(f"{path}:{recorded.line}: {recorded.file}: {error.strerror or error}") from error
        except ExtractionError as error:
            raise InputError(f"{path}:{recorded.line}: {error}") from error
    return Given(text, recorded.url, recorded.title)
