"""Cut texts into sentences. An abbreviation, an initial, a decimal or a host name ends none."""

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.text.folding import fold_with_places
from scrapy_neardup.text.tokenizer import DECIMAL, FULL_STOPS, LINE_ENDS, SPACE, STOP, UNSPACED, Reading, next_starts

# What may stand between two sentences: ends of lines, or full stops and the quotes that they close, and space. A quote
# behind the end of a line opens the next sentence.
_BETWEEN = re.compile(rf"""([{LINE_ENDS}{FULL_STOPS}.!?]+)(?:(?<![{LINE_ENDS}])["')\]」』]+)?[^\S{LINE_ENDS}]*""")
# In Thai and Lao a space between two long phrases ends a sentence: they have no full stops.
_BETWEEN_PHRASES = re.compile("[\u0e01-\u0eff] (?<=[\u0e01-\u0eff]{16} )(?=[\u0e01-\u0eff]{16})")
_LAST_WORD = re.compile(r"[^\s!-/:-@\[-`{-~]+$")  # anything but space and ASCII signs: marks of letters are no \w
_LONGEST_WORD = 12  # characters before a full stop that are looked at: an abbreviation with its marks has fewer
_LONGER = frozenset(
    "prof dott sept capt supt insp univ conn mass tenn godz plkst проф акад".split()
)  # of four letters and more
# words of a text; if so many are short on average, as in Vietnamese, any short word may end a sentence
_FEWEST_WORDS = 50
# In German an ordinal has a full stop and a capital behind it: "am 13. November".
_DAY = re.compile(r"[0-9]{1,2}\. (?:Jan|Feb|Marz|Apr|Mai |Jun|Jul|Aug|Sep|Okt|Nov|Dez)")


class Printed(NamedTuple):
    """A sentence as it is printed, and the hashes of its tokens."""

    text: str
    tokens: tuple[int, ...]


def whole_sentences(text: str) -> list[str]:
    """Return the sentences of a text, each on one line, however long it is."""
    return [" ".join(each.text.split()) for each in read_sentences(text)[0]]


@lru_cache(16)  # lead, news and tolls of a document are read from its sentences; nobody changes them
def read_sentences(*texts: str, longest: int | None = None) -> list[list[Printed]]:
    """Return the sentences of each text, but none without a word. A line ends a sentence, as a full stop does.

    The texts are cut alike: an abbreviation of one is one in all. Sentences of more than ``longest`` tokens are cut.
    """
    reading = Reading.of(*texts)
    # Of each sentence the character and the token with which it begins.
    start, first = _sentence_starts(reading)
    counts = next_starts(first, len(reading.starts)) - first
    if longest and len(counts) and counts.max() > longest:
        of_sentences = first
        first = np.array(_cut(reading, first.tolist(), counts.tolist(), longest))
        cut_start = reading.starts.take(first)  # a part begins with its first token
        cut_start[first.searchsorted(of_sentences)] = start  # a sentence also with what stands before it
        start = cut_start
    hashes = reading.hashes.tolist()
    tokens = [tuple(hashes[begin:end]) for begin, end in pairwise([*first.tolist(), len(hashes)])]
    of_texts = []
    # Of each text its characters in the reading, and the numbers of its sentences.
    characters = pairwise(reading.bounds.tolist())
    numbers = pairwise(start.searchsorted(reading.bounds).tolist())
    for text, (begins, behind), (one, next_one) in zip(texts, characters, numbers, strict=True):
        _, printed, places = fold_with_places(text)
        edges = [places[at - begins] for at in (*start[one:next_one].tolist(), behind - 1)]
        sentences = (printed[begin:end].strip() for begin, end in pairwise(edges))
        of_texts.append([*map(Printed, sentences, tokens[one:next_one])])
    return of_texts


