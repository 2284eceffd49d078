"""A toll in other words is an update: four dead in the first text, nine in the second."""

from __future__ import annotations

import pytest

from scrapy_neardup.evidence.changes import changes_between
from scrapy_neardup.evidence.differences import compare
from scrapy_neardup.evidence.figures.counted import HARMED
from scrapy_neardup.evidence.figures.figure import find_figures
from scrapy_neardup.evidence.page_lines import Side

SENTENCES = {
    "en": "A fire killed four people in the port|Nine people lost their lives in the fire|The blaze claimed nine lives",
    "de": "Bei einem Brand starben vier Menschen|Neun Menschen haben ihr Leben verloren|Der Brand kostete neun Menschen"
    " das Leben|Neun Menschen kamen ums Leben",
    "es": "Un incendio mató a cuatro personas|Nueve personas perdieron la vida|El fuego se cobró nueve vidas",
    "fr": "Un incendie a tué quatre personnes|Neuf personnes ont perdu la vie|Le feu a coûté la vie à neuf personnes",
    "ru": "При пожаре погибли четыре человека|Пожар унёс жизни девяти человек|Жертвами огня стали девять человек",
    "ar": "قتل 4 أشخاص في حريق بالميناء|فقد 9 أشخاص حياتهم|ارتفعت حصيلة القتلى إلى 9|لقي 9 أشخاص مصرعهم",
    "tr": "Yangında 4 kişi öldü|9 kişi hayatını kaybetti|9 kişi yaşamını yitirdi|Ölü sayısı 9'a yükseldi",
    "nl": "Bij een brand vielen 4 doden|9 mensen kwamen om het leven|Het dodental is opgelopen tot 9|Negen mensen"
    " verloren hun leven",
    "it": "Un incendio ha ucciso quattro persone|Nove persone hanno perso la vita|Il bilancio è salito a nove morti"
    "|Sono nove i morti",
    "pt": "Um incêndio matou quatro pessoas|Nove pessoas perderam a vida|Subiu para nove o número de mortos",
    "pl": "W pożarze zginęły 4 osoby|9 osób straciło życie|Liczba ofiar wzrosła do 9|Pożar pochłonął 9 ofiar",
    "uk": "Під час пожежі загинули чотири людини|Дев'ять людей втратили життя|Кількість загиблих зросла до дев'яти",
    "fa": "۴ نفر در آتش سوزی کشته شدند|۹ نفر جان خود را از دست دادند|شمار کشته شدگان به ۹ نفر رسید|۹ نفر جان باختند",
    "zh": "火灾造成4人死亡|火灾夺去9人生命|死亡人数升至9人|已有9人遇难|9人不幸身亡",
    "ja": "火災で4人が死亡した|9人が亡くなった|死者は9人に増えた|9人の死亡が確認された",
}
CASES = [
    pytest.param(old, new, language, id=f"{language}-{number}")
    for language, joined in SENTENCES.items()
    for old, *others in [joined.split("|")]
    for number, new in enumerate(others)
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
    *(
        "Call 7 if somebody was killed",
        "He died at the age of 7",
        "Two cases in 7 days",
        "The dead man of flat number 7",
    ),
    *("7 ambulances took the injured to hospital", "7 men killed the guard of the bank", "Deaths by article 7"),
    *("The death of Jane Doe, 7 of whose films were shown", "Die Zahl der Toten nach 7 Jahren", "En cas de mort, le 7"),
    *("Resgatada neste domingo (7) no litoral", "Θάνατος της ηθοποιού, 7 ετών", "Смерть при температуре 7°"),
    *("7 سيارات لنقل المصابين", "گمرک شهید رجایی در 7 ماهه سال", "Po 7 latach zabił sąsiada"),
    *("ДТП на дорогах 7 і 8 листопада: загинув водій", "Evacuarea blocului (parter plus 7 etaje)"),
    *("The player, who made 7 tackles, was injured", "Jane Doe, dead at 7", "The toll that 7 germs take"),
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
