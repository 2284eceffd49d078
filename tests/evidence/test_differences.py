"""Content differences and wording: two papers print one text, and one of them another word."""

from pathlib import Path

import pytest
from cases import old_and_new, read_cases

from scrapy_neardup.evidence.differences import Comparison, compare
from scrapy_neardup.evidence.page_lines import Side

CASES = read_cases(Path(__file__).with_name("differences.txt"))
"""Two texts a language are enough to show the mechanism. Braces hold the word of the old text and the new one."""
BEFORE = {"en": "The report came out this morning.", "zh": "报道于今天早上发布。"}


def compared(language: str, text: str, *, is_title: bool = False) -> Comparison:
    """Compare the text before with the text after each edit."""
    sides = []
    for number, printed in enumerate(old_and_new(text)):
        title, body = (printed, "") if is_title else ("", printed)
        sides.append(Side(title, f"{BEFORE.get(language, '')}\n{body}", f"{number}.example", language))
    old, new = sides
    return compare(new, old)


@pytest.mark.parametrize(("language", "text"), CASES["content"])
def test_a_word_that_changes_the_news_is_a_content_difference(language: str, text: str) -> None:
    assert compared(language, text).first_new_statement is not None


@pytest.mark.parametrize(("language", "text"), CASES["wording"])
def test_another_wording_is_none(language: str, text: str) -> None:
    assert compared(language, text).first_new_statement is None


def test_a_figure_is_new_although_the_next_sentence_of_the_old_text_has_it() -> None:
    sides = (f"About {value} percent of the crew had no training. Debts stand at 2,100." for value in ("2,100", "7"))
    new, old = (Side("", text, "", "en") for text in sides)
    assert compare(new, old).first_new_statement


def test_a_word_in_a_title_counts_if_the_rest_of_the_title_is_equal() -> None:
    assert compared("en", "Fire in a hotel by the lake: three guests {dead|unhurt}", is_title=True).first_new_statement
    assert not compared("en", "Three guests {dead|unhurt} in {fire|blaze} at hotel", is_title=True).first_new_statement


FORMS = [
    ("hi", "{}: {} बुलेटिन", "{} ज़िले में {} के मरीज़ मिले हैं।", ("गोरखपुर डेंगू", "देवरिया डेंगू", "गोरखपुर मलेरिया")),
    ("de", "Abkochgebot", "Das Amt warnt {} und {}.\nWasser gibt es heute in {} am Markt.", ("Aue Bad", "Elm Tal")),
]


@pytest.mark.parametrize(("language", "title", "text", "names"), FORMS)
def test_a_form_is_filled_in_also_without_capitals(language: str, title: str, text: str, names: tuple[str]) -> None:
    words = [each.split() for each in names]
    old, *others = (Side(title.format(*each), text.format(*each, each[0]), "", language) for each in words)
    assert all(compare(each, old).has_other_subject for each in others)
    assert not compare(old._replace(title=f"{old.title} 2"), old).has_other_subject


def test_a_text_that_still_has_the_old_name_is_no_form() -> None:
    behind = " Later Quillfeather thanked the mayor and the people of Tarnfield, and a band played."
    text = (
        "The runner Quillfeather won the race through the old town on Sunday in record time. Thousands stood in the"
        " streets of Tarnfield and waited until the last runner had passed the church."
    )
    edited = text.replace("Quillfeather", "Oldershaw").replace("Tarnfield", "Brackenmoor")
    old = Side("", text + behind, "", "en")
    assert compare(Side("", edited, "", "en"), Side("", text, "", "en")).has_other_names
    assert not compare(Side("", edited + behind, "", "en"), old).has_other_names
    names = (("Muhammad", "Deir"), ("Mohammed", "Dayr"))
    spelled = [text.replace("Quillfeather", a).replace("Tarnfield", b) for a, b in names]
    assert not compare(*(Side("", each, "", "en") for each in spelled)).has_other_names
