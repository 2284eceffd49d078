"""The section of an article, by what its page or feed says, or by its address."""

import pytest

from scrapy_neardup.evidence.sections import section_of
from scrapy_neardup.settings.values import SECTIONS


@pytest.mark.parametrize(
    ("url", "section"),
    [
        ("https://a.example/sport/2019/match-report", "sport"),
        ("https://a.example/news/Deportes/futbol/gol.html", "sport"),
        ("https://a.example/%D1%81%D0%BF%D0%BE%D1%80%D1%82/1", "sport"),
        ("https://sport.a.example/2019/1", "sport"),
        ("https://a.example/showbiz/star", "arts"),
        ("https://a.example/economía/banco", "economy"),
        ("https://a.example/tin/the-thao/1.htm", "sport"),
        ("https://a.example/sport", ""),  # the page of the section itself
        ("https://a.example/2019/11/18/sports-bra-recalled", ""),
        ("https://a.example/", ""),
        ("http://[", ""),
        ("", ""),
    ],
)
def test_the_address_names_the_section(url: str, section: str) -> None:
    assert section_of(url) == section


@pytest.mark.parametrize(
    ("said", "section"),
    [
        ("Sports", "sport"),
        ("\nНовости\nСпорт", "sport"),
        ("News > Business", "economy"),
        ("Arts & Entertainment", "arts"),
        ("Sports News", "sport"),
        ("Home\nPolice look for three men, police say in a statement", "politics"),  # a headline is no section
        ("Front Page", "politics"),  # as the address says
    ],
)
def test_the_page_names_the_section_before_its_address_does(said: str, section: str) -> None:
    assert section_of("https://a.example/politics/1", said) == section


def test_there_are_seventeen_sections() -> None:
    assert len(SECTIONS) == len(set(SECTIONS)) == 17
    known = ("conflict", "disaster", "education", "environment", "health", "labour", "religion", "society", "weather")
    assert {section_of(f"https://a.example/{name}/1") for name in known} == {*known}
