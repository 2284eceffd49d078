"""The tolls of an article: how many are dead, hurt or missing, as its own news says it.

A toll is a figure of a kind that a ledger keeps, with the words that bound it ("at least", "between 40 and 50"), and
whether it adds to an earlier figure ("two more") or corrects one. Figures of history, of plans and of fears are left
out, and so are parts of another figure ("including three children").
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import chain, dropwhile
from typing import NamedTuple

from scrapy_neardup.evidence.figures.counted import (
    LABELS,
    PEOPLE,
    SILENT,
    FigureKind,
    is_of_page,
    kind_of,
    kinds_told,
    meaning_of,
)
from scrapy_neardup.evidence.figures.figure import MAX_CHARACTERS, SCORE, SENTENCE_ENDS, Placed, is_plain, place_figures
from scrapy_neardup.evidence.figures.number_words import (
    COMMA,
    FIGURE,
    IDEOGRAPHS,
    READ_AS,
    WORDS,
    NumberWords,
    all_languages,
    language_of,
)
from scrapy_neardup.evidence.figures.numbers import number_tokens, with_scales
from scrapy_neardup.evidence.figures.stated_numbers import (
    around,
    counted_together,
    is_more,
    mark_numbers,
    newest_values,
    parts_of_sums,
    place_marks,
)
from scrapy_neardup.evidence.figures.toll_words import ENDS, Cues, cues_of, has_died, is_beside_other
from scrapy_neardup.evidence.word_tables import MONTHS
from scrapy_neardup.story import VAGUE, Qualifier
from scrapy_neardup.text.folding import fold
from scrapy_neardup.text.sentences import read_sentences

_REACH = 16  # tokens behind a figure of people who may have died: "two victims of the outbreak in the port have died"
_NEAR = 3  # and before it
_HEAD = 4  # sentences, the title among them, that say what the news is about
_MOST_READ = 1000  # characters of a sentence
_OF_START = (FigureKind.ARRESTED, FigureKind.SCORE)  # below the first sentence they are of earlier days
_OF_HEAD = {"votes": FigureKind.VOTES, "score": FigureKind.SCORE, "magnitude": FigureKind.MAGNITUDE}
_MAY_DIE = (FigureKind.INJURED, FigureKind.ILL, FigureKind.HOSPITALISED, FigureKind.VICTIMS)
_CASES = {FigureKind.CONFIRMED_CASES: "confirmed", FigureKind.SUSPECTED_CASES: "suspected"}
_NO_TOLLS = (FigureKind.VICTIMS, FigureKind.OTHER, FigureKind.MONEY)
# Figures of these kinds are tolls only if the sentence has words of an epidemic, damage, a match or an election.
_WITH_CUE: dict[int, str] = {
    FigureKind.CASES: "disease",
    FigureKind.HOMES: "damage",
    FigureKind.SCORE: "match",
    FigureKind.VOTES: "election",
}
_DAY = re.compile("[0-3]?[0-9](?![.,]?[0-9])")
# A pattern that begins with a set of characters, and looks behind it, is searched ten times as fast.
_YEARS = re.compile(r"[12](?<![\w.,-].)(?:(?<=1)9|(?<=2)0)[0-9]{2}(?![\w%]|[.,][0-9])")
_RANGE = re.compile(r"([0-9](?<![\w.,-].)[0-9]*) ?[-–] ?([0-9]+)(?= ?[^\W\d_]{3})")
_FEARED = re.compile(r"feared (?=dead|drowned|killed|buried|trapped)|(?<=உயிரிழ)ந்திருக்கலா[^ ]*")
_SHORTEST = 60  # characters of a line without a full stop that may be a sentence: headlines and bylines are shorter
_HARM = frozenset(kind for kind in FigureKind if kind < FigureKind.OTHER) - {FigureKind.VICTIMS, FigureKind.ARRESTED}
_WORD = re.compile(r"[^\s.,;:!?()'\"\-|0-9]{3,}")
_LINES = re.compile(r"(?<=[.!?]) |\n|(?<=[。！？])")
_INDIC = "\u0900"  # from this script on, many sentences are short, and number words have many endings
_NUMBERS = re.compile(f"[0-9{IDEOGRAPHS}{_INDIC}-\u0dff]")


class Toll(NamedTuple):
    """A figure of the article's own news.

    ``high`` is None if the value has no upper bound ("at least 12"). A score has its two numbers in ``low``
    and ``high``. ``is_increment`` says that the value adds to an earlier one: "two more"; "a second body" adds 1 to 1.
    """

    kind: int  # a ``FigureKind``; of damage, ransom, fine or loot the currency, an index of ``LABELS``
    low: Decimal
    high: Decimal | None
    qualifier: Qualifier
    is_increment: bool
    is_correction: bool
    is_first: bool  # "a first death"; "a woman died" is an increment that adds to 0 only
    text: str  # the sentence
    ordinal: int = 0  # 2 for "a second body"

    def added_to(self, earlier: float) -> float:
        """Return what this value makes of an ``earlier`` one: "a third body" adds to two only, which may count it."""
        return earlier + float(self.low) * (self.ordinal in (0, earlier + 1))

    @property
    def is_vague(self) -> bool:
        """Whether a word such as "dozens" stands for the value."""
        return self.high is not None and (float(self.low), float(self.high)) in VAGUE


class _Sentence(NamedTuple):
    text: str
    folded: str  # with words of the table in place of those that it reads otherwise, and as it is printed
    words: list[str]
    placed: list[Placed]
    is_correction: bool = False


@lru_cache(maxsize=64)  # changes, ledger and news of a document read them, and a commit may be tried again
def tolls_of(title: str, text: str, language: str = "") -> list[Toll]:
    """Return the tolls of an article, each once, those of its title first.

    ``language`` is an ISO 639-1 code, or "" if it is not known. Reads the first ``MAX_CHARACTERS`` characters. If
    title and first sentences tell no toll, those further below are the background of other news.
    """
    text = text[:MAX_CHARACTERS]
    return _tolls(_sentences(title, text), f"{title}\n{text}", language)


def _tolls(printed: Iterable[tuple[str, str]], text: str, language: str, *, of_people: bool = False) -> list[Toll]:
    """Return the tolls of a text. ``printed`` are its sentences, each as it is printed and folded, the title first.

    With ``of_people`` only sentences that may count people harmed, or their homes, are read.
    """
    language = language or language_of(number_tokens(fold(text))[0])
    language = READ_AS.get(language, language)
    cues = cues_of(language)
    newest_year = max(_YEARS.findall(text), default="")
    rest = iter(printed)
    title = next(rest)
    of_title = kinds_told(_WORD.findall(title[1]))
    topic = min(of_title, default=0) * (len(of_title) == 1)  # the one kind of which the title tells
    read = (_read(*each, language, newest_year, topic, of_people=of_people) for each in chain([title], rest))
    head = _head_of(read)
    of_head = kinds_told(word for each in head for word in each.words)
    lead = next((each for each in head[1:] if _is_sentence(each.text)), head[-1])
    told: list[Toll] = []
    before = head[0]
    for number, sentence in enumerate(chain(head, read)):
        if number == len(head) and not any(toll.low and not (toll.is_first and toll.is_increment) for toll in told):
            break  # most articles tell no harm, and the rest of them is not read
        context = f"{before.folded} {sentence.folded}"  # "Cholera was found in the valley. 30 cases are confirmed."
        before = sentence
        for toll in _tolls_in(sentence, context, cues):
            told = _corrected(told, toll, is_lead=sentence is lead)
            told += _news(
                toll, told, of_head, is_first=toll.text in (head[0].text, lead.text), is_head=number < len(head)
            )
    is_correction = bool(told) and any(
        cues["corrects"].match(each.folded) and cues["number of"].search(each.folded)
        for each in head
        if not each.placed  # "Corrects the number of victims", but not "Corrects the name of the mayor"
    )
    return [each._replace(is_correction=each.is_correction or is_correction) for each in told]


def _corrected(told: list[Toll], toll: Toll, *, is_lead: bool) -> list[Toll]:
    """Return what the title tells, without a number that the first sentence adds to an earlier one.

    A headline leaves out "more": "12 dead", and below it "12 more have died".
    """
    adds = is_lead and toll.is_increment and not toll.is_first
    return [each for each in told if not adds or each[:3] != toll[:3]]


def _head_of(read: Iterator[_Sentence]) -> list[_Sentence]:
    """Return title and first sentences. Between them there may be bylines."""
    sentences = [next(read)]
    counted = 1
    while counted < _HEAD and (sentence := next(read, None)):
        sentences.append(sentence)
        counted += _is_sentence(sentence.text)
    return sentences


def _is_sentence(text: str) -> bool:
    return len(text) >= _SHORTEST or text.endswith(SENTENCE_ENDS)


def harm_of_head(title: str, text: str, language: str = "") -> list[tuple[int, int]]:
    """Return kind and value of the numbers of people harmed, and of homes, that the beginning of an article tells.

    They are the first of each kind. Most articles tell no harm, which is seen before sentences are read.
    """
    if _HARM.isdisjoint(kinds_told(_WORD.findall(fold(f"{title}\n{text[:400]}").casefold()))):
        return []
    # "40 feared dead" is no toll, but tells the event
    head = _FEARED.sub("", with_scales(fold(f"{title}\n{text[:_MOST_READ]}")).casefold())
    found = _tolls([(line, line) for line in _LINES.split(head)], head, language, of_people=True)
    told = {int(each.kind): int(each.low) for each in reversed(found) if each.low and not each.is_increment}
    return sorted(each for each in told.items() if each[0] in _HARM)


def _counts_harm(folded: str, language: str) -> bool:
    words = _WORD.findall(folded)
    number_words = all_languages().by_name.get(language, NumberWords({}, {})).small
    has_number = _NUMBERS.search(folded) or any(number_words.get(word, 0) > 1 for word in words)
    return bool(has_number) and not _HARM.isdisjoint(kinds_told(words))


def _sentences(title: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield title and sentences, printed and folded, without lines of the page such as links to other articles."""
    yield title, with_scales(fold(title[:_MOST_READ])).casefold()
    has_begun = False
    for place, (sentence, _) in enumerate(read_sentences(text)[0]):
        sentence = sentence[:_MOST_READ]
        is_ended = sentence.endswith(SENTENCE_ENDS)
        # Below a sentence, a short line without a full stop is the headline of another article.
        is_link = (has_begun or place >= _HEAD) and len(sentence) < 120 and sentence < _INDIC
        has_begun |= is_ended and len(sentence) >= _SHORTEST
        if is_ended or not (is_link or is_of_page(sentence)):
            yield from ((sentence, part.casefold()) for part in with_scales(fold(sentence)).split("\n"))


