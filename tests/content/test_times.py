"""Which values are times, in UTC if they have no zone, and in which language an article is written."""

import json
import time
from contextlib import suppress
from datetime import date, datetime, timezone
from email.utils import format_datetime
from functools import reduce
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.content.document_maker import language_of, parse_time
from scrapy_neardup.detector import NearDupDetector

NOON = 1_772_366_400  # 2026-03-01 12:00 UTC


@pytest.mark.parametrize(
    "value",
    [
        NOON,
        f" {NOON} ",
        "2026-03-01T12:00:00Z",
        "20260301T12",
        datetime(2026, 3, 1, 12),
        "Sun, 01 Mar 2026 12:00:00 GMT",
        "1 Mar 2026 07:00:00 EST",
        "Sunday, 01-Mar-26 12:00:00 UTC",
        time.gmtime(NOON),
        json.loads(json.dumps(time.gmtime(NOON))),
        ("Sun, 1 Mar 2026 13:00 +0100", "another"),
        [datetime(2026, 3, 1, 12, tzinfo=timezone.utc)],
        "Sun, 01 Mar 2026 14:00 +0200 (EET)",
        "2026-03-01 12:00:00 UTC",
        "2026-03-01 12:00 GMT",
        "2026-03-01 14:00:00 +0200",
    ],
    ids=repr,
)
def test_one_time_in_many_forms(value: object) -> None:
    assert parse_time(value) == NOON


def test_a_day_begins_at_midnight() -> None:
    assert parse_time(date(2026, 3, 1)) == parse_time("20260301") == parse_time("2026-03-01") == NOON - 12 * 3600


@pytest.mark.parametrize("zone", ["IST", "BST", "CDT", "AMT", "XYZT"])
@pytest.mark.parametrize("form", ["Mon, 25 May 2020 10:00:00 {}", "2020-05-25 10:00 {}", "Mon May 25 10:00:00 {} 2020"])
def test_the_name_of_a_zone_that_may_mean_several_is_refused(form: str, zone: str) -> None:
    if zone == "CDT" and form.startswith("Mon, "):
        assert parse_time(form.format(zone)) == 1_590_418_800  # RFC 822 says what it means
        return
    with pytest.raises(ValueError, match="is not a time: use ISO 8601, RFC 822"):
        parse_time(form.format(zone))


@pytest.mark.parametrize(
    "value",
    [
        "03/04/2020",
        "1 Sept 2020",
        "May 1, 2026 7:00 a.m. EST",
        "Sun Mar  1 12:00:00 2026",
        "10:00",
        "2026-03-01 12:00 - 14:00",
        "May 2020",
        "Monday",
        "25 May",
        "A 2020-05-25",
        "01-02-03",
    ],
)
def test_a_text_that_may_mean_several_moments_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="use ISO 8601, RFC 822"):
        parse_time(value)


@pytest.mark.parametrize(
    "value",
    ["2019", 2019, "201911", "0", "yesterday", "March 2019", "32 Mar 2026 12:00", "", [], [None], True, [2019] * 8,
     "9" * 5000, pytest.param(10**5000, id="long"), pytest.param([10**5000] * 9, id="long ones"),
     "nan", -1, b"2026-03-01", pytest.param(reduce(lambda inner, _: [inner], range(900), []), id="lists in lists")],
)  # fmt: skip
def test_what_is_no_time(value: object) -> None:
    with pytest.raises(ValueError, match=r"is not a time: use ISO 8601, RFC 822|is not between|Exceeds the limit"):
        parse_time(value)


@given(st.datetimes(datetime(1970, 1, 2), datetime(2106, 1, 1), timezones=st.timezones()))
def test_what_python_writes_is_read(moment: datetime) -> None:
    seconds = moment.replace(microsecond=0)
    assert parse_time(format_datetime(seconds)) == parse_time(seconds.isoformat()) == int(seconds.timestamp())


WORDS = st.sampled_from(
    "12 5 May 2020 10:00 PM Mon GMT+3 CEST (EST) +0200 T Z , . / - 25 99999999 1e9 W53 at of".split()
)


@given(st.text(max_size=30) | st.lists(WORDS, max_size=8).map(" ".join) | st.lists(WORDS, max_size=8).map("".join))
def test_a_text_is_a_time_or_a_value_error(value: str) -> None:
    with suppress(ValueError):
        assert parse_time(value) >= 0


SENTENCES = [line.split("  ", 1) for line in Path(__file__).with_name("languages.txt").read_text("utf-8").splitlines()]
RUSSIAN = "Мэр города сообщил, что ремонт моста начнется на следующей неделе и продлится два месяца."
UKRAINIAN = "Мер міста повідомив, що ремонт мосту почнеться наступного тижня і триватиме два місяці."


@pytest.mark.parametrize(("language", "sentence"), SENTENCES, ids=[f"{code}-{text[:9]}" for code, text in SENTENCES])
def test_one_sentence_shows_its_language(language: str, sentence: str) -> None:
    assert language_of("", sentence, "") == language
    assert language_of(sentence, "", "ko" if language != "ko" else "en") == language


def test_what_a_page_declares_counts_if_the_text_does_not_show_its_language() -> None:
    assert language_of("1-0", "", "sw") == "sw"
    assert language_of("", " \n", "sw") == "sw"
    assert language_of("1-0", "", "") == ""


@pytest.mark.parametrize("declared", ["sr", "hr", "bs"])
def test_of_languages_that_are_hardly_told_apart_the_declared_one_counts(declared: str) -> None:
    assert language_of("", "Gradonačelnik je rekao da će popravak mosta početi sljedeći tjedan.", declared) == declared


@pytest.mark.parametrize("refused", ["\0", "\x1b", "\x85", "\ud800", "\ufdd0", "\uffff", "\U0010ffff"])
def test_no_character_hides_the_language(refused: str) -> None:
    assert language_of(refused, f"{refused}{RUSSIAN}{refused}", "en") == "ru"


async def test_an_article_and_its_twin_in_another_language_are_translations(detector: NearDupDetector) -> None:
    """Both pages declare Ukrainian, and the url of both has one number."""
    one = detector.document(UKRAINIAN * 4, url="https://news.example/uk/81000.html", title="Міст", language="uk")
    twin = detector.document(RUSSIAN * 4, url="https://news.example/ru/81000.html", title="Мост", language="uk")
    assert (await detector.check(one)).status == "original"
    verdict = await detector.check(twin)
    assert (verdict.status, verdict.kind) == ("related", "translation")
