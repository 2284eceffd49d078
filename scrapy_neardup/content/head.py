"""Decode the bytes of a page, and read what it says of itself: title, language, section, publisher, its own url."""

import codecs
import json
import re
from collections.abc import Iterator
from html import unescape
from itertools import islice
from typing import Any, NamedTuple

from scrapy_neardup.text.misread import as_utf_8

# How many characters or bytes at the beginning of a page are looked at.
MOST_HEAD_BYTES = 200_000

_LONGEST_MATCH = 6000  # characters of any expression below that ends with what it looks for
# What is hidden, such as a comment, the end of the head, or an element of the head with its attributes.
_PART = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<hidden>script|style|template|noscript)\b.*?(?:</(?P=hidden)\b|\Z)"
    r"|<(?P<name>/head|body|html|meta|link|title)\b"
    r"""(?P<attributes>(?:[^<>"']|"[^"]{0,2000}"|'[^']{0,2000}'){0,2000})""",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""(?<!\S)([\w:-]{1,30})\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_TITLE = re.compile(r"[^>]{0,500}>(.{0,5000}?)</title\b", re.IGNORECASE | re.DOTALL)
# Without the codes that ISO 639 has for no one language
_LANGUAGE = re.compile(r"\s*(?!und|mul|zxx|mis)([a-z]{2,3})\s*(?:$|[-_,;])", re.IGNORECASE | re.ASCII)
_LONGEST_SAID = 300  # characters of sections, or of a publisher


class PageHead(NamedTuple):
    """What a page says of itself, "" if it does not say it."""

    title: str = ""  # og:title, else the title element; without markup and on one line
    language: str = ""  # ISO 639 code in <html lang>, else in og:locale or Content-Language
    canonical: str = ""  # the url in <link rel="canonical">, as it stands there
    is_whole: bool = False  # its end was found, so the rest of the page says nothing else, except in JSON-LD
    section: str = ""  # the sections that it names, a line each: article:section, articleSection, breadcrumbs
    site_name: str = ""  # og:site_name, else the publisher of its linked data


def read_head(html: str | bytes, encoding: str | None = None) -> PageHead:
    """Read the head of a page. For ``encoding`` see ``decode_html``.

    This takes linear time: it runs in the event loop.
    """
    beginning = html[:MOST_HEAD_BYTES]
    text = beginning if isinstance(beginning, str) else decode_html(beginning, encoding)
    said: dict[str, str] = {}  # by labels such as "title", "og:title" and "lang"; the first of a label counts
    is_whole = False
    for part in _PART.finditer(text):
        name = (part["name"] or "").lower()
        if name in ("/head", "body"):
            is_whole = part.end() + _LONGEST_MATCH <= len(text)  # near the end a beginning may be misread
            break
        # Read only the first ``<title>``: a page with nothing but titles would take long.
        if name != "title":
            said = _said(name, part["attributes"] or "") | said
        elif name not in said:
            element = _TITLE.match(text, part.end())
            said[name] = element[1] if element else ""
    linked = list(linked_data(text))
    crumbs = [part.get("itemListElement") for part in linked if part.get("@type") == "BreadcrumbList"]
    sections = [*_names([part.get("articleSection") for part in linked]), *_names(crumbs)]
    publishers = _names([part.get("publisher") for part in linked])
    languages = (said.get(name, "") for name in ("lang", "xml:lang", "og:locale", "content-language"))
    return PageHead(
        title=" ".join(_unescaped(said.get("og:title") or said.get("title", "")).split())[:500],
        language=next(filter(None, map(language_code, languages)), ""),
        canonical=_unescaped(said.get("canonical", "")).strip(),
        is_whole=is_whole,
        section=_unescaped("\n".join((said.get("article:section", ""), *sections)))[:_LONGEST_SAID],
        site_name=_unescaped(next(filter(None, (said.get("og:site_name"), *publishers)), ""))[:_LONGEST_SAID],
    )


