"""The figures guard: the numbers of a text and what they count, so that "4 dead" -> "12 dead" is seen.

A figure is a number, in digits or words, with what it counts (see ``counted``) and a hash of the words around it. Two
figures of two near-duplicates are one figure with another value if the words around it are the same, or if it is the
newest toll of the same kind: people killed, injured, missing, ill, arrested and so on. Dates, clock times, years and
phone numbers are left out. Another age, or another number that is a name, makes an update, but is not told.

Only text that is compared is read (``figures_of_body``), and at most ``MAX_FIGURES`` figures of a document are kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import NamedTuple

from xxhash import xxh32_digest, xxh32_intdigest

from scrapy_neardup.evidence.counted import (
    HARMED,
    KINDS,
    LABELS,
    LINE_END,
    PEOPLE,
    SILENT,
    Counted,
    FigureKind,
    is_part_of,
    label_of,
    leads_on,
    what_is_counted,
)
from scrapy_neardup.evidence.number_words import (
    CURRENCIES,
    HEDGES,
    MONTHS,
    NAMED_BEFORE,
    NUMBERED,
    PERCENT,
    SCORED,
    WEEKDAYS,
)
from scrapy_neardup.evidence.numbers import number_tokens, take_numbers
from scrapy_neardup.records.packing import split
from scrapy_neardup.text.body import Body

MAX_FIGURES = 120
MAX_CHARACTERS = 60_000
_CUT = "~"  # in a long value, between its beginning and a hash
CONTEXT_WORDS, CONTEXT_BYTES = 2, 4  # words on either side of a figure; bytes of their hashes
REACH = 16  # tokens looked at on either side; bounds the work on pages that are all numbers
_LONGEST_LABEL = 20  # characters
_LONGEST_VALUE = 16  # characters of a value that is packed as it is
_HEX_MARKS, _MARKS = str.maketrans(".-/~", "abcd"), str.maketrans("abcd", ".-/~")
_NO_WORDS = bytes(2)
_STEM = 5  # letters of a word: "человек" and "человека" are one
_FIRST, _LAST = slice(3), slice(-3, None)  # characters of a clause that stand near a figure
# Thai; with few exceptions, Thai and all scripts with higher code points are written without spaces.
_UNSPACED = "\u0e00"
_PASSED_OVER = HEDGES | WEEKDAYS | MONTHS | PERCENT | frozenset(CURRENCIES)
SENTENCE_ENDS = tuple(".!?\"')]:;。！？؟۔।…")
_FIRST_SENTENCE_WORDS = 8
_OLDEST = 110
_MOST_IN_TITLE = 20
_SHORTEST_GAP = 2  # words between two values of one thing

# Two texts of one source are different reports if at least this many figures differ, and more differ than agree.
_LEAST_OTHER_FIGURES = 3
_PLAIN = re.compile("[0-9]+(?:[.][0-9]+)?")
_DIGIT = re.compile("[0-9]")
_LOST_WORDS = (10**3, 10**5, 10**6, 10**7, 10**9, 10**12)  # thousand, lakh, million, crore, billion, trillion
_LEAST_ROUNDED = 10**6  # smaller whole numbers are told exactly
_MOST_GROWTH = 20  # of a toll from one text to the next, if no words around it are the same
_SHOWN = 100  # characters of a value
_IN_HEAD, _IN_TITLE, _KIND = 0x80, 0x40, 0x3F


class Figure(NamedTuple):
    """A number of a text, what it counts and where it stands.

    ``value`` is a plain decimal ("1200", "6.1"), or several for scores and ranges ("3-1"), fractions and rows of
    numbers ("7/32"). ``label`` says what it counts: the name of its ``kind``, or the word behind it, which is not
    packed. ``context`` has 4 bytes: 2 hash the words before, 2 the words behind. If one side has no words, words
    farther off on the other side stand in for them, or zeros.
    """

    value: str
    label: str
    context: bytes
    kind: int = 0  # an index of ``counted.LABELS``
    in_head: bool = False  # in the title or the first sentence
    in_title: bool = False

    @property
    def short_value(self) -> str:
        """Return the value, if it is not long, or else its first characters and a hash. Equal values stay equal."""
        if len(self.value) <= _LONGEST_VALUE:
            return self.value
        return f"{self.value[:3]}{_CUT}{xxh32_intdigest(self.value.encode()) % 10_000:04}"


def figures_of_body(body: Body) -> tuple[Figure, ...]:
    """Return the figures of the lines that are compared.

    A line without the end of a sentence is a caption, a teaser or a row of a table, so its figures are no tolls. A text
    without sentences is read whole.
    """
    lines = body.text.split("\n")
    sentences = [line for line in lines if line.endswith(SENTENCE_ENDS)]
    if 2 * sum(map(len, sentences)) <= sum(map(len, lines)):
        return find_figures(body.printed)
    figures = _all_figures("\n".join(sentences))
    others_text = "\n".join(line for line in lines if not line.endswith(SENTENCE_ENDS))
    if _DIGIT.search(others_text):
        others = _all_figures(others_text)
        figures += [each._replace(label="", kind=0, in_head=False) for each in others]
    return _most(figures)


def find_figures(text: str) -> tuple[Figure, ...]:
    """Return the figures of a text, up to ``MAX_FIGURES``.

    Reads the first ``MAX_CHARACTERS`` characters, in linear time. Never raises; the same in every process.
    """
    return _most(_all_figures(text))


def figures_of_title(title: str, language: str = "") -> list[Figure]:
    """Return the figures of a title in this language, which is an ISO 639-1 code, or "" if it is not known."""
    found = _most(_all_figures(title, language))[:_MOST_IN_TITLE]
    return [each._replace(in_head=True, in_title=True) for each in found]


def _all_figures(text: str, language: str = "") -> list[Figure]:
    tokens, starts = number_tokens(text[:MAX_CHARACTERS])
    numbers = take_numbers(tokens, starts, language)
    if not numbers:
        return []
    head = next((i for i, token in enumerate(tokens) if token == LINE_END and i >= _FIRST_SENTENCE_WORDS), len(tokens))
    figures: list[Figure] = []
    last_end = claimed = 0  # behind the figure before this one, and behind the word that says what it counts
    last_mark = ""
    for first, end, value, mark in numbers:
        before, behind = tokens[max(0, first - REACH) : first][::-1], tokens[end : end + REACH]
        kind, place, _ = _kind(value, mark, before[: max(0, first - claimed)], behind)
        if figures and not last_mark and first - last_end <= _SHORTEST_GAP:
            kind = _shared_kind(figures, kind, tokens[last_end:first])
        label = LABELS[kind] or ("" if kind else _label(value, mark, before, behind))
        figures.append(Figure(value, label[:_LONGEST_LABEL], _context(before, behind), kind, first < head))
        last_end, last_mark, claimed = end, mark, end + place
    return figures


def _shared_kind(figures: list[Figure], kind: int, between: Sequence[str]) -> int:
    """Return the kind of a figure that counts the same as the last one: "from four to nine", "49 of the 50 died".

    Of the two, the one that is not the newest value counts nothing.
    """
    last = figures[-1]
    if not kind and 0 < last.kind < FigureKind.OTHER and leads_on(between):
        figures[-1] = last._replace(kind=SILENT, label="")
        return last.kind
    if 0 < kind < FigureKind.OTHER and last.kind in (0, PEOPLE) and is_part_of(between):
        figures[-1] = last._replace(kind=kind, label=LABELS[kind])
        return SILENT
    return kind


def _kind(value: str, mark: str, before: list[str], behind: list[str]) -> Counted:
    """Return what a figure counts, and how far behind it the word stands that says so."""
    if mark in KINDS:
        return Counted(KINDS[mark])
    nearest = before[0] if before else ""
    if nearest in NUMBERED or (nearest == "," and mark and value.isdigit() and int(value[:9]) <= _OLDEST):
        return Counted(SILENT)  # "John Smith, 45, ..."
    if not _PLAIN.fullmatch(value) or mark:
        behind = []
    return what_is_counted(before, behind)


def _context(before: list[str], behind: list[str]) -> bytes:
    words_before, words_behind = _words(before, _LAST), _words(behind, _FIRST)
    hash_before, hash_behind = _hash(words_before), _hash(words_behind)
    # If the line begins or ends with the number, words farther off on the other side stand in for the missing ones.
    if not words_before:
        hash_before = _hash(_words(behind, _FIRST, 2 * CONTEXT_WORDS)[1 + CONTEXT_WORDS :])
    elif not words_behind:
        hash_behind = _hash(_words(before, _LAST, 2 * CONTEXT_WORDS)[1 + CONTEXT_WORDS :])
    return hash_before + hash_behind


def _words(tokens: list[str], near: slice, count: int = CONTEXT_WORDS) -> list[str]:
    """Return how many numbers stand before the next word, and the nearest ``count`` words of the line; or nothing.

    Words of one or two letters say little. In scripts without spaces a token is a clause, and its near end counts.
    """
    words: list[str] = []
    passed = 0
    for token in tokens:
        if token == LINE_END or len(words) == count:
            break
        if token == "#":
            passed += not words
        elif token > _UNSPACED:
            words.append(token[near])
        elif len(token) > 2 and token not in _PASSED_OVER:
            words.append(token[:_STEM])
    return [str(passed), *words] if words else words


def _hash(words: list[str]) -> bytes:
    return xxh32_digest(" ".join(words).encode("utf-8", "surrogatepass"))[:2] if words else _NO_WORDS


def _label(value: str, mark: str, before: list[str], behind: list[str]) -> str:
    """Return the word that says what a figure of no kind counts, "" if none does."""
    named = next((token for token in before[:2] if token in NAMED_BEFORE), "")
    if named:
        return named
    following = behind[0] if behind else ""
    if "-" in value and len(value) <= 7 and "." not in value and (mark or following in SCORED or len(following) <= 2):
        return "score"
    return "" if mark else label_of(behind)


def _most(figures: list[Figure]) -> tuple[Figure, ...]:
    """Return as many figures as are kept: of a text full of numbers the tolls, and the first others."""
    if len(figures) > MAX_FIGURES:
        figures = sorted(figures, key=lambda figure: figure.kind not in HARMED)[:MAX_FIGURES]
    return tuple(figures)


def pack_figures(figures: Sequence[Figure]) -> bytes:
    """Pack figures without the labels of those that have no kind.

    They take one byte for their number, ``CONTEXT_BYTES`` of context and one byte of kind each, and their values as
    hexadecimal digits: a to d for ". - / ~", f for the end. No figures take no bytes.
    """
    if not figures:
        return b""
    contexts = b"".join(figure.context for figure in figures)
    kinds = bytes(each.kind | _IN_HEAD * each.in_head | _IN_TITLE * each.in_title for each in figures)
    values = "".join(figure.short_value + "f" for figure in figures).translate(_HEX_MARKS)
    return bytes([len(figures)]) + contexts + kinds + bytes.fromhex(values + "f" * (len(values) % 2))


@lru_cache(256)  # a new document is compared with several candidates, and a candidate in both directions
def unpack_figures(packed: bytes) -> tuple[Figure, ...]:
    """Read packed figures back. Damaged bytes give other figures, but no error."""
    count = packed[0] if packed else 0
    end = 1 + CONTEXT_BYTES * count
    values = packed[end + count :].hex().translate(_MARKS).split("f")
    return tuple(
        Figure(value, LABELS[byte & _KIND], context, byte & _KIND, bool(byte & _IN_HEAD), bool(byte & _IN_TITLE))
        for value, context, byte in zip(
            values, split(packed[1:end], CONTEXT_BYTES), packed[end : end + count], strict=False
        )
    )


def with_title(packed: bytes, title: str, language: str) -> bytes:
    """Return packed figures with those of the title before them."""
    of_title = figures_of_title(title, language)
    return pack_figures([*of_title, *unpack_figures(packed)]) if of_title else packed


def with_labels(figures: Sequence[Figure], text: str) -> list[Figure]:
    """Return figures with the labels that they have in their text, which packed figures of no kind lack."""
    labels = {(each.context, each.short_value): each.label for each in _all_figures(text) if not each.kind}
    return [each._replace(label=each.label or labels.get((each.context, each.value), "")) for each in figures]


class Change(NamedTuple):
    """One figure with another value: a ``line`` for people, and its ``value_hashes`` before and after.

    The line is "" if no word says what the figure counts: such a change is not told.
    """

    line: str
    before: bytes
    after: bytes


def value_hashes(figures: Iterable[Figure]) -> bytes:
    """Return 4 bytes for each figure, a hash of what it counts and its value."""
    named = ((LABELS[each.kind].encode() or each.context, each.short_value.encode()) for each in figures)
    return b"".join(xxh32_digest(name + value) for name, value in named)


def changed_figures(old: Sequence[Figure], new: Sequence[Figure], *, are_copies: bool = True) -> tuple[Change, ...]:
    """Return the changes from ``old`` to ``new``, each once, with lines such as "dead: 4 -> 12".

    A change is another value with the same words around it, or in copies another newest toll of one kind. A figure that
    only one text has is not a change. If two figures change from one value to another ("Fire kills 3", "3 people"), the
    change is told once. Of texts that are no copies of each other, only people in title or first sentence count.
    Labels are taken from ``new``; both arguments may come from ``unpack_figures``.
    """
    pairs = [*_same_context(old, new), *_newest_tolls(old, new)]
    if not are_copies:
        pairs = [pair for pair in _same_context(old, new) if all(map(_is_main_toll, pair))]
    changes: dict[tuple[str, str], Change] = {}
    for before, after in pairs:
        values = before.value[:_SHOWN], after.value[:_SHOWN]
        label = after.label or before.label
        if _is_change(before, after) and (label or values not in changes):
            line = f"{label}: {values[0]} -> {values[1]}" if label else ""
            changes[values] = Change(line, value_hashes([before]), value_hashes([after]))
    return tuple(changes.values())


def _is_change(before: Figure, after: Figure) -> bool:
    if before.kind and after.kind and before.kind != after.kind:
        return False
    if _are_plain(before, after):
        return not _are_equal(before, after)
    # If one row only has more numbers than the other, it is no change: only one text has these figures. "2 a 0" is the
    # score 2-0.
    is_of_scores = ("-" in before.value) == ("-" in after.value)
    old, new = (Counter(re.split("/" if is_of_scores else "[/-]", each.value)) for each in (before, after))
    return bool(old - new) and bool(new - old)


def _are_plain(*figures: Figure) -> bool:
    return all(_PLAIN.fullmatch(figure.value) for figure in figures)


def _are_equal(before: Figure, after: Figure) -> bool:
    """Decide whether two plain values are one number, or one of them is the other one, rounded.

    If one is exactly a million (a lakh, a crore, a billion) times the other, a word was lost: "20 million" -> "20".
    """
    if before.short_value == after.short_value:
        return True
    low, high = sorted((Decimal(before.value), Decimal(after.value)))
    coarse, fine = sorted((low, high), key=lambda value: value.normalize().as_tuple().exponent, reverse=True)
    is_exact = before.kind in HARMED or (high < _LEAST_ROUNDED and low == int(low) and high == int(high))
    has_two_digits = len(coarse.normalize().as_tuple().digits) > 1
    if not is_exact and has_two_digits and fine.quantize(coarse.normalize(), ROUND_HALF_UP) == coarse:
        return True
    return bool(low) and high / low in _LOST_WORDS


def _same_context(old: Sequence[Figure], new: Sequence[Figure]) -> Iterator[tuple[Figure, Figure]]:
    """Pair figures with the same words on both sides. If a context comes more than once, equal values cancel out."""
    before, after = _by_context(old), _by_context(new)
    for context, figures in after.items():
        olds, news = list(before.get(context, ())), []
        for figure in figures:
            same = next((other for other in olds if other.short_value == figure.short_value), None)
            if same:
                olds.remove(same)
            else:
                news.append(figure)
        yield from zip(olds, news, strict=False)


def _by_context(figures: Sequence[Figure]) -> dict[bytes, list[Figure]]:
    found: dict[bytes, list[Figure]] = {}
    for figure in figures:
        found.setdefault(figure.context, []).append(figure)
    return found


def _is_main_toll(figure: Figure) -> bool:
    return figure.in_head and (0 < figure.kind < FigureKind.HOMES or figure.kind == PEOPLE)


def _newest_tolls(old: Sequence[Figure], new: Sequence[Figure]) -> Iterator[tuple[Figure, Figure]]:
    """Pair the newest tolls of each kind: those in the title or nearest to the top. Tolls below them are history.

    If the new text has the old toll too, a smaller one above it is a part of it: "three children among the nine dead".
    """
    before, after = _tolls(old), _tolls(new)
    for kind in before.keys() & after.keys():
        newest, known = after[kind][0], before[kind][0]
        is_known = any(_are_equal(newest, each) for each in before[kind])
        is_history = any(_are_equal(known, each) for each in after[kind])
        if is_known or (is_history and Decimal(newest.value) < Decimal(known.value)):
            continue
        is_only_one = len(before[kind]) == len(after[kind]) == 1
        are_near = Decimal(newest.value) <= _MOST_GROWTH * (1 + Decimal(known.value))
        if _share_side(known, newest) or (are_near and (newest.in_head or known.in_head or is_only_one)):
            yield known, newest


def _share_side(a: Figure, b: Figure) -> bool:
    """Decide whether two figures have the same words before them or behind them."""
    return not _sides(a.context).isdisjoint(_sides(b.context))


def _sides(context: bytes) -> set[tuple[int, bytes]]:
    """Return the words before and the words behind, each with its side."""
    return {(at, context[at : at + 2]) for at in (0, 2) if context[at : at + 2] != _NO_WORDS}


def contradict(some: Sequence[Figure], others: Sequence[Figure]) -> bool:
    """Decide whether two texts give tolls of one kind, and none of them is the same."""
    tolls, other_tolls = _tolls(some), _tolls(others)
    return any(
        not any(_are_equal(one, another) for one in tolls[kind] for another in other_tolls[kind])
        for kind in tolls.keys() & other_tolls.keys()
    )


def _tolls(figures: Sequence[Figure]) -> dict[int, list[Figure]]:
    found: dict[int, list[Figure]] = {}
    for figure in figures:
        if 0 < figure.kind < FigureKind.HOMES and _are_plain(figure):
            found.setdefault(figure.kind, []).append(figure)
    return found


def lacks_toll(kept: bytes, new: bytes) -> bool:
    """Decide whether a text tells of harmed people, or in its title or first sentence, a figure that a kept text lacks.

    Such a text is never dropped.
    """
    if kept == new:
        return False
    olds = unpack_figures(kept)
    told = (each for each in unpack_figures(new) if each.kind in HARMED or (each.in_head and each.kind != SILENT))
    return not all(any(_is_held(figure, other) for other in olds) for figure in told)


def _is_held(figure: Figure, other: Figure) -> bool:
    if figure.kind in HARMED and other.kind and other.kind != figure.kind:
        return False
    if _are_plain(figure, other):
        return _are_equal(figure, other)
    return figure.short_value == other.short_value


def have_other_figures(a: bytes, b: bytes) -> bool:
    """Decide whether most figures of two texts differ, as in the reports of two lottery draws. Both are packed.

    A figure of one text is in the other one if its value is there, with the same words on one side.
    """
    fewer, more = sorted((set(_figures_of_text(a)), set(_figures_of_text(b))), key=len)
    known = {(side, value) for context, value in more for side in _sides(context)}
    others = sum(known.isdisjoint((side, value) for side in _sides(context)) for context, value in fewer - more)
    return others >= _LEAST_OTHER_FIGURES and 2 * others > len(fewer)


def share_of_new_figures(new: bytes, old: bytes) -> float:
    """Return the share of a text's figures of which another text has neither the value nor the place, in [0, 1].

    If the other text has more figures than are kept, nothing is known of them: 0.
    """
    figures, others = set(_figures_of_text(new)), _figures_of_text(old)
    if not figures or len(others) == MAX_FIGURES:
        return 0.0
    known = {part for figure in others for part in figure}
    return len([each for each in figures if known.isdisjoint(each)]) / len(figures)


def _figures_of_text(packed: bytes) -> list[tuple[bytes, str]]:
    """Return context and value of the figures that are not in the title."""
    return [(each.context, each.value) for each in unpack_figures(packed) if not each.in_title]
