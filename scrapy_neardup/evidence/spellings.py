"""Whether two words are two spellings, or two forms, of one word.

Words are recognised by their letters, and names by their skeleton (see ``names``). ``wording.json`` has synonyms.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, permutations, product

from scrapy_neardup.evidence.figures.number_words import UNITS, all_languages
from scrapy_neardup.evidence.figures.numbers import WORDING
from scrapy_neardup.evidence.names import consonants, skeleton
from scrapy_neardup.evidence.tokens import FIRM, SPELLED, Token
from scrapy_neardup.evidence.value_words import PREFIX, are_denied, differing, said_by

_SYNONYMS = {pair for words in WORDING["synonyms"].split("|") for pair in permutations(words.split(), 2)}
_MOST_WORDS = 12  # of a synonym; in scripts without spaces each character is one

# Two spellings of one sound: "enrolment", "enrollment"; "realise", "realize"; "honour", "honor"; "adviser", "advisor";
# "centre", "center"; "dialogue", "dialog"; "anaemia", "anemia"; nasals and short vowels of Devanagari and Bengali, in
# the form in which they are compared.
_SOUNDS = (
    (re.compile("(?<=[a-z]{3}[aeiou])ll(?=[a-z]{2})"), "l"),
    (re.compile("(?<=[a-z]{3}[iy])z(?=[aei])"), "s"),
    (re.compile("(?<=[a-z]{3})ou(?=r)"), "o"),
    (re.compile("(?:(?<=[a-z]{2}vis)|(?<=protest))or(?=s?$)"), "er"),
    (re.compile("(?<=[a-z]og)ue(?=s?$)|(?<=dg)e(?=ment)"), ""),
    (re.compile("(?:(?<=h)|(?<=p)|(?<=an)|(?<=uk))ae(?=[dm])|(?:(?<=f)|(?<=rh))oe(?=[at])"), "e"),
    (re.compile("(?:(?<=cent)|(?<=theat)|(?<=met)|(?<=lit))re(?=s?$)"), "er"),
    (re.compile("\u0901|[\u0928\u092e\u0919\u091e\u0923]\u094d(?=[\u0915-\u0939])"), "\u0902"),
    (re.compile("\u092f(?=[\u0947\u0940])"), ""),
    (re.compile("[\u090f\u0947]"), "\u0947"),
    (re.compile("[\u0908\u0940]"), "\u0940"),
    (re.compile("\u09c0"), "\u09bf"),
    (re.compile("[\u09b6\u09b7]"), "\u09b8"),
    (re.compile("\u0981"), ""),
)
_VOWELS = re.compile("[aeiouy\u0430\u0435\u0438\u043e\u0443\u044b\u044d\u044e\u044f\u0456]+")
# "Ivanov" and "Ivanova" are two.
_LAST_VOWELS = frozenset("aeiouy\u0430\u0435\u0438\u043e\u044f\u03b1\u03b7\u03bf\u03b9")
# What is joined to the next word: "and", "in", "to", "as", and the article.
_ARABIC_JOINED = re.compile("[\u0648\u0641]?(?:\u0644\u0644|[\u0628\u0644\u0643]?(?:\u0627\u0644)?)")
_ARABIC_G, _LONG_ARABIC = str.maketrans("\u063a", "\u062c"), 6  # the "g" of long foreign words has two letters
_ARABIC_L = "\u0644"  # of the article, also behind "to"


def is_spelled(word: str, token: Token) -> bool:
    """Return whether a word without its spaces is a token, or the same number in words: "twentyone" and 21."""
    return word == token.text or (token.kind == "number" and word in SPELLED.get(token.text, ()))


def is_same_word(old: Token, new: Token) -> bool:
    """Decide whether two tokens are one value, or two spellings or forms of one word."""
    if is_same_spelling(old, new):
        return True
    if old.kind in FIRM or new.kind in FIRM:
        return False
    if "name" in (old.kind, new.kind):
        return _are_one_name(old.text, new.text)
    return are_alike(old.text, new.text) and not _is_other_form(old.text, new.text)


def is_same_spelling(old: Token, new: Token) -> bool:
    """Decide whether two tokens are one number, day or unit, or one word that is spelled in two ways.

    Another form of a word is none: "student", "students". Neither is a name with another vowel: "Hassan", "Hussein".
    """
    kinds = {old.kind, new.kind}
    if "time" in kinds and "name" not in kinds and not any(map(str.isdigit, old.text + new.text)):
        return _is_same_time(old, new)
    if is_spelled(old.text, new) or is_spelled(new.text, old):
        return True
    if not kinds.isdisjoint(FIRM):
        return False
    if "name" in kinds:
        return _are_one_name(old.text, new.text) and may_be_one_name(old.text, new.text)
    if _is_other_form(old.text, new.text):
        return False
    # "Kilometres" and "km", but not "година", which is an hour or a year.
    values = said_by(old.text), said_by(new.text)
    if "unit" in kinds and {each.of for each in chain(*values)} == {"currency"}:
        return not values[0].isdisjoint(values[1])
    is_unit = UNITS.get(old.text, "") == UNITS.get(new.text) and values[0] == values[1]
    return is_unit or _sound_alike(old.text, new.text)


def is_same_form(old: Token, new: Token) -> bool:
    """Decide whether two tokens are one word in a text with other words: one of Arabic or a name, in two forms.

    Other words that are spelled alike may be two: "police", "policy".
    """
    has_forms = "\u0600" <= new.text[0] <= "\u06ff" or (old.kind == new.kind == "name" and not new.text.isascii())
    return is_same_word(old, new) if has_forms else is_same_spelling(old, new)


def may_be_one_name(a: str, b: str) -> bool:
    """Decide whether two names sound nearly alike, also if they are short: "Deir", "Dayr", but not "Maria", "Mario"."""
    return consonants(a) == consonants(b) != "" and not _has_other_vowel(a, b)


def _has_other_vowel(a: str, b: str) -> bool:
    """Return whether one name has a vowel more, also at its end, or another one: "Hansen", "Hanson"; "Wells", "Walsh".

    An "e" may be an "i", and an "a" or "u" behind the first vowel: "Hezbollah", "Hizbullah"; "Ahmed", "Ahmad". Of a
    name in Cyrillic the last vowel may be that of another case.
    """
    groups = [_VOWELS.findall(each) for each in (a, b)]
    pairs = [*zip(*groups, strict=False)]
    are_other = any(
        {x, y} in ({*"ai"}, {*"eo"})
        or (at == 0 and {x, y} in ({*"ae"}, {*"eu"}))
        or ({*"ou"}.isdisjoint(x) != {*"ou"}.isdisjoint(y) and not {*"ai"}.isdisjoint(x + y))
        or (x > "z" and at + 1 < len(pairs) and x.replace("\u044d", "\u0435") != y.replace("\u044d", "\u0435"))
        for at, (x, y) in enumerate(pairs)
    )
    has_more = len(groups[0]) != len(groups[1]) or (a[-1] in _LAST_VOWELS) != (b[-1] in _LAST_VOWELS)
    return has_more or are_other


def _is_same_time(old: Token, new: Token) -> bool:
    """Decide whether two words are one day or month: "Sep", "September", but not "pazar", "pazartesi" in Turkish.

    Neither are "listopad" and "říjen", although the first one is October in Croatian: it is November in Czech.
    """
    values = said_by(old.text), said_by(new.text)
    if all(values):
        return values[0] == values[1]
    shorter, longer = sorted((old.text, new.text), key=len)
    return old.kind == new.kind and longer.startswith(shorter)


def _are_one_name(a: str, b: str) -> bool:
    """Decide whether two names are spellings of one. Of short ones the beginning tells: not "Jan", "Jon"."""
    skeleton_a = skeleton(a)
    letters = 1 if len(skeleton_a) >= 3 else max(2, len(a) - 2, len(b) - 2)
    have_one_beginning = a.replace("y", "i")[:letters] == b.replace("y", "i")[:letters]
    return have_one_beginning and skeleton_a == skeleton(b) != "" and not differing(said_by(a), said_by(b))


def are_synonyms(olds: Sequence[str], news: Sequence[str]) -> bool:
    """Return whether words say the same one after the other, as "began" and "started" do, or "passed away" and "died".

    Each place in both rows is looked at once, so long rows take no longer than their length allows.
    """
    reached = {(0, 0)}  # so many first words of both rows say the same
    for old, new in product(range(len(olds)), range(len(news))):
        if (old, new) in reached:
            old_ends, new_ends = (
                range(at + 1, min(at + _MOST_WORDS, len(row)) + 1) for at, row in ((old, olds), (new, news))
            )
            reached |= {
                ends
                for ends in product(old_ends, new_ends)
                if ("".join(olds[old : ends[0]]), "".join(news[new : ends[1]])) in _SYNONYMS
            }
    return bool(olds) and (len(olds), len(news)) in reached


def _is_other_form(a: str, b: str) -> bool:
    """Decide whether words that are spelled alike do not mean the same.

    In Polish a letter tells those who are missing from the dead. In Swahili "itafungwa" is closed, and "itafunguliwa"
    opened. In Hungarian a number is one word: "negyvenmilliard", "negymilliard".
    """
    end = a[-5:]  # a number word may stand at the end of another one
    is_number = (
        a != b
        and b.endswith(end)
        and any(scale.endswith(end) and a.endswith(scale) for scale in all_languages().scales)
    )
    shorter, longer = sorted((a, b), key=len)
    is_dual = longer in (f"{shorter}\u064a\u0646", f"{shorter}\u0627\u0646")  # "man" and "two men" in Arabic
    return is_number or is_dual or are_denied(a, b) or bool(differing(said_by(a), said_by(b)))


@lru_cache(1 << 14)
def are_alike(a: str, b: str) -> bool:
    """Decide whether two words have the same beginning and another ending, or two letters have changed places."""
    if "\u0600" <= a[0] <= "\u06ff":
        shorter, longer = sorted((a, b), key=len)
        is_longer = longer.startswith(shorter) and len(longer) - len(shorter) < min(3, len(shorter))
        return is_longer or _have_like_letters(a, b) or _have_like_letters(*(PREFIX.sub("", word) for word in (a, b)))
    # Not "+44 20 7946 0018", "+44 20 7946 0081".
    return [*filter(str.isdigit, a)] == [*filter(str.isdigit, b)] and _have_like_letters(a, b)


def _sound_alike(a: str, b: str) -> bool:
    """Decide whether two words are spellings of one. In Arabic small words are joined to the next one."""
    if "\u0600" <= a[0] <= "\u06ff":
        if min(len(a), len(b)) >= _LONG_ARABIC:
            a, b = (each.translate(_ARABIC_G) for each in (a, b))
        shorter, longer = sorted((a, b), key=len)
        joined = longer.removesuffix(shorter)
        is_long = len(shorter) > 3 - (joined == "\u0648" or _ARABIC_L in joined)
        is_joined = joined != longer and is_long and _ARABIC_JOINED.fullmatch(joined) is not None
        # "With the minister", "to the minister"; but "warid" and "barid" are two words.
        bare = [PREFIX.sub("", each) for each in (a, b)]
        have_articles = all(_ARABIC_L in each.removesuffix(word) for each, word in zip((a, b), bare, strict=True))
        return is_joined or (have_articles and bare[0] == bare[1])
    return _sounds_of(a) == _sounds_of(b)


@lru_cache(1 << 13)
def _sounds_of(word: str) -> str:
    for spelling, sound in _SOUNDS:
        word = spelling.sub(sound, word)
    return word


def _have_like_letters(a: str, b: str) -> bool:
    shorter, longer = sorted((a, b), key=len)
    common = begin_alike(a, b)
    is_turned = sorted(a) == sorted(b) and common + 2 + begin_alike(a[::-1], b[::-1]) == len(a) >= 6  # "reciept"
    return len(shorter) >= 4 and (common >= max(4, 0.6 * len(longer)) or (common > 0 and is_turned))


def begin_alike(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many letters or words of two rows are equal before the first that is not."""
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