def linked_data(html: str) -> Iterator[dict[str, Any]]:
    """Yield the objects at the top of a page's JSON-LD, and those in a graph or main entity of one of them.

    The objects of teasers are elsewhere in it.
    """
    for script in islice(re.finditer("<script\\b[^<>]{0,200}ld\\+json[^<>]{0,200}>", html, re.IGNORECASE), 5):
        try:
            top = _objects(json.loads(html[script.end() : html.find("</script", script.end())], strict=False))
        except (ValueError, RecursionError):
            continue
        yield from top
        yield from (part for each in top for name in ("@graph", "mainEntity") for part in _objects(each.get(name)))


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a value of JSON that is one, or a list of some."""
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]


def _names(value: object) -> list[str]:
    """Return the texts that a value of JSON-LD is, and the names of the things in it."""
    values = [value]
    found: list[str] = []
    for each in values:  # and those that it holds, which are added meanwhile
        if isinstance(each, dict):
            values.append(each.get("name") or each.get("item"))
        elif isinstance(each, list):
            values += each[:10]
        elif isinstance(each, str):
            found.append(each)
    return found


def _said(name: str, text: str) -> dict[str, str]:
    """Return what an element says of its page. ``text`` has its attributes."""
    attributes = {name.lower(): one or two or three for name, one, two, three in _ATTRIBUTE.findall(text)}
    content = attributes.get("content", "").strip()
    if name == "html":
        return {label: attributes[label] for label in ("lang", "xml:lang") if label in attributes}
    if name == "link" and attributes.get("rel", "").strip().lower() == "canonical" and attributes.get("href"):
        return {"canonical": attributes["href"]}
    if name != "meta" or not content:
        return {}
    labels = {attributes.get(label, "").lower() for label in ("property", "http-equiv")}
    used = labels & {"og:locale", "content-language"}
    labels.add(attributes.get("name", "").lower())  # some pages give it so
    used |= labels & {"og:title", "og:site_name", "article:section"}
    return dict.fromkeys(used, content)


def language_code(tag: str) -> str:
    """Return the ISO 639 code at the beginning of a language tag such as "pt-BR" or "en_US", "" if there is none."""
    found = _LANGUAGE.match(tag[:40])
    return found[1].lower() if found else ""


def _unescaped(text: str) -> str:
    # A character reference has a few digits; int() refuses thousands of them.
    return unescape(re.sub("(?i)&#x?[0-9a-f]{100,}", "", text))


# A page of at most this many bytes is decoded in the event loop, a longer one in a thread.
SHORT_PAGE = 1 << 15

# Python takes quadratic time to decode some of these, and cannot decode the others to text. No browser knows them.
_REFUSED = frozenset({"punycode", "idna", "undefined", "unicode-escape", "unicode_escape", "raw-unicode-escape"})


def decode_html(body: bytes, encoding: str | None = None) -> str:
    """Decode a page by its byte order mark, ``encoding`` or its meta tag, else as UTF-8 or cp1252.

    A wrong byte becomes U+FFFD.
    """
    from w3lib.encoding import html_body_declared_encoding, read_bom, resolve_encoding, to_unicode

    by_mark, mark = read_bom(body)
    # The name as browsers understand it.
    known = resolve_encoding(encoding or html_body_declared_encoding(body) or "")
    if known in _REFUSED or (known and not codecs.lookup(known)._is_text_encoding):
        known = None
    # Many pages call themselves cp1252, and are UTF-8. One such pair of bytes proves nothing.
    has_pairs = known == "cp1252" and len(re.findall(b"[\xc2-\xf4][\x80-\xbf]+", body[:MOST_HEAD_BYTES])) > 1
    if has_pairs and as_utf_8(body[:MOST_HEAD_BYTES]):
        known = None
    name = by_mark or known or guess_encoding(body)
    if name in ("utf-16", "utf-32"):
        name += "-be"
    return to_unicode(body[len(mark or b"") :], name)


def guess_encoding(body: bytes) -> str:
    """Return "utf-8" if a page, or its beginning, can be read as that, else "cp1252"."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"
