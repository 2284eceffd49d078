"""The figures guard: the numbers of a text with their neighbours, so that "4 dead" -> "12 dead" is seen.

A figure is a number, in digits or words, with a hash of the words around it. If two near-duplicates have different
numbers between the same words, their figures differ. Dates, clock times, years and phone numbers are left out: they
change between editions of one text and say nothing.

The first ``MAX_FIGURES`` figures of a document are kept one by one. The others are cut into at most ``MAX_DIGESTS``
runs, and one digest of each run is kept. The words around the figures decide where a run ends. So a change is noticed
anywhere in the text. But if it is far down a text full of numbers, it is not known which figure changed. The change is
missed if that part of the text was edited too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import repeat, takewhile
from typing import NamedTuple

from xxhash import xxh32_digest, xxh32_intdigest

from scrapy_neardup.evidence.number_words import (
    CONVERSIONS,
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
)
from scrapy_neardup.evidence.numbers import LINE_END, number_tokens, take_numbers
from scrapy_neardup.records.packing import split

MAX_FIGURES = 24
MAX_DIGESTS = 8
MAX_CHARACTERS = 60_000
DIGEST = "~"
CONTEXT_WORDS, CONTEXT_BYTES = 2, 4  # words on either side of a figure; bytes of their hashes
REACH = 16  # tokens looked at on either side; bounds the work on pages that are all numbers
_FATE_WORDS = 4  # behind a word for people: "12 people have also been killed"
_LONGEST_LABEL = 20  # characters
_LONGEST_VALUE = 16  # characters of a value that is packed as it is
_HEX_MARKS, _MARKS = str.maketrans(".-/~", "abcd"), str.maketrans("abcd", ".-/~")
_NO_WORDS = bytes(2)
_FIRST, _LAST = slice(3), slice(-3, None)  # characters of a clause that stand near a figure
# Thai; with few exceptions, Thai and all scripts with higher code points are written without spaces.
_UNSPACED = "\u0e00"
_PASSED_OVER = HEDGES | WEEKDAYS | MONTHS | PERCENT | frozenset(CURRENCIES)

# Two texts of one source are different reports if at least this many figures differ, and more differ than agree.
_LEAST_OTHER_FIGURES = 3
_PLAIN = re.compile("[0-9]+(?:[.][0-9]+)?")
_LOST_WORDS = (10**5, 10**6, 10**7, 10**9, 10**12)  # lakh, million, crore, billion, trillion
_MOST_WITHOUT_ANCHOR = 3  # figures of a text that are paired although the other text has none of them
_SHOWN = 100  # characters of a value


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

    @property
    def is_digest(self) -> bool:
        return self.value.startswith(DIGEST)

    @property
    def short_value(self) -> str:
        """Return the value, if it is not long, or else its first characters and a hash. Equal values stay equal."""
        if len(self.value) <= _LONGEST_VALUE:
            return self.value
        return f"{self.value[:3]}{DIGEST}{xxh32_intdigest(self.value.encode()) % 10_000:04}"


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
    near = takewhile(lambda token: token not in ("#", LINE_END), behind)
    word = next((token for token in near if len(token) > 2 and token not in SAY_NOTHING), "")
    if kind_of(word) < FigureKind.OTHER:
        return f" {word}"
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


def pack_figures(figures: Sequence[Figure]) -> bytes:
    """Pack the figures of ``find_figures``, without their labels.

    They take one byte for their number, ``CONTEXT_BYTES`` of context each, and their values as hexadecimal digits: a to
    d for ". - / ~", f for the end. No figures take no bytes.
    """
    if not figures:
        return b""
    contexts = b"".join(figure.context for figure in figures)
    values = "".join(figure.short_value + "f" for figure in figures).translate(_HEX_MARKS)
    return bytes([len(figures)]) + contexts + bytes.fromhex(values + "f" * (len(values) % 2))


@lru_cache(256)  # a new document is compared with several candidates, and a candidate in both directions
def unpack_figures(packed: bytes) -> tuple[Figure, ...]:
    """Read packed figures back, without labels. Damaged bytes give other figures, but no error."""
    end = 1 + CONTEXT_BYTES * packed[0] if packed else 0
    values = packed[end:].hex().translate(_MARKS).split("f")
    return tuple(map(Figure, values, repeat(""), split(packed[1:end], CONTEXT_BYTES)))


class Change(NamedTuple):
    """One figure with another value: a ``line`` for people, and its ``value_hashes`` before and after."""

    line: str
    before: bytes
    after: bytes


def value_hashes(figures: Iterable[Figure]) -> bytes:
    """Return 4 bytes for each figure, a hash of its context and value; zeros for a digest of several figures."""
    return b"".join(
        bytes(4) if each.is_digest else xxh32_digest(each.context + each.short_value.encode()) for each in figures
    )


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
            if after.is_digest:
                values, line = (DIGEST, DIGEST), "other figures: changed"
            changes[values] = Change(line, value_hashes([before]), value_hashes([after]))
    return tuple(changes.values())


def _is_change(before: Figure, after: Figure) -> bool:
    if before.short_value == after.short_value:
        return False
    if _are_plain(before, after):
        low, high = sorted((Decimal(before.value), Decimal(after.value)))
        # If one value is exactly a million (a lakh, a crore, a billion) times the other, a word was lost ("20 million"
        # -> "20"): that is no news.
        return not low or high / low not in _LOST_WORDS
    # If one row only has more numbers than the other, it is no change: only one text has these figures. "2 a 0" is the
    # score 2-0.
    is_of_scores = ("-" in before.value) == ("-" in after.value)
    old, new = (Counter(re.split("/" if is_of_scores else "[/-]", each.value)) for each in (before, after))
    return bool(old - new) and bool(new - old)


def _are_plain(*figures: Figure) -> bool:
    return all(_PLAIN.fullmatch(figure.value) for figure in figures)


def _same_context(old: Sequence[Figure], new: Sequence[Figure]) -> list[tuple[Figure, Figure]]:
    """Pair figures with the same words on both sides. If a context comes more than once, equal values cancel out."""
    before, after = _by_context(old), _by_context(new)
    gaps = (_without_shared(before[context], figures) for context, figures in after.items() if context in before)
    return [pair for gap in gaps for pair in zip(*gap, strict=False)]


def _by_context(figures: Sequence[Figure]) -> dict[bytes, list[Figure]]:
    found: dict[bytes, list[Figure]] = {}
    for figure in figures:
        found.setdefault(figure.context, []).append(figure)
    return found


def _without_shared(old: list[Figure], new: list[Figure]) -> tuple[list[Figure], list[Figure]]:
    olds, news = list(old), []
    for figure in new:
        if same := next((other for other in olds if other.short_value == figure.short_value), None):
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
    sides, others = (set[tuple[int, bytes]]().union(*map(_sides, {*each} - in_both)) for each in (before, after))
    if sides.isdisjoint(others):
        return []  # most often: SequenceMatcher is slow
    pairs = []
    for kind, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        # The last gap is open if one of the texts has more figures than are kept one by one: nobody knows what follows
        # there.
        is_open = any(end == len(side) and side[-1].is_digest for side, end in ((old, j), (new, m)))
        if kind == "replace" and not is_open:
            gap = ([each for each in side if each.context not in in_both] for side in (old[i:j], new[k:m]))
            olds, news = _without_shared(*([each for each in side if not each.is_digest] for side in gap))
            for figure in news:
                match = next((other for other in olds if _sides(other.context) & _sides(figure.context)), None)
                if match:
                    olds.remove(match)
                    if not _is_converted(match, figure):
                        pairs.append((match, figure))
    return pairs


def _is_converted(before: Figure, after: Figure) -> bool:
    """Return whether a length or weight was only put into other units, such as 7,000 feet and 2,133 metres."""
    if after.label not in MEASURES or not _are_plain(before, after):
        return False
    low, high = sorted((float(before.value), float(after.value)))
    return any(abs(high - low * factor) <= 0.06 * high for factor in CONVERSIONS)


def _sides(context: bytes) -> set[tuple[int, bytes]]:
    """Return the words before and the words behind, each with its side."""
    return {(place, context[place : place + 2]) for place in (0, 2) if context[place : place + 2] != _NO_WORDS}


def have_other_figures(a: bytes, b: bytes) -> bool:
    """Decide whether most figures of two texts differ, as in the reports of two lottery draws. Both are packed.

    A figure of one text is in the other one if its value is there, with the same words on one side.
    """
    fewer, more = sorted((set(_single_figures(a)), set(_single_figures(b))), key=len)
    known = {(side, value) for context, value in more for side in _sides(context)}
    others = sum(known.isdisjoint((side, value) for side in _sides(context)) for context, value in fewer - more)
    return others >= _LEAST_OTHER_FIGURES and 2 * others > len(fewer)


def share_of_new_figures(new: bytes, old: bytes) -> float:
    """Return the share of a text's figures of which another text has neither the value nor the place, in [0, 1].

    If the other text has more figures than are kept one by one, nothing is known of them: 0.
    """
    figures, others = set(_single_figures(new)), _single_figures(old)
    if not figures or len(others) == MAX_FIGURES:
        return 0.0
    known = {part for figure in others for part in figure}
    return len([each for each in figures if known.isdisjoint(each)]) / len(figures)


def _single_figures(packed: bytes) -> list[tuple[bytes, str]]:
    return [(figure.context, figure.value) for figure in unpack_figures(packed) if not figure.is_digest]
