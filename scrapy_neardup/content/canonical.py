"""Read the url that a page gives as its own: ``<link rel="canonical">``."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from html import unescape
from urllib.parse import urlsplit

import xxhash

from scrapy_neardup.content.urls import absolute_url, source_of, url_identity

_HEAD = 200_000  # characters or bytes looked at
_MOST_PAGES = 3  # with one canonical url; if more pages share it, the site has made a mistake
_MOST_URLS = 4096  # remembered
_MARK = re.compile(r"<!--|-->|</?(?:script|style|template)\b|<link\b[^<>]{0,1000}>", re.IGNORECASE)
_CANONICAL = re.compile(r"""\srel\s*=\s*(?:"\s*canonical\s*"|'\s*canonical\s*'|canonical\b)""", re.IGNORECASE)
_HREF = re.compile(r"""\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


class CanonicalUrls:
    """The canonical urls of the pages of one crawl. A url that many pages give as their own is ignored."""

    def __init__(self) -> None:
        # Hashes, because a page can make its urls as long as it likes.
        self._pages: OrderedDict[int, set[int]] = OrderedDict()

    def of(self, html: str | bytes, url: str) -> str:
        """Return the canonical url of a page, or its ``url``."""
        head = html[:_HEAD] if isinstance(html, str) else html[:_HEAD].decode("utf-8", "replace")
        canonical = canonical_url(head, url)
        identity, own = url_identity(canonical), url_identity(url)
        if identity == own:
            return url
        shared = xxhash.xxh3_64_intdigest(identity.encode("utf-8", "surrogatepass"))
        pages = self._pages.setdefault(shared, set())
        self._pages.move_to_end(shared)
        if len(self._pages) > _MOST_URLS:
            self._pages.popitem(last=False)
        if len(pages) <= _MOST_PAGES:
            pages.add(xxhash.xxh3_64_intdigest(own.encode("utf-8", "surrogatepass")))
        return canonical if len(pages) <= _MOST_PAGES else url


def canonical_url(html: str, url: str) -> str:
    """Return the canonical url that a page gives; ``url`` if that is missing, of another source, or a front page.

    A copy may give the page of the original publisher as canonical. The copy is still a page of its own.
    """
    for link in _links(html):
        href = _HREF.search(link) if _CANONICAL.search(link) else None
        if href:
            try:
                canonical = absolute_url(url, unescape(href[1] or href[2] or href[3] or "").strip())
                is_front = urlsplit(canonical).path in ("", "/") and not urlsplit(canonical).query
            except ValueError:
                return url
            is_filled = not any(mark in canonical for mark in "{}<>")
            return canonical if is_filled and not is_front and source_of(canonical) == source_of(url) else url
    return url


def _links(html: str) -> Iterator[str]:
    """Yield the ``<link>`` elements outside comments and scripts."""
    in_comment = in_script = False
    for match in _MARK.finditer(html, 0, _HEAD):
        mark = match[0].lower()
        if in_comment:
            in_comment = mark != "-->"
        elif mark == "<!--":
            in_comment = not in_script
        elif mark.startswith("<link"):
            if not in_script:
                yield match[0]
        elif mark != "-->":
            in_script = not mark.startswith("</")
