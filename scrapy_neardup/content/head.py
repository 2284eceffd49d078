"""Decode the bytes of a page, and read what its head says of it: title, language and its own url."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

MOST_HEAD_BYTES = 200_000
"""How many characters or bytes at the beginning of a page are looked at."""

_LONGEST_TITLE = 500  # characters
_LONGEST_MATCH = 6000  # characters of any expression below that ends with what it looks for
_START_TAG = re.compile(r"<(!--|/head\b|(?:html|meta|link|title|body|script|style|template|noscript)\b)", re.IGNORECASE)
_END_TAGS = {name: re.compile(rf"</{name}\b", re.IGNORECASE) for name in ("script", "style", "template", "noscript")}
_ATTRIBUTES = re.compile(r"""(?:[^<>"']|"[^"]{0,2000}"|'[^']{0,2000}'){0,2000}""")
_ATTRIBUTE = re.compile(r"""(?<!\S)([\w:-]{1,30})\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_TITLE = re.compile(r"[^>]{0,500}>(.{0,5000}?)</title\b", re.IGNORECASE | re.DOTALL)
_END = "/head"
_LONG_NUMBER = re.compile("&#x?[0-9a-f]{100,}", re.IGNORECASE)
_LANGUAGE = re.compile(r"\s*([a-z]{2,3})\s*(?:$|[-_,;])", re.IGNORECASE | re.ASCII)
_NO_LANGUAGE = ("und", "mul", "zxx", "mis")  # ISO 639 for no one language


class PageHead(NamedTuple):
    """What a page says of itself, "" if it does not say it."""

    title: str = ""  # og:title, else the title element; without markup and on one line
    language: str = ""  # ISO 639 code in <html lang>, else in og:locale or Content-Language
    canonical: str = ""  # the url in <link rel="canonical">, as it stands there
    is_whole: bool = False  # its end was found, so the rest of the page says nothing else


def read_head(html: str | bytes, encoding: str | None = None) -> PageHead:
    """Read the head of a page. For ``encoding`` see ``decode_html``.

    This takes linear time: it runs in the event loop.
    """
    beginning = html[:MOST_HEAD_BYTES]
    text = beginning if isinstance(beginning, str) else decode_html(beginning, encoding)
    title = canonical = None
    is_whole = False
    languages: list[str] = []
    metas: dict[str, str] = {}
    for name, attributes, end in _elements(text):
        # Read only the first ``<title>``: a page with nothing but titles would take long.
        if name == "title" and title is None:
            element = _TITLE.match(text, end)
            title = element[1] if element else ""
        elif name == "html":
            languages += [attributes.get("lang", ""), attributes.get("xml:lang", "")]
        elif name == "meta" and (content := attributes.get("content", "").strip()):
            metas = dict.fromkeys(_labels(attributes), content) | metas  # the first one counts
        elif name == "link" and attributes.get("rel", "").strip().lower() == "canonical":
            canonical = canonical or attributes.get("href")
        elif name == _END:
            is_whole = end + _LONGEST_MATCH <= len(text)  # near the end of the text its beginning may be misread
    languages += [metas.get("og:locale", ""), metas.get("content-language", "")]
    return PageHead(
        " ".join(_unescaped(metas.get("og:title") or title or "").split())[:_LONGEST_TITLE],
        next(filter(None, map(language_code, languages)), ""),
        _unescaped(canonical or "").strip(),
        is_whole,
    )


def _labels(attributes: dict[str, str]) -> set[str]:
    """Return which of the values that are used a meta element has. Some pages give ``og:title`` by its name."""
    property_, equivalent, name = (attributes.get(label, "").lower() for label in ("property", "http-equiv", "name"))
    return {property_, equivalent} & {"og:title", "og:locale", "content-language"} | {name} & {"og:title"}


def language_code(tag: str) -> str:
    """Return the ISO 639 code at the beginning of a language tag such as "pt-BR" or "en_US", "" if there is none."""
    found = _LANGUAGE.match(tag[:40])
    code = found[1].lower() if found else ""
    return "" if code in _NO_LANGUAGE else code


def _elements(html: str) -> Iterator[tuple[str, dict[str, str], int]]:
    """Yield name, attributes and their end, of the start tags in the head outside comments, scripts and the like.

    If the head ends, the last name is ``_END``.
    """
    place = 0
    while (tag := _START_TAG.search(html, place)) is not None:
        name, place = tag[1].lower(), tag.end()
        if name in (_END, "body"):
            yield _END, {}, place
            return
        if name == "!--":
            place = html.find("-->", place)
            if place < 0:
                return
        elif name in _END_TAGS:
            end = _END_TAGS[name].search(html, place)
            if end is None:
                return
            place = end.end()
        else:
            attributes = _ATTRIBUTES.match(html, place)
            assert attributes is not None  # it matches nothing too
            place = attributes.end()
            found = _ATTRIBUTE.findall(attributes[0])
            yield name, {name.lower(): one or two or three for name, one, two, three in found}, place


def _unescaped(text: str) -> str:
    # A character reference has a few digits; int() refuses thousands of them.
    return unescape(_LONG_NUMBER.sub("", text))


SHORT_PAGE = 1 << 15
"""A page of at most this many bytes is decoded in the event loop, a longer one in a thread."""

# Python takes quadratic time to decode some of these, and cannot decode the others to text. No browser knows them.
_REFUSED = frozenset({"punycode", "idna", "undefined", "unicode-escape", "unicode_escape", "raw-unicode-escape"})


def decode_html(body: bytes, encoding: str | None = None) -> str:
    """Decode a page by its byte order mark, ``encoding`` or its meta tag, else as UTF-8 or cp1252.

    A wrong byte becomes U+FFFD.
    """
    from w3lib.encoding import html_body_declared_encoding, read_bom, to_unicode

    by_mark, mark = read_bom(body)
    name = by_mark or _text_encoding(encoding or html_body_declared_encoding(body)) or guess_encoding(body)
    return to_unicode(body[len(mark or b"") :], f"{name}-be" if name in ("utf-16", "utf-32") else name)


def _text_encoding(encoding: str | None) -> str | None:
    """Return the name of an encoding as browsers understand it, None if no page is written in it."""
    from w3lib.encoding import resolve_encoding

    name = resolve_encoding(encoding) if encoding else None
    return name if name and name not in _REFUSED and codecs.lookup(name)._is_text_encoding else None


def guess_encoding(body: bytes) -> str:
    """Return "utf-8" if a page, or its beginning, can be read as that, else "cp1252"."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"
