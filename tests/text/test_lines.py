"""Characters that look alike are folded to one, and a text is cut into lines and sentences."""

import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest
from cases import read_cases
from hypothesis import given
from hypothesis import strategies as st
from newsdesk import made_up

from scrapy_neardup.settings.presets import PRESETS
from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.text.folding import fold, fold_with_places
from scrapy_neardup.text.lines import Body
from scrapy_neardup.text.sentences import read_sentences, whole_sentences

ALL = [chr(code) for code in range(0x30000)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("né à Ștefănești", "ne a Stefanesti"),
        ("hoà thuý", "hòa thúy"),
        ("İstanbul’da ısı", "Istanbul'da isi"),
        ("ещё їжа", "еще іжа"),
        ("هیئت کتابی", "هيئت كتابى"),
        ("أَهْلاً إلى الآنـــ", "اهلا الى الان"),
        ("می‌شود", "میشود"),
        ("שָׁלוֹם עו״ד", 'שלום עו"ד'),
        ("ക്കള്‍ അടച്ച ന്‍", "ക്കൾ അടച്ച ൻ"),
        ("น้ำ แม่", "นํ้า เเม่"),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8", "한국"),
        ("ｶﾞｽ か\u3099", "ガス が"),
        ("և ﬁn ＡＢ１２", "եւ fin AB12"),
        ("\ufeffSo\u00adja\u200dhr\u2060\u200b", "Sojahr"),
        ("«a» “b” ‘c’ 1–2 x\u00a0y", '"a" "b" \'c\' 1-2 x y'),
    ],
)
def test_two_spellings_are_one(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_words_that_a_reader_tells_apart_stay_apart() -> None:
    for one, other in (("कि", "की"), ("มี", "มา"), ("ഒരു", "ഒര"), ("か", "が"), ("½", "1/2"), ("ب", "ت"), ("1º", "10")):
        assert fold(one) != fold(other)


def test_to_fold_again_changes_nothing_and_case_changes_no_length() -> None:
    folded = fold("\n".join(ALL))
    assert fold(folded) == folded
    assert len(folded.casefold()) == len(folded)
    assert max(map(len, folded.split("\n"))) == 5


def test_every_digit_is_ascii_and_ascii_stays_as_it_is() -> None:
    digits = [each for each in ALL if each.isdecimal()]
    assert fold("".join(digits)) == "".join(str(unicodedata.decimal(each)) for each in digits)
    assert fold("".join(ALL[:128]) + "é") == "".join(ALL[:128]) + "e"


@given(st.text(), st.text())
def test_each_folded_character_has_its_place(before: str, text: str) -> None:
    folded, composed, places = fold_with_places(f"{before}é{text}")
    assert folded == fold(f"{before}é{text}") == "".join(map(fold, composed))
    assert len(places) == len(folded) + 1
    assert all(fold(composed[place]) for place in places[:-1])


SKETCHER = Sketcher(PRESETS["news"])


def paragraphs(story: object, count: int, words: int = 30) -> list[str]:
    """Made-up words, of one story and no other."""
    return [" ".join(made_up((story, number), words)) for number in range(count)]


def body_of(lines: Sequence[str]) -> Body:
    return SKETCHER.read_texts(["\n".join(lines)])[0]


def test_what_is_glued_to_the_last_paragraph_is_a_line_of_its_own() -> None:
    offer = "Get access to the fastest growing newsroom of the land for as little as a coin. Use the code below."
    (*_, last), (*_, other) = (body_of([f"{paragraphs(story, 1)[0]}.{offer}"]).read_lines for story in range(2))
    assert last[0] == offer
    assert last[1] == other[1]


@pytest.mark.parametrize(("words", "lines"), [(1, 1), (10, 1), (11, 2), (30, 3), (99, 3)])
def test_the_lead_has_the_first_lines_up_to_so_many_words(words: int, lines: int) -> None:
    assert body_of(made := paragraphs("lead", 3, 10)).lead(words) == made[:lines]


@pytest.mark.parametrize("line", [line for (line,) in read_cases(Path(__file__).with_name("lines.txt"))["sentences"]])
def test_sentences_end_where_a_reader_ends_them(line: str) -> None:
    text = line.replace(" | ", " ").replace("|", "")
    assert whole_sentences(text) == [each.strip() for each in line.split("|")]


def test_a_quote_behind_the_end_of_a_line_opens_the_next_sentence() -> None:
    lines = ["«Газпром» направил письмо.", '"Yes," he said, "we go."', "“No.”", "Nobody went."]
    assert whole_sentences("\n".join(lines)) == lines


def test_two_texts_are_cut_alike() -> None:
    text = "The passengers reached Bex. Everything was dark."
    one, other = read_sentences(text, "Passengers knew Bex, a village.\n" + text)
    assert [*one] == other[1:]
    assert len(whole_sentences(text)) == 1


def test_short_words_of_vietnamese_are_no_abbreviations() -> None:
    assert len(whole_sentences("Trời đã tối khi họ trả tự do. Họ đã ngủ. " * 6)) == 12
