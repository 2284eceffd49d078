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
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from xxhash import xxh32_digest, xxh32_intdigest

from scrapy_neardup.evidence.number_tokens import LINE_END, number_tokens
from scrapy_neardup.evidence.number_words import (
    CONVERSIONS,
    CURRENCIES,
    HEDGES,
    MEASURES,
    MONTHS,
    NAMED_BEFORE,
    PERCENT,
    SAY_NOTHING,
    SCORED,
    WEEKDAYS,
    take_numbers,
)

CONTEXT_BYTES = 4  # of the words around a figure
# Two texts of one source are different reports if at least this many figures differ, and more differ than agree.
LEAST_OTHER_FIGURES = 3


MAX_FIGURES = 24
MAX_DIGESTS = 8
MAX_BYTES = 255
MAX_CHARACTERS = 60_000

CONTEXT_WORDS = 2
REACH = 16  # tokens looked at on either side; bounds the work on pages that are all numbers
_SHOWN = 100  # characters of a value
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


_PLAIN = re.compile("[0-9]+(?:[.][0-9]+)?")
_LOST_WORDS = (10**5, 10**6, 10**7, 10**9, 10**12)  # lakh, million, crore, billion, trillion
_VALUE = re.compile("[0-9./~-]+")
_VALUES = re.compile("[0-9./~-]+(?: [0-9./~-]+)*")
_ZERO_RUN = re.compile("0{3,14}")
_PACKED = re.compile("e([3-9a-e])|([a-d])")
_HEX_MARKS = str.maketrans(".-/~", "abcd")

_NO_WORDS = b"\0\0"
_MOST_WITHOUT_ANCHOR = 3  # figures of a text that are paired although the other text has none of them
_SIDES = slice(2), slice(2, 4)  # of a context
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


# Where a number stands


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
    return Figure(value, label[:_LONGEST_LABEL], hash_before + hash_behind)


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
    return xxh32_digest(" ".join(words).encode("utf-8", "surrogatepass"))[:2] if words else _NO_WORDS


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


# Packing


def pack_figures(figures: Sequence[Figure]) -> bytes:
    """Pack the figures of ``find_figures`` into at most ``MAX_BYTES`` bytes, without their labels.

    They take one byte for the number of single figures, 4 bytes of context each, their values as hexadecimal digits (a
    to d for ". - / ~", e and a digit for a run of zeros, f for the end), and 6 bytes for each digest. No figures take
    no bytes. A value that is too long is shortened in such a way that equal values stay equal. Raise ValueError for a
    context that has not 4 bytes and for a value that is no number.
    """
    if not figures:
        return b""
    given = [figure.value for figure in figures]
    if any(len(figure.context) != 4 for figure in figures):
        raise ValueError("the context of a figure has 4 bytes")
    if not _VALUES.fullmatch(" ".join(given)):
        raise ValueError("the value of a figure has digits and . - / ~ only")
    single, digests = figures[:MAX_FIGURES], figures[:0]
    if any(value[0] == DIGEST for value in given):
        single = [figure for figure in figures if figure.value[0] != DIGEST][:MAX_FIGURES]
        digests = [figure for figure in figures if figure.value[0] == DIGEST][:MAX_DIGESTS]
    contexts = b"".join(figure.context for figure in single)
    tail = b"".join(figure.context + int(figure.value[1:]).to_bytes(2, "big") for figure in digests)
    for limit in (LONG, SHORT):
        values = _hex("".join(_shortened(figure.value, limit) + "f" for figure in single))
        packed = bytes([len(single)]) + contexts + bytes.fromhex(values + "f" * (len(values) % 2)) + tail
        if len(packed) <= MAX_BYTES:
            break
    return packed


def _hex(value: str) -> str:
    return _ZERO_RUN.sub(lambda run: f"e{len(run[0]):x}", value).translate(_HEX_MARKS)


def _shortened(value: str, limit: int = SHORT) -> str:
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


