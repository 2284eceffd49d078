"""Two spellings that a reader cannot tell apart are folded to one, each character by itself."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.text.folding import fold, fold_with_places

ALL = [chr(code) for code in range(0x30000)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("né à Ștefănești", "ne a Stefanesti"),
        ("hoà thuý", "hòa thúy"),
        ("Łódź, Malmö, cœur, Straße", "Lodz, Malmo, coeur, Strasse"),
        ("İstanbul’da ısı", "Istanbul'da isi"),
        ("ещё їжа", "еще іжа"),
        ("هیئت کتابی", "هيئت كتابى"),
        ("أَهْلاً إلى الآنـــ", "اهلا الى الان"),
        ("می‌شود", "میشود"),
        ("ہفتہ میں", "هفته ميں"),
        ("שָׁלוֹם עו״ד", 'שלום עו"ד'),
        ("ക്കള്‍ അടച്ച ന്‍", "ക്കൾ അടച്ച ൻ"),
        ("ज़रूरत सड़क", "जरूरत सडक"),
        ("น้ำ แม่", "นํ้า เเม่"),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8", "한국"),
        ("ｶﾞｽ か\u3099", "ガス が"),
        ("և ﬁn ＡＢ１２", "եւ fin AB12"),
        ("٣٫٥ ۱۲ ६", "3٫5 12 6"),
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
    assert max(map(len, folded.split("\n"))) == 4


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
