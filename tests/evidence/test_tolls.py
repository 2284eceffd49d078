"""The tolls of sentences in each language: kind, value, bounds, increments and corrections."""

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.evidence.figures.tolls import Toll, harm_of_head, tolls_of
from scrapy_neardup.stories.summary import label_of


def _sentences() -> dict[str, list[tuple[str, str]]]:
    found = defaultdict[str, list[tuple[str, str]]](list)
    language = ""
    for line in (Path(__file__).parent / "toll_sentences.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            language = line.strip("[]")
        elif line and not line.startswith("#"):
            sentence, _, expected = line.rpartition(" | ")
            found[language].append((sentence, expected))
    return found


SENTENCES = _sentences()


def _told(toll: Toll) -> str:
    value = f"{toll.low}"
    if toll.qualifier == "range":
        value = f"{toll.low}-{toll.high}"
    elif toll.qualifier == "at least":
        value = f"{toll.low}+"
    elif toll.qualifier == "about":
        value = f"~{toll.low}"
    mark = "!" * toll.is_correction + "+" * toll.is_increment
    return f"{label_of(toll.kind)} {mark}{value}" + f" of {toll.ordinal}" * (toll.ordinal > 0)


@pytest.mark.parametrize("language", SENTENCES)
def test_the_tolls_of_a_sentence_are_read(language: str) -> None:
    read = {text: tolls_of(*text.rpartition(" || ")[::2], language) for text, _ in SENTENCES[language]}
    told = {text: ", ".join(map(_told, tolls)) or "none" for text, tolls in read.items()}
    assert told == dict(SENTENCES[language])


@pytest.mark.parametrize(("language", "text"), [("no", "9 mennesker ble drept."), ("hr", "Poginulo je 9 ljudi.")])
def test_a_language_is_read_by_the_table_of_a_close_one(language: str, text: str) -> None:
    assert [_told(each) for each in tolls_of("", text, language)] == ["dead 9"]


def test_bylines_and_headings_of_the_page_do_not_hide_the_first_sentences() -> None:
    lines = "- Released", "- Desk", "- Halden Agency", "Front page", "Guest book", "Explosion tears through terminal"
    text = "\n".join((*lines, "A grain terminal blew up on Tuesday.", "Teams brought 23 injured people out of it."))
    assert [_told(each) for each in tolls_of("Explosion", text, "en")] == ["injured 23"]


@pytest.mark.parametrize("title", ["", "Magnitude 6.1"])
def test_the_harm_of_a_beginning_is_that_of_its_tolls(title: str) -> None:
    told = 0
    for language, sentences in SENTENCES.items():
        for text, _ in sentences:
            totals = [each for each in tolls_of(title, text, language) if each.low and not each.is_increment]
            first = {each.kind: each.low for each in reversed(totals)}
            harm = harm_of_head(title, text, language)
            told += len(harm)
            assert {(kind, value) for kind, value in harm} <= {(kind, int(value)) for kind, value in first.items()}
    assert told > len(SENTENCES)
    assert harm_of_head(title, "It shook the coast. Two more people were killed.", "en") == []


def test_a_fear_is_no_toll_but_tells_the_event() -> None:
    title = "Landslide: 100 people feared killed"
    assert tolls_of(title, "", "en") == []
    assert harm_of_head(title, "", "en") == [(1, 100)]
    title = "100 பேருக்கு மேற்பட்டோர் உயிரிழந்திருக்கலாம்"
    assert tolls_of(title, "", "ta") == []
    assert harm_of_head(title, "", "ta") == [(1, 100)]
    assert harm_of_head("Officials feared 40 people were killed", "", "en") == []
    assert harm_of_head("Bomb planned to kill 100 people", "", "en") == []


def test_a_later_value_is_told_if_it_says_more() -> None:
    head = "A blast killed dozens of people on Monday. Police closed the road. It was loud. Nobody knows why."
    below = " At least 45 people were killed, the ministry said. In the north, 3 people were killed."
    assert [_told(each) for each in tolls_of("", head + below, "en")] == ["dead 24-99", "dead 45+"]


def test_tolls_of_other_articles_and_parts_of_a_toll_are_left_out() -> None:
    text = (
        "A flood hit Belmora. At least 29 people were killed. Two men were killed there.\nNobody slept.\nFire kills 30"
    )
    assert [int(each.low) for each in tolls_of("Flood in Belmora", text, "en")] == [29]


def test_tolls_of_an_article_that_is_about_something_else_are_background() -> None:
    text = "The court opens on Monday. Judges come from six states. They meet at noon. Lawyers wait. "
    assert tolls_of("Court opens its doors", text + "The war has killed 35,000 people.", "en") == []


def test_harm_below_news_of_an_arrest_is_that_of_an_older_case() -> None:
    head = "Police arrested two men on Monday. They were seen at a market. A judge will hear them. Lawyers wait. "
    told = tolls_of("", head + "Three sailors were injured when the ships were stopped.", "en")
    assert [_told(each) for each in told] == ["arrested 2"]


def test_others_of_another_kind_below_the_first_sentences_are_a_total() -> None:
    head = "Twelve people were killed on Monday. Police closed the road. It was loud. Nobody knows why. "
    told = tolls_of("", head + "Another 40 residents were also wounded. A second body was that of a farmer.", "en")
    assert [_told(each) for each in told] == ["dead 12", "injured 40"]


def test_thousands_below_the_first_sentences_are_background() -> None:
    head = "Twelve people were killed on Monday. Police closed the road. It was loud. Nobody knows why. "
    told = tolls_of("", head + "Thousands were injured and hundreds are missing in the conflict.", "en")
    assert [_told(each) for each in told] == ["dead 12"]


def test_a_headline_leaves_out_more() -> None:
    text = "Two more sailors were killed on Monday, the police of the harbour said. "
    assert [_told(each) for each in tolls_of("Two sailors killed", text, "en")] == ["dead +2"]
    assert [_told(each) for each in tolls_of("Two sailors killed", text.replace(" more", "") + text, "en")] == [
        "dead 2"
    ]


def test_a_note_above_an_article_corrects_its_tolls() -> None:
    text = "Corrects the number of victims in the first paragraph.\nFour people died in the fire."
    assert [_told(each) for each in tolls_of("", text, "en")] == ["dead !4"]


@given(st.text(), st.text(alphabet="0123456789 .,-–:%$()\nno one killed 40 to 50 people in 1953 二百", max_size=300))
def test_any_text_is_read(title: str, text: str) -> None:
    assert tolls_of(title, text) == tolls_of(title, text)
