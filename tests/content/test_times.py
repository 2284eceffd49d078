"""Which values are times: as databases, feeds and item loaders give them, in UTC if they have no zone."""

from __future__ import annotations

import json
import time
from datetime import date, datetime, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.content.document_maker import parse_time

NOON = 1_772_366_400  # 2026-03-01 12:00 UTC


@pytest.mark.parametrize(
    "value",
    [
        NOON,
        float(NOON),
        f" {NOON} ",
        "2026-03-01T12:00:00Z",
        "2026-03-01 13:00+01:00",
        "20260301T12",
        datetime(2026, 3, 1, 12),
        "Sun, 01 Mar 2026 12:00:00 GMT",
        "1 Mar 2026 07:00:00 EST",
        "Sunday, 01-Mar-26 12:00:00 UTC",
        time.gmtime(NOON),
        json.loads(json.dumps(time.gmtime(NOON))),
        ["2026-03-01T12:00:00Z"],
        ("Sun, 1 Mar 2026 13:00 +0100", "another"),
        [datetime(2026, 3, 1, 12, tzinfo=timezone.utc)],
    ],
    ids=repr,
)
def test_one_time_in_many_forms(value: object) -> None:
    assert parse_time(value) == NOON


def test_a_day_begins_at_midnight() -> None:
    assert parse_time(date(2026, 3, 1)) == parse_time("20260301") == parse_time("2026-03-01") == NOON - 12 * 3600


@pytest.mark.parametrize(
    "value",
    ["2019", 2019, "201911", "0", "yesterday", "March 2019", "32 Mar 2026 12:00", "", [], [None], True, [2019] * 8,
     "9" * 5000, pytest.param(10**5000, id="long"), pytest.param([10**5000] * 9, id="long ones"),
     "nan", -1, b"2026-03-01"],
)  # fmt: skip
def test_what_is_no_time(value: object) -> None:
    with pytest.raises(ValueError, match=r"is not a time: use ISO 8601, RFC 822|is not between|Exceeds the limit"):
        parse_time(value)


def test_lists_in_lists_are_no_time() -> None:
    value: list[object] = []
    for _ in range(900):
        value = [value]
    with pytest.raises(ValueError, match="is not a time"):
        parse_time(value)


@given(st.datetimes(datetime(1970, 1, 2), datetime(2106, 1, 1), timezones=st.timezones()))
def test_what_python_writes_is_read(moment: datetime) -> None:
    seconds = moment.replace(microsecond=0)
    assert parse_time(format_datetime(seconds)) == parse_time(seconds.isoformat()) == int(seconds.timestamp())
