"""Compare two documents: how alike they are, and why the second gets its verdict."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Fingerprint, Kind, Status
from scrapy_neardup.evidence.figures import changed_figures, unpack_figures, with_labels
from scrapy_neardup.evidence.minima import likeness_of
from scrapy_neardup.evidence.topic import TopicParts, shared_terms, topic_parts, words_of
from scrapy_neardup.lab.stored import StoredDocument, changes_of
from scrapy_neardup.rules.decision import LEAST_WEIGHT, status_of, weights_of
from scrapy_neardup.rules.scoring import least_common_terms, score_candidate
from scrapy_neardup.rules.trace import Trace


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two fingerprints compare, and the verdict on the second document if only the first one came before.

    Resemblance and containment are estimated, in [0, 1].
    """

    status: Status
    kind: Kind | None
    why: tuple[str, ...]
    resemblance: float
    containment: float
    score: float  # compared with the thresholds
    share: float | None  # of the text of the second that the first holds; None if it is no match
    topic: TopicParts | None  # None if the preset compares no topics, or if a document is too short
    terms: tuple[str, ...]  # that the topics share, as words of titles and texts; those that add most come first
    documents: int  # from which it is known how rare terms are
    changes: tuple[str, ...]  # of figures; without their labels if the window keeps no text of the second


def compare(
    detector: NearDupDetector, first: StoredDocument, second: StoredDocument, told: tuple[str, ...] = ()
) -> Comparison:
    """Judge the second document as if the window held only the first one.

    ``told`` are the changes that its verdict told when it was registered with the first one as its match.
    """
    policy, trace = detector.index.policy, Trace()
    for name, each in (("A", first), ("B", second)):
        if each.fingerprint is not None and each.fingerprint.is_boilerplate:
            trace.note(f"all of {name} is boilerplate: only the same page matches")
        elif not each.record.signature:
            trace.note(f"{name} is too short to compare: only exact repeats match")
    is_found = True
    if first.fingerprint is not None and second.fingerprint is not None:
        weight = _shared_weight(first.fingerprint, second.fingerprint)
        if not (is_found := trace.at_least("weight of the look-up keys that both have", weight, LEAST_WEIGHT)):
            trace.note("so they are never compared; if they were:")
    match = score_candidate(first.key, second.record, first.record, policy, trace=trace)
    changes = told or _changes(first, second) if match is not None and not match.related else ()
    status: Status = "original" if second.record.signature else "unchecked"
    kind: Kind | None = None
    if match is not None:
        found = status_of(match, changes, trace)
        is_boilerplate = second.fingerprint is not None and second.fingerprint.is_boilerplate
        if is_found and (match.same_text or not is_boilerplate):
            status, kind = found
    has_topics = detector.preset.topic_terms and first.record.signature and second.record.signature
    least = least_common_terms(first.record, second.record)
    likeness = likeness_of(first.record, second.record, policy.measure, policy.collisions)
    return Comparison(
        status=status,
        kind=kind,
        why=tuple(trace.lines),
        resemblance=likeness.similarity,
        containment=likeness.containment,
        score=likeness.score,
        share=None if match is None else match.share,
        topic=topic_parts(first.record.topic, second.record.topic, least) if has_topics else None,
        terms=tuple(_terms(first, second)) if has_topics else (),
        documents=0 if detector.sketcher.topics is None else detector.sketcher.topics.frequencies.documents,
        changes=changes,
    )


def _shared_weight(a: Fingerprint, b: Fingerprint) -> int:
    """Return what the look-up keys count that two documents have in common."""
    in_a = {*a.identity_keys, *a.text_keys}
    weights = dict(zip((*b.identity_keys, *b.text_keys), weights_of(b), strict=True))
    return sum(weight for key, weight in weights.items() if key in in_a)


def _changes(first: StoredDocument, second: StoredDocument) -> tuple[str, ...]:
    """Return the figures that changed, with their labels if the second text is known."""
    changes = changes_of(first.record, second.record)
    if not (changes and second.text):
        return changes
    new = with_labels(unpack_figures(second.record.figures), second.text)
    found = changed_figures(unpack_figures(first.record.figures), new)
    return tuple(change.line for change in found)


def _terms(first: StoredDocument, second: StoredDocument) -> list[str]:
    slots = shared_terms(first.record.topic, second.record.topic)
    words = words_of(slots, second.title, second.text) | words_of(slots, first.title, first.text)
    return [words[slot] for slot in slots if slot in words]