@lru_cache(maxsize=256)  # copies have the same sentences
def _read(sentence: str, printed: str, language: str, newest_year: str, topic: int, *, of_people: bool) -> _Sentence:
    """Read the figures of a sentence. A sentence that tells history has none."""
    if of_people and not _counts_harm(printed, language):
        return _Sentence(sentence, printed, _WORD.findall(printed), [])
    cues = cues_of(language)
    folded = cues.rewrite(_RANGE.sub(_as_range, printed))
    marked, phrases = mark_numbers(folded, cues, language)
    marked, cut = cues["since"].subn(r"\1", marked)
    tokens, starts = number_tokens(marked)
    words = list(tokens)
    placed = place_marks(place_figures(tokens, starts, language), tokens, words, phrases, cues)
    told = cues["may rise"].sub("", marked if cut else folded) if placed else ""  # "rise to 50" is no news
    is_old = cues["history"].search(told) or (len(placed) == 1 and cues["denies"].search(folded))
    if placed and (is_old or _is_of_other_time(words, tokens, newest_year)):
        placed = []
    for each in placed:  # "12" for "twelve"
        words[each.first : each.end] = [each.figure.value, *[""] * (each.end - each.first - 1)]
    is_correction = bool(placed) and cues["corrects"].search(folded) is not None
    newest, is_lower = newest_values(words, placed, cues, topic, is_correction=is_correction)
    return _Sentence(sentence, f"{folded} {printed}", words, newest, is_correction or is_lower)


