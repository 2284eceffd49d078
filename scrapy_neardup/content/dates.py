"""Read times as users write them."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, datetime, time, timezone

from scrapy_neardup.document import LAST_SECOND

_LONGEST = 100  # characters
_BASIC_DATE = re.compile(r"(?:19|20)\d{6}")  # 20191115 is a day, not Unix seconds of 1970


def parse_time(value: object) -> float:
    """Return Unix seconds from a number, a date or datetime, or an ISO 8601 string. Without a time zone it is UTC.

    Raise ValueError on anything else.
    """
    try:
        seconds = _seconds(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{_shown(value)} is not a time: use ISO 8601 or Unix seconds") from None
    if not 0 <= seconds <= LAST_SECOND:
        raise ValueError(f"{_shown(value)} is not between 1970 and 2106")
    return seconds


def _seconds(value: object) -> float:
    if isinstance(value, str):
        value = _number_or_moment(value[:_LONGEST].strip())
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


def _shown(value: object) -> str:
    """Return a value as a message may show it, whatever its size."""
    try:
        return f"{value!r:.{_LONGEST}}"
    except ValueError:  # a number of thousands of digits
        return type(value).__name__
