"""Read the title of a page: ``og:title``, else ``<title>``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from scrapy_neardup.content.decoding import decode_html

_HEAD = 100_000  # characters or bytes looked at
_MOST_TAGS = 1000
_MOST_CHARACTERS = 500  # of a title
_END_OF_HEAD = re.compile(rb"</head\b|<body\b", re.IGNORECASE)
_TAG = re.compile(r"<(!--|(?:script|style|template|noscript|title|meta|/head|body)\b)", re.IGNORECASE)
_END_TAGS = {name: re.compile(rf"</{name}\b", re.IGNORECASE) for name in ("script", "style", "template", "noscript")}
_TITLE = re.compile(r"[^>]{0,500}>(.{0,5000}?)</title\b", re.IGNORECASE | re.DOTALL)
_LONG_NUMBER = re.compile("&#x?[0-9a-f]{100,}", re.IGNORECASE)
_ATTRIBUTES = re.compile(r"""(?:[^<>"']|"[^"]{0,2000}"|'[^']{0,2000}'){0,2000}""")
_ATTRIBUTE = re.compile(
    r"""(?<!\S)(property|name|content)\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE
)


def page_title(html: str | bytes) -> str:
    """Return the title in the head of a page, without markup and on one line; "" if there is none.

    Bytes are decoded by the charset that the page declares. This takes linear time: it runs in the event loop.
    """
    head = html[:_HEAD] if isinstance(html, str) else _decoded_head(html)
    by_element: str | None = None
    for name, place in _tags(head):
        if name == "meta":
            if found := _plain(_og_title(head, place)):
                return found
        elif by_element is None:  # the first one counts, or a page of nothing else would take long
            element = _TITLE.match(head, place)
            by_element = _plain(element[1]) if element else ""
    return by_element or ""


def _decoded_head(body: bytes) -> str:
    head = body[:_HEAD]
    if end := _END_OF_HEAD.search(head):
        head = head[: end.start()]
    elif len(body) > _HEAD:  # not in the middle of a character
        head = head[: head.rfind(b">") + 1]
    return decode_html(head)


def _tags(head: str) -> Iterator[tuple[str, int]]:
    """Yield name and start of the attributes of each ``<title>`` and ``<meta>`` outside comments and scripts."""
    place = 0
    for _ in range(_MOST_TAGS):
        tag = _TAG.search(head, place)
        if tag is None:
            return
        name, place = tag[1].lower(), tag.end()
        if name == "!--":
            place = head.find("-->", place)
            if place < 0:
                return
        elif name in _END_TAGS:
            end = _END_TAGS[name].search(head, place)
            if end is None:
                return
            place = end.end()
        elif name in ("/head", "body"):
            return
        else:
            yield name, place


def _og_title(head: str, place: int) -> str:
    attributes = _ATTRIBUTES.match(head, place)
    if attributes is None or "og:title" not in attributes[0].lower():
        return ""
    given = {name.lower(): one or two or three for name, one, two, three in _ATTRIBUTE.findall(attributes[0])}
    names = (given.get("property", "").lower(), given.get("name", "").lower())
    return given.get("content", "") if "og:title" in names else ""


def _plain(title: str) -> str:
    # A character reference has a few digits; int() refuses thousands of them.
    return " ".join(unescape(_LONG_NUMBER.sub("", title)).split())[:_MOST_CHARACTERS]
