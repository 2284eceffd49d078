"""A toll in other words is an update: four dead in the first text, nine in the second."""

from pathlib import Path

import pytest
from cases import read_cases

from scrapy_neardup.evidence.changes import changes_between
from scrapy_neardup.evidence.differences import compare
from scrapy_neardup.evidence.figures.counted import HARMED
from scrapy_neardup.evidence.figures.figure import find_figures
from scrapy_neardup.evidence.page_lines import Side

SENTENCES = read_cases(Path(__file__).with_name("rewordings.txt"))
CASES = [
    pytest.param(old, new, language, id=f"{language}-{number}")
    for language, ((old,), *others) in SENTENCES.items()
    for number, (new,) in enumerate(others)
]
SAME_WORDS = [
    ("Police arrested four people", "Police freed nine dogs whose lives are hard"),
    ("Der Brand tötete vier Menschen", "Die neun Menschen leben in der Stadt"),
    ("4 kişi öldü", "9 kişilik ekip mutlu oldu"),
    ("4 doden bij brand", "De winkel is open van 9 tot 12 uur"),
    ("4 people died in the fire", "Visitors can see 9 people on stage"),
    ("Un incendio mató a cuatro personas", "Casi nueve personas de cada diez votaron"),
]
"""Texts that share words of people harmed, but no toll."""
OTHER_THINGS = [
    *("Call 7 if somebody was killed", "He died at the age of 7", "Two cases in 7 days", "Deaths by article 7"),
    *("7 ambulances took the injured to hospital", "7 men killed the guard of the bank", "Jane Doe, dead at 7"),
    *("The death of Jane Doe, 7 of whose films were shown", "Die Zahl der Toten nach 7 Jahren", "En cas de mort, le 7"),
    *("Resgatada neste domingo (7) no litoral", "Θάνατος της ηθοποιού, 7 ετών", "Смерть при температуре 7°"),
    *("7 سيارات لنقل المصابين", "گمرک شهید رجایی در 7 ماهه سال", "Po 7 latach zabił sąsiada"),
    *("ДТП на дорогах 7 і 8 листопада: загинув водій", "Evacuarea blocului (parter plus 7 etaje)"),
    *("The dead man of flat number 7", "The player, who made 7 tackles, was injured", "The toll that 7 germs take"),
    *("По Неве поплыли 7 кораблей в память о погибших", "Офис № 7, где задержали директора"),
]


def lines(old: str, new: str, language: str = "") -> list[str]:
    sides = tuple(Side("", text, language=language) for text in (new, old))
    return [change.line for change in changes_between(*sides, compare(*sides))]


@pytest.mark.parametrize(("old", "new", "language"), CASES)
def test_a_toll_in_other_words_is_told(old: str, new: str, language: str) -> None:
    assert lines(old, new, language) == ["dead: 4 -> 9"]


@pytest.mark.parametrize(("old", "new"), SAME_WORDS)
def test_words_of_a_toll_without_a_toll_tell_nothing(old: str, new: str) -> None:
    assert not [line for line in lines(old, new) if line.startswith("dead")]


@pytest.mark.parametrize("sentence", OTHER_THINGS)
def test_a_number_beside_words_of_a_toll_counts_something_else(sentence: str) -> None:
    assert not [figure.label for figure in find_figures(sentence) if figure.value == "7" and figure.kind in HARMED]
