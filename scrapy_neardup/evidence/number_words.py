"""The words beside numbers, number words, and the languages of a text by which its number words are read.

The tables come first. All words in them are case-folded. A wrong entry costs little, because a figure only counts if
two documents have the same neighbours. The number words come from ``number_words.json``, which the script
``number_tables.py`` of commit aa98d1a made with num2words.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from fnmatch import translate
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

CURRENCIES: dict[str, str] = {
    **dict.fromkeys("$ usd dollar dollars dólares".split(), "$"),
    **dict.fromkeys("€ eur euro euros".split(), "€"),
    **dict.fromkeys("£ gbp".split(), "£"),
    **dict.fromkeys("¥ jpy yen cny yuan rmb".split(), "¥"),
    **dict.fromkeys("₹ inr rs rupee rupees".split(), "₹"),
    **dict.fromkeys("₽ rub ruble rubles roubles рублей рубля руб".split(), "₽"),
    **dict.fromkeys("kr sek nok dkk kronor kroner".split(), "kr"),
    **dict.fromkeys("chf franken".split(), "chf"),
    "₩": "₩",
    "₺": "₺",
}

PERCENT = frozenset("% percent pct prozent procent процентов процента".split())
PERCENT_PAIRS = frozenset({("per", "cent"), ("pour", "cent"), ("por", "ciento"), ("per", "cento")})

MONTHS = frozenset(
    (
        "january february march april may june july august september october november december"
        " jan feb mar apr jun jul aug sep sept oct nov dec"
        " januar februar märz mai juni juli oktober dezember"
        " janvier février mars avril juin juillet août septembre octobre novembre décembre"
        " enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
        " gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre"
        " janeiro fevereiro março maio junho julho setembro outubro dezembro"
        " januari februari maart mei augustus"
        " января февраля марта апреля мая июня июля августа сентября октября ноября декабря"
    ).split()
)

BEHIND_MAY = frozenset("be have not also still yet well never already soon even need face die lose become".split())
"""Words behind "may" that show that it is the verb: "12 may have died"."""

WEEKDAYS = frozenset(
    (
        "monday tuesday wednesday thursday friday saturday sunday"
        " montag dienstag mittwoch donnerstag freitag samstag sonntag"
        " lundi mardi mercredi jeudi vendredi samedi dimanche"
        " lunes martes miércoles jueves viernes sábado domingo"
    ).split()
)

HEDGES = frozenset(
    (
        "the and least about around roughly nearly almost more than over some under fewer less most many"
        " approximately estimated reportedly another further additional only just"
        " der die das und mindestens rund etwa fast mehr als über"
        " les des moins plus près environ que los las menos más cerca unos"
    ).split()
)
"""Words that come and go beside a number without saying what is counted."""

SAY_NOTHING = frozenset(
    (
        "are was were been being has have had will would can could may might must that which who whom this these those"
        " its their his her our from with for into onto off out not but after before when while there they taken"
        " sind war waren wurde wurden worden werden sein seien hat haben hatte hatten kamen beim dem den des"
        " sont était étaient été ont avait avaient qui que dans pour avec son eran fue fueron han había habían"
        " para por con como sono erano stati state hanno nel nella foram estão eram têm het een van zijn werden"
        " что был было были как при это"
    ).split()
)
"""Words beside a number that are no label for it: "7 are dead" is about the dead."""

MEASURES = frozenset(
    (
        "mile miles km kilometre kilometres kilometer kilometers foot feet ft metre metres meter meters"
        " inch inches cm centimetres centimeters yards pounds lbs kg kilograms kilos acres hectares"
    ).split()
)
CONVERSIONS = (1.609, 3.281, 2.54, 2.205, 2.471)  # km a mile, feet a metre, cm an inch, pounds a kg, acres a hectare

AGO = frozenset("minute minutes min mins hour hours hr hrs".split())
CLOCK = frozenset("pm uhr".split())
TIME_ZONES = frozenset("gmt utc est edt pst pdt cet cest bst hours hrs uhr".split())

COUNTED = frozenset(
    (
        "people persons dead deaths killed injured wounded missing cases patients infections victims homes houses"
        " families jobs workers employees soldiers troops migrants refugees students children women men tests doses"
        " metres meters miles feet kilometres kilometers kilograms tons tonnes litres liters acres hectares hours"
        " days points votes seats shares copies units times menschen tote personnes morts personas muertos человек"
    ).split()
)
"""Words that stand behind a count: "2000 people" is no year."""

PERSONS = frozenset(
    (
        "people persons menschen personen personas personnes persone pessoas mensen человек людей человека люди людини"
        " осіб"
    ).split()
)
"""Words for people, of whom the next word may say that they died: "12 people were killed"."""

HARMING = {
    **dict.fromkeys("kill kills killed killing".split(), "killed"),
    **dict.fromkeys("injure injures injured injuring wound wounds wounded wounding".split(), "injured"),
}
TO_BE = frozenset("is are was were be been being".split())
"""With a word of ``HARMING`` behind them they say nothing of the number that follows: "two were killed. 12 people"."""

COUNTED_CHARACTERS = frozenset("人名个個件円元圆圓戸户枚頭头")
"""The same in scripts without spaces, by the first character: "2000人"."""

NAMED_BEFORE = frozenset("magnitude level category version phase aged age grade zone article section".split())
"""Words that name the number behind them: "magnitude 6.1 earthquake" is about the magnitude."""

SCORED = frozenset("win victory loss defeat draw lead against over after half overtime ahead".split())
"""Words that stand behind a score: "a 2-1 win"."""

_FUNCTION_WORDS = {
    "en": "the of and to in that was for with by from this are have has not they were which would",
    "de": "der die das und ist in nicht mit von den dem auf für sich im auch nach bei wird werden",
    "es": "el la los las en que por con del una para su se al como más fue pero y es",
    "fr": "le la les des et est une dans pour que qui sur pas avec du au par ce plus sont",
    "it": "il la di che e in per una con della non sono si dei le nel gli alla più anche",
    "pt": "o a os as e que do da em um uma para com não no na dos por mais foi",
    "nl": "de het een van en in is dat op te zijn voor met die niet aan er om ook bij",
    "ru": "и в на не что с по это как для от его из к был за до или также после",
    "uk": "і та в на не що з це як для від його із до за або також після про але",
}
"""Twenty of the commonest words of each language; a word of two languages counts for both."""

_SECOND_LANGUAGE = 5  # a second language is read if the text has this many words of it, as in a notice

_SCALES_OF_ANY_LANGUAGE: dict[str, int] = {
    **dict.fromkeys("k тыс".split(), 1000),
    **dict.fromkeys("lakh lakhs".split(), 100_000),
    **dict.fromkeys("mn mln mio млн".split(), 10**6),
    **dict.fromkeys("crore crores".split(), 10**7),
    **dict.fromkeys("bn mrd млрд".split(), 10**9),
    **dict.fromkeys("trn tn трлн".split(), 10**12),
}
"""Abbreviations; "m" is not here: it is a million only behind a currency sign."""


class FigureKind(IntEnum):
    """What a figure counts, in the order in which a message names them: the dead first, money last."""

    DEAD = 0
    INJURED = 1
    MISSING = 2
    OTHER = 3
    MONEY = 4


# In the languages in which numbers in words are read. A star stands for any characters. In scripts without spaces a
# label is a part of a clause, so the word may be anywhere in it.
_WORDS_OF_KINDS = {
    FigureKind.DEAD: (
        "dead death deaths died dies dying kill* fatalit* tot tote toten toter todesopfer* getötet* gestorben starben"
        " muert* murier* murió fallecid* fallecier* mort morts morte mortes morti morto mortos mortas"
        " décès tué tués tuée tuées"
        " vittime uccis* decedut* morrer* óbito* doden dood overleden gedood omgekomen"
        " погиб* умер* убит* жертв* скончал* загиб* помер* вбит* *死* *遇难* *遇難* *遗体* *遺体* *犠牲*"
    ),
    FigureKind.INJURED: (
        "injur* wounded hurt hospitalised hospitalized verletzt* verwundet* herid* lesionad* blessé* ferit* ferid*"
        " gewond* ранен* пострада* травм* поранен* постражд* *傷* *伤* *けが* *怪我*"
    ),
    FigureKind.MISSING: (
        "missing unaccounted vermiss* desaparecid* disparu* dispers* vermist* пропал* пропавш* зник*"
        " *不明* *失踪* *失蹤* *失联*"
    ),
}
_KINDS = {kind: re.compile("|".join(map(translate, words.split()))) for kind, words in _WORDS_OF_KINDS.items()}
_MONEY = frozenset(CURRENCIES) | frozenset(CURRENCIES.values())
_SCALES_OF_MONEY = frozenset("thousand million millions billion billions trillion trillions bn mn".split())


def kind_of(label: str) -> FigureKind:
    """Return what a figure with this label counts. The last word decides, but for money: "people killed"."""
    words = label.casefold().split() or [""]
    is_money = not _MONEY.isdisjoint(set(words) - _SCALES_OF_MONEY)
    found = (kind for kind, pattern in _KINDS.items() if pattern.match(words[-1]))
    return next(found, FigureKind.MONEY if is_money else FigureKind.OTHER)


def in_words(label: str, old: str, new: str) -> str:
    """Return a changed figure in words: "7 dead, was 3". Dead, injured and missing are said in English."""
    kind = kind_of(label)
    if kind < FigureKind.OTHER:
        noun = kind.name.lower()
    else:
        noun = label if kind is FigureKind.MONEY or label in COUNTED | PERCENT else ""
    told = f"{new} {noun}" if noun else f"{label}: {new}" if label else new
    return f"{told}, was {old}" if old else told


@dataclass(frozen=True, slots=True)
class NumberWords:
    """The number words of one language, case-folded."""

    small: dict[str, float]
    """Words that are numbers by themselves: "twelve", "zweihundert", "mille"."""
    scales: dict[str, int]
    """Words that multiply the number before them. Behind an article they multiply one: "a million"."""
    articles: frozenset[str]
    ones: frozenset[str]
    """Words that mean 1, but only inside a number: "vingt et un", "двадцать один"."""
    conjunction: str
    """ "and", if it stands inside numbers."""
    words: frozenset[str]
    """All words with which a number may begin."""


class Languages(NamedTuple):
    """All tables, and joined tables to look a word up in all languages at once."""

    by_name: dict[str, NumberWords]
    of_word: dict[str, tuple[str, ...]]
    scales: dict[str, int]
    """Words that multiply the digits before them, in a text of any language: "5 million", "3 тысячи"."""


def number_words(tokens: Iterable[str]) -> dict[str, NumberWords]:
    """Return the number words of a text, each with the language in which to read it.

    The language of a text is the one with the most words in it. Only number words and the commonest other words of a
    language are counted, each word once. A sentence more or less does not change the answer, and equal texts get equal
    answers. Another language with half as many words, of a notice or a quotation, is read too.
    """
    languages = all_languages()
    known = languages.of_word.keys() & tokens
    votes = Counter(name for word in known for name in languages.of_word[word])
    first = max(languages.by_name, key=votes.__getitem__)  # English, which is the first one, if there are only digits
    least = max(_SECOND_LANGUAGE, votes[first] / 2)
    others = [language for name, language in languages.by_name.items() if name != first and votes[name] >= least]
    words: dict[str, NumberWords] = {}
    for language in (*others, languages.by_name[first]):
        words.update(dict.fromkeys(language.words & known, language))
    return words


@lru_cache(maxsize=1)
def all_languages() -> Languages:
    """Read the tables, once a process."""
    tables = json.loads((files(__package__) / "number_words.json").read_text(encoding="utf-8"))
    languages = Languages({name: _read_table(**table) for name, table in tables.items()}, {}, {})
    for name, language in languages.by_name.items():
        for word in language.words.union(_FUNCTION_WORDS[name].split()):
            languages.of_word[word] = (*languages.of_word.get(word, ()), name)
        for word, scale in language.scales.items():
            if scale >= 1000 or scale == 12:
                languages.scales.setdefault(word, scale)
    languages.scales.update(_SCALES_OF_ANY_LANGUAGE)
    return languages


def _read_table(
    small: dict[str, float],
    scales: dict[str, int],
    articles: list[str],
    ones: list[str],
    conjunction: str,
    thousand: str,
) -> NumberWords:
    if thousand:  # "zwölftausend"
        small = small | {word + thousand: 1000 * number for word, number in small.items() if 1 < number < 1000}
    return NumberWords(small, scales, frozenset(articles), frozenset(ones), conjunction, frozenset([*small, *scales]))
