"""The names of an article in one alphabet, by which reports in two languages are recognised.

Terms of two languages never meet: "Siria", "Syrie", "Сирия". But names sound alike. A name becomes a *skeleton*: Latin
letters, one letter for sounds that are written alike, no vowels. "Путин", "Putin" and "Poutine" have one skeleton.

The rarest skeletons of a document are packed as a topic is (see ``topic``), and compared in the same way. How rare they
are is learned over all languages, together with the terms. Names are words with a capital. In the scripts of India and
Sri Lanka, which have none, each word may be a name; Unicode's names of their letters say how they sound. So such a text
has more names, of which most meet no other, and must share more of them.
"""

import math
import re
import struct
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from xxhash import xxh32_intdigest

from scrapy_neardup.evidence.topic import (
    KEY_FACTOR,
    MOST_SHARED_WORDS,
    TITLE_BIT,
    TOPIC_TERM_BYTES,
    TopicWeights,
    shared_terms,
    topic_cosine,
)
from scrapy_neardup.text.folding import fold, fold_with_places

MOST_NAMES = 12
MOST_CASELESS_NAMES = 32  # of a text in a script without capitals
LEAST_COMMON_NAMES = 3  # of two documents in two languages
LEAST_COSINE = 0.43
FEW_NAMES_LESS = 0.07  # what the score loses if no more names are common: a theme has three
OTHER_NAMES = ((6, 0), (3.3, 1))  # bits of equal tolls, and how many names two languages need beside them
CASELESS_COSINES = {3: 0.25, 4: 0.1}  # by the number of common names, if a text has no capitals: few words are names
NAME_WORDS = 100
_MOST_CHARACTERS = 600  # of a line
_KEY_SEED = 0x3A3E_5EED
_MOST_TOLLS = 3
_LARGEST_EXACT = 1 << 10  # a toll from this one on is rounded
_VALUES = 2 * _LARGEST_EXACT  # slots of a kind of tolls: one for each exact value, and as many steps of large ones

# Devanagari to Sinhala: each word may be a name, but not the ending of a figure.
CASELESS_WORD = re.compile("[\u0900-\u0dff](?<![0-9\u0900-\u0dff].)[\u0900-\u0dff]+")
# Capitals of the Latin, Greek and Cyrillic alphabets; a few letters in these blocks are none.
_NAME = re.compile("[A-Z\u00c0-\u00de\u0100-\u024f\u0386-\u03ab\u0400-\u042f\u0460-\u052f](?<!\\w.)[^\\W\\d_]{2,}")
# Figures of two digits and more, also with an ending of an Indic language ("36,504ක්"), and words such as F35.
_FIGURE = re.compile(
    "[0-9A-Z](?<![\\w.,].)(?:(?<=[0-9])[0-9.,]*[0-9](?![^\\W\u0900-\u0dff])|(?<=[A-Z])[A-Z]*[0-9]+[A-Z0-9]*)"
)
_THOUSANDS = re.compile("[.,](?=[0-9]{3}(?![0-9]))")
_SENTENCE_BEGINS = re.compile(r"(?:^|[.!?…])\W*$")
_CYRILLIC_ENDING = re.compile("(?<=...)(?:ами|ями|ого|его|ому|ему|ыми|ими|ым|им|ом|ем)$")
_LETTERS = str.maketrans(
    {
        **dict(zip("абвгґдезиклмнопрстуфхцчшщыэєі", "abvggdeziklmnoprstufhssssyeei", strict=True)),
        **dict(zip("αβγδεζηικλμνξοπρσςτυφχψωθ", "avgdeziiklmnsoprsstufhsot", strict=True)),
        **dict(zip("жюяђћљњјџþъь", ("s", "u", "a", "d", "s", "l", "n", "i", "s", "t", "", ""), strict=True)),
    }
)
# How a name becomes a skeleton, step by step.
_SOUNDS = tuple(
    (re.compile(spelling), sound)
    for spelling, sound in (
        ("(?<=[aeo]u|oi)x$", ""),  # of French names, as in Mirepoix and Bordeaux
        ("kh", "h"),
        ("tsch|tch|sch|tz|ts|ch|sh|cz|sz|zh|z|c(?=[eiy])", "s"),
        ("ph", "f"),
        ("ck|q|c", "k"),
        ("x", "ks"),
        ("w", "v"),
        ("dzh|dj|j", "i"),
        ("^h?[aeiouy]+h?", "A"),
        ("[aeiouyh]", ""),
        (r"(.)\1+", r"\1"),
    )
)


