"""The words beside numbers, number words, and the languages of a text by which its number words are read.

Each language has a file in ``languages``, and ``und`` has the signs and abbreviations of all of them; all words are
folded when they are read. Units and the words that multiply a number come from ``cldr.json``, a table made of
CLDR. The number words of the first languages were made with num2words. Chinese, Japanese and Korean numerals that count
something are made digits: "四人" -> "4人", "千二百" -> "1200".
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from scrapy_neardup.evidence.word_tables import CLDR, read_table

# Tokens that are no words.
LINE_END, COMMA, FIGURE = "|,#"  # the end of a line or sentence; a comma, or a bracket that opens; a number

# If a text has as many words of one language as of another one, it is read in the first of them.
LANGUAGES = (
    "en de es fr it pt nl ru uk tr ar pl cs sk ro hu bg sr fa el sv da nb fi"
    " hi bn ur ta si th vi id ko he sw am zh ja und"
).split()  # fmt: skip


# What is known of each language, by its ISO 639-1 code.
TABLES: dict[str, Any] = {name: read_table(f"figures/languages/{name}.json") for name in LANGUAGES}

# Languages whose tolls are read by the table of a close one, by their codes.
READ_AS = {"pcm": "en", "no": "nb", "nn": "nb", "hr": "sr", "bs": "sr", "sh": "sr", "mk": "bg", "ms": "id", "iw": "he"}
READ_LANGUAGES = frozenset(("", *TABLES, *READ_AS))  # "" is that of a text whose language is not known


def words_by_role(section: str) -> dict[str, list[str]]:
    """Return the words of a section of all tables, by their role."""
    found = defaultdict[str, list[str]](list)
    for table in TABLES.values():
        for role, joined in table.get(section, {}).items():
            found[role] += joined.split()
    return found


_UNITS: dict[str, str] = {word: unit for unit, words in CLDR["units"].items() for word in words.split("|")}

# Sets of words by their role beside a number. "hedges" come and go without saying what is counted. Behind words that
# are "named" a number is a name. Numbers before words that are "counted" are no years.
WORDS: dict[str, frozenset[str]] = {role: frozenset(words) for role, words in words_by_role("beside").items()}
HEDGES = WORDS["hedges"] | WORDS["adding ahead"]
_SIGNS = {"kc": "Kč", "zl": "zł", "₹": "Rs"}  # as they are told: there are rupees of several countries
CURRENCIES = {word: _SIGNS.get(sign, sign) for sign, words in words_by_role("currencies").items() for word in words}
# Words and letters before a number of money
BEFORE_MONEY = frozenset("n ngn rs r rm rp ksh kes tsh ush gh ghs us usd eur gbp inr lkr pkr zar p s".split())
PERCENT = {"%", "pct", "proc", *(word.replace("_", " ") for word in WORDS["percent"])}.union(
    word for word, unit in _UNITS.items() if unit == "%"
)
PERCENT_PAIRS = {tuple(word.split()) for word in PERCENT if " " in word}
# Words behind a number of units, with the English name of the unit: "Jahre" is "years".
UNITS = {word: unit for word, unit in _UNITS.items() if unit != "%"}
UNITS |= {word: unit for unit, words in words_by_role("units").items() for word in words}

COUNTED_CHARACTERS = frozenset("人名个個件円元圆圓戸户枚頭头")  # behind a count in scripts without spaces: "2000人"


# Behind these words a half is that of something else: "dos mil y medio centenar", "e meio ambiente".
_NO_HALVES = frozenset("ambiente centenar docena decena centena duzia dezena dozen hundred dari of".split())
_HALVES = {
    first: [*phrases]
    for first, phrases in groupby(
        sorted(map(str.split, read_table("wording.json")["and_a_half"].split("|"))), itemgetter(0)
    )
}


class NumberWords(NamedTuple):
    """The number words of one language, case-folded."""

    small: dict[str, int | Decimal]  # words that are numbers by themselves: "twelve", "zweihundert", "mille"
    scales: dict[str, int]  # words that multiply the number before them; behind an article they multiply one
    articles: Sequence[str] = ()
    # Words that add less than ten, but are other words outside of a number: "vingt et un", "двадцать один".
    inside: Mapping[str, int] = MappingProxyType({})
    conjunction: str = ""  # "and", if it stands inside numbers
    # Words that add ten or more to the number below ten before them: "خمسة وعشرون".
    tens: Mapping[str, int] = MappingProxyType({})


class Languages(NamedTuple):
    """All tables, and joined tables to look a word up in all languages at once."""

    by_name: dict[str, NumberWords]
    of_word: dict[str, tuple[str, ...]]
    scales: dict[str, int]  # words that multiply the digits before them, in a text of any language: "3 тысячи"


def number_words(tokens: Iterable[str], code: str = "") -> dict[str, NumberWords]:
    """Return the number words of a text, each with the language in which to read it.

    ``code`` is its language, if that is known: a headline is too short to tell. Otherwise the language is the one with
    the most words in the text. Only number words and the commonest other words of a language are counted, each word
    once. A sentence more or less does not change the answer, and equal texts get equal answers. Another language with
    half as many words, of a notice or a quotation, is read too.
    """
    languages, of_word, _ = all_languages()
    known = of_word.keys() & tokens
    read = [code]
    if not code:
        votes, first = _votes(known)
        least = max(5, votes[first] / 2)  # words of a second language, as in a notice
        read = [*(name for name in languages if name != first and votes[name] >= least), first]
    tables = [languages[name] for name in read if name in languages]
    return {word: table for table in tables for word in known if word in table.small or word in table.scales}


def language_of(words: Iterable[str]) -> str:
    """Return the language of which most of these words are."""
    return _votes(all_languages().of_word.keys() & words)[1]


def _votes(known: Iterable[str]) -> tuple[Counter[str], str]:
    """Return how many of these words each language has, and the language that has most of them."""
    languages, of_word, _ = all_languages()
    votes = Counter(name for word in known for name in of_word[word])
    return votes, max(languages, key=votes.__getitem__)  # English, which is the first one, if there are only digits


@lru_cache(maxsize=1)
def all_languages() -> Languages:
    """Join the tables, once a process."""
    by_name: dict[str, NumberWords] = {}
    of_word: dict[str, tuple[str, ...]] = {}
    scales: dict[str, int] = {}
    for name, table in TABLES.items():
        language = by_name[name] = _number_words(**table.get("numbers", {"small": {}, "scales": {}}))
        for word in {*language.small, *language.scales, *table.get("common words", "").split()}:
            of_word[word] = (*of_word.get(word, ()), name)
        scales = {word: scale for word, scale in language.scales.items() if scale >= 1000 or scale == 12} | scales
    of_cldr = {word: int(value) for value, joined in reversed(CLDR["scales"].items()) for word in joined.split("|")}
    return Languages(by_name, of_word, of_cldr | scales)


def _number_words(small: dict[str, int | Decimal], thousand: str = "", **others: Any) -> NumberWords:
    if thousand:  # "zwölftausend"
        small |= {word + thousand: 1000 * number for word, number in small.items() if 1 < number < 1000}
    return NumberWords(small, **others)


def read_spelled(tokens: Sequence[str], first: int, language: NumberWords) -> tuple[str, int]:
    """Read number words: "two hundred and five" -> ("205", index behind); "" if there is no number."""
    value: int | Decimal = 0
    room = 10**15  # the next number belongs to this one if it is smaller
    unit = 1  # the scale of the part that was read last: 1,000 behind "two thousand"
    i = first
    # A scale as in "a million" or "another dozen". Without a word before it "million" has lost its number.
    is_one = tokens[i - 1] in language.articles or tokens[i - 1] in WORDS["adding ahead"]
    if is_one and tokens[i] in language.scales and tokens[i] not in language.small:
        value = room = unit = language.scales[tokens[i]]
        i += 1
    while i < min(len(tokens), first + 12):  # "hundred hundred hundred ..." would grow without end
        token = tokens[i]
        number = language.small.get(token, room)
        scale = language.scales.get(token, 0)
        # The part of the number read so far that the scale multiplies: only "neuf" in "mille neuf cents".
        part = value % scale if scale else 0
        if number < room:
            value += number
            room = _room_behind(number)
            unit = 1
        elif part:
            value += part * (scale - 1)
            room = unit = scale
        elif (behind := half_behind(tokens, i, unit, language.scales)) > i:
            value += Decimal(unit) / 2
            i = behind - 1
        elif added := _added(token, value, room, language):
            value += added
            room = 0
        elif i == first or not _leads_on(tokens, i, room, language):
            break
        i += 1
    if i == first:
        return "", i
    if value == int(value):
        value = int(value)
    return str(value), i


def half_behind(tokens: Sequence[str], place: int, unit: int, scales: Mapping[str, int]) -> int:
    """Return the place behind "and a half" in any language, or the same place if it is not there.

    It stands behind a thousand and more, or in words before it: "a million and a half", "two and a half million".
    Elsewhere it may be a time, or begin what follows: "half a dozen", "y medio ambiente".
    """
    ends = [
        place + len(each) for each in _HALVES.get(tokens[place], ()) if [*tokens[place : place + len(each)]] == each
    ]
    if unit >= 1000:
        ends = [end for end in ends if tokens[end] not in scales and tokens[end] not in _NO_HALVES]
    else:
        ends = [end for end in ends if scales.get(tokens[end], 0) >= 1000]
    return max(ends, default=place)


def _added(token: str, value: int | Decimal, room: int, language: NumberWords) -> int:
    """Return what the last word of a number adds: "vingt et un", "خمسة وعشرون"."""
    if 0 < value % 100 < 10:
        return language.tens.get(token, 0)
    return language.inside.get(token, 0) if value and room > 1 else 0


def _leads_on(tokens: Sequence[str], i: int, room: int, language: NumberWords) -> bool:
    """Decide whether "and", or the comma in "two thousand, four hundred", leads to the next part of a number."""
    is_joint = tokens[i] == language.conjunction or (tokens[i] == COMMA and room >= 1000)
    if not is_joint or room <= 1:
        return False
    return language.small.get(tokens[i + 1], room) < room or tokens[i + 1] in language.inside


def _room_behind(number: int | Decimal) -> int:
    """Return a bound: the next number belongs to this one if it is smaller.

    "twenty" leaves room for numbers up to nine.
    """
    if number < 1:
        return 10**15  # "साढ़े", and a half, stands before its number
    if number in (60, 80):
        return 20  # "soixante-douze"
    return next((size for size in (10**12, 10**9, 10**6, 1000, 100, 10) if number and number % size == 0), 0)


# Chinese, Japanese and Korean numerals

KOREAN = re.compile(
    "[0-9][0-9.,천백십]*[만억조천]"
    "(?:[0-9만억조천백십]| (?=[0-9]+[만천백십])| (?<=[만억조] )[0-9],?[0-9]{2,3}(?![0-9.,년]))*"
)
_DIGITS = dict(zip("零〇一二两兩三四五六七八九", (0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}
_HAN = NumberWords({**dict(list(_DIGITS.items())[2:]), **_TENS}, {**_TENS, **_MYRIADS}, conjunction="零")
IDEOGRAPHS = (
    "〇零二两兩三四五六七八九十百千万萬億亿兆"  # all but "一", which is an article unless another one is beside it
)
# First characters of words after a numeral that counts. 国, 州, 角 and 重 are left out, because names have them.
_COUNTERS = frozenset("".join(WORDS["behind numerals"]))
_RUN = re.compile(f"[0-9一{IDEOGRAPHS}](?:[0-9一{IDEOGRAPHS}]|[.,](?=[0-9]))*")
_LARGE = frozenset("百千") | _MYRIADS.keys()  # 百万 is a number, and in 千万不要 it is "by all means"
_NEVER_ALONE = frozenset("〇零一") | _MYRIADS.keys()
_FRACTIONS = ("分之", "分の")


def to_myriads(found: re.Match[str]) -> str:
    """Return a number with the characters for myriads of Chinese in place of those of Korean."""
    return found[0].replace(" ", "").translate(str.maketrans("십백천만억조", "十百千万億兆"))


def with_digits(text: str) -> str:
    """Return a text with digits in place of numerals that count something.

    Numerals in names and idioms stay as they are: 千葉, 九州, 一起.
    """
    return _RUN.sub(lambda run: _number(run[0]) if _counts(run[0], run) else run[0], text)


def _counts(numeral: str, run: re.Match[str]) -> bool:
    text, first, end = run.string, run.start(), run.end()
    # Not before an ordinal number, a day of the week, or "tens": 数十
    if numeral.isascii() or (first and text[first - 1] in "第周週期拜曜初数數几幾"):
        return False
    is_of_fraction = text.startswith(_FRACTIONS, end) or (first > 1 and text.startswith(_FRACTIONS, first - 2))
    if is_of_fraction or (len(numeral) > 1 and not set(numeral) <= _LARGE):
        return True
    # Roppongi; "十分" is "enough"
    if numeral in _NEVER_ALONE or (numeral in "六十" and re.match("本木|分(?![之の鐘钟間间])", text[end:])):
        return False
    return text[end : end + 1] in _COUNTERS


def _number(numeral: str) -> str:
    """Return the number in ASCII digits, or the numeral if it is no number: "一一", "万一"."""
    if _DIGITS.keys() >= set(numeral):  # 二〇一九; two digits without a zero are no number
        is_number = len(numeral) != 2 or numeral[1] in "〇零"
        return "".join(str(_DIGITS[character]) for character in numeral) if is_number else numeral
    parts = re.findall("[0-9.,]+|.", numeral.replace("〇", "零"))
    digits = [part for part in parts if part[0].isdigit() and part.count(".") < 2]
    written = {part: Decimal(part.replace(",", "")) for part in digits if part.isascii()}
    number, end = read_spelled([*parts, ""], 0, _HAN._replace(small={**_HAN.small, **written}))
    return number if end == len(parts) else numeral
