"""Decide whether the stories of two candidates are one, because a new document fits both."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from scrapy_neardup.evidence.names import LEAST_COSINE, shared_tolls
from scrapy_neardup.evidence.topic import NO_TOPIC, shared_terms, topic_cosine
from scrapy_neardup.evidence.vectors import cosine_of
from scrapy_neardup.records.documents import Record
from scrapy_neardup.rules.findings import any_applies
from scrapy_neardup.rules.guards import (
    FIRST_COSINE,
    FIRST_COSINE_IF_STRONG,
    SAME_ARTICLE,
    SAME_SOURCE_EXTRA,
    TOLLS_OF_ONE_EVENT,
)
from scrapy_neardup.rules.match import Match, best_match
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.systems import NEWS

# A document joins two stories if it scores this much more than it needs to, and if their members are that much alike.
UNITING_EXTRA = 0.04
UNITING_COSINE = 0.25
UNITING_VECTORS = 0.5  # mean cosine of the vectors of the members of two stories that are one


def in_united_story(match: Match, alive: Sequence[Match]) -> Match | None:
    """Return the best match that is in another story, if that is one with the story of the match."""
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
    first = first_topic(match.pair.old)
    others = (each.pair.old for each in alive if each.is_by_text and each.pair.old.story != match.pair.old.story)
    return any(topic_cosine(first, first_topic(each)) < FIRST_COSINE_IF_STRONG for each in others)


def narrowed(match: Match, alive: Sequence[Match]) -> dict[bytes, tuple[Record, Record]]:
    """Return how the first document of a story, and its copies, change because a document shares only a part with it.

    The first document may tell of several events. From now on its story is about that part: whoever shares another part
    joins nobody through it. This holds whatever comes first, the page or the reports of its events.
    """
    first = next((each for each in alive if each.id == each.story == match.story), None)
    topic = match.pair.new.topic or NO_TOPIC
    if first is None or first.pair.old.first_topic or not _is_part(match):
        return {}
    if topic == NO_TOPIC and match.pair.same_source:  # an edited article of the paper, and no other report
        return {}
    known = (b"", first.pair.old.topic)
    copies = (each for each in alive if each.original == first.id and each.pair.old.first_topic in known)
    return {each.key: (each.pair.old, replace(each.pair.old, first_topic=topic)) for each in copies if _is_part(each)}


def _is_part(match: Match) -> bool:
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
    near, far = (match, other) if other.two_languages else (other, match)
    if not _joins_clearly(near):
        return False
    members = _members(near, alive)
    pairs = list(itertools.product(members, _members(far, alive)))
    cosine = topic_cosine(first_topic(match.old), first_topic(other.old))
    are_firsts_alike = cosine >= (FIRST_COSINE_IF_STRONG if match.new.vector else FIRST_COSINE)
    if are_firsts_alike and _mean_of_vectors(pairs) >= UNITING_VECTORS:
        return True
    if far.two_languages:
        share_a_name = any(shared_terms(each.names, far.old.names) for each in members)
        if far is other and (far.names_score < LEAST_COSINE or not share_a_name):
            return False
        return _mean_of_topics([(match.new, each) for each in members]) >= UNITING_COSINE
    return are_firsts_alike and _mean_of_topics(pairs) >= UNITING_COSINE


def _tell_one_toll(match: Pair, other: Pair) -> bool:
    """Decide whether a document goes on with the tolls of two others in two languages, with a toll of all in common.

    In one language other reports of one form have equal tolls too.
    """
    tolls = (match.tolls, other.tolls)
    if not all(map(any, tolls)) or not (match.two_languages or other.two_languages):
        return False
    if max(each.bits for each in tolls) >= TOLLS_OF_ONE_EVENT:
        return True
    return all(each.equal for each in tolls) and shared_tolls(match.old.names, other.old.names).equal > 0


def _joins_clearly(pair: Pair) -> bool:
    """Decide whether a document joins a story by its topic, and scores more than it needs to."""
    least_score = pair.policy.topic_threshold + (UNITING_EXTRA + SAME_SOURCE_EXTRA * pair.same_source)
    return pair.topic_score >= least_score and not any_applies(NEWS.not_by_topic, pair)


def _members(pair: Pair, alive: Sequence[Match]) -> list[Record]:
    """Return the members of the story of a pair's old document that the new one was compared with."""
    return [each.pair.old for each in alive if each.pair.old.story == pair.old.story]


def _mean_of_vectors(pairs: Sequence[tuple[Record, ...]]) -> float:
    """Return the mean cosine of the vectors, minus infinity if one is missing."""
    cosines = [cosine_of(one.vector, other.vector) for one, other in pairs]
    return sum(each if each is not None else -math.inf for each in cosines) / len(cosines)


def _mean_of_topics(pairs: Sequence[tuple[Record, ...]]) -> float:
    return sum(topic_cosine(one.topic, other.topic) for one, other in pairs) / len(pairs)


def first_topic(record: Record) -> bytes:
    """Return the topic of the first document of the story that a document is in."""
    return record.first_topic or record.topic