def _as_range(found: re.Match[str]) -> str:
    """Return "40 to 50" for "40-50". "3-1" stays: numbers that fall are a score."""
    return f"{found[1]} to {found[2]}" if int(found[1]) < int(found[2]) else found[0]


def _is_of_other_time(words: list[str], tokens: list[str], newest_year: str) -> bool:
    """Decide whether a sentence names a month or a year without a day, or a day of an earlier year."""
    for place, (word, token) in enumerate(zip(words, tokens, strict=True)):
        is_year = token == "" and _YEARS.match(word) is not None
        if is_year or (word in MONTHS and token == word):
            beside = (*range(max(0, place - 3), place), *range(place + 1, min(place + 3, len(words))))
            is_day = any(tokens[each] != FIGURE and _DAY.match(words[each]) for each in beside)
            if not is_day or (is_year and word[:4] < newest_year):
                return True
    return False


def _news(toll: Toll, told: Sequence[Toll], of_head: set[FigureKind], *, is_first: bool, is_head: bool) -> list[Toll]:
    """Return a toll if it says more than those before it.

    Below the first sentences, another value of a kind is that of a place, a day or another event, unless it says more
    exactly what was told before, adds to it or corrects it. ``of_head`` is what the first sentences tell of.
    """
    if _is_older(toll, of_head, is_first=is_first, is_head=is_head):
        return []
    same_kind = [each for each in told if each.kind == toll.kind]
    if toll.kind > FigureKind.OTHER:
        return [toll] if is_head and not same_kind else []
    if not same_kind:  # "12 dead. Another 5 are missing." are 5 in all
        is_beside_others = any(each.low and not each.is_increment and each.kind < FigureKind.OTHER for each in told)
        is_beside_others &= toll.kind not in (FigureKind.CASES, *_CASES)  # new cases are always more
        if is_beside_others and toll.is_increment and any((toll.is_first, toll.ordinal)):
            return []
        return [toll._replace(is_increment=toll.is_increment and not is_beside_others)]
    return [toll] if _says_more(toll, same_kind, is_head=is_head) else []


