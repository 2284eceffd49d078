"""Make a Document, with an id of its own, from values of any type. Read times as users write them, and languages."""

import itertools
import math
import re
import unicodedata
from calendar import timegm
from collections.abc import Callable, Container
from contextlib import suppress
from datetime import date, datetime, time, timezone
from reprlib import repr as shown

import xxhash

from scrapy_neardup.content.head import language_code
from scrapy_neardup.content.urls import article_number, url_identity, without_surrogates
from scrapy_neardup.document import LAST_SECOND, Document
from scrapy_neardup.evidence.sections import section_of
from scrapy_neardup.evidence.sources import LONGEST_URL, publisher_of, source_of
from scrapy_neardup.text.misread import repaired

# Sun, 01 Mar 2026 08:00:00 GMT; the standard defines the names of zones in the United States
_RFC_822 = re.compile(
    r"(?:[A-Za-z]+,?\s+)?\d{1,2}[\s-]+[A-Za-z]{3}[\s-].*\s(?:[+-]\d{4}|GMT|UTC?|Z|[ECMP][SD]T)(?: \(.*\))?"
)
_ISO = re.compile(r"\d{4}-?(?:\d\d|W)(?:-?\d\dT)?[^A-VX-Ya-z/]*(?:UTC|GMT)?")

