"""The figures guard: the numbers of a text with their neighbours, so that "4 dead" -> "12 dead" is seen.

A figure is a number, in digits or words, with a hash of the words around it. If two near-duplicates have different
numbers between the same words, their figures differ. Dates, clock times, years and phone numbers are left out: they
change between editions of one text and say nothing.

A document has ``MAX_BYTES`` for this. Its first ``MAX_FIGURES`` figures are kept one by one. The others are cut into at
most ``MAX_DIGESTS`` runs, and one digest of each run is kept. The words around the figures decide where a run ends. So
a change is noticed anywhere in the text. But if it is far down a text full of numbers, it is not known which figure
changed. The change is missed if that part of the text was edited too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from xxhash import xxh32_digest, xxh32_intdigest

from scrapy_neardup.evidence.number_tokens import LINE_END, number_tokens
from scrapy_neardup.evidence.number_words import (
    CURRENCIES,
    HARMING,
    HEDGES,
    MEASURES,
    MONTHS,
    NAMED_BEFORE,
    PERCENT,
    PERSONS,
    SAY_NOTHING,
    SCORED,
    TO_BE,
    WEEKDAYS,
    FigureKind,
    kind_of,
    take_numbers,
)

CONTEXT_BYTES = 4  # of the words around a figure


MAX_FIGURES = 24
MAX_DIGESTS = 8
MAX_BYTES = 255
MAX_CHARACTERS = 60_000

CONTEXT_WORDS = 2
REACH = 16  # tokens looked at on either side; bounds the work on pages that are all numbers
_FATE_WORDS = 4  # behind a word for people: "12 people have also been killed"
_LONGEST_LABEL = 20  # characters
SHORT, LONG = 8, 16  # hexadecimal digits of a packed value; values of SHORT digits always fit into MAX_BYTES
DIGEST = "~"


class Figure(NamedTuple):
    """A number of a text and where it stands.

    ``value`` is a plain decimal ("1200", "6.1"), or several for scores and ranges ("3-1"), fractions and rows of
    numbers ("7/32"); one that starts with "~" is a digest over a run of figures. ``label`` is the word people would
    read beside it, "%" or a currency; "" after unpacking. ``context`` has 4 bytes: 2 hash the words before, 2 the words
    behind. If one side has no words, words farther off on the other side stand in for them, or zeros.
    """

    value: str
    label: str
    context: bytes


_VALUE = re.compile("[0-9./~-]+")
_ZERO_RUN = re.compile("0{3,14}")
_PACKED = re.compile("e([3-9a-e])|([a-d])")
_HEX_MARKS = str.maketrans(".-/~", "abcd")

NO_WORDS = b"\0\0"
_FIRST, _LAST = slice(3), slice(-3, None)  # characters of a clause that stand near a figure
# Thai; with few exceptions, Thai and all scripts with higher code points are written without spaces.
_UNSPACED = "\u0e00"
_PASSED_OVER = HEDGES | WEEKDAYS | MONTHS | PERCENT | frozenset(CURRENCIES)


def find_figures(text: str) -> tuple[Figure, ...]:
    """Return the figures of a text: up to ``MAX_FIGURES`` in the order of the text, then up to ``MAX_DIGESTS`` digests.

    Reads the first ``MAX_CHARACTERS`` characters, in linear time. Never raises; the same in every process.
    """
    tokens, starts = number_tokens(text[:MAX_CHARACTERS])
    return _bounded([_figure(tokens, *number) for number in take_numbers(tokens, starts)])


def _figure(tokens: list[str], first: int, end: int, value: str, mark: str) -> Figure:
    before, behind = tokens[max(0, first - REACH) : first], tokens[end : end + REACH]
    before.reverse()
    words_before, words_behind = _words(before, _LAST), _words(behind, _FIRST)
    hash_before, hash_behind = _hash(words_before), _hash(words_behind)
    # If the block begins or ends with the number, words farther off on the other side stand in for the missing ones.
    if not words_before:
        hash_before = _hash(_words(behind, _FIRST, 2 * CONTEXT_WORDS)[1 + CONTEXT_WORDS :])
    elif not words_behind:
        hash_behind = _hash(_words(before, _LAST, 2 * CONTEXT_WORDS)[1 + CONTEXT_WORDS :])
    label = _label(value, mark, words_before, words_behind, tokens[end])
    if label in SAY_NOTHING:  # "58 have been taken ill"
        farther = _words(behind, _FIRST, 2 * CONTEXT_WORDS)
        label = next((word for word in farther[1:] if word not in SAY_NOTHING), label)
    elif label in PERSONS and label == behind[0]:
        label += _fate(before, behind[1 : 1 + _FATE_WORDS])
    return Figure(value, label[:_LONGEST_LABEL], hash_before + hash_behind)


def _fate(before: list[str], behind: list[str]) -> str:
    """Return a word that says what happened to people: " killed". Before them it is an English verb, no passive."""
    for token in behind:
        if token in ("#", LINE_END):
            break
        if len(token) > 2 and token not in SAY_NOTHING:
            if kind_of(token) < FigureKind.OTHER:
                return f" {token}"
            break
    verb, earlier, *_ = [*(token for token in before if token not in HEDGES and token != "at"), "", ""]
    return f" {HARMING[verb]}" if verb in HARMING and earlier not in TO_BE else ""


def _words(tokens: list[str], near: slice, count: int = CONTEXT_WORDS) -> list[str]:
    """Return how many numbers stand before the next word, and the nearest ``count`` words of the block; or nothing.

    Words of one or two letters say little. In scripts without spaces a token is a clause, and its near end counts.
    """
    words: list[str] = []
    passed = 0
    for token in tokens:
        if len(token) > 2 or token > _UNSPACED:
            if token not in _PASSED_OVER:
                words.append(token if token < _UNSPACED else token[near])
                if len(words) == count:
                    break
        elif token == "#":
            passed += not words
        elif token == LINE_END:
            break
    return [str(passed), *words] if words else words


def _hash(words: list[str]) -> bytes:
    return xxh32_digest(" ".join(words).encode("utf-8", "surrogatepass"))[:2] if words else NO_WORDS


def _label(value: str, mark: str, before: list[str], behind: list[str], following: str) -> str:
    if mark not in ("", "."):
        return mark
    if before and before[1] in NAMED_BEFORE:
        return before[1]
    if "-" in value and len(value) <= 7 and "." not in value and (mark or following in SCORED or len(following) <= 2):
        return "score"
    if following in MEASURES:
        return following
    words = (mark and before) or behind or before
    return next((word for word in words[1:] if word not in SAY_NOTHING), "".join(words[1:2]))


def _bounded(figures: list[Figure]) -> tuple[Figure, ...]:
    """Keep the first figures, digest the rest.

    A context is kept with all its values or not at all: if it were split at the limit, dropping a paragraph would move
    values over the limit and look like a change.
    """
    if len(figures) <= MAX_FIGURES:
        return tuple(figures)
    times = Counter(figure.context for figure in figures)
    kept: set[bytes] = set()
    room = MAX_FIGURES
    for context, count in times.items():
        if count <= room:
            kept.add(context)
            room -= count
    single = [figure for figure in figures if figure.context in kept]
    return (*single, *_digests(figures, kept))


def _digests(figures: list[Figure], kept: set[bytes]) -> list[Figure]:
    """Digest runs of the figures that are not kept.

    The context of its last figure decides where a run ends, so an edit elsewhere does not change the run.
    """
    rest = [i for i, figure in enumerate(figures) if figure.context not in kept]
    ends = {i: xxh32_intdigest(figures[i].context) for i in rest}
    modulus = 1
    while modulus < 2**32 and sum(end % modulus == 0 for end in ends.values()) >= MAX_DIGESTS:
        modulus *= 2
    digests = []
    contexts, values = b"", ""
    for i in rest:
        # Add the context of the figure before, so that the same words elsewhere in a table differ from these.
        contexts += figures[i - 1].context + figures[i].context
        values += figures[i].value + " "
        if ends[i] % modulus == 0 or i == rest[-1]:
            digest = xxh32_intdigest(values.encode()) & 0xFFFF
            digests.append(Figure(f"{DIGEST}{digest}", "", xxh32_digest(contexts)))
            contexts, values = b"", ""
    return digests


def pack_figures(figures: Sequence[Figure]) -> bytes:
    """Pack the figures of ``find_figures`` into at most ``MAX_BYTES`` bytes, without their labels.

    They take one byte for the number of single figures, 4 bytes of context each, their values as hexadecimal digits (a
    to d for ". - / ~", e and a digit for a run of zeros, f for the end), and 6 bytes for each digest. No figures take
    no bytes. A value that is too long is shortened in such a way that equal values stay equal.
    """
    if not figures:
        return b""
    single = [figure for figure in figures if figure.value[0] != DIGEST][:MAX_FIGURES]
    digests = [figure for figure in figures if figure.value[0] == DIGEST][:MAX_DIGESTS]
    contexts = b"".join(figure.context for figure in single)
    tail = b"".join(figure.context + int(figure.value[1:]).to_bytes(2, "big") for figure in digests)
    for limit in (LONG, SHORT):
        values = _hex("".join(shortened(figure.value, limit) + "f" for figure in single))
        packed = bytes([len(single)]) + contexts + bytes.fromhex(values + "f" * (len(values) % 2)) + tail
        if len(packed) <= MAX_BYTES:
            break
    return packed


def _hex(value: str) -> str:
    return _ZERO_RUN.sub(lambda run: f"e{len(run[0]):x}", value).translate(_HEX_MARKS)


def shortened(value: str, limit: int = SHORT) -> str:
    """Return a value that packs into ``limit`` hexadecimal digits. A long one keeps 3 characters and a 4-digit hash."""
    if len(value) <= limit or len(_hex(value)) <= limit:
        return value
    return f"{value[:3]}{DIGEST}{xxh32_intdigest(value.encode()) % 10_000:04}"


@lru_cache(256)
def unpack_figures(data: bytes) -> tuple[Figure, ...]:
    """Read packed figures back, without labels. Raises ValueError for bytes that are no packed figures."""
    if not data:
        return ()
    count = data[0]
    start = 1 + 4 * count
    if len(data) > MAX_BYTES or count > MAX_FIGURES or len(data) < start:
        raise ValueError(f"packed figures: {len(data)} bytes cannot hold {count} figures")
    digits = data[start:].hex()
    *packed, _ = digits.split("f", count)
    if len(packed) < count:
        raise ValueError(f"packed figures: {len(packed)} values of {count} figures")
    values, end = list(map(_number, packed)), sum(map(len, packed)) + count
    tail = data[start + (end + 1) // 2 :]
    if (end % 2 and digits[end] != "f") or len(tail) % 6 or len(tail) > 6 * MAX_DIGESTS:
        raise ValueError(f"packed figures: {len(tail)} bytes behind the values, not a small multiple of 6")
    single = [Figure(value, "", data[1 + 4 * i : 5 + 4 * i]) for i, value in enumerate(values)]
    digests = [tail[i : i + 6] for i in range(0, len(tail), 6)]
    return (*single, *(Figure(f"{DIGEST}{int.from_bytes(d[4:], 'big')}", "", d[:4]) for d in digests))


def _number(digits: str) -> str:
    if digits.isdecimal():
        return digits
    value = _PACKED.sub(lambda mark: "0" * int(mark[1], 16) if mark[1] else ".-/~"["abcd".index(mark[2])], digits)
    if not _VALUE.fullmatch(value):
        raise ValueError(f"packed figures: {digits!r} is no number")
    return value
