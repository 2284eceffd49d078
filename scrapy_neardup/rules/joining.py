"""Say what a document adds to the story that it joins."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from scrapy_neardup.document import Document, Verdict
from scrapy_neardup.evidence.differences import Comparison
from scrapy_neardup.evidence.figures.figure import figures_of
from scrapy_neardup.evidence.lead import find_lead
from scrapy_neardup.evidence.names import shared_names
from scrapy_neardup.evidence.news import own_sentences
from scrapy_neardup.evidence.sections import section_of
from scrapy_neardup.evidence.sources import publisher_of
from scrapy_neardup.evidence.topic import MOST_SHARED_WORDS, shared_terms, shared_words, topic_cosine
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.rules.guards import FIRST_COSINE_IF_STRONG
from scrapy_neardup.rules.match import Match
from scrapy_neardup.rules.uniting import first_topic
from scrapy_neardup.story import Join, Member
from scrapy_neardup.text.display import one_line

_LONGEST_TITLE = 220  # characters of a text that stand for a missing title
_DIGITS = re.compile(r"\d+")
# The number of an article, which is no date: 20251129, 202511.
_NUMBER = re.compile(r"(?<!\d)(?!(?:19|20)\d\d(?:0\d|1[0-2])(?:[0-3]\d)?(?!\d))\d{5,}")
_TOLD_OF_TEXT = 1_000  # characters in which the words are looked for by which a document joined its story

# A text with more figures in 100 words has many; in scripts without spaces, in 100 characters.
MANY_FIGURES_IN_100 = 3


def join_of(
    document: Document,
    match: Match,
    also: Match | None,
    page: Match | None,
    verdict: Verdict,
    owner_of: Callable[[str], str],
    source_of: Callable[[str], str],
) -> Join:
    """Return how a document joins the story of its match, and unites it with the story of another match, ``also``.

    ``page`` is an earlier version of its page. ``owner_of`` returns who runs a source, ``source_of`` the source of a
    url.
    """

    def first(match: Match, url: str, title: str, language: str) -> Member:
        """Return the first document of the story of a match. It has no url if that is not known."""
        source = source_of(url) if url else ""
        # Its page is not known any more, so its address stands for the section, and for the name of the publisher.
        story = Member(
            match.story,
            url,
            title,
            source,
            owner_of(source),
            "original",
            language=language,
            section=section_of(url),
            publisher=publisher_of(source, source.partition(".")[0], ""),
        )
        if match.id != match.story:
            return story
        has_many = _has_many(document if match.pair.same_text else match.pair.old_text, match.pair.old.size)
        return replace(story, counted_at=match.pair.old.counted_at, has_many_figures=has_many)

    # Only the first document of a story has its url and title in the match.
    is_first = match.original == match.story
    comparisons = [each.pair.comparison for each in (match, page) if each and each.pair.comparison]
    url, title = (match.original_url, match.original_title) if is_first else ("", "")
    # When a story begins, the candidate is its first document, whose language is known. A copy of the first
    # document has the same language.
    language = match.pair.old.language_code if match.id == match.story or not match.related else ""
    topic = match.topic_score
    owner = owner_of(document.source)
    if not match.related and owner == document.source and _are_editions(document, match, verdict, source_of):
        owner = owner_of(source_of(match.original_url))
    return Join(
        first(match, url, title, language),
        Member(
            id=document.id,
            url=document.link,
            title=document.title or find_lead("", document.text) or one_line(document.text, _LONGEST_TITLE),
            source=document.source,
            owner=owner,
            status=verdict.status,
            kind=verdict.kind,
            changes=verdict.changes,
            language=document.language,
            section=document.section,
            publisher=document.publisher,
            topic=topic,
            terms=_shared(match, document) if topic else (),
            has_many_figures=_has_many(document, match.pair.new.size),
        ),
        is_coverage=_is_coverage(match),
        earlier_of_page=page.id if page else "",
        counted_at=document.counted_second,
        document=document,
        language=match.pair.new.language_code,
        sentences=_own_sentences(document, match, comparisons),
        also=first(also, also.original_url, also.original_title, also.pair.old.language_code) if also else None,
    )


def _are_editions(document: Document, match: Match, verdict: Verdict, source_of: Callable[[str], str]) -> bool:
    """Decide whether a copy and its original are in editions of one site: paper.com and paper.com.au, or at one path.

    The path must have the number of the article: many papers make the same path of one title. Everybody can choose a
    path, so only a copy that says nothing else has its owner by it.
    """
    path, original = (url.split("?")[0].split("/")[3:] for url in (document.link, match.original_url))
    if verdict.status == "duplicate" and path == original and _NUMBER.search("/".join(path)):
        return True
    return document.source.partition(".")[0] == source_of(match.original_url).partition(".")[0]


def _own_sentences(document: Document, match: Match, comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Return the sentences that may be news. Nobody knows which are in a report in another language."""
    pair = match.pair
    if pair.same_text or (match.related and pair.old.language_code != pair.new.language_code):
        return ()
    return own_sentences(document.text, pair.new.learned, comparisons)


def _has_many(read: Document | StoredText | None, size: int) -> bool:
    """Decide whether a text of this size is full of figures, such as a result, a forecast, a price list.

    Reports of people in danger, and of an earthquake, are not, however many figures they have. Most texts have so few
    digits that their figures are not read.
    """
    most = MANY_FIGURES_IN_100 * max(100, size)
    if read is None or 100 * len(_DIGITS.findall(read.text)) <= most:
        return False
    figures = figures_of(read.title, read.text)
    return not any(each.is_grave for each in figures) and 100 * len(figures) > most


def _is_coverage(match: Match) -> bool:
    """Decide whether a document counts as coverage of its story: another page, that is about the same event."""
    if match.is_seen and match.pair.same_page:
        return False
    if not match.related or match.topic_score > 0 or match.original == match.story:
        return True
    # Each step from one similar text to the next loses likeness.
    return topic_cosine(match.pair.new.topic, first_topic(match.pair.old)) >= FIRST_COSINE_IF_STRONG


def _shared(match: Match, document: Document) -> tuple[str, ...]:
    """Return the terms, or in another language the names, by which a document joined the story of its match."""
    new, old = match.pair.new, match.pair.old
    beginning = document.text[:_TOLD_OF_TEXT]
    of_topic = shared_words(new.topic, old.topic, document.title, beginning)
    if len(of_topic) >= min(MOST_SHARED_WORDS, len(shared_terms(new.names, old.names))):
        return of_topic
    of_names = shared_names(new.names, old.names, document.title, beginning)
    return of_topic if len(of_topic) >= len(of_names) else of_names