# Comparing


@dataclass(frozen=True, slots=True)
class Change:
    """One figure with another value: a ``line`` for people, and its ``value_hashes`` before and after."""

    line: str
    before: bytes
    after: bytes


def value_hashes(figures: Sequence[Figure]) -> bytes:
    """Return 4 bytes for each figure, a hash of its context and value; zeros for a digest of several figures."""
    return b"".join(map(_value_hash, figures))


def _value_hash(figure: Figure) -> bytes:
    if figure.value.startswith(DIGEST):
        return bytes(4)
    return xxh32_digest(figure.context + _shortened(figure.value).encode())


def changed_figures(old: Sequence[Figure], new: Sequence[Figure], *, are_copies: bool = True) -> tuple[Change, ...]:
    """Return the changes from ``old`` to ``new``, each once, with lines such as "dead: 4 -> 12".

    A change is another value with the same words around it. A figure that only one text has is not a change. If two
    figures change from one value to another ("Fire kills 3", "3 people"), the change is told once, by the label that
    comes last: that of a text, and not of a headline. Both arguments may come from ``unpack_figures``. Labels are taken
    from ``new``. Two texts that are no copies of each other need a figure in common: without one the whole text would
    be one gap.
    """
    if [figure.context for figure in old] == [figure.context for figure in new]:
        pairs = list(zip(old, new, strict=True))
    else:
        pairs = _same_context(old, new) + _same_side(old, new, _MOST_WITHOUT_ANCHOR if are_copies else 0)
    changes: dict[tuple[str, str], Change] = {}
    for before, after in pairs:
        if _is_change(before, after):
            values = before.value[:_SHOWN], after.value[:_SHOWN]
            line = f"{after.label or before.label or 'figure'}: {values[0]} -> {values[1]}"
            if after.value.startswith(DIGEST):
                values, line = (DIGEST, DIGEST), "other figures: changed"
            changes[values] = Change(line, _value_hash(before), _value_hash(after))
    return tuple(changes.values())


def _is_change(before: Figure, after: Figure) -> bool:
    if _shortened(before.value) == _shortened(after.value):
        return False
    if _PLAIN.fullmatch(before.value) and _PLAIN.fullmatch(after.value):
        low, high = sorted((Decimal(before.value), Decimal(after.value)))
        # If one value is exactly a million (a lakh, a crore, a billion) times the other, a word was lost ("20 million"
        # -> "20"): that is no news.
        return not low or high / low not in _LOST_WORDS
    # If one row only has more numbers than the other, it is no change: only one text has these figures. "2 a 0" is the
    # score 2-0.
    is_of_scores = ("-" in before.value) == ("-" in after.value)
    old, new = (Counter(re.split("/" if is_of_scores else "[/-]", each.value)) for each in (before, after))
    return bool(old - new) and bool(new - old)


def _same_context(old: Sequence[Figure], new: Sequence[Figure]) -> list[tuple[Figure, Figure]]:
    """Pair figures with the same words on both sides. If a context comes more than once, equal values cancel out."""
    before, after = _by_context(old), _by_context(new)
    pairs: list[tuple[Figure, Figure]] = []
    for context, figures in after.items():
        if context in before:
            pairs += zip(*_without_shared(before[context], figures), strict=False)
    return pairs


def _by_context(figures: Sequence[Figure]) -> dict[bytes, list[Figure]]:
    found: dict[bytes, list[Figure]] = {}
    for figure in figures:
        found.setdefault(figure.context, []).append(figure)
    return found


def _without_shared(old: list[Figure], new: list[Figure]) -> tuple[list[Figure], list[Figure]]:
    olds, news = list(old), []
    for figure in new:
        value = _shortened(figure.value)
        if same := next((other for other in olds if _shortened(other.value) == value), None):
            olds.remove(same)
        else:
            news.append(figure)
    return olds, news