def _is_older(toll: Toll, of_head: set[FigureKind], *, is_first: bool, is_head: bool) -> bool:
    """Decide whether a toll is of earlier days: an arrest or a score below the first sentence, "thousands", harm."""
    if is_head:
        return toll.kind in _OF_START and not is_first
    is_of_police = of_head == {FigureKind.ARRESTED} and toll.kind < FigureKind.ARRESTED
    return is_of_police or toll.is_vague or toll.kind in _OF_START


def _says_more(toll: Toll, same_kind: Sequence[Toll], *, is_head: bool) -> bool:
    """Decide whether a toll says more than those of its kind before it."""
    known = [each for each in same_kind if each[1:4] == toll[1:4]]  # the same value, with the same words that bound it
    if known:  # "A child dies. It is the first death.", "A man dies. Another man has died of the fire."
        return not (toll.is_first and toll.is_increment) and all(each.is_first and each.is_increment for each in known)
    first = same_kind[0]
    # Not "Gunmen kill three. They shot at a car, killing two men." A third value and more are those of places and days.
    is_of_event = is_head and len(same_kind) < 3 and toll.low >= first.low
    is_of_news = is_of_event or (toll.is_increment and is_head) or toll.is_correction
    has_bound = toll.qualifier != "exact" and toll.low == first.low
    # "45" says more exactly what "dozens" or "at least 40" say. More than twice a bound is told of a longer time.
    ranges = [(each.low, each.high or 2 * each.low) for each in same_kind if each.qualifier != "exact"]
    return is_of_news or has_bound or any(low <= toll.low <= high for low, high in ranges)


def _tolls_in(sentence: _Sentence, context: str, cues: Cues) -> Iterator[Toll]:
    kinds = set[int]()  # of the figures before
    start: Placed | None = None  # of a range: the 40 of "between 40 and 50"
    sides: list[str] = []  # what is said around a figure, and around the start of its range
    parts = parts_of_sums(sentence.words, sentence.placed) + counted_together(sentence.words, sentence.placed)
    for each in sentence.placed:
        said = around(sentence.words, each)
        sides = [*sides, said] if start else [said]
        if cues["between"].search(said):
            start = each
            continue
        kind = _kind_of(sentence, each, start, said, cues)
        low = start
        start = None
        if kind is None:
            continue
        adds = kind is FigureKind.DEAD and each.figure.kind == FigureKind.INJURED  # "two of the injured died"
        adds |= is_more(sentence.words, each, cues)
        # "Four were shot, and another two were killed"; "Smith and two others"
        is_part = each in parts or (adds and kinds == {kind})
        is_part |= not kinds and cues["with others"].search(said) is not None
        is_increment = adds and not kinds and not is_beside_other(kind, sentence.words[: each.first], cues)
        if (
            not is_part
            and not _is_of_day(each, said, sentence, context, cues)
            and _is_told(sides, cues)
            and _is_meant(kind, sentence, context, cues)
        ):
            yield Toll(
                kind,
                *_bounds(each, low, said, cues),
                is_increment=is_increment,
                is_correction=sentence.is_correction,
                is_first=each.mark in ("xxfirst", "xxone"),
                text=sentence.text,
                ordinal=each.ordinal * is_increment,  # "Two died, a third was injured" are no three injured
            )
        kinds.add(kind)


def _is_told(sides: Sequence[str], cues: Cues) -> bool:
    """Decide whether a figure is told as news, by what is said around it."""
    if any(map(cues["not news"].search, sides)):
        return False
    said = sides[-1]
    # Words of another clause say nothing of it. To make the pattern that leaves them out takes long, so it comes last.
    return not cues["unsure"].search(said) or not cues["unsure"].search(cues["own"].sub(r"\1", said))


