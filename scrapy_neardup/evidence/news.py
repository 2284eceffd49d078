"""What an article tells that its story has not told: whole sentences with figures, names or rare words that are new.

A story keeps hashes of the terms that its articles have (see ``titles``), so another wording of what was told is not
news: most of its terms are known. Which sentences are asked for is known from the texts of the second look.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from itertools import accumulate, chain, product

from scrapy_neardup.evidence.differences import Comparison
from scrapy_neardup.evidence.figures.figure import Figure, is_plain
from scrapy_neardup.evidence.figures.number_words import (
    BEFORE_MONEY,
    UNITS,
    NumberWords,
    all_languages,
)
from scrapy_neardup.evidence.lead import is_background, is_quotable
from scrapy_neardup.evidence.sentence_values import LETTERS, are_equal
from scrapy_neardup.evidence.titles import FIGURE, NAME, NO_TERM, term_codes
from scrapy_neardup.evidence.tokens import SAY_NOTHING, tokens_of
from scrapy_neardup.text.display import one_line
from scrapy_neardup.text.folding import fold
from scrapy_neardup.text.sentences import whole_sentences

MOST_NEWS = 3
LONGEST_NEWS = 300  # characters of a sentence
_MOST_READ = 8_000  # characters of a text that tell
_MOST_ASKED = 4_000  # characters of a text in which news is looked for
_BEGINNING = 700  # characters of a report in which its news stands
_SHORTEST = 150  # characters of a sentence that is cut
_CLAUSE_ENDS = re.compile(r"(?<![0-9])(?:[,;،؛] | [-–—] |[，；、])")
_WEIGHT = 2  # of a name or a figure; that of another term is 1
_ANOTHER_VALUE = 12.0  # the score of a sentence that has one, beside that of its words
_MARKS = "=+-@–—• "  # a spreadsheet takes a cell that begins with one for a formula
_OF_TITLE = 4  # is added for a new term that the title has
_FEWEST_NEW = 3  # new terms of the title of a report, and of these in a sentence that is not its first

_YEAR = re.compile(r"(?<![\w.,])(?:19|20)[0-9]{2}(?![\w%]|[.,][0-9])")
_SMALL_WORDS = frozenset(code % NAME for code in term_codes(*SAY_NOTHING))  # also "said" and "today"
_SPANS = ("years", "months")  # of a sentence in prison, an age, a career
_PLAIN = 4  # digits of a number that is told as it is
_LARGE = 6  # digits of a number of which "over $3 billion" tells enough
_LETTERS = {"k": 1_000, "m": 1_000_000, "b": 1_000_000_000}  # "$5m"
# A pattern that begins with a set of characters, and looks behind it, is searched ten times as fast.
_THOUSANDS = "[0-9](?<![0-9].)[0-9]{0,2}(?:(?:[.,][0-9]{3})+|(?: [0-9]{3}){%d,})(?![0-9])"
_WITH_SPACES = frozenset("bg cs et fi fr hu kk lt lv nb no pl pt ru sk sl sv uk".split())  # "12 300" is one number
# an age, a length, a time of day, a telephone number and a place in a law count nothing: "19-year-old", "8.45am"
_SIZE = re.compile(
    r"(?<=[^\W\d_]-)[0-9]+\b"
    r"|(?<![\w.,])(?:[0-9]{1,3}(?=-[^\W\d_]{2}| years? old)|[0-2]?[0-9](?:[.:][0-5][0-9])? ?[ap]\.?m\b|0[0-9]{4,}"
    r"|(?i:article|section|art\.|sec\.|ст\.|стать[еи]|ч\.|п\.|điều|khoản|§) ?[0-9][0-9.]*)"
)
_LINES = re.compile(r"\n|(?<=[^\W\d_]{2}[.!?]) |(?<=[\u3002\uff01\uff1f\u0964])")
_ASIDE = re.compile(rf"\([^()]*\)|{_YEAR.pattern}|{_SIZE.pattern}")  # "today (25)", "($4 billion)"


def own_sentences(
    text: str, learned: Sequence[str], comparisons: Sequence[Comparison], *, is_report: bool = False
) -> tuple[str, ...]:
    """Return the sentences of a text without those that older texts hold, and without lines learned of its source.

    Background, such as what was reported earlier, and what follows it are left out too. A report tells its news at its
    beginning. Long sentences end with a clause.
    """
    boilerplate = [" ".join(line.split()) for line in learned]
    new_of_texts = [  # for each older text the sentences that it does not hold
        [" ".join(each.text.split()) for each in comparison.differing if not each.is_title]
        for comparison in comparisons
    ]
    sentences = whole_sentences(text[:_MOST_ASKED])
    begins = accumulate(map(len, sentences), initial=0)
    new = [
        at
        for at, (before, sentence, begin) in enumerate(zip(["", *sentences], sentences, begins, strict=False))
        if begin <= (_BEGINNING if is_report else _MOST_ASKED) and not before.endswith(",")
        if not _is_among(sentence, boilerplate) and all(_is_among(sentence, lines) for lines in new_of_texts)
    ]
    # The two sentences behind background go on with it.
    own = (sentences[at] for at in new if not any(map(is_background, sentences[max(0, at - 2) : at + 1])))
    return tuple(filter(None, (_shortened(each.lstrip(_MARKS)) for each in own if is_quotable(each))))


def _shortened(sentence: str) -> str:
    """Return a sentence up to the last clause that fits, "" if this leaves out nearly all of it."""
    if len(sentence) <= LONGEST_NEWS:
        return sentence
    end = max((each.start() for each in _CLAUSE_ENDS.finditer(sentence[:LONGEST_NEWS])), default=0)
    return f"{sentence[:end]}…" if end >= _SHORTEST else ""


def _is_among(sentence: str, lines: Sequence[str]) -> bool:
    """Decide whether a sentence is one of these lines, a part of one, or has one as its part."""
    return any(line in sentence or sentence in line for line in lines)


def recounted(sentences: Sequence[str], title: str, text: str, told: Collection[int], language: str = "") -> list[str]:
    """Return the sentences with a number that was not told where an older text says nearly the same.

    The sentence of the older text has another number of the same unit there.
    """
    read = [
        (sentence, codes)
        for sentence, codes in zip(sentences, _codes(language, *sentences), strict=True)
        if _new_figures(codes, told)
    ]
    if not read:
        return []
    lines = _LINES.split(f"{title}\n{text[:_MOST_ASKED]}")
    olds = [
        (line, _slots(codes))
        for line, codes in zip(lines, _codes(language, *lines), strict=True)
        if any(code & FIGURE for code in codes)
    ]
    return [sentence for sentence, codes in read if _is_recounted(sentence, codes, olds, language)]


def _is_recounted(
    sentence: str, codes: Iterable[int], olds: Iterable[tuple[str, Collection[int]]], language: str
) -> bool:
    weights = {code % NAME: _weight(code) for code in codes if not code & FIGURE}
    shared = ((sum(weights.get(slot, 0) for slot in slots), line) for line, slots in olds)
    closest = [(weight, _numbers(line, language)) for weight, line in sorted(shared, reverse=True)[:4]]
    known = {*chain.from_iterable(numbers for _, numbers in closest)}
    numbers = _numbers(sentence, language)
    least_with_unit = min(4, sum(weights.values()) / 2)  # weight of the terms that both have; without a unit it is 6
    # Each old number is compared with each new one, of the few lines that are most like the sentence.
    return any(
        weight >= (least_with_unit if unit else 6) and not are_equal(Figure(old), Figure(new))
        for weight, old_numbers in closest
        for (old, old_unit), (new, unit) in product(old_numbers.items(), numbers.items())
        if unit == old_unit and unit not in _SPANS and (unit or len(new) > 2)
        if new not in known and old not in numbers
    )


def _numbers(line: str, language: str) -> dict[str, str]:
    """Return the numbers of a line, each with its unit, which is "" if it has none."""
    tokens = [each for each in tokens_of(_ASIDE.sub("", line), language) if each.text != "us"]  # "50 US dollars"
    units = [each.text if each.kind == "unit" else UNITS.get(each.text, "") for each in tokens]
    signs = [each.text if each.text in BEFORE_MONEY else "" for each in tokens]
    beside = zip(tokens, ["", *signs], [*units[1:], ""], strict=False)
    return {
        each.value: behind or before
        for each, before, behind in beside
        if each.kind == "number" and is_plain(each.value)
    }


def told_by(title: str, text: str, language: str = "") -> list[int]:
    """Return the hashes of the terms of an article."""
    codes = _codes(language, title, " ".join(text[:_MOST_READ].split("\n")))
    return [*_slots(chain.from_iterable(codes))]


def news_among(
    sentences: Sequence[str],
    title: str,
    told: Collection[int],
    new_values: Sequence[str] = (),
    language: str = "",
    *,
    is_version: bool = False,
) -> tuple[str, ...]:
    """Return the sentences that tell what was not told, the best first, at most ``MOST_NEWS``.

    ``new_values`` are sentences with another value of what the story has counted. If the article is a version of
    another one, its sentences are those that the other text does not hold.
    """
    known = set(told)
    least = 4.0 if is_version else 6.0  # the texts of two versions tell what is new
    least_weight = 0 if is_version else 15 + 7 * (len(known) < 100)  # a report has other words than a brief story
    of_title, *of_sentences = _codes(language, " ".join(title.split()), *(_SIZE.sub("", each) for each in sentences))
    title_slots = _slots(of_title)
    waiting = dict(enumerate(of_sentences))  # the codes of the sentences that are not chosen yet, by their places
    with_value = {at for at in waiting if sentences[at] in new_values and not known.issuperset(_slots(waiting[at]))}
    news: list[str] = []
    while waiting and len(news) < MOST_NEWS:
        scores = {
            at: _score(sentences[at], codes, known, title_slots, language, least_weight, is_first=not at)
            + _ANOTHER_VALUE * (at in with_value)
            for at, codes in waiting.items()
        }
        best = max(scores, key=lambda place: (scores[place], -place))
        if scores[best] < least:
            break
        news.append(one_line(sentences[best], LONGEST_NEWS))
        # What a chosen sentence tells is known to the next one, and a value is told once.
        known |= _slots(waiting.pop(best))
        with_value &= {at for at, codes in waiting.items() if _new_figures(codes, known)}
    return tuple(news)


def has_told(title: str, told: Collection[int], language: str) -> bool:
    """Decide whether a story has told what a title says: its figures, and all of its other terms but one."""
    codes = _codes(language, title)[0]
    return bool(codes) and len(_slots(codes).difference(told)) < 2 and not _new_figures(codes, told)


def _new_figures(codes: Iterable[int], known: Collection[int]) -> set[int]:
    return {code % NAME for code in codes if code & FIGURE and code % NAME not in known}


def _weight(code: int) -> int:
    return _WEIGHT if code >= NAME else 1


def _slots(codes: Iterable[int]) -> set[int]:
    return {code % NAME for code in codes}


def new_terms(sentence: str, told: Collection[int], language: str) -> list[int]:
    """Return the hashes of the terms of a sentence that were not told, those of names and figures first."""
    codes = sorted(chain.from_iterable(_codes(language, sentence)), key=lambda code: code < NAME)
    return [term for term in dict.fromkeys(code % NAME for code in codes) if term not in told]


def _codes(language: str, *texts: str) -> list[list[int]]:
    """Return the codes of the terms of each line of some texts. A number in words has the code of its digits too."""
    folded = fold("\n".join(texts))
    small = all_languages().by_name.get(language or "en", NumberWords({}, {})).small
    for word in small.keys() & LETTERS.findall(folded.casefold()):
        if small[word] > 1:
            folded = re.sub(rf"(?i)\b{word}\b(?!-)", rf"\g<0> {small[word]}", folded)
    thousands = _THOUSANDS % (1 if language in _WITH_SPACES else 2)
    folded = re.sub(
        r"([0-9]+)(?:[.,]([0-9]+))?([ -]?)([^\W\d_]*)",
        _value,
        re.sub(thousands, lambda number: re.sub("[ .,]", "", number[0]), folded),
    )
    codes = (term_codes(line.lower() if line.isupper() else line) for line in folded.split("\n"))
    return [[code for code in each if code < NO_TERM and code % NAME not in _SMALL_WORDS] for each in codes]


def _value(number: re.Match[str]) -> str:
    """Return a number as a word: a large one, however it is written, is rounded to two digits behind their number."""
    digits, decimals, space, word = number.groups(default="")
    scale = all_languages().scales.get(word.casefold()) or _LETTERS.get(f"{space}{word}".casefold(), 0)
    if scale:
        digits = f"{Decimal(f'{digits}.{decimals}') * scale:f}".partition(".")[0].lstrip("0")
        word = ""
    if len(digits) > _PLAIN:
        rounded = f"0{len(digits)}{round(int(digits[:3]), -1)}"
        digits = f"{rounded} 0{len(digits)}{round(int(digits[:3]), -2)}" if len(digits) > _LARGE else rounded
    elif decimals.strip("0") and not scale:
        digits = f"0{digits}{decimals.rstrip('0')}"
    return f" {digits} {space}{word}"  # "N200" and "2bn" are a figure and a word


def _counts_anew(sentence: str, codes: Iterable[int], told: Collection[int], language: str) -> bool:
    """Decide whether a sentence has large numbers or percentages, no lengths or times, and none of them was told."""
    counted = [
        value
        for value, unit in _numbers(sentence, language).items()
        if (unit == "%" or len(value) > 2) and unit not in UNITS.values()
    ]
    return bool(counted and _new_figures(codes, told)) and all(new_terms(each, told, "") for each in counted)


def _score(
    sentence: str,
    codes: Sequence[int],
    known: set[int],
    about: set[int],
    language: str,
    least_weight: int,
    *,
    is_first: bool,
) -> float:
    """Return how much of a sentence is new, and how much of that is what its page is about; 0 if it is no news.

    The new terms of a sentence of a report must have the weight ``least_weight``, which is 0 for a version, and its
    title must be new: it may say in other words what was told, above all if the story has told its figures.
    """
    weights = {code % NAME: _weight(code) for code in codes}
    new = {slot: weight for slot, weight in weights.items() if slot not in known}
    numbers = _new_figures(codes, ())
    figures = numbers - known
    has_told_figures = least_weight > 0 and not figures and len(numbers) > 1
    repeats = weights.keys() & about
    of_title = new.keys() & about
    weight = sum(new.values())
    if (about and not repeats) or has_told_figures:
        return 0.0
    # The names of a report were told with its story, those of a version were not.
    weighed = weights if least_weight else dict.fromkeys(weights, 1)
    if sum(weighed[slot] for slot in new.keys() - figures) < 0.25 * sum(weighed.values()):
        score = _ANOTHER_VALUE * _counts_anew(sentence, codes, known, language)
    elif least_weight and (
        len(about - known) < _FEWEST_NEW
        or (len(of_title) < _FEWEST_NEW and not is_first)
        or weight + _OF_TITLE * len(of_title) < least_weight
    ):
        return 0.0
    else:
        score = (
            # A longer sentence tells no more.
            min(10, weight) / 2 + _WEIGHT * bool(figures) + (_OF_TITLE + 1) * len(of_title) - len(repeats)
        )
    return score * (0.4 if _YEAR.search(sentence) else 1)