def _same_side(old: Sequence[Figure], new: Sequence[Figure], most_without_anchor: int) -> list[tuple[Figure, Figure]]:
    """Pair figures that agree in the words on one side only and stand between the same other figures.

    Two equal words prove nothing by themselves ("12 people in"). Their place among the figures that both texts have is
    the proof. Texts without a figure in common are paired only if they have few figures.
    """
    before, after = [figure.context for figure in old], [figure.context for figure in new]
    in_both = set(before) & set(after)
    if not in_both and max(len(old), len(new)) > most_without_anchor:
        return []  # the whole text would be one gap
    sides = [{each[side] for each in set(before) - in_both} for side in _SIDES]
    others = [{each[side] for each in set(after) - in_both} for side in _SIDES]
    if not any(one & other - {_NO_WORDS} for one, other in zip(sides, others, strict=True)):
        return []  # most often: SequenceMatcher is slow
    pairs = []
    for kind, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        # The last gap is open if one of the texts has more figures than are kept one by one: nobody knows what follows
        # there.
        is_open = (_has_digests(old[i:]) and j == len(old)) or (_has_digests(new[k:]) and m == len(new))
        if kind == "replace" and not is_open:
            gap = ([each for each in side if each.context not in in_both] for side in (old[i:j], new[k:m]))
            olds, news = _without_shared(*([each for each in side if each.value[0] != DIGEST] for side in gap))
            for figure in news:
                match = next((other for other in olds if _sides(other.context) & _sides(figure.context)), None)
                if match:
                    olds.remove(match)
                    if not _is_converted(match, figure):
                        pairs.append((match, figure))
    return pairs


def _is_converted(before: Figure, after: Figure) -> bool:
    """Return whether a length or weight was only put into other units, such as 7,000 feet and 2,133 metres."""
    if after.label not in MEASURES or not (_PLAIN.fullmatch(before.value) and _PLAIN.fullmatch(after.value)):
        return False
    low, high = sorted((float(before.value), float(after.value)))
    return any(abs(high - low * factor) <= 0.06 * high for factor in CONVERSIONS)


def _has_digests(figures: Sequence[Figure]) -> bool:
    return bool(figures) and figures[-1].value.startswith(DIGEST)


def _sides(context: bytes) -> set[tuple[int, bytes]]:
    """Return the words before and the words behind, each with its side."""
    return {(place, context[place : place + 2]) for place in (0, 2) if context[place : place + 2] != _NO_WORDS}


def have_other_figures(a: bytes, b: bytes) -> bool:
    """Decide whether most figures of two texts differ, as in the reports of two lottery draws.

    They are packed as ``evidence.figures`` packs them: their number, ``CONTEXT_BYTES`` of context for each, and
    their values as runs of hexadecimal digits that end with f.
    """
    figures_a, figures_b = _figures(a), _figures(b)
    same = len(figures_a & figures_b)
    others = min(len(figures_a), len(figures_b)) - same
    return others >= LEAST_OTHER_FIGURES and others > same


def share_of_new_figures(new: bytes, old: bytes) -> float:
    """Return the share of a text's figures of which another text has neither the value nor the place, in [0, 1].

    They are packed as for ``have_other_figures``. If the other text has more figures than are kept one by one, nothing
    is known of them: 0.
    """
    if old and old[0] == MAX_FIGURES:
        return 0.0
    figures, others = _figures(new), _figures(old)
    known = {part for figure in others for part in figure}
    return sum(known.isdisjoint(figure) for figure in figures) / len(figures) if figures else 0.0


def _figures(packed: bytes) -> set[tuple[bytes, str]]:
    count = packed[0] if packed else 0
    behind = 1 + CONTEXT_BYTES * count
    contexts = (packed[at : at + CONTEXT_BYTES] for at in range(1, behind, CONTEXT_BYTES))
    return set(zip(contexts, packed[behind:].hex().split("f"), strict=False))