# The library refuses these: control characters, lone surrogates and code points that are no characters.
# A look-behind finds the last two of each plane above the first: in the first set they make it five times as slow.
_REFUSED_BY_CLD2 = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe-\U0010ffff](?<=[\0-\uffff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
    + "])"
)
# Languages whose texts are hardly told apart, or one language under several codes: the page knows better.
_ALIKE = tuple(
    frozenset(codes.split())
    for codes in ("sr hr bs sh cnr", "no nb nn", "id ms", "zh yue wuu", "tl fil", "fa prs", "ro mo")
)


class DocumentMaker:
    """Makes the documents of one run. The same calls in the same order make the same ids.

    The ids of the first 4,294,967,296 documents differ, even if all documents have the same time. Before the second
    ``young_until`` the times that pages give are believed. Those of ``trusted`` sources always are.
    """

    def __init__(self, run: str, clock: Callable[[], float], trusted: Container[str] = ()) -> None:
        self.young_until = 0
        self._clock = clock
        self._trusted = trusted
        self._serial = itertools.count(xxhash.xxh32_intdigest(run.encode("utf-8", "surrogatepass")))

    @staticmethod
    def prepare() -> None:
        """Import what the first document needs."""
        source_of("https://www.example.com/")
        url_identity("https://www.example.com/")
        language_of("A title", "", "")

    def make(
        self,
        text: str,
        *,
        url: str,
        title: str,
        seen_at: float | None,
        canonical: str,
        url_is_own: bool,
        language: str,
        section: str,
        publisher: str,
        site_name: str,
        counts_now: bool,
        sketch: bytes,
    ) -> Document:
        """Return a document, see ``NearDupDetector.document``."""
        text, url, title, canonical, language, section, publisher, site_name = (
            each if isinstance(each, str) else ""
            for each in (text, url, title, canonical, language, section, publisher, site_name)
        )
        url = without_surrogates(url)
        title = repaired(without_surrogates(title[:1000]))
        text = repaired(text)
        now = self.seconds()
        seconds = self.seconds(seen_at)
        is_ahead = counts_now and seconds > now + 60  # two right clocks may differ by a minute
        if counts_now:
            seconds = min(now, seconds)
        # The factor is odd, so that 2^32 serial numbers become as many numbers. Two runs that share a few of them then
        # share no neighbours.
        number = next(self._serial) * 0x9E37_79B1 % (1 << 32)
        key = int(seconds).to_bytes(4, "big") + number.to_bytes(4, "big")
        source = source_of(url)
        # What the page says of its time is believed of a trusted source, and while the window is young.
        is_time_believed = source in self._trusted or now < self.young_until
        page = (canonical or url) if url_is_own else ""
        if not url_is_own or source_of(canonical) != source:
            canonical = ""
        return Document(
            id=key.hex(),
            url=url[:LONGEST_URL],
            source=source,
            title=title,
            text=text,
            seen_at=seconds,
            url_identity=url_identity(page),
            article=article_number(page),
            language=language_of(title, text, language_code(language)),
            canonical=canonical[:LONGEST_URL],
            section=section_of(url, section),
            publisher=publisher_of(source, publisher, site_name),
            counted_at=now if counts_now and not is_time_believed else None,
            is_clock_wrong=is_ahead,
            sketch=sketch,
        )

    def seconds(self, seen_at: float | None = None) -> float:
        """Return the given time, or the clock's time if the given one is missing or unusable."""
        try:
            given = float(seen_at)  # type: ignore[arg-type]  # None has no number
        except (TypeError, ValueError, OverflowError):
            given = math.nan
        if math.isnan(given):
            given = self._clock()
        return min(max(given, 0.0), float(LAST_SECOND))


def parse_time(value: object) -> float:
    """Return Unix seconds from a number, a date, a datetime, a struct_time in UTC, or a text.

    A text is ISO 8601 or RFC 822. Of a list the first entry is read. A time without a zone is UTC. Raise ValueError on
    anything else: on a year alone, and on a number of so many digits that Python does not print it.
    """
    try:
        seconds = _seconds(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{shown(value)} is not a time: use ISO 8601, RFC 822 or Unix seconds") from None
    if not 0 <= seconds <= LAST_SECOND:
        raise ValueError(f"{shown(value)} is not between 1970 and 2106")
    return seconds


def _seconds(value: object) -> float:
    if isinstance(value, list | tuple):
        # Item loaders and JSON feeds keep the numbers of a struct_time, and nothing else of it.
        if len(value) == 9 and all(isinstance(each, int) for each in value):
            return timegm(tuple(value))
        value = next(iter(value), None)
    if isinstance(value, str):
        value = _number_or_moment(value[:100].strip())
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).timestamp()
    if isinstance(value, int | float) and not isinstance(value, bool) and value not in range(1970, 2107):
        return float(value)
    raise ValueError


def _number_or_moment(text: str) -> float | datetime:
    from email.utils import parsedate_to_datetime

    from dateutil.parser import isoparse

    if text.isdecimal() and len(text) < 8:  # too few for a date, or for Unix seconds as a text
        raise ValueError
    if not re.fullmatch(r"(?:19|20)\d{6}", text):  # 20191115 is a day, not Unix seconds of 1970
        with suppress(ValueError):
            return float(text)
    if _RFC_822.fullmatch(text):
        return parsedate_to_datetime(text)
    if not _ISO.fullmatch(text):
        raise ValueError
    # Most databases write a space instead of the T, and some a space before the zone.
    zoned = re.sub(r" (?=[+Z-]\S*$)", "", re.sub(" ?(?:UTC|GMT)$", "Z", text))
    return isoparse(zoned.replace(" ", "T", 1))


def language_of(title: str, text: str, declared: str) -> str:
    """Return the ISO 639 code of a text. If the text does not show its language, it is the declared one, or a guess."""
    try:
        import pycld2
    except ImportError:  # nobody has built it here: then only what pages declare is known
        return declared
    beginning = unicodedata.normalize("NFKC", f"{title[:200]}\n{text[:600]}")
    if beginning.isspace():
        return declared
    is_reliable, _, languages = pycld2.detect(_REFUSED_BY_CLD2.sub(" ", beginning), bestEffort=not declared)
    code = languages[0][1]  # of the language of most of the text, such as "iw" or "zh-Hant"; "un" if it is not known
    detected = {"iw": "he", "jw": "jv", "in": "id"}.get(code, code.partition("-")[0])  # some codes are old ones
    if detected == "un" or (declared and not is_reliable):
        return declared
    return declared if any({detected, declared} <= codes for codes in _ALIKE) else detected
