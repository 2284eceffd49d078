"""What hostile texts, urls, titles and pages cost: growth, and how long the event loop stands still meanwhile.

    python benchmarks/hostile_texts.py                   # everything
    python benchmarks/hostile_texts.py --only marks      # kinds that have this in their name

"ms at n" and "ms at 4n" are the times of the function that reads this kind of input: the best of three runs, each with
a new input. The block of the loop is the longest time between two ticks of a task that wants to run all the time, while
a detector judges a document with the input at its full size, or at a size that is read on the loop itself. It is the
best of three, because other processes hold the machine up as well. The garbage collector passes modules over, as in a
crawl.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Literal

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.content.document_maker import parse_time
from scrapy_neardup.content.head import decode_html, read_head
from scrapy_neardup.content.urls import CanonicalUrls, article_number, url_identity
from scrapy_neardup.content.whole_text import whole_text
from scrapy_neardup.document import Document
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.sketch import PRESETS, Sketcher
from scrapy_neardup.text.display import without_password

PROSE = "The ferry left the harbour at noon with 212 people on board, and 14 of them were hurt. " * 6
_SPLIT = "N obody was there.\n" * 100  # a text with drop caps, as an extractor finds it
_ON_LOOP = 7_900  # characters that are read on the event loop
Make = Callable[[int], str]


def repeated(part: str, before: str = "") -> Make:
    return lambda size: (before + part * (size // len(part) + 1))[:size]


def numbered(template: str, before: str = "") -> Make:
    """Parts that are all different."""
    return lambda size: (
        before + "".join(template.format(i) for i in range(size // len(template.format(size)) + 1))[:size]
    )


@dataclass(frozen=True)
class Kind:
    """One kind of hostile input; ``full`` is its size in characters while the loop is watched."""

    name: str
    what: Literal["text", "url", "title", "page", "time", "address"]
    make: Make
    n: int = 25_000
    full: int = 2_000_000


def _kinds(
    what: Literal["text", "url", "title", "page", "time", "address"], makes: dict[str, Make], n: int, full: int
) -> list[Kind]:
    return [Kind(f"{what}: {name}", what, make, n, full) for name, make in makes.items()]


TEXTS: dict[str, Make] = {
    "marks in mixed order": repeated("\u0316\u0301"),
    "marks on one letter": repeated("\u0316\u0301\u0327", "a"),
    "Tibetan vowel signs": repeated("\u0f71\u0f74\u0f72", "\u0f40"),
    "composed Tibetan signs": repeated("\u0f73\u0f71", "\u0f40"),
    "half-width voiced marks": repeated("\uff9e\uff9f", "\uff76"),
    "Hangul jamo": repeated("\u1100\u1161\u11a8"),
    "ligature of 18 characters": repeated("\ufdfa"),
    "squared words": lambda size: "".join(chr(0x3300 + i % 256) for i in range(size)),
    "every character": lambda size: "".join(chr(0x10000 + i * 7 % 0xFFFFF) for i in range(size)),
    "one letter": repeated("a"),
    "one token": repeated("word "),
    "no space": numbered("x{}"),
    "distinct words": numbered("w{} "),
    "digits": repeated("7"),
    "small numbers": repeated("7 "),
    "distinct numbers": numbered("men {} women "),
    "number, stop, number": repeated("7."),
    "telephone signs": repeated("+1 "),
    "telephone brackets": repeated("(1"),
    "dollars": repeated("$5m "),
    "grouped digits": repeated("1 000 "),
    "number words": repeated("two and hundred "),
    "Chinese numerals": repeated("十万四"),
    "day and day": repeated("12 st of "),
    "am und": repeated("5 am und "),
    "empty lines": repeated("\n"),
    "tiny lines": repeated("a\n"),
    "distinct lines": numbered("one two three four five six seven eight {}\n"),
    "sentences": repeated("He said so. "),
    "names": repeated("Paris London "),
    "spaces": repeated(" "),
    "full stops": repeated(". "),
    "Thai": repeated("กา"),
    "Han": repeated("漢"),
    "addresses": repeated("http://a.com/ "),
    "emoji": repeated("👩\u200d"),
    "nulls": repeated("\0"),
    "surrogates": repeated("\ud800"),
    "bidi marks": repeated("\u202e\u2066"),
}
URLS: dict[str, Make] = {
    "query": numbered("a{}=b&", "http://a.com/?"),
    "query of names": repeated("a&", "http://a.com/?"),
    "long host": repeated("a.", "http://"),
    "Punycode": repeated("xn--a.", "http://"),
    "slashes": repeated("/", "http://a.com"),
    "dot segments": repeated("../", "http://a.com/"),
    "per cent": repeated("%20", "http://a.com/"),
    "print form": repeated("/print", "http://a.com"),
    "AMP cache": repeated("a.cdn.ampproject.org/c/s/", "http://"),
    "digits": repeated("1", "http://a.com/"),
}
TITLES: dict[str, Make] = {
    name: TEXTS[name]
    for name in ("marks in mixed order", "Tibetan vowel signs", "no space", "digits", "day and day", "names")
}
PAGES: dict[str, Make] = {
    part: repeated(part, before)
    for part, before in (
        ("<meta ", ""),
        ("<meta property=og:title content=''>", ""),
        ("\"<meta \"'<meta '", "<meta "),
        ("<title>", ""),
        ("<!--", ""),
        ("<script>", ""),
        ("<link rel=canonical ", ""),
        ("<html lang= ", ""),
        ("9", "<title>&#"),
        ("<", ""),
        (" rel", "<link"),
        ("<div>", ""),
        ("<s>", ""),
        ("<s>" + "<i>" * 20, ""),
        ("<b style=line-through>", ""),
        ("</s>", ""),
        ("<h1>", ""),
        ("<!--", "<h1>"),
        ("<script>", "<h1>"),
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
    *_kinds("text", TEXTS, 25_000, 2_000_000),
    *_kinds("url", URLS, 25_000, 2_700_000),
    *_kinds("title", TITLES, 25_000, 1_000_000),
    *_kinds("page", PAGES, 50_000, 5_000_000),
    *_kinds("time", TIMES, 25_000, 1_000_000),
    *_kinds("address", ADDRESSES, 25_000, 1_000_000),
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


def own(kind: Kind, size: int) -> str:
    """An input that no cache knows."""
    made, serial = kind.make(size), next(_serial)
    return f"{made} {serial}" if kind.what != "text" else f"Number {serial}: {made}"


def milliseconds(kind: Kind, size: int, sketcher: Sketcher, times: int = 3) -> float:
    def once() -> float:
        given = own(kind, size)
        start = time.thread_time()  # of the processor: other processes do not count
        read(kind, given, sketcher)
        return 1000 * (time.thread_time() - start)

    return min(once() for _ in range(times))


async def longest_block(kind: Kind, size: int, times: int = 3) -> float:
    """Milliseconds for which the loop stood still while a detector judged such a document."""
    detector = NearDupDetector(NearDupSettings(store="memory://"))
    await detector.open()
    await detector.prepare()
    await detector.check(detector.document(PROSE, url="http://a.com/first", title="A title"))
    gc.collect()
    gc.freeze()
    blocks = [await _block(detector, kind, own(kind, size)) for _ in range(times)]
    gc.unfreeze()
    await detector.close()
    return min(blocks)


async def _block(detector: NearDupDetector, kind: Kind, given: str) -> float:
    longest, last = 0.0, time.perf_counter()

    async def tick() -> None:
        nonlocal longest, last
        while True:
            await asyncio.sleep(0)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0.01)
    last, longest = time.perf_counter(), 0.0
    if kind.what in ("page", "time", "address"):
        _read_head(given) if kind.what == "page" else read(kind, given, detector.sketcher)
    else:
        values = {"url": f"http://a.com/{next(_serial)}", "text": PROSE, kind.what: given}
        await detector.check(detector.document(values.pop("text"), **values))
    await asyncio.sleep(0)
    ticking.cancel()
    return 1000 * longest


def _read_head(given: str) -> None:
    """What the middleware reads of a page on the event loop."""
    body = given.encode("utf-8", "surrogatepass")
    _page_urls.of(read_head(body).canonical, "http://a.com/b")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="kinds that have this in their name")
    options = parser.parse_args()
    sketcher = Sketcher(PRESETS["news"])
    sketcher.prepare()
    print(f"{'':38} {'n':>7} {'ms at n':>9} {'ms at 4n':>9} {'ratio':>6} {'characters':>10} {'loop blocked ms':>16}")
    for kind in KINDS:
        if options.only in kind.name:
            at_n, at_4n = (milliseconds(kind, size, sketcher) for size in (kind.n, 4 * kind.n))
            block = max(asyncio.run(longest_block(kind, size)) for size in (_ON_LOOP, kind.full))
            sizes = f"{at_n:9.2f} {at_4n:9.2f} {at_4n / at_n:6.1f} {kind.full:10,}"
            print(f"{kind.name:38} {kind.n:7,} {sizes} {block:16.1f}", flush=True)


if __name__ == "__main__":
    main()
