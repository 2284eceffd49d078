"""Say what a document adds to the story that it joins, and whether it shows that two stories are one."""

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from scrapy_neardup.document import Document, Verdict
from scrapy_neardup.evidence.figures.counted import SILENT
from scrapy_neardup.evidence.figures.figure import figures_of
from scrapy_neardup.evidence.lead import find_lead
from scrapy_neardup.evidence.names import LEAST_COSINE, shared_names, shared_tolls
from scrapy_neardup.evidence.news import LONGEST_NEWS, MOST_NEWS, own_sentences
from scrapy_neardup.evidence.sections import section_of
from scrapy_neardup.evidence.sources import publisher_of
from scrapy_neardup.evidence.topic import MOST_SHARED_WORDS, NO_TOPIC, shared_terms, shared_words, topic_cosine
from scrapy_neardup.evidence.vectors import cosine_of
from scrapy_neardup.records.documents import Record, StoredText
from scrapy_neardup.rules.guards import (
    FIRST_COSINE,
    FIRST_COSINE_IF_STRONG,
    SAME_ARTICLE,
    SAME_SOURCE_EXTRA,
    TOLLS_OF_ONE_EVENT,
)
from scrapy_neardup.rules.match import Match, any_applies, best_match
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.systems import NEWS
from scrapy_neardup.story import Join, Member
from scrapy_neardup.text.display import one_line

# The number of an article, which is no date: 20251129, 202511.
_NUMBER = re.compile(r"(?<!\d)(?!(?:19|20)\d\d(?:0\d|1[0-2])(?:[0-3]\d)?(?!\d))\d{5,}")

# A text with more figures in 100 words has many; in scripts without spaces, in 100 characters.
MANY_FIGURES_IN_100 = 3

