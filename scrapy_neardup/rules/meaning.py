"""What the vectors of two documents say, if both have one: names and terms propose, the vectors decide."""

from __future__ import annotations

from scrapy_neardup.evidence.topic import shared_terms
from scrapy_neardup.evidence.vectors import (
    LEAST_FOREIGN_MEANING,
    LEAST_MEANING,
    LEAST_NAMES,
    meaning_cosine,
    meaning_part,
)
from scrapy_neardup.records.documents import Record
from scrapy_neardup.rules.trace import Trace

Meaning = float | None  # the cosine of the vectors of two documents, None if one of them has no vector


def meaning_of(new: Record, old: Record) -> Meaning:
    return meaning_cosine(new.vector, old.vector)


def add_meaning(score: float, meaning: Meaning, trace: Trace) -> float:
    """Return the score of two topics, raised or lowered by the vectors. Topics that share no terms have no score."""
    if not score or meaning is None:
        return score
    part = meaning_part(meaning)
    trace.note(f"score of the terms {score:.3f}, and {part:+.3f} for vectors with a cosine of {meaning:.2f}")
    return min(1.0, score + part)


def is_near(meaning: Meaning) -> bool:
    """Decide whether two documents of one language mean nearly the same."""
    return meaning is not None and meaning >= LEAST_MEANING


def foreign_score(new: Record, old: Record, extra: float, trace: Trace) -> float:
    """Return a score if two documents in two languages share a few names and mean nearly the same, else 0.

    ``extra`` is added to the cosine that they need.
    """
    meaning = meaning_of(new, old)
    if meaning is None:
        return 0.0
    common = len(shared_terms(new.names, old.names))
    is_proposed = trace.at_least("names that both languages share, with vectors", common, LEAST_NAMES)
    is_like = is_proposed and trace.at_least("cosine of the vectors", meaning, LEAST_FOREIGN_MEANING + extra)
    return min(1.0, meaning) if is_like else 0.0
