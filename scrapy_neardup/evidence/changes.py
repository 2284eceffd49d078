"""The changes that are told of two texts: "dead: 4 -> 12", "valley by: 18:00 -> 15:00", "prices rose: 2% -> over 3%".

A figure, a time or a code in the place of another one is told only if both sentences count the same thing: words beside
both values are the same, and one of them names it. So is another newest toll of the dead in titles and first sentences,
however these are written. What is not sure is no line: its sentence is in the news of the document.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import dropwhile, product, takewhile
from operator import attrgetter

from scrapy_neardup.evidence.differences import HEAD, Comparison, Sentence
from scrapy_neardup.evidence.edits import Change, change_of, edit_of
from scrapy_neardup.evidence.figures.counted import HARMED, LABELS, PEOPLE, SILENT, FigureKind, meaning_of
from scrapy_neardup.evidence.figures.figure import SENTENCE_ENDS, Figure, figures_of, is_plain
from scrapy_neardup.evidence.figures.number_words import WORDS
from scrapy_neardup.evidence.figures.tolls import Toll, tolls_of
from scrapy_neardup.evidence.page_lines import Side, words_of
from scrapy_neardup.evidence.sentence_values import (
    TOLD,
    Value,
    are_equal,
    as_printed,
    count_common,
    equal_words,
    is_other_value,
    is_small,
    may_name,
    values_of,
)
from scrapy_neardup.evidence.tokens import WITHOUT_SIZE, Token, names_of, tokens_of

_LONGEST_HEAD = 400  # characters
_ALIKE = 0.7  # share of the longer sentence that is equal: then both count the same things
_DATELINE = 4  # words
_OF = frozenset("of de di da do din del der von van av af".split())  # "hundreds of guests"
_SAME_PEOPLE = ((FigureKind.ILL, FigureKind.CASES), (FigureKind.CASES, FigureKind.ILL))  # "77 ill", "67 cases"


def changes_between(new: Side, old: Side, comparison: Comparison) -> tuple[Change, ...]:
    """Return the changes from the old text to the new one, each once: if a headline repeats it, it is told once.

    A name in the place of another one is told only if nothing else is reworded.
    """
    changes: dict[tuple[str, str], Change] = {}
    edits: list[Change | None] = []
    names = names_of(new.text, old.text)
    for sentence, replaced in _replaced_in(comparison, new, old):
        labelled = [(label, *pair) for pair in replaced if (label := _label(*pair, sentence.text))]
        for label, before, after in labelled:
            values = _value_of(before, sentence.partner), _value_of(after, sentence.text)
            is_toll = bool(HARMED & {before.figure.kind, after.figure.kind})
            changes.setdefault((before.token.value, after.token.value), change_of(label, *values, is_toll=is_toll))
        if not labelled:
            edits.append(edit_of(sentence, new.language, names))
    for kind, known, newest in _newest_tolls(new, old):
        changes.setdefault((known, newest), change_of(LABELS[kind], known, newest, is_toll=kind in HARMED))
    # A name counts only if all reworded sentences have this one edit.
    told_edits = [edit for edit in edits if edit and (edit.is_figure or edits.count(edit) == len(edits))]
    return tuple({change.line: change for change in (*changes.values(), *told_edits)}.values())


def _replaced_in(comparison: Comparison, new: Side, old: Side) -> Iterator[tuple[Sentence, list[tuple[Value, Value]]]]:
    """Yield the sentences that are reworded, each with the values in the place of others.

    Two sentences may count other things, and their values are not compared,
    - if the texts have little in common, and the sentences are not alike;
    - if one of them is a headline, and the other one the sentence that is most like it.
    A value replaces none if another sentence has more of its partner, and the old value, or if it is added to an
    earlier one: "seven were arrested", "two more were arrested".
    """
    # Of a text that holds less of the other one, only like sentences are compared.
    least = 0.0 if comparison.share >= 0.3 else _ALIKE
    new_sentences = {each.text for each in comparison.sentences}
    added = _added_figures(new)
    closest = {each.partner: each for each in sorted(comparison.sentences, key=attrgetter("held"))}
    for number, sentence in enumerate(comparison.sentences):
        is_like = sentence.held >= least * sentence.words and sentence.is_title == (sentence.partner in old.title)
        if not is_like or not sentence.partner or sentence.partner in new_sentences:
            continue
        # The first sentences may begin with a dateline, and a line with the time of its page.
        may_have_date = number < HEAD or not sentence.text.endswith(SENTENCE_ENDS)
        pairs = _replaced(sentence, new.language, _DATELINE * may_have_date)
        closer = closest[sentence.partner].text
        held = () if closer == sentence.text else {token.text for token in tokens_of(closer, new.language)}
        yield sentence, [(old, new) for old, new in pairs if old.token.text not in held and new.figure not in added]


def _added_figures(side: Side) -> set[Figure]:
    """Return the figures of a text that replace none, of whatever kind a sentence gives them."""
    return {
        Figure(str(toll.low), kind)
        for toll in tolls_of(side.title, side.text, side.language)
        if toll.is_increment
        for kind in (toll.kind, PEOPLE, 0)
    }


def _replaced(sentence: Sentence, language: str, dateline: int) -> Iterator[tuple[Value, Value]]:
    """Yield the values in the place of others, beside the same words; none if a name is in the place of another one.

    The first words of a sentence may be its ``dateline``.
    """
    replaced = {(each.old, each.new): each for each in sentence.differences if each.old and each.new}
    values = [printed for printed, each in replaced.items() if each.kind in TOLD and each.is_in_place]
    names = (printed for printed, each in replaced.items() if each.kind == "name")
    if not values or not all(old.startswith(new) or new.startswith(old) for old, new in names):  # "section", "sections"
        return
    texts = sentence.partner, sentence.text
    sides = [tokens_of(text, language) for text in texts]
    if _is_row(sentence.text, sides[1], language):
        return
    is_alike = sentence.held >= _ALIKE * max(map(len, sides)) or any(each.is_alone for each in replaced.values())
    olds, news = (values_of(*side, crosses=is_alike, dateline=dateline) for side in zip(texts, sides, strict=True))
    best = _best_pairs(olds, news)
    least = 0 if is_alike else 2  # words beside a value
    yield from (best[printed] for printed in values if printed in best and count_common(best[printed]) >= least)


def _is_row(line: str, tokens: Sequence[Token], language: str) -> bool:
    """Decide whether a line is a row of a table: which row of the old text it is, and which columns, is not sure.

    A line of tolls is none: "4 dead, 30 hurt, 5 missing".
    """
    values = sum(each.kind in TOLD for each in tokens)
    # A row of a table has so many values, and so large a share of values.
    is_full = values >= max(3, 0.4 * len(tokens)) and not line.endswith(SENTENCE_ENDS)
    return is_full and HARMED.isdisjoint(each.kind for each in figures_of("", line, language))


def _best_pairs(olds: Sequence[Value], news: Sequence[Value]) -> dict[tuple[str, str], tuple[Value, Value]]:
    """Return pairs of an old and a new value, by how the two are printed.

    If two are printed twice, the pair is that with most words in common beside them.
    """
    old_counts, new_counts = (
        Counter(each.token.text for each in side if each.token.kind != "time") for side in (olds, news)
    )
    gone, came = old_counts - new_counts, new_counts - old_counts
    sum_gone, sum_came = (sum(map(Decimal, filter(is_plain, values.elements()))) for values in (gone, came))
    if gone.total() != came.total() and sum_gone == sum_came:
        return {}  # "7 dead or hurt" -> "4 dead, 3 hurt"
    pairs = sorted(product(olds, news), key=count_common)  # the last one of its key stays
    return {
        (old.token.printed, new.token.printed): (old, new)
        for old, new in pairs
        if (old.token.text in gone) == (new.token.text in came)  # not "35, 37" -> "35"
    }


def _label(old: Value, new: Value, text: str) -> str:
    """Return the words that say in both sentences what is counted, "" if there are none, or the value is the same."""
    if not is_other_value(old, new) or any(map(_counts_others, (old, new))):
        return ""
    figure = new.figure
    is_known = old.figure.label == figure.label or old.token.kind == "quantity"  # "many reported dead"
    if is_known and (0 < figure.kind < FigureKind.OTHER or figure.label in ("people", "score", "magnitude", "votes")):
        return figure.label
    is_denial = old.token.kind == "negation" and new.token.kind != "number"  # "not only sad", "both sad"
    if is_denial or not WITHOUT_SIZE.isdisjoint((old.token.text, new.token.text)):
        return ""
    return _words_beside(old, new, text)


def _words_beside(old: Value, new: Value, text: str) -> str:
    """Return the words beside two values that are the same, as the text prints them."""
    before = equal_words(old.before, new.before)[::-1]
    behind = [] if new.token.kind == "code" else equal_words(old.behind, new.behind)
    if new.token.kind in ("time", "code"):
        small = dropwhile(lambda each: each.text in WORDS["articles"], takewhile(is_small, new.before))
        return as_printed(text, [*before, *reversed([*small])] if before else behind)
    # The words behind say it in "lost catch, $29 billion special damages", because a comma is before the value.
    is_behind_comma = any(each.closes for each in new.before[:1])
    is_of_next = is_behind_comma and any(map(may_name, old.behind[:2] + new.behind[:2]))
    # The words before say it in "boeing: 737 -> 787", "sections 21, 22 -> 27" and "area 55 was shut".
    is_next_named = is_of_next or any(may_name(each) or each.text in _OF for each in new.behind[:1])
    is_name = before[-1:] == new.before[:1] and not is_next_named
    is_named_before = new.figure.kind == SILENT or is_name or any(each.kind == "number" for each in new.before[:1])
    is_told_before = is_named_before or new.token.closes or (new.unit and not is_of_next)
    return as_printed(text, before or behind if is_told_before else behind or before)


def _counts_others(value: Value) -> bool:
    """Decide whether the word before a value counts other people than those behind it: "body of one of the missing"."""
    near = next((each for each in value.before if not is_small(each) or each.text in WORDS["and"]), None)
    meaning = meaning_of(near.text) if near and not near.closes else None
    return meaning is not None and meaning.kind != value.figure.kind and {meaning.kind, value.figure.kind} <= HARMED


def _value_of(value: Value, text: str) -> str:
    """Return a value as it is told: "at least 12"."""
    shown = as_printed(text, value.shown)
    return shown[0].lower() + shown[1:] if value.is_bounded else shown


def _newest_tolls(new: Side, old: Side) -> Iterator[tuple[int, str, str]]:
    """Yield the kinds of the tolls that rose or are corrected, with both values.

    Of two sources only the dead are compared.
    """
    news = _tolls_of_head(new)
    if not news or _name_others(new, old):  # most texts tell no toll
        return
    olds = _tolls_of_head(old)
    before, after = map(_totals, (olds, news))
    kinds = {FigureKind.DEAD}
    if new.source == old.source != "":
        kinds = {kind for kind in FigureKind if kind < FigureKind.OTHER}
        after = _sums(before, olds, news) | after
        before = _none_before(old, news) | before
    corrected = {each.kind for each in news if each.is_correction}
    for kind in sorted(kinds & before.keys() & after.keys() & {each.kind for each in news}):
        known = before[kind]
        newest = after[kind]
        # Beyond this it is the toll of another event: no words around the two are compared.
        is_new = known < newest <= 20 * (1 + known) or (0 < newest < known and kind in corrected)
        if is_new and (kind in corrected or not _is_part(kind, str(known), str(newest), new, old)):
            yield kind, str(known), str(newest)


def _totals(tolls: Iterable[Toll]) -> dict[int, Decimal]:
    """Return the greatest toll of each kind. A lower one may be that of a part: "seven died in 24 hours".

    The ill and the cases are the same people: "77 ill", "67 cases".
    """
    totals = {each.kind: each.low for each in sorted(tolls, key=attrgetter("low")) if not each.is_increment}
    return {kind: totals[other] for kind, other in _SAME_PEOPLE if other in totals} | totals


def _sums(before: Mapping[int, Decimal], olds: Iterable[Toll], news: Iterable[Toll]) -> dict[int, Decimal]:
    """Return the totals of a source to which its new text adds what the old one did not: "two more".

    "A first death" and the like add to 0 only.
    """
    told = {(toll.kind, toll.low) for toll in olds if toll.is_increment}
    more = {toll.kind: toll for toll in news if toll.is_increment and (toll.kind, toll.low) not in told}
    return {
        kind: Decimal(more[kind].added_to(float(before[kind])))
        for kind in before.keys() & more.keys()
        if not more[kind].is_first or not before[kind]
    }


def _none_before(old: Side, news: Iterable[Toll]) -> dict[int, Decimal]:
    """Return 0 for each kind of which a new text tells "a first", if the old one tells none."""
    told = {figure.kind for figure in figures_of(old.title, old.text, old.language)}
    return {toll.kind: Decimal(0) for toll in news if toll.is_first and toll.kind not in told}


def _is_part(kind: int, known: str, newest: str, new: Side, old: Side) -> bool:
    """Decide whether one of two tolls is a part of the other one: "14 here, 29 in all".

    So it is if the old text has told the newest toll too, or if the new text begins with the known one.
    """
    told = [each.value for each in figures_of(old.title, old.text, old.language) if each.kind == kind]
    first = [each.value for each in figures_of("", new.text[:_LONGEST_HEAD], new.language) if each.kind == kind][:1]
    return newest in told or known in first


def _name_others(new: Side, old: Side) -> bool:
    """Decide whether both titles have names, such as those of two towns, and none of them is the same."""
    names = names_of(new.text, old.text)
    of_titles = [names & words_of(side.title) for side in (new, old)]
    return all(of_titles) and of_titles[0].isdisjoint(of_titles[1])


def _tolls_of_head(side: Side) -> list[Toll]:
    head = f"{side.title}\n{side.text[:_LONGEST_HEAD]}"
    return [
        each
        for each in tolls_of(side.title, side.text, side.language)
        if each.text[:_LONGEST_HEAD] in head and not each.is_vague
    ]


def contradict(some: Sequence[Figure], others: Sequence[Figure]) -> bool:
    """Decide whether two texts give tolls of one kind, and none of them is the same."""
    tolls = [
        [each for each in side if 0 < each.kind < FigureKind.HOMES and is_plain(each.value)] for side in (some, others)
    ]
    pairs = [(one, other) for one, other in product(*tolls) if one.kind == other.kind]
    return not {one.kind for one, _ in pairs} <= {one.kind for one, other in pairs if are_equal(one, other)}
