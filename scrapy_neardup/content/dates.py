"""Read times as users write them."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timezone

_LONGEST = 100  # characters
_BASIC_DATE = re.compile(r"(?:19|20)\d{6}")  # 20191115 is a day, not Unix seconds of 1970


def parse_time(value: object) -> float:
    """Return Unix seconds from a number, a date or datetime, or an ISO 8601 string. Without a time zone it is UTC.

    Raise ValueError on anything else.
    """
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is not a time")
    if isinstance(value, int | float):
        try:
            return _in_range(float(value), value)
        except OverflowError:
            raise ValueError("a number with thousands of digits is not a time") from None
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime.combine(value, time())
    elif isinstance(value, str):
        moment = _parse_text(value[:_LONGEST].strip())
    else:
        raise ValueError(f"{_shown(value)} is not a time: use ISO 8601 or Unix seconds")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    try:
        return _in_range(moment.timestamp(), value)
    except OverflowError:
        raise ValueError(f"{_shown(value)} is not between 1970 and 2106") from None


def _parse_text(text: str) -> datetime:
    from dateutil.parser import isoparse

    if not _BASIC_DATE.fullmatch(text):
        try:
            return datetime.fromtimestamp(float(text), timezone.utc)
        except (ValueError, OverflowError, OSError):
            pass
    try:
        # Most databases write a space instead of the T.
        return isoparse(text.replace(" ", "T", 1))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a time: use ISO 8601 or Unix seconds") from error


def _in_range(seconds: float, value: object) -> float:
    if not 0 <= seconds < 1 << 32:
        raise ValueError(f"{_shown(value)} is not between 1970 and 2106")
    return seconds


def _shown(value: object) -> str:
    """Return a value as a message may show it, whatever its size."""
    try:
        return f"{value!r:.{_LONGEST}}"
    except ValueError:  # a number of thousands of digits
        return type(value).__name__