@lru_cache(1 << 15)
def skeleton(name: str) -> str:
    """Return the skeleton of a name, at most five letters, or nothing if fewer than three are left."""
    found = consonants(name)
    return found[:5] if len(found) >= 3 else ""


def consonants(name: str) -> str:
    """Return the consonants of a name as they sound, behind "A" if it begins with a vowel."""
    folded = fold(name).casefold()
    if not folded.isascii():
        latin = _CYRILLIC_ENDING.sub("", folded).replace("дж", "dj").translate(_LETTERS)
        folded = "".join(map(_latin, latin))
    for spelling, sound in _SOUNDS:
        folded = spelling.sub(sound, folded)
    return folded


@lru_cache(1 << 10)
def _latin(letter: str) -> str:
    """Return a letter of a script without capitals in Latin letters, "" if there are none for it."""
    if letter.isascii():
        return letter
    name = unicodedata.name(letter, "")  # "TAMIL LETTER KA", "SINHALA LETTER ALPAPRAANA KAYANNA"; signs are vowels
    is_read = CASELESS_WORD.match(2 * letter) and " LETTER " in name
    return name.rpartition(" ")[2].lower().removesuffix("yanna") if is_read else ""


def find_names(lines: Iterable[str], *, is_title: bool = False) -> list[str]:
    """Return the skeletons of all words of folded lines with a capital, but those that begin a sentence of a text."""
    found = dict[str, None]()
    for line in lines:
        for word in _NAME.finditer(line, 0, _MOST_CHARACTERS):
            name, at = word[0], word.start()
            if name[0].isupper() and (is_title or not _SENTENCE_BEGINS.search(line, max(0, at - 4), at)):
                found[skeleton(name)] = None
        for word in CASELESS_WORD.finditer(line, 0, _MOST_CHARACTERS):
            name = skeleton(word[0])
            found[name] = None
            if "\u0b80" <= word[0][0] <= "\u0bff":  # Tamil writes t and d alike: most are d inside a word
                found[name[:1] + name[1:].translate(str.maketrans("ptk", "bdg"))] = None
        for word in _FIGURE.finditer(line, 0, _MOST_CHARACTERS):
            found[_THOUSANDS.sub("", word[0]).replace(",", ".")] = None
    found.pop("", None)
    return list(found)[:128]


def pack_names(skeletons: Iterable[str]) -> bytes:
    """Pack the slots of skeletons, two bytes each."""
    slots = dict.fromkeys(map(_slot, skeletons))
    return struct.pack(f">{len(slots)}H", *slots)


def _slot(name: str) -> int:
    return xxh32_intdigest(f"\0{name}".encode()) % TITLE_BIT


