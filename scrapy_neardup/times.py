"""Times as users write them."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timezone

_BASIC_DATE = re.compile(r"(?:19|20)\d{6}")  # 20191115 is a day, not an hour of 1970


def parse_time(value: object) -> float:
    """Unix seconds, UTC, of a number, a date or datetime, or an ISO 8601 string; without a zone it is UTC.

    Raises ValueError on anything else.
    """
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is no time")
    if isinstance(value, int | float):
        return _in_range(value, value)  # 10**400 is too large to be made a float
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime.combine(value, time())
    elif isinstance(value, str):
        moment = _parse_text(value.strip())
    else:
        raise ValueError(f"{value!r} is no time: ISO 8601 or Unix seconds")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return _in_range(moment.timestamp(), value)


def _parse_text(text: str) -> datetime:
    from dateutil.parser import isoparse

    if not _BASIC_DATE.fullmatch(text):
        try:
            return datetime.fromtimestamp(float(text), timezone.utc)
        except (ValueError, OverflowError, OSError):
            pass
    try:
        # A space for the T, as in most databases.
        return isoparse(text.replace(" ", "T", 1))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is no time: ISO 8601 or Unix seconds") from error


def _in_range(seconds: float, value: object) -> float:
    if not 0 <= seconds < 1 << 32:
        raise ValueError(f"{value!r} is not between 1970 and 2106")
    return float(seconds)
