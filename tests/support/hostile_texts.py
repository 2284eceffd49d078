"""Texts, urls, titles and pages that are made to take long, and what this package does with them."""

import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import NamedTuple

from scrapy_neardup.content.document_maker import parse_time
from scrapy_neardup.content.head import decode_html, read_head
from scrapy_neardup.content.urls import CanonicalUrls, article_number, url_identity
from scrapy_neardup.content.whole_text import whole_text
from scrapy_neardup.document import Document
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.text.display import without_password

PROSE = "The ferry left the harbour at noon with 212 people on board, and 14 of them were hurt. " * 6
_SPLIT = "N obody was there.\n" * 100  # a text with drop caps, as an extractor finds it
Make = Callable[[int], str]


class Kind(NamedTuple):
    """One kind of hostile input, of as many characters as ``make`` is asked for."""

    what: str
    name: str
    make: Make


def repeated(part: str, before: str = "") -> Make:
    return lambda size: (before + part * (size // len(part) + 1))[:size]


def numbered(template: str, before: str = "") -> Make:
    """Parts that are all different."""
    return lambda size: (
        before + "".join(template.format(i) for i in range(size // len(template.format(size)) + 1))[:size]
    )


TEXTS: dict[str, Make] = {
    "marks in mixed order": repeated("\u0316\u0301"),
    "Tibetan vowel signs": repeated("\u0f71\u0f74\u0f72", "\u0f40"),
    "half-width voiced marks": repeated("\uff9e\uff9f", "\uff76"),
    "Hangul jamo": repeated("\u1100\u1161\u11a8"),
    "ligature of 18 characters": repeated("\ufdfa"),
    "every character": lambda size: "".join(chr(0x10000 + i * 7 % 0xFFFFF) for i in range(size)),
    "one token": repeated("word "),
    "no space": numbered("x{}"),
    "distinct words": numbered("w{} "),
    "distinct numbers": numbered("men {} women "),
    "telephone signs": repeated("+1 "),
    "telephone brackets": repeated("(1"),
    "grouped digits": repeated("1 000 "),
    "number words": repeated("two and hundred "),
    "Chinese numerals": repeated("十万四"),
    "day and day": repeated("12 st of "),
    "am und": repeated("5 am und "),
    "empty lines": repeated("\n"),
    "sentences": repeated("He said so. "),
    "names": repeated("Paris London "),
    "spaces": repeated(" "),
    "Thai": repeated("กา"),
    "addresses": repeated("http://a.com/ "),
    "emoji": repeated("👩\u200d"),
    "bidi marks": repeated("\u202e\u2066"),
}
URLS: dict[str, Make] = {
    "query": numbered("a{}=b&", "http://a.com/?"),
    "query of names": repeated("a&", "http://a.com/?"),
    "long host": repeated("a.", "http://"),
    "Punycode": repeated("xn--a.", "http://"),
    "dot segments": repeated("../", "http://a.com/"),
    "print form": repeated("/print", "http://a.com"),
    "AMP cache": repeated("a.cdn.ampproject.org/c/s/", "http://"),
    "digits": repeated("1", "http://a.com/"),
}
TITLES: dict[str, Make] = {name: TEXTS[name] for name in ("marks in mixed order", "no space", "day and day", "names")}
PAGES: dict[str, Make] = {
    part: repeated(part, before)
    for part, before in (
        ("<meta ", ""),
        ("<meta property=og:title content=''>", ""),
        ("\"<meta \"'<meta '", "<meta "),
        ("<!--", ""),
        ("<script>", ""),
        ("<link rel=canonical ", ""),
        ("9", "<title>&#"),
        ("<", ""),
        (" rel", "<link"),
        ("<s>", ""),
        ("<s>" + "<i>" * 20, ""),
        ("<b style=line-through>", ""),
        ("<h1>", ""),
        ("<a '", "<h1>"),
        ("<p>Nobody knows it, as nobody was there at the time.", "<h1>"),
        ("<b>N</b> ", ""),
        ("N</b>" + "<i>" * 9, "<b>"),
    )
}  # fmt: skip
TIMES: dict[str, Make] = {"digits": repeated("9"), "spaces": repeated(" "), "dates": repeated("2020-01-01")}
ADDRESSES: dict[str, Make] = {
    "password": repeated("password", "redis://a?"),
    "options": repeated("&password", "redis://a?"),
    "@": repeated("@", "redis://"),
}
KINDS = [
    Kind(what, f"{what}: {name}", make)
    for what, makes in (
        ("text", TEXTS),
        ("url", URLS),
        ("title", TITLES),
        ("page", PAGES),
        ("time", TIMES),
        ("address", ADDRESSES),
    )
    for name, make in makes.items()
]

_serial = count()
_page_urls = CanonicalUrls()


def read(kind: Kind, given: str, sketcher: Sketcher) -> None:
    """What this package does with such an input, all of it in this thread."""
    if kind.what == "url":
        source_of(given), url_identity(given), article_number(given)
    elif kind.what == "time":
        with suppress(ValueError):
            parse_time(given)
    elif kind.what == "address":
        without_password(given)
    elif kind.what == "page":
        body = given.encode("utf-8", "surrogatepass")
        decode_html(body), _page_urls.of(read_head(body).canonical, "http://a.com/b")
        whole_text(given, lambda html: _SPLIT)
    else:
        text, title = (given, "") if kind.what == "text" else (PROSE, given)
        sketcher.fingerprint(Document("00" * 8, "http://a.com/", "a.com", title, text, 0.0))


def _own(kind: Kind, size: int) -> str:
    """An input that no cache knows."""
    made, serial = kind.make(size), next(_serial)
    return f"{made} {serial}" if kind.what != "text" else f"Number {serial}: {made}"


def milliseconds(kind: Kind, size: int, sketcher: Sketcher, times: int = 3) -> float:
    def once() -> float:
        given = _own(kind, size)
        start = time.thread_time()  # of the processor: other processes do not count
        read(kind, given, sketcher)
        return 1000 * (time.thread_time() - start)

    return min(once() for _ in range(times))
