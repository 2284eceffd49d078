"""The words and numbers of a sentence in the form in which two texts are compared.

A number is its value, however it is written. A code such as H5N1 is one token. Two spellings, and two forms, of one
word are recognised without a list: by their letters, and names by their skeleton (see ``names``). ``wording.json`` has
the words that need a list: negations, quantities, "said" and "stated", articles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain, takewhile
from typing import Any, Literal, NamedTuple

from scrapy_neardup.evidence.names import skeleton
from scrapy_neardup.evidence.number_words import CURRENCIES, LINE_END, MONTHS, WEEKDAYS, WORDS, read_table
from scrapy_neardup.evidence.numbers import folded_tokens, take_numbers
from scrapy_neardup.text.folding import fold

TokenKind = Literal["number", "quantity", "code", "time", "negation", "name", "word"]

_TABLE: dict[str, Any] = read_table("wording.json")
_FRACTIONS = {word: Decimal(value) for value, words in _TABLE["fractions"].items() for word in words.split()}
TEASERS = sorted(_TABLE["teasers"].split("|"), key=len, reverse=True)
VAGUE, FUNCTION_WORDS = (frozenset(_TABLE[role].split()) for role in ("vague", "function_words"))
_KINDS: dict[str, TokenKind] = {
    **dict.fromkeys(WEEKDAYS | MONTHS, "time"),
    **dict.fromkeys(_TABLE["quantities"].split(), "quantity"),
    **dict.fromkeys(_TABLE["negations"].split(), "negation"),
}
_SAY_NOTHING = FUNCTION_WORDS.union(_TABLE["reporting"].split(), _TABLE["relative_days"].split())

FIRM: frozenset[TokenKind] = frozenset(("number", "quantity", "code", "time", "negation"))
"""Kinds of tokens that count wherever they stand."""

# Letters, then digits: a code, unless the letters are a currency. Digits of a code are hidden from ``number_tokens``.
_CODE = re.compile("(?<![\\w])([A-Za-z\u0370-\u052f]{1,4}-?[0-9][\\w-]*)")
_HIDDEN, _CODE_MARK = str.maketrans("0123456789-", "qjzxkvwyhbg"), "zq"
_BEFORE_MONEY = frozenset("n ngn rs r rm rp ksh kes tsh ush gh ghs us usd eur gbp inr lkr pkr zar p s".split())
_ARABIC_DECIMAL = re.compile("(?<=[0-9])\u0631(?=[0-9])")  # "4ر95" is 4.95
_UNSPACED = re.compile("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff])")
_FIRST_UNSPACED = "\u0e00"
_CLOCK = re.compile("([01]?[0-9]|2[0-4])[:.h]([0-5][0-9])")
_CLOSING = ".,;:)!?"
_WORD = re.compile(r"[^\W\d_][\w'-]+")
_CAPITALISED = re.compile(r"[A-Z\u00c0-\u00de\u0100-\u024f\u0370-\u03ff\u0400-\u042f](?<=[\w,;] .)[\w'-]+")
_ARABIC_PREFIX = re.compile("^[\u0648\u0641]?[\u0628\u0644\u0643]?(?:\u0627\u0644)?(?=...)")
_ARABIC = ("\u0600", "\u06ff")
_SAME_BEGINNING, _SAME_LETTERS = 0.6, 0.85  # shares of the longer of two spellings
_LEAST_OF_FRACTION = 4  # digits of a thousand
_MOST_KNOWN, _LONGEST_KNOWN = 1 << 14, 24  # tokens that are remembered; characters of one of them
_LONG_NAME = 8  # letters: longer names may differ in a letter or two


class Token(NamedTuple):
    """A word or number. ``text`` is compared: the value of a number, minutes of a time of day, a folded word."""

    text: str
    kind: TokenKind
    printed: str

    @property
    def says(self) -> bool:
        """Return whether a word may change what a sentence says: no article, no pronoun, no "said" or "today"."""
        return (len(self.text) > 2 or self.text > _FIRST_UNSPACED) and self.text not in _SAY_NOTHING


def tokens_of(text: str, language: str = "") -> list[Token]:
    """Return the tokens of a text. Names are words here, see ``names_of``.

    ``language`` is an ISO 639-1 code, or "" if it is not known: then the words of the text tell it.
    """
    codes: dict[str, str] = {}

    def hide(found: re.Match[str]) -> str:
        code = found[1].casefold()
        letters = "".join(takewhile(str.isalpha, code))
        if letters in _BEFORE_MONEY or letters in CURRENCIES:
            return f"{letters} {code[len(letters) :]}"
        hidden = _CODE_MARK + code.translate(_HIDDEN)
        codes[hidden] = found[1]
        return hidden

    tokens, starts = folded_tokens(_CODE.sub(hide, _ARABIC_DECIMAL.sub(".", fold(text))))
    raw = list(tokens)
    numbers = {first: (end, value) for first, end, value, _ in take_numbers(tokens, starts, language)}
    special = {*numbers, *starts}
    if codes:
        special.update(place for place, token in enumerate(raw) if token in codes)
    found: list[Token] = []
    behind = 0  # the last special token
    for place in sorted(special):
        if place < behind:
            continue  # a part of a number
        token = raw[place]
        found += chain.from_iterable(map(_PLAIN.__getitem__, raw[behind:place]))
        behind = place + 1
        if place in numbers:
            behind, value = numbers[place]
            printed = " ".join(part.rstrip(_CLOSING) for part in raw[place:behind] if part)
            _add_number(found, Token(value, "number", printed))
        elif token in codes:
            found.append(Token(token, "code", codes[token]))
        else:
            core = token.rstrip(_CLOSING)
            found.append(Token(_time(core, raw[behind : behind + 3]), "time", core))
    found += chain.from_iterable(map(_PLAIN.__getitem__, raw[behind:]))
    return found


class _PlainTokens(dict[str, tuple[Token, ...]]):
    """The words of which a token without digits is made. Most are made once only, because texts repeat their words."""

    def __missing__(self, token: str) -> tuple[Token, ...]:
        is_unspaced = token > _FIRST_UNSPACED and _UNSPACED.search(token)
        parts = [*filter(None, _UNSPACED.split(token))] if is_unspaced else [token]
        if len(token) < 2 and not token.isalnum():
            parts = []  # a mark, the sign of a currency, or nothing
        found = tuple(Token(part, _KINDS.get(part, "word"), part) for part in parts)
        if len(token) <= _LONGEST_KNOWN:
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[token] = found
        return found


_PLAIN = _PlainTokens()


def _add_number(found: list[Token], number: Token) -> None:
    """Add a number. "110 to 115" is one token, as "110-115" is, and so is "half a million"."""
    if len(found) > 1 and found[-1].text in WORDS["to"] and found[-2].kind == "number":
        to, low = found.pop(), found.pop()
        printed = f"{low.printed} {to.printed} {number.printed}"
        number = Token(f"{low.text}-{number.text}", "number", printed)
    elif number.text.isdigit() and _LEAST_OF_FRACTION <= len(number.text) <= _LONGEST_KNOWN:
        # "half a million", "a quarter of a million": at most two short words between.
        place = next((at for at in (-1, -2, -3) if len(found) >= -at and found[at].text in _FRACTIONS), 0)
        if place and all(len(each.text) < 3 for each in found[place + 1 :] if place < -1):
            value = (_FRACTIONS[found[place].text] * int(number.text)).normalize()
            printed = " ".join(each.printed for each in (*found[place:], number))
            del found[place:]
            number = Token(format(value, "f"), "number", printed)
    found.append(number)


def _time(core: str, behind: Sequence[str]) -> str:
    """Return a time of day in minutes behind "@", and the number of a date or year as it is."""
    clock = _CLOCK.fullmatch(core)
    is_afternoon = behind[:1] == ["pm"] or behind[:3] == ["p", LINE_END, "m"]
    is_morning = behind[:1] == ["am"] or behind[:3] == ["a", LINE_END, "m"]
    if clock:
        hour, minute = int(clock[1]), int(clock[2])
    elif (is_afternoon or is_morning) and core.isdigit() and len(core) < 3:
        hour, minute = int(core), 0
    else:
        return core.lstrip("0") or "0"
    if is_afternoon or is_morning:
        hour = hour % 12 + 12 * is_afternoon
    return f"@{60 * hour + minute}"


def names_of(text: str) -> frozenset[str]:
    """Return the folded words that stand with a capital inside a sentence, and nowhere with a small letter."""
    folded = fold(text)
    capitals = set(map(str.casefold, _CAPITALISED.findall(folded)))
    names = capitals.difference(_WORD.findall(folded)) if capitals else capitals
    return frozenset(word.replace("'", "") for word in names) - FUNCTION_WORDS


def is_same_word(a: Token, b: Token) -> bool:
    """Decide whether two tokens are two spellings, or two forms, of one word, or one month written in two ways."""
    if a.text[0] != b.text[0] and not (_is_arabic(a.text) and _is_arabic(b.text)):
        return False
    if a.kind == b.kind == "time" and not (a.text + b.text).isdigit():
        shorter, longer = sorted((a.text, b.text), key=len)
        return longer.startswith(shorter) or (shorter[:4] == longer[:4] and len(shorter) > 4)
    if a.kind in FIRM or b.kind in FIRM:
        return a.text == b.text and a.kind == b.kind
    if "name" in (a.kind, b.kind):
        sounds_alike = skeleton(a.text) == skeleton(b.text) != "" and a.text[0] == b.text[0]
        is_long = min(len(a.text), len(b.text)) >= _LONG_NAME and a.text[:3] == b.text[:3]
        return sounds_alike or (is_long and _are_alike(a.text, b.text))
    return _are_alike(a.text, b.text)


def _is_arabic(word: str) -> bool:
    return _ARABIC[0] <= word[0] <= _ARABIC[1]


@lru_cache(1 << 14)
def _are_alike(a: str, b: str) -> bool:
    """Decide whether two words have the same beginning and another ending, or differ in a letter or two."""
    if _is_arabic(a):
        a, b = (_ARABIC_PREFIX.sub("", word) for word in (a, b))
    if a == b:
        return True
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) < 4 or shorter[0] != longer[0]:
        return False
    common = next((at for at, (x, y) in enumerate(zip(shorter, longer, strict=False)) if x != y), len(shorter))
    if common >= max(4, _SAME_BEGINNING * len(longer)):
        return True
    if len(longer) >= 5 and _is_one_letter(shorter[common:], longer[common:]):
        return True
    matcher = SequenceMatcher(None, shorter, longer, autojunk=False)
    return len(longer) >= 6 and matcher.ratio() >= _SAME_LETTERS


def _is_one_letter(shorter: str, longer: str) -> bool:
    """Decide whether two endings differ in their first letter only: another one, one more, or two that changed places."""
    is_other = shorter[1:] == longer[1:]
    is_more = shorter == longer[1:]
    is_swapped = shorter[:2] == longer[1::-1] and shorter[2:] == longer[2:]
    return is_other or is_more or is_swapped