def rarest_names(
    found: bytes, weights: TopicWeights, *, caseless: bool = False, tolls: Iterable[tuple[int, int]] = ()
) -> tuple[bytes, tuple[int, ...]]:
    """Return the rarest of the packed names of a document, the rarest first, and their look-up keys. Count them.

    More are kept of a ``caseless`` text, and first those that another document has: most of its words are no names.
    ``tolls`` are kinds and values of numbers of people harmed, which stand first: they are names of an event that all
    languages share.
    """
    most = MOST_CASELESS_NAMES if caseless else MOST_NAMES
    slots = np.array(list(dict.fromkeys(struct.unpack(f">{len(found) // 2}H", found))), np.uint32)
    counts = weights.frequencies.learn_slots(slots, documents=0)
    # A name in more documents tells no events apart, but eight may be the first reports of one.
    is_rare = counts <= max(8, weights.frequencies.documents // 64)
    is_unmet = (counts == 0) & caseless  # no other document has it: of a caseless text probably no name
    # Sorted by the last key first
    names = slots[is_rare].take(np.lexsort((counts[is_rare], is_unmet[is_rare]))[:most]).tolist()
    of_tolls = []
    for kind, value in islice(tolls, _MOST_TOLLS):
        if value >= _LARGEST_EXACT:
            value = min(_VALUES - 1, _LARGEST_EXACT + int(50 * math.log(value / _LARGEST_EXACT)))
        of_tolls.append(TITLE_BIT + kind * _VALUES + value)  # no name has such a slot
    looked_up = [
        *of_tolls,
        *[slot << 16 for slot in of_tolls if slot % _VALUES >= 5],  # an equal one is enough
        *names[: 12 if caseless else 4],
    ]
    keys = tuple(slot * KEY_FACTOR & 0xFFFF_FFFF ^ _KEY_SEED for slot in looked_up)
    chosen = (of_tolls + names)[:most]
    return struct.pack(f">{len(chosen)}H", *chosen), keys


@lru_cache(8192)
def tolls_in(names: bytes) -> dict[int, int]:
    """Return the tolls among packed names: their values, or steps of large ones, by kind."""
    slots = struct.unpack_from(f">{len(names) // 2}H", names)
    return dict(divmod(slot - TITLE_BIT, _VALUES) for slot in slots if slot >= TITLE_BIT)


class SharedTolls(NamedTuple):
    """What the numbers of people harmed in two documents have in common."""

    equal: int  # numbers that are equal
    bits: float  # the sum of their binary logarithms: two events of a day often have 2 dead, seldom 12 dead and 17 hurt
    is_risen: bool  # none is equal, but one has risen since the old document


def shared_tolls(new_names: bytes, old_names: bytes) -> SharedTolls:
    """Return what the tolls among the names of two documents have in common. Small ones tell nothing."""
    tolls = tolls_in(new_names)
    before = tolls_in(old_names)
    bits = [math.log2(value) for kind, value in tolls.items() if 0 < value == before.get(kind)]
    if sum(bits) >= 2.3:  # such as 5 dead, but not 4
        return SharedTolls(len(bits), sum(bits), is_risen=False)
    pairs = [(before.get(kind, 0), value) for kind, value in tolls.items()]
    return SharedTolls(0, 0.0, any(4 <= old < new <= 3 * old for old, new in pairs))  # within a day


def names_beside(tolls: SharedTolls, a: bytes, b: bytes, *, lacks_capitals: bool) -> int:
    """Return how many names two languages must share beside equal tolls: one less if a script has no capitals.

    The figure of a toll, which may be a name too, does not count as a name.
    """
    least = next((least for bits, least in OTHER_NAMES if tolls.bits >= bits), None)
    if least is None:
        return LEAST_COMMON_NAMES
    if lacks_capitals:
        return max(0, least - 1)
    return least + len({_slot(str(value)) for value in tolls_in(a).values()}.intersection(shared_terms(a, b)))


def names_score(a: bytes, b: bytes, least: int = LEAST_COMMON_NAMES) -> float:
    """Return the cosine of the names of two documents, less if they have few in common, 0 if fewer than ``least``."""
    if len(shared_terms(a, b)) < least:
        return 0.0
    return min(1.0, max(0.0, topic_cosine(a, b) + (LEAST_COSINE - least_cosine(a, b))))


def is_caseless(*names: bytes) -> bool:
    """Return whether one of some documents is in a script without capitals and has more names than others keep."""
    return max(map(len, names)) > MOST_NAMES * TOPIC_TERM_BYTES


def least_cosine(a: bytes, b: bytes) -> float:
    """Return the cosine that the names of two documents in two languages need."""
    common = len(shared_terms(a, b))
    if is_caseless(a, b):
        return CASELESS_COSINES.get(common, 0.0)
    return LEAST_COSINE + FEW_NAMES_LESS * (common <= LEAST_COMMON_NAMES)


def shared_names(a: bytes, b: bytes, title: str, text: str) -> tuple[str, ...]:
    """Return the rarest names that two documents share, as words of the one with this title and text."""
    folded, printed, places = fold_with_places(f"{title}\n{text[:4000]}")
    words = dict[int, str]()
    for word in (*_NAME.finditer(folded), *CASELESS_WORD.finditer(folded)):
        words.setdefault(_slot(skeleton(word[0])), printed[places[word.start()] : places[word.end()]])
    return tuple(words[slot] for slot in shared_terms(a, b)[:MOST_SHARED_WORDS] if slot in words)
