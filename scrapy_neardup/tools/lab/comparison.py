"""Compare two documents: how alike they are, and why the second gets its verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Fingerprint, Kind, Status
from scrapy_neardup.evidence.topic import TopicParts, shared_terms, topic_parts, words_of
from scrapy_neardup.index.postings import LEAST_WEIGHT, weights_of
from scrapy_neardup.rules.decision import Decision
from scrapy_neardup.rules.findings import Measured
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.tools.lab.stored import StoredDocument

_MEASURED = {
    "containment": "of the shorter text is in the longer one",
    "resemblance": "of the two texts together is in both",
    "larger": "of the longer text is in the shorter one",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """How two fingerprints compare, and the verdict on the second document if only the first one came before.

    Resemblance and containment are estimated, in [0, 1].
    """

    status: Status
    kind: Kind | None
    meaning: str  # of the score, in a sentence; empty if the measure of the preset is no share of a text
    why: tuple[str, ...]
    resemblance: float
    containment: float
    score: float  # compared with the thresholds
    share: float | None  # of the text of the second that the first holds; None if it is no match
    topic: TopicParts | None  # None if the preset compares no topics, or if a document is too short
    terms: tuple[str, ...]  # that the topics share, as words of titles and texts; those that add most come first
    documents: int  # from which it is known how rare terms are
    changes: tuple[str, ...]  # of figures, times and codes; none if the window lacks a text
    sentences: tuple[tuple[str, str, str], ...]  # that differ: in the first text ("" if it has none like it), in the
    # second, and in what they differ


def explain_pair(
    detector: NearDupDetector, first: StoredDocument, second: StoredDocument, told: tuple[str, ...] = ()
) -> Explanation:
    """Judge the second document as if the window held only the first one.

    ``told`` are the changes that its verdict told when it was registered with the first one as its match.
    """
    notes = []
    unfound = ""
    for name, each in (("A", first), ("B", second)):
        if each.record.is_boilerplate:
            notes.append(f"all of {name} is boilerplate: only the same page matches")
        elif each.record.is_too_short:
            notes.append(f"{name} is too short to compare: only exact repeats match")
    if first.fingerprint is not None and second.fingerprint is not None:
        shared = _shared_weight(first.fingerprint, second.fingerprint)
        weight = Measured("weight of the look-up keys that both have", shared, LEAST_WEIGHT)
        notes.append(str(weight))
        if not weight.is_reached:
            unfound = str(weight)
            notes.append("so they are never compared; if they were:")
    judge = detector.index.documents.judge
    texts = {first.key: first.kept} if first.kept else {}
    pair = Pair(first.key, second.record, first.record, judge.policy)
    decision = judge.decide(second.document, second.record, [pair], texts)
    verdict = decision.verdict
    alone = judge.decide(second.document, second.record, []).verdict
    likeness = pair.likeness
    has_topics = detector.preset.topic_terms and first.record.signature and second.record.signature
    judged = alone if unfound else verdict
    rule = unfound or _rule(decision)
    texts_compared = decision.match.pair.comparison if decision.match else None
    measured = _MEASURED.get(judge.policy.measure, "")
    return Explanation(
        status=judged.status,
        kind=judged.kind,
        meaning=measured and _meaning(measured, likeness.score, judge.policy.threshold, judged.status, rule),
        why=(*notes, *decision.trace),
        resemblance=likeness.similarity,
        containment=likeness.containment,
        score=likeness.score,
        share=None if decision.match is None else decision.match.pair.share,
        topic=topic_parts(first.record.topic, second.record.topic, pair.least_terms) if has_topics else None,
        terms=tuple(_terms(first, second)) if has_topics else (),
        documents=0 if detector.sketcher.topics is None else detector.sketcher.topics.frequencies.documents,
        changes=told or verdict.changes,
        sentences=tuple((each.partner, each.text, each.shown) for each in texts_compared.differing)
        if texts_compared
        else (),
    )


def _rule(decision: Decision) -> str:
    """Return what was found by the rule that decided that two documents are no copies, or that a text is a notice."""
    applying = [finding for finding in decision.findings if finding.applies]
    if not applying:
        return f"the text is {decision.verdict.reason}"
    deciding = applying[-1] if decision.verdict.status == "unchecked" else applying[0]
    return "; ".join(map(str, deciding.facts))


def _meaning(measured: str, score: float, threshold: float, status: Status, rule: str) -> str:
    share = math.floor(100 * score)
    least = round(100 * threshold)
    if score < threshold:
        return f"{share} % {measured}: no copy, which needs {least} %"
    if status in ("duplicate", "update"):
        return f"{share} % {measured}: a copy, from {least} % on"
    return f"{share} % {measured}: enough for a copy, but another rule decides: {rule}"


def _shared_weight(a: Fingerprint, b: Fingerprint) -> int:
    weights = dict(zip((*b.identity_keys, *b.text_keys), weights_of(b), strict=True))
    return sum(weights[key] for key in weights.keys() & {*a.identity_keys, *a.text_keys})


def _terms(first: StoredDocument, second: StoredDocument) -> list[str]:
    slots = shared_terms(first.record.topic, second.record.topic)
    words: dict[int, str] = {}
    for document in (second.document, first.document):
        words |= words_of(slots, document.title, document.text)
    return [words[slot] for slot in slots if slot in words]
