"""The words and numbers of a sentence in the form in which two texts are compared.

A number is its value, however it is written. A code such as H5N1 is one token. ``wording.json`` has the words that need
a list: negations, quantities, "said" and "stated", articles. Two spellings of one word are for ``spellings``.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Literal, NamedTuple

from scrapy_neardup.evidence.figures.number_words import (
    BEFORE_MONEY,
    COMMA,
    CURRENCIES,
    HEDGES,
    LINE_END,
    PERCENT,
    WORDS,
)
from scrapy_neardup.evidence.figures.numbers import (
    WORDING,
    number_tokens,
    printed_numbers,
    take_numbers,
    with_scales,
)
from scrapy_neardup.evidence.word_tables import MONTHS, WEEKDAYS
from scrapy_neardup.text.folding import fold
from scrapy_neardup.text.words import WITHOUT_SPACES

TokenKind = Literal["number", "quantity", "code", "time", "negation", "unit", "name", "word"]

_MARKS = (LINE_END, COMMA, "(")
TEASERS = sorted(WORDING["teasers"].split("|"), key=len, reverse=True)
# A pattern for folded words by which a sentence tells what was known earlier, or another event.
BACKGROUND = WORDING["background"]
# By which a title tells that somebody spoke or asks, and not what happened: "reacts", "comments on", "?".
REACTIONS = WORDING["reactions"]
# First words of sentences that nobody understands alone, or that somebody speaks: "They", "I".
HANGING = frozenset(WORDING["hanging"].casefold().split("|"))
AGENCIES = frozenset(WORDING["agencies"].split())
INDEFINITE, FUNCTION_WORDS = (frozenset(WORDING[role].split()) for role in ("vague", "function_words"))
# Words that say one thing or another: shares, currencies, and contraries such as "rose" and "fell".
CLASSES: dict[str, dict[str, str]] = {
    **WORDING["classes"],
    **{words: {word: word for word in words.split()} for words in WORDING["opposites"].split("|")},
}
ONLY = frozenset(CLASSES["only"]["only"].split())
QUALIFIERS = ONLY.union(WORDING["qualifiers"].split())
NO_PLACES = QUALIFIERS.union(WORDING["no_place"].split())  # what stands before news, as a dateline does: "Correction:"
NEARLY = frozenset(WORDING["nearly"].split())
PARTS = frozenset(" ".join(CLASSES["share"][part] for part in ("half", "third", "quarter")).split())
DENIALS: dict[str, str] = WORDING["denials"]
WITHOUT_SIZE = frozenset(f"{CLASSES['share']['all']} {CLASSES['share']['most']}".split())
INCREMENTS = WORDS["adding ahead"] | WORDS["adding behind"]
# "and" and "or", by language: in another one the word may be "from"
CONJUNCTIONS = {language: frozenset(words.split()) for language, words in WORDING["conjunctions"].items()}
# "over", "under", "least", "most": what a bound is, by its word
ABOUT = HEDGES.union(WORDING["about"].split())
BOUNDS = {word: role for role, words in enumerate(WORDING["bounds"].split("|")) for word in words.split()}
_OF_OTHER_LANGUAGES = {"vi": FUNCTION_WORDS, "en": frozenset(WORDING["not_english"].split())}
SPELLED = {value: frozenset(words.split()) for value, words in WORDING["numbers"].items()}
COURTESIES = frozenset(WORDING["courtesies"].split("|"))  # as "Mr": they say nothing if they come or go
ARTICLES = SPELLED["1"] | {"a", "an"}
_KINDS: dict[str, TokenKind] = {
    **dict.fromkeys(WEEKDAYS | MONTHS, "time"),
    **dict.fromkeys(WORDING["quantities"].split(), "quantity"),
    **dict.fromkeys(WORDING["negations"].split(), "negation"),
}
SAY_NOTHING = FUNCTION_WORDS.union(
    WORDING["reporting"].split(), WORDING["relative_days"].split(), WORDS["percent before"]
)

# Kinds of tokens that count wherever they stand.
FIRM: frozenset[TokenKind] = frozenset(("number", "quantity", "code", "time", "negation"))

# Letters, then digits: a code, unless the letters are a currency, or are written to a decimal. Digits of a code are
# hidden from ``number_tokens``. In scripts without spaces, and in Korean, a code is written to words.
_CODE = re.compile(
    "(?<![\\w])(?:[A-Za-z\u0370-\u052f]{1,4}-?[0-9][\\w-]*"
    "|(?!(?i:covid)-?19)[A-Za-z\u0370-\u052f]{5,}-?[0-9]+(?![\\w]|[.,][0-9]))"
    f"|(?:(?<={WITHOUT_SPACES})|(?<=[\uac00-\ud7a3]))"
    "[A-Za-z]{1,4}-?[0-9][0-9A-Za-z-]*(?![0-9A-Za-z-]|[.,][0-9])"
)
_HIDDEN, _CODE_MARK = str.maketrans("0123456789-", "qjzxkvwyhbg"), "zq"
# Signs that say something, as words: "A+", "C#", "< 5". A hyphen, a bullet, an arrow or "✓" says nothing.
_SPOKEN = {
    "+": " plus",
    "#": " sharp",
    "<": " under ",
    ">": " over ",
    "\u2264": " at most ",
    "\u2265": " at least ",
    "\u2030": " per mille",
    **dict.fromkeys("\u2612\u2717\u2718", " not "),
    "-": " minus",  # the last one of a set
}
_SAID = "".join(_SPOKEN)
# A pattern that begins with a set of characters, and looks behind it, is searched ten times as fast.
_SAYS = (
    "(?<=[\u2030\u2264\u2265\u2612\u2717\u2718])|(?<=[ (][<>])(?=[= ]{0,2}[0-9])"
    "|(?:(?<=\\b[A-FO0][+#])|(?<=[A-D]{2}[+-]))(?!\\w| \\w{1,4} \\w+-\\w)"
)
# behind a hyphen that is a minus: "growth of -5 %", "(-5 degrees)", "气温-5度", but not "歼-20"
_BEHIND_MINUS = (
    "(?:(?<=[^\\s\\d:;,.)] .)|(?<=\\(.)|(?<=[\u0e01-\u0e7f\u3041-\u9fff].)(?=[\\d.]+ ?[%\u00b0\u2103\u5ea6\u0e2d]))"
)
_SIGNS = re.compile(
    f"[%$\u00a3\u00a5\u20a0-\u20c0.:/\u2013\u2212{_SAID}](?:(?<=[%$\u00a3\u00a5\u20a0-\u20c0])"
    f"|(?<=[0-9][.:/\u2013-])(?=[0-9])|(?<=[-\u2212\u2013]){_BEHIND_MINUS}\\d[\\d.,]*|{_SAYS})"
)
_USUAL: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile("([0-9]+)\u0631([0-9]+)"), r"\2.\1"),  # "4ر95" is 95.4, in the order of the script
    (re.compile("(?<=[^\\W\\d_])[?\ufffd](?=[^\\W\\d_])"), ""),  # a letter that was lost inside a word
    (re.compile("(?<![0-9])([0-2]?[0-9]) h ([0-5][0-9])(?![0-9])"), r"\1h\2"),  # "7 h 15"
    # "15 heures 30", but not "in 15 hours 30 people"
    (
        re.compile("(?<![0-9])([0-2]?[0-9]) heures ([0-5][0-9])(?= (?:dans|a|au|et|en|le|la|par|sur) |[,;.]|$)"),
        r"\1h\2",
    ),
    (re.compile("(?<=[0-9]) ?([-/]) ?(?=[0-9])"), r"\1"),  # "15- 35"
    (re.compile("(?<![0-9])([0-2]?[0-9]) ?: ?([0-5][0-9])(?= ?[ap][. ]{0,2}m)"), r"\1:\2"),  # "6: 00 p.m."
    (re.compile(f"[-\u2212\u2013]{_BEHIND_MINUS}(?=[0-9])"), " minus "),
    (re.compile("(?i)(?<=ca)n't\\b"), "n not"),
    (re.compile("(?i)\\bwon't\\b"), "will not"),
    (re.compile("(?i)(?<=[a-z])n't\\b"), " not"),
    (re.compile("(?i)\\bn'(?=[aeiouhy])"), "ne "),  # French: "n'est"
    (re.compile(f"[{_SAID}](?:{_SAYS})"), lambda found: _SPOKEN[found[0]]),
)
# Texts without these signs are written as usual. To search once takes a fifth of the time.
_UNUSUAL = re.compile(
    f"[0-9?\ufffd\u2212\u2013'{_SAID}]"
    "(?:(?<=[0-9])(?: ?[-/:]|\u0631| h(?:eures)? )|(?<=[?\ufffd])|(?<=[-\u2212\u2013])(?=[0-9])|(?<=[nN]')(?=[a-zT])"
    f"|{_SAYS})"
)
# Words of scripts without spaces that have a kind are one token, all others a token each character.
_PIECES = sorted((word for word in _KINDS if re.match(WITHOUT_SPACES, word)), key=len, reverse=True)
_UNSPACED = re.compile(f"({'|'.join(_PIECES)}|{WITHOUT_SPACES})")
FIRST_SYLLABIC = "\u0900"  # a letter of these scripts is a syllable or more
_CLOCK = re.compile("([01]?[0-9]|2[0-4])[:.h]([0-5][0-9])")
_DOTTED_CLOCK = re.compile("(?:[01]?[0-9]|2[0-4])[.,][0-5][0-9]")
_BESIDE_CLOCK = WORDS["clock"].union(WORDING["beside_clock"].split())
_BEHIND_TIME = frozenset("月日号號点點时時월일시")
_CLOSING = ".,;:)!?"
_WORD = re.compile(r"[^\W\d_][\w'-]+")
_CAPITALISED = re.compile(r"[A-Z\u00c0-\u00de\u0100-\u024f\u0370-\u03ff\u0400-\u042f](?<=[\w,;] .)[\w'-]+")
_ARABIC_AND = "\u0648"


class Token(NamedTuple):
    """A word or number. ``text`` is compared: the value of a number, minutes of a time of day, a folded word."""

    text: str
    kind: TokenKind
    printed: str
    closes: bool = False  # whether a comma, a bracket or the end of a sentence is behind it

    @property
    def value(self) -> str:
        """Return the value of a number as a decimal, and all else as it is printed."""
        return self.text if self.kind == "number" else self.printed

    @property
    def says(self) -> bool:
        """Return whether a word may change what a sentence says: no article, no pronoun, no "said" or "today"."""
        return (len(self.text) > 2 or self.text > FIRST_SYLLABIC) and self.text not in SAY_NOTHING


# characters: what is longer is not remembered
_LONGEST_SENTENCE = 500
_LONGEST_WORD = 40


def tokens_of(text: str, language: str = "", names: frozenset[str] = frozenset()) -> list[Token]:
    """Return the tokens of a text. ``names`` are the words that count as names, see ``names_of``.

    ``language`` is an ISO 639-1 code, or "" if it is not known.
    """
    found = (_tokens_of if len(text) <= _LONGEST_SENTENCE else _tokens_of.__wrapped__)(text, language)
    return [
        Token(each.text, "name", *each[2:]) if each.kind == "word" and each.text in names else each for each in found
    ]


@lru_cache(1024)  # a sentence is compared with several others, and read again for changes and news
def _tokens_of(text: str, language: str) -> list[Token]:
    codes: dict[str, str] = {}

    def hide(found: re.Match[str]) -> str:
        code = found[0].casefold()
        letters = "".join(takewhile(str.isalpha, code))
        if letters in BEFORE_MONEY or letters in CURRENCIES or letters in MONTHS:
            return f"{letters} {code[len(letters) :].lstrip('-')}"
        hidden = _CODE_MARK + code.replace("-", "").rstrip("s").translate(_HIDDEN)  # "AK-47s" is "AK47"
        codes[hidden] = printed.get(found[0], found[0])
        return f" {hidden} "

    text = fold(text)
    for written, usual in _USUAL if _UNUSUAL.search(text) else ():
        text = written.sub(usual, text)
    printed = printed_numbers(text)
    tokens, starts = number_tokens(_CODE.sub(hide, with_scales(text)))
    raw = list(tokens)
    numbers = {first: (end, value, mark) for first, end, value, mark in take_numbers(tokens, starts, language)}
    words = _Words([], raw, codes, printed, language)
    place = 0
    while place < len(raw):
        place = words.add_number(place, *numbers[place]) if place in numbers else words.add(place)
    return words.found


@lru_cache(1 << 13)
def _word(token: str, language: str) -> Token | None:
    """Return the token of a word that stands alone, None for a mark, a number or a script without spaces."""
    if (len(token) < 2 and not token.isalnum()) or token[0].isdigit() or re.search(WITHOUT_SPACES, token):
        return None
    if token in _OF_OTHER_LANGUAGES.get(language, ()):
        return Token(f"{token}+", "word", token)  # a small word of another language
    if token in PERCENT or (token in CURRENCIES and len(token) > 2):
        return Token(CURRENCIES.get(token, "%"), "unit", token)
    if token[0] == _ARABIC_AND and _KINDS.get(token[1:]) == "negation":
        token = token[1:]
    return Token(token, _KINDS.get(token, "word"), token)


class _Words(NamedTuple):
    """The tokens that are found in a text, and what is known of it. ``raw`` has empty tokens at its end."""

    found: list[Token]
    raw: list[str]
    codes: dict[str, str]
    printed: dict[str, str]  # of numbers: "2.3 mrd" is "2.3B"
    language: str

    def add_number(self, place: int, end: int, value: str, mark: str) -> int:
        """Add a number, or a date or time that looks like one. Return the place behind it."""
        raw = self.raw
        parts = [bare for part in raw[place:end] if (bare := part.rstrip(_CLOSING))]
        number = " ".join(parts[:2])
        printed = " ".join([self.printed.get(number, number), *parts[2:]])
        closes = raw[end - 1][-1:] in _CLOSING
        if _DOTTED_CLOCK.fullmatch(printed) and not _BESIDE_CLOCK.isdisjoint((raw[place - 1], raw[end])):
            self.found.append(Token(_time(printed[:-3] + ":" + printed[-2:], ""), "time", printed, closes))
        elif sign := self._take_sign(end):
            self.found.append(Token(value + sign, "time", printed + sign))
        else:
            last = self.found[-2:]
            # "110 to 115" is one token, as "110-115" is.
            if last[1:] and last[1].text in WORDS["to"] and last[0].kind == "number" and not last[0].closes:
                printed = f"{last[0].printed} {last[1].printed} {printed}"
                value = f"{last[0].text}-{value}"
                del self.found[-2:]
            self.found.append(Token(value, "number", printed, closes))
        if mark not in ("", "."):
            self.found.append(Token(mark, "unit", mark))
        return end

    def add(self, place: int) -> int:
        """Add the token at a place, which is no number. Return the place behind it."""
        token = self.raw[place]
        read = _word if len(token) <= _LONGEST_WORD else _word.__wrapped__
        if token in self.codes:
            self.found.append(Token(token, "code", self.codes[token]))
        elif (word := read(token, self.language)) is not None:
            self.found.append(word)
        elif len(token) < 2 and not token.isalnum():
            if self.found and token in _MARKS:
                self.found[-1] = self.found[-1]._replace(closes=True)
        elif token[0].isdigit():
            return self._add_time(place)
        else:
            self.found.extend(Token(part, _KINDS.get(part, "word"), part) for part in _UNSPACED.split(token) if part)
        return place + 1

    def _add_time(self, place: int) -> int:
        token = self.raw[place]
        core = token.rstrip(_CLOSING)
        half, more = _half_of_day(self.raw[place + 1 : place + 5], self.language)
        sign = self._take_sign(place + 1)
        printed = f"{core} {half}m" if half else core + sign
        self.found.append(Token(_time(core, half) + sign, "time", printed, core != token))
        return place + 1 + more

    def _take_sign(self, place: int) -> str:
        """Take "month", "day" or "hour" off the beginning of a word, and return it; "" if the word has none."""
        word = self.raw[place]
        sign = word[:1] if word == "h" or word[:1] in _BEHIND_TIME else ""
        self.raw[place] = word[len(sign) :]
        return sign


def _half_of_day(behind: Sequence[str], language: str) -> tuple[str, int]:
    """Return "a" or "p" if "am" or "p.m." stands behind a time, else "", and how many tokens that is."""
    for half in "ap":
        if behind[0] == f"{half}m" and language != "de":  # "um 20:15 am Montag"
            return half, 1
        if list(behind[:3]) == [half, LINE_END, "m"]:
            return half, 3 + (behind[3:] == [LINE_END])
    return "", 0


def _time(core: str, half: str) -> str:
    """Return a time of day in minutes behind "@", and the number of a date or year as it is."""
    if clock := _CLOCK.fullmatch(core):
        hour, minute = int(clock[1]), int(clock[2])
    elif half and core.isdigit() and len(core) < 3:
        hour, minute = int(core), 0
    else:
        return core.lstrip("0") or "0"
    if half:
        hour = hour % 12 + 12 * (half == "p")
    return f"@{60 * hour + minute}"


def signs_of(text: str) -> list[str]:
    """Return the signs of a text that say something, such as those of currencies, and its negative numbers."""
    return sorted(f"-{each[1:].rstrip('.,')}" if len(each) > 1 else each for each in _SIGNS.findall(text))


def names_of(*texts: str) -> frozenset[str]:
    """Return the folded words that stand with a capital inside a sentence, and in no text with a small letter."""
    capitals, words = (set[str]().union(*each) for each in zip(*map(_words_by_case, texts), strict=True))
    return frozenset(word.replace("'", "") for word in capitals - words) - FUNCTION_WORDS


@lru_cache(32)  # new texts are often compared with the same old one
def _words_by_case(text: str) -> tuple[set[str], set[str]]:
    """Return the words with a capital inside a sentence, in small letters, and all words as they are printed."""
    folded = fold(text)
    return {word.casefold() for word in {*_CAPITALISED.findall(folded)}}, {*_WORD.findall(folded)}


def is_unspaced(token: Token) -> bool:
    """Return whether a token is of a script without spaces."""
    return token.text >= FIRST_SYLLABIC and re.match(WITHOUT_SPACES, token.text) is not None


def say_nothing(tokens: Sequence[Token]) -> bool:
    """Return whether tokens are only words such as "said"; without spaces these are several characters."""
    words = [each.text.removeprefix(_ARABIC_AND) or each.text for each in tokens]
    return "".join(words) in SAY_NOTHING or all(word in SAY_NOTHING for word in words)
