"""Compare the figures of two texts: which of them changed, and how many only one text has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from functools import lru_cache

from xxhash import xxh32_digest

from scrapy_neardup.evidence.figures import (
    CONTEXT_BYTES,
    DIGEST,
    MAX_FIGURES,
    NO_WORDS,
    Figure,
    shortened,
    unpack_figures,
)
from scrapy_neardup.evidence.number_words import CONVERSIONS, MEASURES
from scrapy_neardup.records.packing import split

# Two texts of one source are different reports if at least this many figures differ, and more differ than agree.
LEAST_OTHER_FIGURES = 3
_PLAIN = re.compile("[0-9]+(?:[.][0-9]+)?")
_LOST_WORDS = (10**5, 10**6, 10**7, 10**9, 10**12)  # lakh, million, crore, billion, trillion
_MOST_WITHOUT_ANCHOR = 3  # figures of a text that are paired although the other text has none of them
_SIDES = slice(2), slice(2, 4)  # of a context
_SHOWN = 100  # characters of a value


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
    return xxh32_digest(figure.context + shortened(figure.value).encode())


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
    if shortened(before.value) == shortened(after.value):
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
        value = shortened(figure.value)
        if same := next((other for other in olds if shortened(other.value) == value), None):
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
    if not any(one & other - {NO_WORDS} for one, other in zip(sides, others, strict=True)):
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
    return {(place, context[place : place + 2]) for place in (0, 2) if context[place : place + 2] != NO_WORDS}


def have_changed_figures(new: bytes, old: bytes) -> bool:
    """Decide whether a figure has another value in another text. Raise ValueError if packed figures are damaged."""
    return bool(new and old and new != old and changed_figures(unpack_figures(old), unpack_figures(new)))


def have_other_figures(a: bytes, b: bytes) -> bool:
    """Decide whether most figures of two texts differ, as in the reports of two lottery draws.

    ``pack_figures`` packed them: their number, ``CONTEXT_BYTES`` of context for each, and their values as runs of
    hexadecimal digits that end with f.
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
    return len([each for each in figures if known.isdisjoint(each)]) / len(figures) if figures else 0.0


@lru_cache(256)  # a new document is compared with several candidates, and a candidate in both directions
def _figures(packed: bytes) -> frozenset[tuple[bytes, str]]:
    count = packed[0] if packed else 0
    behind = 1 + CONTEXT_BYTES * count
    return frozenset(zip(split(packed[1:behind], CONTEXT_BYTES), packed[behind:].hex().split("f"), strict=False))
