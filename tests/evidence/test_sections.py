"""The section of an article, by what its page or feed says, or by its address."""

from pathlib import Path

import pytest
from cases import read_cases

from scrapy_neardup.evidence.sections import section_of
from scrapy_neardup.settings.values import SECTIONS

CASES = read_cases(Path(__file__).with_name("sections.txt"))


@pytest.mark.parametrize(("url", "section"), CASES["addresses"])
def test_the_address_names_the_section(url: str, section: str) -> None:
    assert section_of(url) == section


@pytest.mark.parametrize("url", [url for (url,) in CASES["addresses without one"]] + [""])
def test_an_address_may_name_no_section(url: str) -> None:
    assert section_of(url) == ""


@pytest.mark.parametrize(("said", "section"), CASES["said"])
def test_the_page_names_the_section_before_its_address_does(said: str, section: str) -> None:
    assert section_of("https://a.example/politics/1", said) == section


def test_there_are_seventeen_sections() -> None:
    assert len(SECTIONS) == len(set(SECTIONS)) == 17
    known = ("conflict", "disaster", "education", "environment", "health", "labour", "religion", "society", "weather")
    assert {section_of(f"https://a.example/{name}/1") for name in known} == {*known}
