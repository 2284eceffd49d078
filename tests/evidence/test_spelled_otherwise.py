"""What two papers print otherwise and that says the same, and what looks like it and says something else."""

import pytest

from scrapy_neardup.evidence.changes import changes_between
from scrapy_neardup.evidence.differences import compare
from scrapy_neardup.evidence.page_lines import Side

FRAME = (
    "The national regulator met the owners of the ferries in the harbour on Monday, said the mayor.\n{}\n"
    "Owners have until the end of the month to answer, and most of them asked for more time."
)
WORDING = [
    ("en", "Winds of 15- 35 km were measured at the old pier.", "Winds of 15-35 km were measured at the old pier."),
    ("en", "He was held on Friday June14 at the old pier.", "He was held on Friday June 14 at the old pier."),
    ("ar", "أعلن القرار بتاريخ 2 / 6 / 1436 في الرياض وجدة.", "أعلن القرار بتاريخ 2/6/1436 في الرياض وجدة."),
    ("ar", "بلغت خسائر الشركة 2ر3 مليار دولار في العام الماضي.", "بلغت خسائر الشركة 3.2 مليار دولار في العام الماضي."),
    ("ar", "أوضحت الشركة الإسبانية أن القطار توقف في الطريق.", "أوضحت الشركة ا?سبانية أن القطار توقف في الطريق."),
    ("ar", "ولم يصل القطار إلى المدينة في موعده مساء أمس.", "لم يصل القطار إلى المدينة في موعده مساء أمس."),
    ("en", "The captain claimed that the lamp was lit at night.", "The captain said that the lamp was lit at night."),
    ("en", "Source: Shipnews.example\nThe pier is shut.", "The pier is shut."),
    ("en", "This page, with all rights reserved, may not be reproduced in any form by anybody else.", ""),
]
CONTENT = [
    ("en", "Winds of 15-85 km were measured at the old pier.", "Winds of 15-35 km were measured at the old pier."),
    ("en", "He was held on Friday June15 at the old pier.", "He was held on Friday June 14 at the old pier."),
    ("ar", "ولم يصل القطار إلى المدينة في موعده مساء أمس.", "وصل القطار إلى المدينة في موعده مساء أمس."),
    ("en", "It is also sunk.", ""),
]


@pytest.mark.parametrize(("language", "new", "old"), WORDING)
def test_another_form_is_wording(language: str, new: str, old: str) -> None:
    sides = (Side("", FRAME.format(line), language=language) for line in (new, old))
    assert compare(*sides).first_new_statement is None


@pytest.mark.parametrize(("language", "new", "old"), CONTENT)
def test_another_value_in_such_a_form_is_content(language: str, new: str, old: str) -> None:
    sides = (Side("", FRAME.format(line), language=language) for line in (new, old))
    assert compare(*sides).first_new_statement is not None


def test_a_long_sentence_is_cut_where_its_words_say() -> None:
    words = " ".join(f"word{'abcdefghij'[number % 10]}{'klmnopqrst'[number // 10]}" for number in range(100))
    new, old = Side("", f"KELDBY - {words} 48.16 metres"), Side("", f"{words} 48.16 metres")
    comparison = compare(new, old)
    assert comparison.first_new_statement is None
    assert comparison.share > 0.95


def test_a_figure_in_the_place_of_one_is_told_although_another_one_came() -> None:
    old = Side("Two sailors held in Skerrow after the storm", FRAME.format(""))
    new = Side("Three sailors, 1 cook held in Skerrow after the storm", FRAME.format(""))
    assert [each.line for each in changes_between(new, old, compare(new, old))] == ["sailors: 2 -> 3"]


def test_a_sum_in_a_title_is_no_new_value() -> None:
    old = Side("Navy promotes 114 officers and over 1,300 other ranks", FRAME.format(""))
    new = Side("Navy promotes 1,509 officers and other ranks", FRAME.format(""))
    assert not changes_between(new, old, compare(new, old))


def test_a_headline_and_a_sentence_may_count_two_things() -> None:
    old = Side("The queen names judges", FRAME.format("The queen names 25 judges of the court of appeal in Skerrow."))
    new = Side("The queen names 125 judges of both courts in Skerrow", old.text)
    assert not changes_between(new, old, compare(new, old))
