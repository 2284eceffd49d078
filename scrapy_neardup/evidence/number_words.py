"""The words beside numbers, number words, and the languages of a text by which its number words are read.

The tables come first. All words in them are case-folded. Months, units and the words that multiply a number come from
``cldr.json``, which ``benchmarks/cldr_tables.py`` makes of CLDR. The number words come from ``number_words.json``; the
script ``number_tables.py`` of commit aa98d1a made it with num2words. Chinese, Japanese and Korean numerals that count
something are made digits: "四人" -> "4人", "千二百" -> "1200".
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
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
    "le il el del nel dal sul number call dial page photo update version phase chapter article section grade zone nr no número numéro № seite flight"
    " highway route boeing airbus ст статьи статья ч art artículo articolo artigo ماده"
    " номер номеру телефону тел телефон службы служби"
)
"""Words before a number that is a name, or a date as behind the singular article "le", and counts nothing."""

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


# Chinese, Japanese and Korean numerals

_NUMERALS = dict(zip("〇零一二两兩三四五六七八九", (0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_TENS = {"十": 10, "百": 100, "千": 1000}
_KOREAN = re.compile("[0-9][0-9.,천백십]*[만억조천][0-9만억조천백십]*")
_FROM_KOREAN = str.maketrans("십백천만억조", "十百千万億兆")
_MYRIADS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}

IDEOGRAPHS = "〇零二两兩三四五六七八九十百千万萬億亿兆"
"""All numerals but "一", which is just an article unless another numeral is beside it."""

_COUNTERS = frozenset(
    "人名位口女男児个個箇ヶケかカヵつ歳岁歲才头頭匹隻只羽条條棵株枝支根颗顆粒片枚张張块塊把座栋棟幢间間軒戸户戶家店"
    "社校院所处處処门門层層階楼樓套件双雙对對副本冊册卷巻页頁篇章编編节節段句行字封份幅首部集曲話作品场場台臺架辆輛"
    "両艘机機列班趟便次回遍番度阵陣顿頓餐碗盘盤杯瓶罐桶箱袋包盒斤克吨噸升米尺寸里亩畝公英海平分秒刻点點小時时天日泊"
    "晚夜周週月年元円圓圆美欧歐港成折割倍级級等种種类類样樣项項款批组組队隊排起桩樁笔筆届屆局球票席议議試试打安得失"
    "死伤傷胜勝负負敗连連枪槍股市县縣県区區町村省党黨キメセトドユパポ床室基体體発發題问問面束串捆团団宗尊则則道声聲"
    "顶頂桌学學孩童车車船镇鎮乡鄉城都郡路候企選选遺遗兄弟姐姊妹施案員员着服膳皿滴畳帖語駅館馆園园審审合戦战勤夫妻匙"
    "档槽幕版俵坪丁通艇管射刷客脚筋族世帯余餘多数數来來"
)
"""First characters of words after a numeral that counts. 国, 州, 角 and 重 are left out, because names have them."""

_ORDINALS = frozenset("第周期拜曜初")
"""Characters before an ordinal number or a day of the week."""

_RUN = re.compile(f"[0-9一{IDEOGRAPHS}](?:[0-9一{IDEOGRAPHS}]|[.,](?=[0-9]))*")
_NUMERAL_PART = re.compile("[0-9.,]+|.")
_NO_COUNT = re.compile("本木|分(?![之の鐘钟間间])")  # Roppongi; "十分" is "enough"
_LARGE = frozenset("百千") | _MYRIADS.keys()  # 百万 is a number, and in 千万不要 it is "by all means"
_NEVER_ALONE = frozenset("〇零一") | _MYRIADS.keys()
_FRACTIONS = ("分之", "分の")


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


def with_myriads(text: str) -> str:
    """Return a text with the characters for myriads of Chinese in place of those of Korean."""
    if "만" in text or "억" in text or "조" in text:
        return _KOREAN.sub(lambda found: found[0].translate(_FROM_KOREAN), text)
    return text


def with_digits(text: str) -> str:
    """Return a text with digits in place of numerals that count something."""
    return _RUN.sub(_numeral_with_digits, text)


def _numeral_with_digits(run: re.Match[str]) -> str:
    """Return digits in place of a numeral that counts something.

    Numerals in names and idioms stay as they are: 千葉, 九州, 一起.
    """
    numeral = run[0]
    return numeral if numeral.isascii() or not _counts(numeral, run) else _number(numeral) or numeral


def _counts(numeral: str, run: re.Match[str]) -> bool:
    text, first, end = run.string, run.start(), run.end()
    if first and text[first - 1] in _ORDINALS:
        return False
    if text.startswith(_FRACTIONS, end) or (first > 1 and text.startswith(_FRACTIONS, first - 2)):
        return True
    if len(numeral) > 1 and not set(numeral) <= _LARGE:
        return True
    if numeral in _NEVER_ALONE or (numeral in "六十" and _NO_COUNT.match(text, end)):
        return False
    return text[end : end + 1] in _COUNTERS


def _number(numeral: str) -> str:
    """Return the number in ASCII digits, or "" if the characters are no number: "一一", "万一"."""
    if _NUMERALS.keys() >= set(numeral):
        return _digit_by_digit(numeral)
    total, section, number = Decimal(0), Decimal(0), None
    unit_before, myriad_before = 10**4, 10**16
    for part in _NUMERAL_PART.findall(numeral):
        if _TENS.get(part, unit_before) < unit_before:
            unit_before = _TENS[part]
            section, number = section + (1 if number is None else number) * unit_before, None
        elif _MYRIADS.get(part, myriad_before) < myriad_before and (section or number):
            unit_before, myriad_before = 10**4, _MYRIADS[part]
            total, section, number = total + (section + (number or 0)) * myriad_before, Decimal(0), None
        elif number is not None or part in _LARGE or part.count(".") > 1:
            return ""
        elif part not in "〇零":
            number = Decimal(_NUMERALS.get(part) or part.replace(",", ""))
    return format((total + section + (number or 0)).normalize(), "f")


def _digit_by_digit(numeral: str) -> str:
    """Return 2019 for 二〇一九, and nothing for two digits without a zero."""
    is_number = len(numeral) != 2 or numeral[1] in "〇零"
    return "".join(str(_NUMERALS[character]) for character in numeral) if is_number else ""