def _is_of_day(each: Placed, said: str, sentence: _Sentence, context: str, cues: Cues) -> bool:
    """Decide whether a figure is that of a day beside a total: "5 deaths in the last 24 hours".

    In an epidemic it always is. The dead of a storm in a day may be all.
    """
    return (
        # a total beside it, or an epidemic
        (
            sum(other.figure.kind == each.figure.kind for other in sentence.placed) > 1
            or cues["disease"].search(context) is not None
        )
        and cues["of day"].search(sentence.folded) is not None
        and not (each == sentence.placed[0] and is_more(sentence.words, each, cues))
        and not cues["total"].search(said)
    )


def _kind_of(sentence: _Sentence, each: Placed, start: Placed | None, said: str, cues: Cues) -> int | None:
    """Return the kind of a figure, None if no ledger keeps it. That of a sum of money is its currency."""
    label = LABELS[each.figure.kind]
    if start and label in ("", "people"):  # "killed 40 to 50 people"
        label = LABELS[start.figure.kind]
    kind: int = _OF_HEAD.get(label) or kind_of(label)
    if kind in _MAY_DIE and each.figure.value != "0":
        kind = _kind_by_now(kind, each, sentence, said, cues)
    if kind is FigureKind.CASES:
        return next((found for found, cue in _CASES.items() if cues[cue].search(said)), kind)
    if kind is FigureKind.MONEY and cues["loss"].search(said):
        kind = each.figure.kind
    is_kept = each.figure.value.isdigit() if kind < FigureKind.OTHER else is_plain(each.figure.value)
    return kind if (is_kept or kind is FigureKind.SCORE) and kind not in _NO_TOLLS else None


def _kind_by_now(kind: int, each: Placed, sentence: _Sentence, said: str, cues: Cues) -> int:
    """Return the kind of a figure of people who may be dead by now: "two more people hurt in the crash have died"."""
    words = sentence.words
    ahead = words[: each.first]
    reached = words[each.end :][:_REACH]
    behind = [*dropwhile(lambda word: word.isdigit() or word in WORDS["of"], reached)]
    is_part = any(map(str.isdigit, reached[: len(reached) - len(behind)]))  # "two of the 12 injured"
    are_more = is_part or (is_more(words, each, cues) and WORDS["auxiliaries"].isdisjoint(behind[:_HEAD]))
    ends = WORDS["and"] if are_more or kind is FigureKind.VICTIMS else ENDS
    if are_more:
        # "ещё двое пассажиров, раненых в аварии, умерли"
        behind = [word for word in behind if word != COMMA or COMMA not in behind[:_NEAR]]
    near = ahead[-_NEAR:][::-1] * (not any(map(str.isdigit, ahead)))  # "скончался ещё один пострадавший"
    if has_died(behind, cues, ends) or has_died(near, cues, ends):
        return FigureKind.DEAD
    if is_part and any(map(meaning_of, behind[:1])):
        return FigureKind.OTHER
    return FigureKind.CASES if kind is FigureKind.INJURED and cues["sick"].search(said) else kind


def _is_meant(kind: int, sentence: _Sentence, context: str, cues: Cues) -> bool:
    """Decide whether a sentence or the one before has the words without which a figure means another thing."""
    scores = [each for each in sentence.placed if LABELS[each.figure.kind] == "score"]
    is_of_others = kind is FigureKind.SCORE and (len(scores) > 1 or cues["no match"].search(sentence.folded))
    # "180 people have been killed on the roads so far this year"; an epidemic is counted by years
    is_of_year = cues["of year"].search(sentence.folded) and not cues["disease"].search(context)
    return not (is_of_others or is_of_year) and (
        kind not in _WITH_CUE or cues[_WITH_CUE[kind]].search(context) is not None
    )


def _bounds(each: Placed, start: Placed | None, said: str, cues: Cues) -> tuple[Decimal, Decimal | None, Qualifier]:
    score = SCORE.fullmatch(each.figure.value)
    if score:
        return Decimal(score[1]), Decimal(score[2]), "exact"
    high = Decimal(each.figure.value)
    kinds = {start.figure.kind, each.figure.kind} - {0, SILENT, PEOPLE} if start else set()
    if start and len(kinds) == 1 and is_plain(start.figure.value):
        low = Decimal(start.figure.value)
        if low < high <= 100 * low:
            return low, high, "range"
    if cues["at least"].search(said):
        return high, None, "at least"
    return high, high, "about" if cues["about"].search(said) else "exact"