def _sentence_starts(reading: Reading) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the characters and the tokens with which sentences begin; those without a token are left out."""
    text = reading.text
    known = cache(partial(_words_without_stop, reading))  # most texts have no word that may be an abbreviation
    marked = [each.end() for each in _BETWEEN.finditer(text, 0, len(text) - 1) if _is_end(text, each, known)]
    phrases = _BETWEEN_PHRASES.finditer(text) if reading.present & UNSPACED else ()
    start = np.array(sorted([*marked, *(each.end() for each in phrases)]))
    first = reading.starts.searchsorted(start)
    has_tokens = next_starts(first, len(reading.starts)) > first
    return start[has_tokens], first[has_tokens]


def _words_without_stop(reading: Reading) -> set[str]:
    """Return the short words that the texts have without a full stop."""
    lengths = reading.ends - reading.starts
    is_free = lengths <= 6
    if len(lengths) < _FEWEST_WORDS or lengths.mean() > 3.8:
        is_free &= reading.flags.take(reading.ends) & STOP == 0
    places = zip(reading.starts[is_free].tolist(), reading.ends[is_free].tolist(), strict=True)
    return {reading.text[begin:end] for begin, end in places}


def _is_end(text: str, between: re.Match[str], known: Callable[[], set[str]]) -> bool:
    """Decide whether a sentence ends with full stops. ``known`` returns the words that the texts have without one."""
    if between[1].strip(".!?"):  # the end of a line, or a full stop of another script
        return True
    stop, behind = between.span()
    before, following = text[stop - 1], text[behind]
    before_is_open = before.isspace() or before.isupper()
    # Without a space a sentence ends only before a capital, and behind none: in "came.He", not in "a.example" or "U.S".
    is_glued = not text[behind - 1].isspace() and (before_is_open or not following.isupper())
    if is_glued or following != following.title():  # a small letter; those of Georgian begin sentences
        return False
    last = _LAST_WORD.search(text, max(0, stop - _LONGEST_WORD), stop)
    if last is None:
        return before not in LINE_ENDS
    word = last[0]
    if any(map(str.isdigit, word)):  # also "1.2bn", "19h"
        return len(word) > 1 and text[last.start() - 1] not in LINE_ENDS and not _DAY.match(text, last.start())
    return between[0].strip() != "." or not _is_abbreviation(word, known, is_numbered=following.isdigit())


def _is_abbreviation(word: str, known: Callable[[], set[str]], *, is_numbered: bool) -> bool:
    """Decide whether a word in front of a full stop is short, and the texts never have it without one."""
    letters = sum(map(str.isalpha, word))
    if letters < 2:  # an initial
        return True
    is_short = word.lower() in _LONGER or (letters < 4 and word.lower() != word.upper())
    is_capitals = letters > 2 and word.isupper()  # "U.S." may be an abbreviation, "USA." ends a sentence
    is_indian_initial = letters == 2 and "\u0900" <= word[0] <= "\u0dff"
    may_be_one = (is_short and not is_capitals) or is_indian_initial
    return may_be_one and (is_numbered or word not in known())


def _cut(reading: Reading, firsts: Sequence[int], counts: Sequence[int], most: int) -> list[int]:
    """Return the first token of each sentence, and of each part of a long one.

    The words themselves say where a long sentence is cut, so two texts that share words are cut in the same places.
    Numbers are no such words: another number moves no cut. A text without spaces between words is cut at its spaces.
    """
    is_spaced = (reading.flags.take(reading.starts - 1) & SPACE).astype(bool)
    is_number = (reading.flags.take(reading.starts) & DECIMAL).astype(bool)
    is_behind_number = np.roll(is_number, 1)  # its unit stays with it
    ranks = np.where(is_spaced & ~is_number & ~is_behind_number, 0, 1) + reading.hashes / 2.0**64
    are_unspaced = reading.are_unspaced
    cut = []
    for first, count in zip(firsts, counts, strict=True):
        cut.append(first)
        longest = most * (4 if are_unspaced[first] else 1)  # characters that count as a word
        while first + count - cut[-1] > longest:
            begin = cut[-1] + longest // 4
            cut.append(begin + int(ranks[begin : cut[-1] + longest + 1].argmin()))
    return cut
