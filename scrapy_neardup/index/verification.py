"""Which candidate is the match; ``scripts/window.lua`` holds the same rules for Redis."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, replace

from scrapy_neardup.document import Match, Neighbour
from scrapy_neardup.index.base import Policy
from scrapy_neardup.index.record import Record, intact
from scrapy_neardup.measures import SAME, likeness, same_template, topic_share

NEWEST = 16
"""Postings read a key, the newest: what more documents share is a template, and each copy names its original."""

IDENTITY_WEIGHT = 1000
"""A shared text or url counts for more than all bands together."""

MAX_CANDIDATES = 32
"""Records read a check: first those of the same page or text, then those that share most bands."""


@dataclass(frozen=True, slots=True)
class Graded:
    """A candidate that passed, with what it passed by."""

    key: bytes
    record: Record
    similarity: float
    containment: float
    score: float
    same_text: bool
    same_url: bool
    related: bool
    topic: float = 0.0  # share of common names, where there is nothing else it passes by

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, float, bytes]:
        """Smallest first: the page itself unchanged, the same text, the page itself changed, copies, related ones,
        those of one topic.

        Within each the most alike and of equals the oldest. What passes by containment is still ranked by
        resemblance: figures and kind are best told against the version that lies nearest.
        """
        alike = self.topic or self.similarity
        return (not self.same_text, not self.same_url, self.related, self.topic > 0, -alike, self.key)


def grade(key: bytes, new: Record, old: Record, policy: Policy) -> Graded | None:
    """None where the candidate is no match under the policy."""
    same_url = new.url_hash == old.url_hash and any(new.url_hash)
    same_source = new.source_hash == old.source_hash and any(new.source_hash)
    if not same_url and (
        (policy.scope == "same-source" and not same_source) or (policy.scope == "cross-source" and same_source)
    ):
        return None
    same_text = new.text_hash == old.text_hash
    found = (
        SAME
        if same_text
        else likeness(policy.measure, new.signature, old.signature, new.size, old.size, policy.collisions)
    )
    copy = same_url or same_text or found.score >= policy.threshold
    topic = 0.0
    if not copy and found.score < policy.related_threshold:
        # With what the story began alone: rewrites of rewrites would soon join everything. And with another source's:
        # one publisher writes of the same names day by day.
        apart = old.original == old.story and not same_source
        topic = topic_share(new.topic, old.topic) if apart else 0.0
        if not topic or topic < policy.topic_threshold:
            return None
    if not same_url and not same_text and same_template(new.specifics, old.specifics):
        return None
    return Graded(key, old, found.similarity, found.containment, found.score, same_text, same_url, not copy, topic)


def best(graded: Iterable[Graded]) -> Graded | None:
    return min(graded, key=lambda candidate: candidate.rank, default=None)


def beside(graded: Iterable[Graded], best: Graded) -> Graded | None:
    """The best candidate of another story."""
    others = (candidate for candidate in graded if candidate.record.story != best.record.story)
    return min(others, key=lambda candidate: candidate.rank, default=None)


def most_alike(records: Iterable[tuple[bytes, bytes]], new: Record, policy: Policy, most: int) -> list[Match]:
    """Of packed records by their keys those that pass, best first."""
    graded = []
    for key, packed in records:
        old = intact(packed)
        if old is not None and (found := grade(key, new, old, policy)) is not None:
            graded.append(found)
    return [to_match(found) for found in heapq.nsmallest(most, graded, key=lambda found: found.rank)]


def linked(record: Record, best: Graded) -> Record:
    """The record of a document with its match; of a copy it names the original, however many copies lie between."""
    old = best.record
    if best.related:
        return replace(record, story=old.story, candidate=best.key)
    return replace(record, original=old.original, story=old.story, candidate=best.key, url=old.url, title=old.title)


def to_match(best: Graded, other: Record | None = None) -> Match:
    """With the record of the best candidate of another story, where there is one."""
    record = best.record
    return Match(
        original=record.original.hex(),
        url=record.url.decode("utf-8", "replace"),
        title=record.title.decode("utf-8", "replace"),
        story=record.story.hex(),
        candidate=best.key.hex(),
        similarity=best.similarity,
        containment=best.containment,
        score=best.score,
        same_text=best.same_text,
        same_url=best.same_url,
        related=best.related,
        figures=record.figures,
        neighbour=None if other is None else _neighbour(other),
    )


def _neighbour(record: Record) -> Neighbour:
    url, title = record.url.decode("utf-8", "replace"), record.title.decode("utf-8", "replace")
    return Neighbour(record.story.hex(), url, title)
