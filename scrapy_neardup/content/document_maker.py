"""Make a Document, with an id of its own, from values of any type, and read times as users write them."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, time, timezone

import xxhash

from scrapy_neardup.content.article_numbers import article_number
from scrapy_neardup.content.head import language_code
from scrapy_neardup.content.language import language_of
from scrapy_neardup.content.urls import LONGEST_URL, source_of, url_identity, without_surrogates
from scrapy_neardup.document import LAST_SECOND, Document

_LONGEST_TITLE, _LONGEST_TIME = 1000, 100  # characters
_BASIC_DATE = re.compile(r"(?:19|20)\d{6}")  # 20191115 is a day, not Unix seconds of 1970
# Odd, so that 2^32 serial numbers become as many numbers. Two runs that share a few of them then share no neighbours.
_SPREAD = 0x9E37_79B1


class DocumentMaker:
    """Makes the documents of one run. The same calls in the same order make the same ids.

    The ids of the first 4,294,967,296 documents differ, even if all documents have the same time.
    """

    def __init__(self, run: str, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._serial = itertools.count(xxhash.xxh32_intdigest(run.encode("utf-8", "surrogatepass")))

    @staticmethod
    def prepare() -> None:
        """Import what the first document needs."""
        source_of("https://www.example.com/"), url_identity("https://www.example.com/"), language_of("A title", "", "")

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
        sketch: bytes,
    ) -> Document:
        """Return a document, see ``NearDupDetector.document``."""
        text, url, title, canonical, language = map(_as_text, (text, url, title, canonical, language))
        url, title = without_surrogates(url), without_surrogates(title[:_LONGEST_TITLE])
        seconds = self.seconds(seen_at)
        number = next(self._serial) * _SPREAD % (1 << 32)
        key = int(seconds).to_bytes(4, "big") + number.to_bytes(4, "big")
        source = source_of(url)
        page = (canonical or url) if url_is_own else ""
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
            canonical=canonical[:LONGEST_URL] if url_is_own and source_of(canonical) == source else "",
            sketch=sketch,
        )

    def seconds(self, seen_at: float | None = None) -> float:
        """Return the given time, or the clock's time if the given one is missing or unusable."""
        try:
            given = math.nan if seen_at is None else float(seen_at)
        except (TypeError, ValueError, OverflowError):
            given = math.nan
        return min(max(self._clock() if math.isnan(given) else given, 0.0), float(LAST_SECOND))


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def parse_time(value: object) -> float:
    """Return Unix seconds from a number, a date or datetime, or an ISO 8601 string. Without a time zone it is UTC.

    Raise ValueError on anything else, also on a number of so many digits that Python does not print it.
    """
    try:
        seconds = _seconds(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{value!r:.{_LONGEST_TIME}} is not a time: use ISO 8601 or Unix seconds") from None
    if not 0 <= seconds <= LAST_SECOND:
        raise ValueError(f"{value!r:.{_LONGEST_TIME}} is not between 1970 and 2106")
    return seconds


def _seconds(value: object) -> float:
    if isinstance(value, str):
        value = _number_or_moment(value[:_LONGEST_TIME].strip())
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if isinstance(value, datetime):
        return (value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)).timestamp()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise ValueError


def _number_or_moment(text: str) -> float | datetime:
    from dateutil.parser import isoparse

    if not _BASIC_DATE.fullmatch(text):
        with suppress(ValueError):
            return float(text)
    # Most databases write a space instead of the T.
    moment: datetime = isoparse(text.replace(" ", "T", 1))
    return moment
