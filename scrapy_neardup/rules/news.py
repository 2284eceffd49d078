"""What a document tells that its story did not: the sentences of ``neardup_news``."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from scrapy_neardup.document import Document
from scrapy_neardup.evidence.figures.counted import PEOPLE, FigureKind
from scrapy_neardup.evidence.figures.figure import Figure, find_figures, is_plain
from scrapy_neardup.evidence.figures.tolls import Toll, tolls_of
from scrapy_neardup.evidence.lead import find_lead
from scrapy_neardup.evidence.news import LONGEST_NEWS, MOST_NEWS, has_told, new_terms, news_among, recounted, told_by
from scrapy_neardup.records.documents import StoredText
from scrapy_neardup.records.stories import StoryCounters
from scrapy_neardup.story import Join, Ledger
from scrapy_neardup.text.display import one_line

# How many hashes of weighty terms a story keeps, the newest: about those of 1,000 sentences, in 8 kB.
MOST_TOLD = 4096

_LARGE = 1000  # such a number counts one thing only: if the story has told it, it is not new for another kind


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
    has_told_title = not is_version and has_told(document.title, told, join.language)
    # The highest toll of each kind, which is the last of the sorted ones: lower ones are older.
    highest = dict(sorted(tolls)) if has_told_title else {}
    new_tolls = [*_new_tolls(document, told, tolls, highest, is_version=is_version, has_told_title=has_told_title)]
    # The same number of people may be told without the kind of harm: "six students were crushed".
    values = {Figure(str(toll.low), kind) for toll in new_tolls for kind in (toll.kind, PEOPLE)}
    new_values = [
        sentence
        for sentence in join.sentences
        if new_tolls or tolls  # most stories tell none, and figures are not read
        if any(toll.text in sentence for toll in new_tolls)
        or any(
            figure in values or (tolls and _counts_more(figure, told, highest))
            for figure in find_figures(sentence, join.language)
        )
    ]
    if first and join.sentences and not has_told_title:
        new_values += recounted(join.sentences, first.title, first.text, told, join.language)
    asked = new_values if has_told_title else join.sentences
    news = news_among(asked, document.title, told, new_values, join.language, is_version=is_version)
    return news if is_version else (*news, *_increment(new_tolls, news, told, join.language))[:MOST_NEWS]


def _increment(new_tolls: Sequence[Toll], news: Sequence[str], told: Collection[int], language: str) -> list[str]:
    """Return the first toll that adds to one and that no news tells: "Second body found" may be only a headline."""
    kinds_in_news = {toll.kind for toll in new_tolls if any(toll.text in sentence for sentence in news)}
    untold = (toll.text for toll in new_tolls if toll.is_increment and toll.kind not in kinds_in_news)
    return [one_line(text, LONGEST_NEWS) for text in untold if new_terms(text, told, language)][:1]


def _counts_more(figure: Figure, told: Collection[int], highest: Mapping[int, float]) -> bool:
    """Decide whether a figure counts people, or their homes, by a number that was not told: not "his two children"."""
    is_counted = figure.kind == PEOPLE or 0 < figure.kind < FigureKind.OTHER
    if 0 < figure.kind <= FigureKind.MISSING and is_plain(figure.value):
        is_counted &= float(figure.value) >= highest.get(figure.kind, 0)  # lower ones are older
    # "0", "1" and "2" are seldom news alone.
    return is_counted and figure.value not in ("0", "1", "2") and bool(new_terms(figure.value, told, ""))


def _new_tolls(
    document: Document,
    told: Collection[int],
    tolls: Collection[tuple[int, float]],
    highest: Mapping[int, float],
    *,
    is_version: bool,
    has_told_title: bool,
) -> Iterator[Toll]:
    """Yield the tolls that tell another value than the story's, or add to one. "A woman died" adds to none dead."""
    kinds = {kind for kind, _ in tolls}
    for toll in tolls_of(document.title, document.text, document.language):
        if _is_retold(toll, highest, has_told_title=has_told_title):
            continue
        is_new = (toll.kind, float(toll.low)) not in tolls
        if toll.is_increment:
            is_new = not toll.is_first or (toll.kind, 0.0) in tolls
        has_new_term = toll.low > 1 and bool(new_terms(f"{toll.low:f}", told, ""))
        is_known_kind = is_version or toll.kind in kinds
        if is_new and not toll.is_vague and (has_new_term or (is_known_kind and toll.low < _LARGE)):
            yield toll


def _is_retold(toll: Toll, highest: Mapping[int, float], *, has_told_title: bool) -> bool:
    """Decide whether a toll of another report is no news: under the ``highest`` of its kind it is older.

    If the story has told the title, only the numbers of people and homes, and a magnitude, may be news.
    """
    if has_told_title and toll.kind >= FigureKind.OTHER and toll.kind != FigureKind.MAGNITUDE:
        return True
    is_older = toll.kind <= FigureKind.MISSING and toll.low < highest.get(toll.kind, 0)
    return is_older and not (toll.is_increment or toll.is_correction)


def united_told(told: list[int], more: list[int]) -> list[int]:
    """Return the hashes of both lists, each once."""
    return list(dict.fromkeys((*told, *more)))[-MOST_TOLD:]
