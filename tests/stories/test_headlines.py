"""Headlines of stories: a title that reads like one, and never a byline, a date, a menu or the name of a site."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.document import Member
from scrapy_neardup.stories import headline_of


def members(*titles: str, source: str = "northwire.example") -> list[Member]:
    return [
        Member(f"{number:016x}", "", title, source, source, "original" if number == 1 else "duplicate", number=number)
        for number, title in enumerate(titles, 1)
    ]


@pytest.mark.parametrize(
    "title",
    [
        "Bridge falls into the river",
        "By the numbers: a year of storms",
        "Von der Leyen tritt zurück",
        "Print media loses readers in all regions",
        "Share prices fall again in Asia and Europe",
        "Мост упал в реку",
        "大橋が川に崩落、けが人なし",
        "Iran: 3 dead, 12 hurt",
        "Театр покажет комедию «Курара»",
        "সেতু ভেঙে নদীতে",
        "すでに孫いる５６歳、来年２月１７日に第２子誕生へ",
    ],
)
def test_the_first_document_s_title_is_the_headline(title: str) -> None:
    assert headline_of(members(title, "Another headline for the bridge")) == title


@pytest.mark.parametrize(
    "title",
    [
        "",
        "  ",
        "Text Size",
        "Print this page",
        "Share this article",
        "Advertisement",
        "Skip to main content",
        "By John Smith",
        "By JOHN SMITH and Jane Doe, Reuters",
        "Von Max Müller",
        "Por María José García",
        "Photo: Jane Doe",
        "15.11.2019 10:15",
        "Nov 15, 2019",
        "15 November 2019",
        "2019-11-15T10:15:00",
        "Northwire",
        "northwire.example",
        "Northwire News",
        "Weather",
        "Live updates",
        "央视新闻",
    ],
)
def test_what_is_no_headline_is_passed_over(title: str) -> None:
    assert headline_of(members(title, "Bridge falls into the river")) == "Bridge falls into the river"


@pytest.mark.parametrize("title", ["Text Size", "By John Smith", "15 November 2019", "Northwire", "Anzeige", ""])
def test_no_headline_is_better_than_one_of_these(title: str) -> None:
    assert headline_of(members(title, title)) == ""


def test_a_short_title_is_taken_if_there_is_no_longer_one() -> None:
    assert headline_of(members("By John Smith", "Earthquake", "Flood")) == "Earthquake"
    assert headline_of([]) == ""


@pytest.mark.parametrize(
    "title",
    [
        "Bridge falls into the river | Northwire",
        "Bridge falls into the river - Northwire News",
        "Bridge falls into the river – northwire.example",
        "Northwire | Bridge falls into the river",
    ],
)
def test_the_name_of_the_site_is_no_part_of_it(title: str) -> None:
    assert headline_of(members(title)) == "Bridge falls into the river"


def test_a_headline_keeps_its_dashes() -> None:
    assert headline_of(members("Bridge falls - three hurt")) == "Bridge falls - three hurt"


@given(st.lists(st.text(), max_size=4), st.text(max_size=20))
def test_any_titles_have_a_headline_or_none(titles: list[str], source: str) -> None:
    assert isinstance(headline_of(members(*titles, source=source)), str)
