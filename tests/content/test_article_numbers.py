"""The number by which a site knows an article: the same under every slug and section, and never a date or a figure."""

from __future__ import annotations

import string
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.content import article_number

pytestmark = pytest.mark.versions

# Numbers that are neither days nor round figures.
NUMBERS = st.integers(1_000_001, 19_899_999).filter(lambda number: number % 1000).map(str)
WORDS = st.text(string.ascii_lowercase, min_size=2, max_size=8).filter(lambda word: word not in ("amp", "print", "cat"))
SLUGS = st.lists(WORDS, min_size=2, max_size=6).map("-".join)
SECTIONS = st.sampled_from(["news", "sport", "world/africa", "politik", "новости", "2019/11/15", "a/b-c", "news/2"])
SHAPES = st.sampled_from(
    [
        "{section}/{slug}-{number}.html",
        "{section}/{slug}_{number}",
        "{section}/{number}-{slug}.php",
        "{section}/{number}/{slug}",
        "{section}/{slug}/{number}/",
        "{section}/article-{number}/{slug}.html",
        "{section}/{slug}/a-{number}",
        "{section}/{slug}/articleshow/{number}.cms",
        "{section}/{slug}-n{number}",
        "{section}/{slug}-1.{number}",
        "{section}/{slug}?id={number}",
        "{section}/view.aspx?utm_source=feed&newsid={number}&lang=en",
        "{section}/?{number}",
    ]
)


@given(SHAPES, NUMBERS, st.tuples(SECTIONS, SLUGS), st.tuples(SECTIONS, SLUGS))
def test_a_number_outlives_slug_and_section(
    shape: str, number: str, one: tuple[str, str], other: tuple[str, str]
) -> None:
    forms = [
        "https://wire.example/" + shape.format(section=section, slug=slug, number=number)
        for section, slug in (one, other)
    ]

    assert [article_number(form) for form in forms] == [number, number]


@pytest.mark.parametrize(
    ("url", "number"),
    [
        ("https://wire.example/article/us-bridge-falls-idUSKBN1XO2QX", "idUSKBN1XO2QX"),
        ("https://wire.example/article/amp/idUSKBN1XO2QX", "idUSKBN1XO2QX"),
        ("https://wire.example/science/20191115-OYT1T50095/", "OYT1T50095"),
        ("https://wire.example/business/15/11/2019/5dcdf68f9a79478a77505e34", "5dcdf68f9a79478a77505e34"),
        ("https://wire.example/bridge-falls-5dcdf68f9a79478a77505e34.html", "5dcdf68f9a79478a77505e34"),
        ("https://wire.example/articles/c4gd2lxz3zxo", "c4gd2lxz3zxo"),
        (
            "https://wire.example/a/bridge/9E94B2C4-9164-11e6-9c85-ac42097b8cc0_story.html",
            "9e94b2c4-9164-11e6-9c85-ac42097b8cc0",
        ),
        ("https://wire.example/2019/11/15/2019111501293.html", "2019111501293"),
        ("https://wire.example/articles/0,7340,L-3773796,00.html", "3773796"),
        ("https://wire.example/19/bridge-falls-119111500068_1.html", "119111500068"),
        ("https://wire.example/ekonomi/20191115000319-85-448499/bridge", "448499"),
        ("https://wire.example/id151715/article/2019-11-15/bridge", "151715"),
        ("https://wire.example/12345/bridge-falls-1234567.html", "1234567"),
        ("https://wire.example/1234567/why-12500-people-left", "1234567"),
        ("https://wire.example/bridge-1234567?page=1", "1234567"),
        ("https://wire.example/1234567/bridge/page/1", "1234567"),
        ("https://amp-wire-example.cdn.ampproject.org/c/s/amp.wire.example/bridge-1234567", "1234567"),
        ("https://wire.example/bridge-1234567/print", "1234567"),
        ("https://wire.example/author/jane-doe/the-bridge-falls-1234567.html", "1234567"),
    ],
)
def test_numbers_of_many_sites(url: str, number: str) -> None:
    assert article_number(url) == number


DAYS = st.dates(date(1995, 1, 1), date(2045, 12, 31))
FORMATS = st.sampled_from(
    ["%Y%m%d", "%d%m%Y", "%m%d%Y", "%Y/%m/%d", "%Y-%m-%d", "%d-%m-%Y", "%Y%m", "%Y%m%d%H%M%S", "%Y"]
)
PLACES = st.sampled_from(
    ["{}", "news/{}", "news/{}/bridge-falls", "news/bridge-falls-{}.html", "news/{}-bridge", "?id={}"]
)


@given(DAYS, FORMATS, PLACES)
def test_a_date_is_no_number(day: date, form: str, place: str) -> None:
    assert article_number("https://wire.example/" + place.format(day.strftime(form))) == ""


@pytest.mark.parametrize(
    "path",
    (
        "news/bridge-falls|news/covid-19|news/top-10|news/boeing-737|news/2019|news/firm-cuts-5000-jobs|"
        "news/firm-cuts-25000|news/25000-jobs-are-cut|news/house-sells-for-1500000|news/call-0800-123456|"
        "news/call-555-0123456|news/call-+49-30-1234567|news/call-08001234567|news/COVID19VACCINE|news/550e8400|"
        "tag/12345|tag/bridge-12345|tag/bridge/12345|author/123456|author/jane-doe-123456|topic/1234567-bridges|"
        "category/12345/|rubrik/12345|user-12345/|view?page=12345|view?author=12345|348135/348721"
    ).split("|"),
)
def test_what_is_no_number(path: str) -> None:
    assert article_number(f"https://wire.example/{path}") == ""


@pytest.mark.parametrize(
    "path",
    (
        "bridge-1234567?page=2 bridge-1234567?seite=12 1234567/bridge?p=2 1234567/bridge/page/2 "
        "1234567/bridge/page-2 1234567/bridge/2 bridge-1234567/2/ bridge-1234567-2.html bridge-1234567_2.html "
        "bridge-1234567,page-2.html 1234567-seite-2 bridge-seite-2-1234567.html 1234567/bridge/comments"
    ).split(),
)
def test_a_further_page_of_an_article_has_no_number(path: str) -> None:
    assert article_number(f"https://wire.example/{path}") == ""


@given(st.text())
def test_any_text_has_a_number_or_none(text: str) -> None:
    assert article_number(text) == ""
    assert isinstance(article_number(f"https://wire.example/{text}"), str)


@pytest.mark.parametrize("part", ["/1", "/a-12345", "-1", "+1-", "9", "-page-", "author/", "a1", "&12345"])
def test_endless_urls_have_no_number(part: str) -> None:
    assert article_number("https://wire.example/?" + part * 20_000) == ""
    assert article_number("https://wire.example/" + part * 20_000) == ""
