"""Headlines of stories: a title that reads like one, and never a byline, a date, a menu or the name of a site."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.document import Member
from scrapy_neardup.stories.headlines import headline_of


def members(*titles: str, source: str = "northwire.example") -> list[Member]:
    return [
        Member(f"{number:016x}", "", title, source, source, "original" if number == 1 else "duplicate", number=number)
        for number, title in enumerate(titles, 1)
    ]


@pytest.mark.parametrize(
    "title",
    (
        "Bridge falls into the river|By the numbers: a year of storms|Von der Leyen tritt zurück|"
        "Print media loses readers in all regions|Share prices fall again in Asia and Europe|Мост упал в реку|"
        "大橋が川に崩落、けが人なし|Iran: 3 dead, 12 hurt|Театр покажет комедию «Курара»|সেতু ভেঙে নদীতে|"
        "すでに孫いる５６歳、来年２月１７日に第２子誕生へ"
    ).split("|"),
)
def test_the_first_document_s_title_is_the_headline(title: str) -> None:
    assert headline_of(members(title, "Another headline for the bridge")) == title


@pytest.mark.parametrize(
    "title",
    [
        "",
        "  ",
        *(
            "Text Size|Print this page|Share this article|Advertisement|Skip to main content|By John Smith|"
            "By JOHN SMITH and Jane Doe, Reuters|Von Max Müller|Por María José García|Photo: Jane Doe|"
            "15.11.2019 10:15|Nov 15, 2019|15 November 2019|2019-11-15T10:15:00|Northwire|northwire.example|"
            "Northwire News|Weather|Live updates|央视新闻"
        ).split("|"),
    ],
)
def test_what_is_no_headline_is_passed_over(title: str) -> None:
    assert headline_of(members(title, "Bridge falls into the river")) == "Bridge falls into the river"


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


@given(st.lists(st.text(), max_size=4), st.text(max_size=20))
def test_any_titles_have_a_headline_or_none(titles: list[str], source: str) -> None:
    assert isinstance(headline_of(members(*titles, source=source)), str)


def copies(*titles: str, language: str = "") -> list[Member]:
    """Members of as many sources, in the order they joined."""
    return [
        Member(
            f"{n:016x}", "", title, f"s{n}.example", f"s{n}.example", "update" if n else "original", language=language
        )
        for n, title in enumerate(titles)
    ]


def test_the_headline_follows_most_of_the_newest_copies() -> None:
    old, new = "Bridge collapse kills at least 3", "Bridge collapse kills 7 in Harbour City"
    assert headline_of(copies(old, old, old, old, new, new)) == new
    assert headline_of(copies(old, old, old, old, old, new)) == old, "one source decides nothing"
    other = "Seven dead as the Harbour City bridge falls"
    assert headline_of(copies(old, old, old, new, other)) == other, "two say seven"
    assert headline_of(copies(old, old, new, "Aliens land in the old market")) == old, "none of the newest agree"


def test_one_owner_has_one_vote() -> None:
    fake = [replace(each, owner="Press Ltd") for each in copies(*["Aliens land in Harbour City"] * 5)]
    assert headline_of([*copies("Bridge collapse kills 3", "Bridge collapse kills 3"), *fake]) == (
        "Bridge collapse kills 3"
    )


def test_a_title_with_a_figure_that_was_replaced_is_passed_over() -> None:
    titles = copies("Three dead in bridge collapse", "Harbour City bridge falls into the river")
    assert headline_of(titles, {"3"}) == "Harbour City bridge falls into the river"
    assert headline_of(titles[:1], {"3"}) == "Three dead in bridge collapse", "there is no other"


def test_the_commonest_language_gives_the_headline() -> None:
    english = copies(*["Bridge collapse kills 7"] * 5, language="en")
    german = [replace(each, owner=f"de {each.owner}") for each in copies(*["Brücke eingestürzt"] * 3, language="de")]
    assert headline_of([*english, *german]) == "Bridge collapse kills 7"
