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
SAME_WORDS = SENTENCES.pop("the same words")
OTHER_THINGS = SENTENCES.pop("other things")
CASES = [
    pytest.param(old, new, language, id=f"{language}-{number}")
    for language, ((old,), *others) in SENTENCES.items()
    for number, (new,) in enumerate(others)
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


@pytest.mark.parametrize("sentence", [sentence for (sentence,) in OTHER_THINGS])
def test_a_number_beside_words_of_a_toll_counts_something_else(sentence: str) -> None:
    assert not [figure.label for figure in find_figures(sentence) if figure.value == "7" and figure.kind in HARMED]
