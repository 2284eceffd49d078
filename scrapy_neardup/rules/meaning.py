"""What the vectors of two documents say, if both have one: names and terms propose, the vectors decide."""

from __future__ import annotations

from collections.abc import Iterable

from scrapy_neardup.evidence.topic import shared_terms
from scrapy_neardup.evidence.vectors import cosine_of
from scrapy_neardup.records.documents import Record
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.rules.trace import Trace

LEAST_TERMS = 2  # that two topics share: vectors tell whether more than accident made them share these
WEIGHT = 0.5  # of a cosine in the score of two topics of one language
NAME_SHARE = 0.04  # what a common name of two languages counts, as a cosine
UNITING = 0.5  # mean cosine of the members of two stories that are one


def mean_cosine(pairs: Iterable[tuple[Record, Record]]) -> float:
    """Return the mean cosine of pairs of documents; -1 if there are no pairs, or if a vector is missing."""
    cosines = [cosine_of(one.vector, other.vector) for one, other in pairs]
    known = [each for each in cosines if each is not None]
    return sum(known) / len(known) if known and len(known) == len(cosines) else -1.0


def with_meaning(score: float, cosine: float, policy: Policy, trace: Trace) -> float:
    """Return the score of two topics, raised or lowered by the vectors. Topics that share no terms have no score."""
    part = WEIGHT * (cosine - policy.vector_middle) if score else 0.0
    trace.note(f"score of the terms {score:.3f}, and {part:+.3f} for vectors with a cosine of {cosine:.2f}")
    return min(1.0, score + part)


def foreign_score(new: Record, old: Record, cosine: float, policy: Policy, extra: float, trace: Trace) -> float:
    """Return a score if two documents in two languages share names and mean nearly the same, else 0.

    The more names they share, the less alike their vectors must be. ``extra`` is added to what they need.
    """
    common = len(shared_terms(new.names, old.names))
    if not trace.at_least("names that both languages share, with vectors", common, 1):
        return 0.0
    trace.note(f"cosine of the vectors {cosine:.2f}, and {NAME_SHARE} for each of {common} common names")
    score = cosine + NAME_SHARE * common
    return min(1.0, score) if trace.at_least("their sum", score, policy.vector_bar + extra) else 0.0
