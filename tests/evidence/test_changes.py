"""The lines that are told of two texts: values and labels in the words of the text, and nothing that was misread."""

import random
import re
from pathlib import Path

import pytest
from cases import read_cases

from scrapy_neardup.evidence.changes import changes_between
from scrapy_neardup.evidence.differences import compare
from scrapy_neardup.evidence.edits import Change
from scrapy_neardup.evidence.page_lines import Side

CASES = read_cases(Path(__file__).with_name("changes.txt"))
# The source of the old text, both texts, and what the new one tells. Another source may count a part.
NEWER_TOLLS = [
    ("a.example", "A fire injured 12 people.", "Nineteen people are injured now.", "injured: 12 -> 19"),
    ("b.example", "A fire injured 12 people.", "Nineteen people are injured now.", ""),
    ("a.example", "A fever spread in the town.", "The fever has claimed a first life.", "dead: 0 -> 1"),
    ("a.example", "In all 77 people are ill.", "Correction: 67 cases of measles, not 77.", "cases: 77 -> 67"),
    ("a.example", "The flood destroyed 40 houses.", "By noon 55 homes were lost to the water.", "homes: 40 -> 55"),
    ("a.example", "Four people died in the mill.", "Two more people lost their lives.", "dead: 4 -> 6"),
    ("b.example", "Four people died in the mill.", "Two more people lost their lives.", ""),
    ("a.example", "Two people died in the mill.", "A second child has died there.", ""),
    ("a.example", "One man died in the mill.", "A second child has died there.", "dead: 1 -> 2"),
    ("a.example", "Nobody died in the fire.", "Later three bodies were found there.", "dead: 0 -> 3"),
    ("a.example", "Two more people died. That makes six dead.", "Two more victims have died, he said.", ""),
]


WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in ("rnd", "lst", "mpt")]


def told(language: str, text: str) -> list[str]:
    texts = (re.sub(r"{([^|]*)\|([^}]*)}", value, text) for value in (r"\1", r"\2"))
    old, new = (Side("", each, "", language) for each in texts)
    return [each.line for each in changes_between(new, old, compare(new, old))]


@pytest.mark.parametrize(("language", "text", "line"), CASES["told"])
def test_a_changed_value_is_told_in_the_words_of_the_text(language: str, text: str, line: str) -> None:
    assert told(language, text) == [line]


@pytest.mark.parametrize(("language", "text"), CASES["not told"])
def test_one_value_in_two_forms_is_not_told(language: str, text: str) -> None:
    assert told(language, text) == []


def test_a_number_below_zero_is_a_figure() -> None:
    old, new = (Side("", f"It fell to {value} degrees in the night at Skerrow.", "", "en") for value in ("-4", "4"))
    assert changes_between(new, old, compare(new, old)) == (Change("minus 4 -> 4", is_figure=True),)


def test_a_title_is_compared_with_the_title() -> None:
    text = "In the centre of Skerrow 63 pupils pass the course of this spring, and they get their papers on Monday."
    old = Side("95 pupils pass the course", text, "", "en")
    new = Side("Centre of Skerrow: 63 pupils pass the course", text, "", "en")
    assert [each.line for each in changes_between(new, old, compare(new, old))] == ["pupils pass: 95 -> 63"]


def test_a_lower_toll_in_other_words_may_be_a_part_of_it() -> None:
    old = Side("Nine dead in storm", "The storm has killed nine people on the island since Friday, the office said.")
    new = Side("Storm claims seven lives in a day", "The centre has counted seven fatalities in 24 hours.")
    assert changes_between(new, old, compare(new, old)) == ()


def test_texts_with_little_in_common_count_other_things() -> None:
    old, new = (
        Side("", f"{sentence}\n{' '.join(random.Random(len(sentence)).sample(WORDS, 40))}.", "", "en")
        for sentence in (
            "Lay teachers voted 97 per cent in favour of a strike if need be, although talks of the others go on.",
            "High school teachers voted 95.5 per cent in favour of a strike on Monday, their union told the press.",
        )
    )
    assert changes_between(new, old, compare(new, old)) == ()


def test_a_value_that_title_and_text_repeat_is_told_once() -> None:
    old, new = (
        Side(f"{value} dead in fire", f"{value} people were killed in a fire in the old mill.", "", "en")
        for value in ("Four", "Nine")
    )
    assert [each.line for each in changes_between(new, old, compare(new, old))] == ["dead: 4 -> 9"]


@pytest.mark.parametrize(("source", "before", "after", "line"), NEWER_TOLLS)
def test_a_source_tells_its_newer_toll_in_other_words(source: str, before: str, after: str, line: str) -> None:
    old, new = Side("", before, source, "en"), Side("", after, "a.example", "en")
    assert "".join(each.line for each in changes_between(new, old, compare(new, old))) == line


def test_the_time_of_a_page_is_not_told() -> None:
    body = "The captain of the ferry was brought to court. The ferry lies in the harbour. Its owner said nothing."
    old, new = (Side("", f"{body}\n18 January 2007 {time} AEST", "", "en") for time in ("12:50", "09:12"))
    assert changes_between(new, old, compare(new, old)) == ()


def test_the_sum_of_two_events_is_no_higher_toll() -> None:
    old = Side("Gunmen kill 14 in Skerrow", "Fourteen people were killed by gunmen in Skerrow on Sunday.", "", "en")
    body = "Fourteen people were killed by gunmen in Skerrow on Sunday. Others killed 15 people in Barra."
    new = Side("29 killed in Skerrow and Barra", body, "", "en")
    assert changes_between(new, old, compare(new, old)) == ()


def test_the_toll_of_another_town_is_no_higher_toll() -> None:
    text = "Raiders killed {} people at night in {}. The bishop of the old abbey spoke of a black week for all of us."
    old = Side("Raiders kill six people in Tarnfield", text.format("six", "Tarnfield"))
    new = Side("20 people dead in Skerrow after a raid", text.format("20", "Skerrow"))
    assert [each.line for each in changes_between(new, old, compare(new, old)) if each.is_toll] == []
