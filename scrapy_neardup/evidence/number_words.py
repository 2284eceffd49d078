"""The words beside numbers, number words, and the languages of a text by which its number words are read.

The tables come first. All words in them are case-folded. Months, units and the words that multiply a number come from
``cldr.json``, which ``benchmarks/cldr_tables.py`` makes of CLDR. The number words come from ``number_words.json``; the
script ``number_tables.py`` of commit aa98d1a made it with num2words.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from scrapy_neardup.text.folding import fold


def read_table(name: str) -> Any:
    """Return a table of this package. Its words are folded as those of a text are, and have no apostrophes."""
    return json.loads(fold((files(__package__) / name).read_text(encoding="utf-8")).casefold().replace("'", ""))


def words(text: str) -> frozenset[str]:
    return frozenset(fold(text).casefold().split())


_CLDR: dict[str, Any] = read_table("cldr.json")
_UNITS: dict[str, str] = {word: unit for unit, words in _CLDR["units"].items() for word in words.split("|")}

CURRENCIES: dict[str, str] = {
    word: sign
    for sign, joined in {
        "$": "$ usd dollar dollars dólares"
        " dolar dólar dollari dolari dolarów доларів доллар доллара долларов долларах دولار دولارا",
        "€": "€ eur euro euros евро євро ευρώ يورو",
        "£": "£ gbp pfund",
        "¥": "¥ jpy yen cny yuan rmb",
        "₹": "₹ inr rs rupee rupees",
        "₽": "₽ rub ruble rubles roubles рублей рубля руб",
        "kr": "kr sek nok dkk kronor kroner",
        "chf": "chf franken",
        "₺": "₺ tl lira",
        "₴": "₴ грн гривень гривні",
        "zł": "zł pln zlotych",
        "Kč": "kč czk korun",
        "₩": "₩",
        "лв": "лв",
        "lei": "lei",
    }.items()
    for word in words(joined)
}

PERCENT_PAIRS = {tuple(word.split()) for word, unit in _UNITS.items() if unit == "%" and " " in word}
PERCENT = frozenset(word for word, unit in _UNITS.items() if unit == "%") | {"%", "pct"}
UNITS = {word: unit for word, unit in _UNITS.items() if unit != "%"}
UNITS |= {"m": "metres", "м": "metres", "mph": "mph", "عاما": "years"}
"""Words behind a number of units, with the English name of the unit: "Jahre" is "years"."""

MONTHS = words(
    f"{_CLDR['months']} may march mars jan feb mar apr jun jul aug sep sept oct nov dec"
    " فروردین اردیبهشت خرداد مرداد شهریور آبان آذر بهمن اسفند"
)
WEEKDAYS = words(f"{_CLDR['weekdays']} feira")

BEHIND_MAY = words("be have not also still yet well never already soon even need face die lose become")
"""Words behind "may" that show that it is the verb: "12 may have died"."""

HEDGES = words(
    "the and least about around roughly nearly almost more than over some under fewer less most many"
    " approximately estimated reportedly another further additional only just"
    " der die das und mindestens rund etwa fast mehr als über"
    " les des moins plus près environ que los las menos más cerca unos"
)
"""Words that come and go beside a number without saying what is counted."""

AGO = words("minute minutes min mins hour hours hr hrs")
CLOCK = words("pm uhr")
TIME_ZONES = words("gmt utc est edt pst pdt cet cest bst hours hrs uhr")

COUNTED = words(
    "people persons dead deaths killed injured wounded missing cases patients infections victims homes houses"
    " families jobs workers employees soldiers troops migrants refugees students children women men tests doses"
    " metres meters miles feet kilometres kilometers kilograms tons tonnes litres liters acres hectares hours"
    " days points votes seats shares copies units times menschen tote personnes morts personas muertos человек"
)
"""Words that stand behind a count: "2000 people" is no year."""

COUNTED_CHARACTERS = frozenset("人名个個件円元圆圓戸户枚頭头")
"""The same in scripts without spaces, by the first character: "2000人"."""

NUMBERED = words(
    "aged age page photo update version phase chapter article section grade zone nr no número numéro № seite flight"
    " highway route boeing airbus ст статьи статья ч art artículo articolo artigo"
)
"""Words before a number that is a name, and counts nothing."""

SCORED = words("win victory loss defeat draw lead against over after half overtime ahead")
"""Words that stand behind a score: "a 2-1 win"."""

_FUNCTION_WORDS = {
    "en": "the of and to in that was for with by from this are have has not they were which would on at is as it",
    "de": "der die das und ist in nicht mit von den dem auf für sich im auch nach bei wird werden",
    "es": "el la los las en que por con del una para su se al como más fue pero y es",
    "fr": "le la les des et est une dans pour que qui sur pas avec du au par ce plus sont",
    "it": "il la di che e in per una con della non sono si dei le nel gli alla più anche",
    "pt": "o a os as e que do da em um uma para com não no na dos por mais foi",
    "nl": "de het een van en in is dat op te zijn voor met die niet aan er om ook bij",
    "ru": "и в на не что с по это как для от его из к был за до или также после",
    "tr": "bir ve bu da de için ile olarak olan daha çok gibi kadar sonra göre en ne ise var dedi",
    "ar": "في من على إلى أن عن التي الذي هذا هذه مع بعد كان قال ما لم لا بين قد كما",
    "uk": "і та в на не що з це як для від його із до за або також після про але",
}
"""Twenty of the commonest words of each language; a word of two languages counts for both."""

_SECOND_LANGUAGE = 5  # a second language is read if the text has this many words of it, as in a notice


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
    tens: dict[str, int]
    """Words that add ten or more to the number below ten before them: "خمسة وعشرون"."""
    words: frozenset[str]
    """All words with which a number may begin."""


class Languages(NamedTuple):
    """All tables, and joined tables to look a word up in all languages at once."""

    by_name: dict[str, NumberWords]
    of_word: dict[str, tuple[str, ...]]
    scales: dict[str, int]
    """Words that multiply the digits before them, in a text of any language: "5 million", "3 тысячи"."""


def number_words(tokens: Iterable[str], code: str = "") -> dict[str, NumberWords]:
    """Return the number words of a text, each with the language in which to read it.

    ``code`` is its language, if that is known: a headline is too short to tell. Otherwise the language is the one with
    the most words in the text. Only number words and the commonest other words of a language are counted, each word
    once. A sentence more or less does not change the answer, and equal texts get equal answers. Another language with
    half as many words, of a notice or a quotation, is read too.
    """
    languages = all_languages()
    known = languages.of_word.keys() & tokens
    if code:
        told = languages.by_name.get(code)
        return dict.fromkeys(told.words & known, told) if told else {}
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
    tables = read_table("number_words.json")
    languages = Languages({name: _number_words(**table) for name, table in tables.items()}, {}, {})
    for name, language in languages.by_name.items():
        for word in language.words.union(words(_FUNCTION_WORDS[name])):
            languages.of_word[word] = (*languages.of_word.get(word, ()), name)
        for word, scale in language.scales.items():
            if scale >= 1000 or scale == 12:
                languages.scales.setdefault(word, scale)
    for value, joined in _CLDR["scales"].items():
        for word in joined.split("|"):
            languages.scales.setdefault(word, int(value))
    return languages


def _number_words(
    small: dict[str, float],
    scales: dict[str, int],
    articles: list[str],
    ones: list[str],
    conjunction: str,
    thousand: str,
    tens: dict[str, int] | None = None,
) -> NumberWords:
    if thousand:  # "zwölftausend"
        small = small | {word + thousand: 1000 * number for word, number in small.items() if 1 < number < 1000}
    return NumberWords(
        small, scales, frozenset(articles), frozenset(ones), conjunction, tens or {}, frozenset([*small, *scales])
    )
