"""What a document tells that its story did not: the sentences of ``neardup_news``."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from scrapy_neardup.document import Document
from scrapy_neardup.evidence.figures.counted import PEOPLE, FigureKind
from scrapy_neardup.evidence.figures.figure import Figure, find_figures, is_plain
from scrapy_neardup.evidence.figures.tolls import Toll, tolls_of
from scrapy_neardup.evidence.lead import find_lead
from scrapy_neardup.evidence.news import LONGEST_NEWS, MOST_NEWS, has_told, new_terms, news_among, recounted, told_by
from scrapy_neardup.records.stories import StoryCounters
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.story import Join, Ledger
from scrapy_neardup.text.display import one_line

# How many hashes of weighty terms a story keeps, the newest: about those of 1,000 sentences, in 8 kB.
MOST_TOLD = 4096

_LARGE = 1000  # such a number is told for one thing


def with_news(
    told: list[int], ledger: Ledger, counters: StoryCounters, join: Join, first_text: StoredText | None
) -> Join:
    """Return a join whose member has its news and its lead. Note what the document tells.

    ``told`` are the hashes of the terms that the story has told, and ``ledger`` has the figures. A story whose first
    text is not known has no news.
    """
    tolls = {(each.kind, each.low) for each in ledger.printed}
    if not counters.joined and first_text is not None:
        told[:] = told_by(first_text.title, first_text.text, join.first.language)
        tolls |= {
            (each.kind, float(each.low)) for each in tolls_of(first_text.title, first_text.text, join.first.language)
        }
    document = join.document
    if document is None:
        return join
    lead = "" if join.member.kind in ("exact", "revisit") else find_lead(document.title, document.text)
    is_report = join.member.status == "related"
    is_read = join.sentences or (is_report and join.language == join.first.language)
    news = _news_of(document, {*told}, tolls, join, first_text) if told and is_read else ()
    if told and (join.sentences or is_report):
        told[:] = united_told(told, told_by(document.title, document.text, join.language))
    return replace(join, member=replace(join.member, lead=lead, news=news))


def _news_of(
    document: Document,
    told: Collection[int],
    tolls: Collection[tuple[int, float]],
    join: Join,
    first: StoredText | None,
) -> tuple[str, ...]:
    """Return the news of a document. ``first`` is the text of the story's first document."""
    is_version = join.member.status != "related"
    # Another report of what was told can only tell more people, such as those harmed.
    is_told = not is_version and has_told(document.title, told, join.language)
    highest = dict(sorted(each for each in tolls if is_told))
    new_tolls = [*_new_tolls(document, told, tolls, highest, is_version=is_version, is_told=is_told)]
    values = {
        Figure(str(each.low), kind) for each in new_tolls for kind in (each.kind, PEOPLE)
    }  # "six students were crushed"
    figures = {each: find_figures(each, join.language) for each in join.sentences if values or tolls}
    new_values = [
        each
        for each in join.sentences
        if any(toll.text in each for toll in new_tolls)
        or any(one in values or (tolls and _counts_more(one, told, highest)) for one in figures.get(each, ()))
    ]
    if first and join.sentences and not is_told:
        new_values += recounted(join.sentences, first.title, first.text, told, join.language)
    asked = new_values if is_told else join.sentences
    news = news_among(asked, document.title, told, new_values, join.language, is_version=is_version)
    return news if is_version else (*news, *_increment(new_tolls, news, told, join.language))[:MOST_NEWS]


def _increment(new_tolls: Sequence[Toll], news: Sequence[str], told: Collection[int], language: str) -> Iterator[str]:
    """Yield a toll that adds to one, if no sentence tells it: "Second body found" may be no more than a headline."""
    kinds = {toll.kind for toll in new_tolls if any(toll.text in each for each in news)}
    left = (each.text for each in new_tolls if each.is_increment and each.kind not in kinds)
    yield from islice((one_line(each, LONGEST_NEWS) for each in left if new_terms(each, told, language)), 1)


def _counts_more(figure: Figure, told: Collection[int], highest: Mapping[int, float]) -> bool:
    """Decide whether a figure counts people, or their homes, by a number that was not told: not "his two children"."""
    is_counted = figure.kind == PEOPLE or 0 < figure.kind < FigureKind.OTHER
    if 0 < figure.kind <= FigureKind.MISSING and is_plain(figure.value):
        is_counted &= float(figure.value) >= highest.get(figure.kind, 0)  # others are older
    # So few seldom are news alone.
    return is_counted and figure.value not in ("0", "1", "2") and bool(new_terms(figure.value, told, ""))


def _new_tolls(
    document: Document,
    told: Collection[int],
    tolls: Collection[tuple[int, float]],
    highest: Mapping[int, float],
    *,
    is_version: bool,
    is_told: bool,
) -> Iterator[Toll]:
    """Yield the tolls that tell another value than the story's, or add to one. "A woman died" adds to none dead."""
    kinds = {kind for kind, _ in tolls}
    for each in tolls_of(document.title, document.text, document.language):
        if _is_retold(each, highest, is_told=is_told):
            continue
        is_new = (each.kind, float(each.low)) not in tolls
        if each.is_increment:
            is_new = not each.is_first or (each.kind, 0.0) in tolls
        has_new_term = each.low > 1 and bool(new_terms(f"{each.low:f}", told, ""))
        is_known_kind = is_version or each.kind in kinds
        if is_new and not each.is_vague and (has_new_term or (is_known_kind and each.low < _LARGE)):
            yield each


def _is_retold(toll: Toll, highest: Mapping[int, float], *, is_told: bool) -> bool:
    """Decide whether a toll of another report is no news: under the ``highest`` of its kind it is older.

    If the story has told the title (``is_told``), only the numbers of people and homes, and a magnitude, may be news.
    """
    if is_told and toll.kind >= FigureKind.OTHER and toll.kind != FigureKind.MAGNITUDE:
        return True
    is_older = toll.kind <= FigureKind.MISSING and toll.low < highest.get(toll.kind, 0)
    return is_older and not (toll.is_increment or toll.is_correction)


def united_told(told: list[int], more: list[int]) -> list[int]:
    """Return the hashes of both lists, each once."""
    return list(dict.fromkeys((*told, *more)))[-MOST_TOLD:]