# A document joins two stories if it scores this much more than it needs to, and if their members are that much alike.
UNITING_EXTRA = 0.04
UNITING_COSINE = 0.25
UNITING_VECTORS = 0.5  # mean cosine of the vectors of the members of two stories that are one


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

    def first_member(match: Match, url: str, title: str, language: str) -> Member:
        """Return the first document of the story of a match. It has no url if that is not known."""
        source = source_of(url) if url else ""
        # Its page is not known any more, so its address stands for the section, and for the name of the publisher.
        first = Member(
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
            return first
        has_many = _has_many_figures(document if match.pair.same_text else match.pair.old_text, match.pair.old.size)
        return replace(first, counted_at=match.pair.old.counted_at, has_many_figures=has_many)

    # Only the first document of a story has its url and title in the match.
    url, title = (match.original_url, match.original_title) if match.original == match.story else ("", "")
    # When a story begins, the candidate is its first document, whose language is known. A copy of the first
    # document has the same language.
    language = match.pair.old.language_code if match.id == match.story or not match.related else ""
    owner = owner_of(document.source)
    if not match.related and owner == document.source and _are_editions(document, match, verdict, source_of):
        owner = owner_of(source_of(match.original_url))
    return Join(
        first_member(match, url, title, language),
        Member(
            id=document.id,
            url=document.link,
            title=document.title or find_lead("", document.text) or one_line(document.text, 220),
            source=document.source,
            owner=owner,
            status=verdict.status,
            kind=verdict.kind,
            changes=verdict.changes,
            language=document.language,
            section=document.section,
            publisher=document.publisher,
            topic=match.topic_score,
            terms=_shared(match, document) if match.topic_score else (),
            has_many_figures=_has_many_figures(document, match.pair.new.size),
        ),
        is_coverage=_is_coverage(match),
        earlier_of_page=page.id if page else "",
        counted_at=document.counted_second,
        document=document,
        language=match.pair.new.language_code,
        sentences=_own_sentences(document, match, page),
        also=first_member(also, also.original_url, also.original_title, also.pair.old.language_code) if also else None,
    )


def _are_editions(document: Document, match: Match, verdict: Verdict, source_of: Callable[[str], str]) -> bool:
    """Decide whether a copy and its original are in editions of one site: paper.com and paper.com.au, or at one path.

    The path must have the number of the article: many papers make the same path of one title. Everybody can choose a
    path, so only a copy that says nothing else has its owner by it.
    """
    path, path_of_original = (url.split("?")[0].split("/")[3:] for url in (document.link, match.original_url))
    return (
        document.source.partition(".")[0] == source_of(match.original_url).partition(".")[0]
        # At one path, with a number
        or (verdict.status == "duplicate" and path == path_of_original and bool(_NUMBER.search("/".join(path))))
    )


def _own_sentences(document: Document, match: Match, page: Match | None) -> tuple[str, ...]:
    """Return the sentences that may be news: those that neither the match nor the earlier version of the page holds.

    There are none if the match is a report in another language, because sentences of two languages are not compared.
    """
    pair = match.pair
    if pair.same_text or (match.related and pair.old.language_code != pair.new.language_code):
        return ()
    comparisons = [each.pair.comparison for each in (match, page) if each and each.pair.comparison]
    return own_sentences(document.text, pair.new.learned, comparisons, is_report=match.related)


def news_of_notice(document: Document, match: Match) -> tuple[str, ...]:
    """Return what a changed page tells if its text is too short to join a story, which would tell its news."""
    if not match.pair.new.is_too_short:
        return ()
    return tuple(one_line(each, LONGEST_NEWS) for each in _own_sentences(document, match, None)[:MOST_NEWS])


@lru_cache(32)  # many documents join a story by its first one
def _has_many_figures(read: Document | StoredText | None, size: int) -> bool:
    """Decide whether a text of this size is full of figures, such as a result.

    Reports of people in danger, and of an earthquake, are not, however many figures they have, nor is a text whose
    figures mostly are names, such as articles of a law, or ages. Most texts have so few digits that they are not read.
    """
    most = MANY_FIGURES_IN_100 * max(100, size)
    if read is None or 100 * len(re.findall(r"\d+", read.text)) <= most:
        return False
    figures = figures_of(read.title, read.text)
    are_names = 2 * sum(figure.kind == SILENT for figure in figures) > len(figures)
    return 100 * len(figures) > most and not are_names and not any(figure.is_grave for figure in figures)


def _is_coverage(match: Match) -> bool:
    """Decide whether a document counts as coverage of its story: another page, that is about the same event."""
    if match.pair.is_seen and match.pair.same_page:
        return False
    return (
        not match.related
        or match.topic_score > 0
        or match.original == match.story
        # Each step from one similar text to the next loses likeness.
        or topic_cosine(match.pair.new.topic, first_topic(match.pair.old)) >= FIRST_COSINE_IF_STRONG
    )


def _shared(match: Match, document: Document) -> tuple[str, ...]:
    """Return the terms, or in another language the names, by which a document joined the story of its match."""
    new, old = match.pair.new, match.pair.old
    beginning = document.text[:1_000]
    of_topic = shared_words(new.topic, old.topic, document.title, beginning)
    if len(of_topic) >= min(MOST_SHARED_WORDS, len(shared_terms(new.names, old.names))):
        return of_topic
    of_names = shared_names(new.names, old.names, document.title, beginning)
    return of_topic if len(of_topic) >= len(of_names) else of_names


def in_united_story(match: Match, alive: Sequence[Match]) -> Match | None:
    """Return the best match that is in another story, None if the document does not show that the stories are one."""
    other = best_match(each for each in alive if each.pair.old.story != match.pair.old.story)
    if other and (_tell_one_toll(match.pair, other.pair) or _unites(match.pair, other.pair, alive)):
        return other
    return None


def is_bridge(match: Match, alive: Sequence[Match]) -> bool:
    """Decide whether a document shares text with members of two stories that are not like each other.

    It tells of two events, as the news of a day in brief. Nobody joins a story through it.
    """
    if not match.is_by_text:
        return False
    topic = first_topic(match.pair.old)
    of_other_stories = (
        other.pair.old for other in alive if other.is_by_text and other.pair.old.story != match.pair.old.story
    )
    return any(topic_cosine(topic, first_topic(other)) < FIRST_COSINE_IF_STRONG for other in of_other_stories)


def narrowed(match: Match, alive: Sequence[Match]) -> dict[bytes, tuple[Record, Record]]:
    """Return the records that change because a document shares only a part of its text with the story's first document.

    They are those of the first document and its copies, each as it was and as it is then. The first document may tell
    of several events. From now on its story is about that part: whoever shares another part joins nobody through it.
    This holds whatever comes first, the page or the reports of its events.
    """
    first = next((other for other in alive if other.id == other.story == match.story), None)
    topic = match.pair.new.topic or NO_TOPIC
    is_edited = topic == NO_TOPIC and match.pair.same_source  # an article of the paper, and no other report
    if first is None or first.pair.old.first_topic or is_edited or not _shares_a_part(match):
        return {}
    not_narrowed = (b"", first.pair.old.topic)
    copies = (copy for copy in alive if copy.original == first.id and copy.pair.old.first_topic in not_narrowed)
    return {
        copy.pair.key: (copy.pair.old, replace(copy.pair.old, first_topic=topic))
        for copy in copies
        if _shares_a_part(copy)
    }


def _shares_a_part(match: Match) -> bool:
    """Return whether a new document shares only a part of its text with a document of another page."""
    return match.is_by_text and match.pair.resemblance < SAME_ARTICLE and not match.pair.same_page


def _unites(match: Pair, other: Pair, alive: Sequence[Match]) -> bool:
    """Decide whether the story of the match and that of another candidate are one.

    All members that the document was compared with count, so that a digest in one story does not unite it with others.
    The first documents must be alike too, because somebody could write many members that fit both stories. If one story
    is in another language, the names must be enough, a member must share one with the other story, and the document
    stands for the members, which share no terms with it. Names alone join no stories: one page that lists the names of
    two events would.
    """
    # The far story is the one in another language, or else that of the match, which the document joins anyway. It must
    # join the near story by its topic, with a higher score than it needs to.
    near, far = (match, other) if other.two_languages else (other, match)
    least_score = near.policy.preset.topic_threshold + (UNITING_EXTRA + SAME_SOURCE_EXTRA * near.same_source)
    if near.topic_score < least_score or any_applies(NEWS.not_by_topic, near):
        return False
    members = _members(near, alive)
    pairs = list(itertools.product(members, _members(far, alive)))
    cosine = topic_cosine(first_topic(match.old), first_topic(other.old))
    are_firsts_alike = cosine >= (FIRST_COSINE_IF_STRONG if match.new.vector else FIRST_COSINE)
    if are_firsts_alike and _mean_of([cosine_of(one.vector, two.vector) for one, two in pairs]) >= UNITING_VECTORS:
        return True
    if far.two_languages:
        if far is other and not _tell_one_event(far, members):
            return False
        pairs = [(match.new, member) for member in members]
    are_members_alike = _mean_of([topic_cosine(one.topic, two.topic) for one, two in pairs]) >= UNITING_COSINE
    return are_members_alike and (are_firsts_alike or far.two_languages)


def _tell_one_event(far: Pair, members: Sequence[Record]) -> bool:
    """Decide whether a document is one article with that in another language, or names its event as the members do."""
    share_a_name = any(shared_terms(each.names, far.old.names) for each in members)
    return far.is_translation or (share_a_name and far.names_score >= LEAST_COSINE)


def _tell_one_toll(match: Pair, other: Pair) -> bool:
    """Decide whether a document goes on with the tolls of two others in two languages, with a toll of all in common.

    In one language other reports of one form have equal tolls too.
    """
    tolls = (match.tolls, other.tolls)
    if not (any(match.tolls) and any(other.tolls) and (match.two_languages or other.two_languages)):
        return False
    return max(shared.bits for shared in tolls) >= TOLLS_OF_ONE_EVENT or (
        all(shared.equal for shared in tolls) and shared_tolls(match.old.names, other.old.names).equal > 0
    )


def _members(pair: Pair, alive: Sequence[Match]) -> list[Record]:
    """Return the members of the story of a pair's old document that the new one was compared with."""
    return [each.pair.old for each in alive if each.pair.old.story == pair.old.story]


def _mean_of(cosines: Sequence[float | None]) -> float:
    """Return the mean of cosines, minus infinity if one is missing."""
    return sum(-math.inf if each is None else each for each in cosines) / len(cosines)


def first_topic(record: Record) -> bytes:
    """Return the topic of the first document of the story that a document is in."""
    return record.first_topic or record.topic
