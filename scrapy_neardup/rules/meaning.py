"""What the vectors of two documents say, if both have one: names and terms propose, the vectors decide."""

from __future__ import annotations

from collections.abc import Iterable

from scrapy_neardup.evidence.topic import shared_terms
from scrapy_neardup.evidence.vectors import cosine_of, cosine_of_signs, signs_of
from scrapy_neardup.records.documents import Record
from scrapy_neardup.rules.trace import Trace

WEIGHT, NEUTRAL = 0.5, 0.35  # the score of two topics is raised by weight * (cosine - neutral)
LEAST_OF_FIRST = 0.25  # cosine with the first document of the story that a document joins
# Two languages: cosine + share for each common name.
LEAST_OF_LANGUAGES, NAME_SHARE, LEAST_NAMES = 0.62, 0.08, 2
UNITING = 0.5  # mean cosine of the members of two stories that are one


def signs_of_first(record: Record) -> bytes:
    """Return the signs of the vector of the first document of a story."""
    return record.first_signs or signs_of(record.vector)


def cosine_with_first(new: Record, old: Record) -> float:
    """Return the cosine of a new document with the first document of the story of an old one, 0 without vectors."""
    return cosine_of_signs(signs_of(new.vector), signs_of_first(old))


def have_near_firsts(a: Record, b: Record) -> bool:
    """Decide whether the first documents of the stories of two documents are alike by their vectors."""
    return cosine_of_signs(signs_of_first(a), signs_of_first(b)) >= LEAST_OF_FIRST


def mean_meaning(pairs: Iterable[tuple[Record, Record]]) -> float:
    """Return the mean cosine of pairs of documents; -1 if there are no pairs, or if a vector is missing."""
    cosines = [cosine_of(one.vector, other.vector) for one, other in pairs]
    known = [each for each in cosines if each is not None]
    return sum(known) / len(known) if known and len(known) == len(cosines) else -1.0


def add_meaning(score: float, cosine: float | None, trace: Trace) -> float:
    """Return the score of two topics, raised or lowered by the vectors. Topics that share no terms have no score."""
    if not score or cosine is None:
        return score
    part = WEIGHT * (cosine - NEUTRAL)
    trace.note(f"score of the terms {score:.3f}, and {part:+.3f} for vectors with a cosine of {cosine:.2f}")
    return min(1.0, score + part)


def foreign_score(new: Record, old: Record, cosine: float, extra: float, trace: Trace) -> float:
    """Return a score if two documents in two languages share names and mean nearly the same, else 0.

    The more names they share, the less alike their vectors must be. ``extra`` is added to what they need.
    """
    common = len(shared_terms(new.names, old.names))
    if not trace.at_least("names that both languages share, with vectors", common, LEAST_NAMES):
        return 0.0
    trace.note(f"cosine of the vectors {cosine:.2f}, and {NAME_SHARE} for each of {common} common names")
    score = cosine + NAME_SHARE * common
    return min(1.0, score) if trace.at_least("their sum", score, LEAST_OF_LANGUAGES + extra) else 0.0
