"""Two documents side by side: how alike they are, what they share, and why the second gets its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Fingerprint, Verdict, counted
from scrapy_neardup.evidence.minima import exact_shares, likeness_of
from scrapy_neardup.lab.passages import LeftOut, Passage, cut_passages, left_out
from scrapy_neardup.lab.replay import opened
from scrapy_neardup.lab.single import Given
from scrapy_neardup.lab.topics import LearnedTerms, TopicComparison, compare_topics
from scrapy_neardup.records.documents import new_record
from scrapy_neardup.rules.decision import LEAST_WEIGHT, score_candidate, to_match, weights_of
from scrapy_neardup.rules.trace import Trace
from scrapy_neardup.rules.verdicts import status_of
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import Body


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two documents. ``words`` and ``shingles`` are those that enter the fingerprint."""

    words: int
    shingles: int
    own: tuple[Passage, ...]  # passages that the other one does not have
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result. ``verdict`` is the verdict on the second document if the window holds only the first one.

    Resemblance and containment are in [0, 1]: estimated from the signatures, as the store does it, and exact.
    """

    first: Side
    second: Side
    shared: tuple[Passage, ...]  # as they stand in the second
    resemblance: float
    containment: float
    score: float  # compared with the thresholds
    exact_resemblance: float
    exact_containment: float
    shared_bands: int
    bands: int
    topic: TopicComparison | None  # None if the preset compares no topics
    verdict: Verdict
    why: tuple[str, ...]


async def compare(
    first: Given,
    second: Given,
    settings: NearDupSettings,
    seen: Iterable[Given] = (),
    learned: LearnedTerms | None = None,
) -> Comparison:
    """Judge the second document after the first.

    ``seen`` are documents from which boilerplate and the rarity of terms are learned; the window holds none of them.
    ``learned`` are document frequencies of terms to begin with.
    """
    detector = NearDupDetector(replace(settings, store="memory://"))
    now = 1_000_000_000.0
    documents = [
        detector.document(given.text, url=given.url, title=given.title, seen_at=now + number)
        for number, given in enumerate((first, second))
    ]
    topics = detector.sketcher.topics
    if topics is not None and learned is not None:
        topics.frequencies = learned.frequencies
    for given in seen:
        detector.sketcher.fingerprint(detector.document(given.text, title=given.title, seen_at=now))
    before = deepcopy(topics.frequencies) if topics is not None else None
    async with opened(detector):
        verdict = (await detector.check_in_order(documents))[1]
        bodies = [detector.sketcher.body(document.text) for document in documents]
    if topics is not None and before is not None:  # weigh the terms as the check did
        topics.frequencies = deepcopy(before)
        learned = LearnedTerms(before, learned.source if learned else "no documents")
    return _comparison(detector, documents, bodies, verdict, learned)


def _comparison(
    detector: NearDupDetector,
    documents: Sequence[Document],
    bodies: Sequence[Body],
    verdict: Verdict,
    learned: LearnedTerms | None,
) -> Comparison:
    sketcher, preset = detector.sketcher, detector.preset
    a, b = [sketcher.fingerprint(document) for document in documents]
    estimated = likeness_of(a, b, preset.measure, preset.collisions)
    sets = [set(sketcher.shingles(body).tolist()) for body in bodies]
    passages = [cut_passages(sketcher, one, other) for one, other in (bodies, bodies[::-1])]
    first, second = (
        Side(
            words=body.words,
            shingles=len(shingles),
            own=tuple(passage for is_shared, passage in found if not is_shared),
            left_out=tuple(left_out(sketcher, body)),
        )
        for body, shingles, found in zip(bodies, sets, passages, strict=True)
    )
    exact_resemblance, exact_containment = exact_shares(*sets)
    topic = None
    if preset.topic_terms and learned:
        topic = compare_topics(documents, (a, b), learned, sketcher)
    shared_bands = len(set(a.band_keys) & set(b.band_keys))
    trace = Trace()
    for name, fingerprint, side in zip("AB", (a, b), (first, second), strict=True):
        if fingerprint.is_boilerplate:
            trace.note(f"all of {name} is boilerplate: only the same page matches")
        elif not fingerprint.signature:
            short = f"{name} has {counted(side.words, 'word')}, under NEARDUP_MIN_WORDS = {detector.settings.min_words}"
            trace.note(f"{short}: only exact repeats match")
    if not trace.at_least("weight of the look-up keys that both have", _shared_weight(a, b), LEAST_WEIGHT):
        trace.note("so they are never compared; if they were:")
    old, new = (new_record(*each) for each in zip((a, b), documents, strict=True))
    scored = score_candidate(old.original, new, old, detector.index.policy, trace=trace)
    if scored is not None:
        status_of(to_match(scored), verdict.changes, detector.index.policy, trace)
    return Comparison(
        first=first,
        second=second,
        shared=tuple(passage for is_shared, passage in passages[1] if is_shared),
        resemblance=estimated.similarity,
        containment=estimated.containment,
        score=estimated.score,
        exact_resemblance=exact_resemblance,
        exact_containment=exact_containment,
        shared_bands=shared_bands,
        bands=preset.bands,
        topic=topic,
        verdict=verdict,
        why=trace.lines,
    )


def _shared_weight(a: Fingerprint, b: Fingerprint) -> int:
    """Return what the look-up keys count that two documents have in common."""
    in_a = {*a.identity_keys, *a.text_keys}
    weights = dict(zip((*b.identity_keys, *b.text_keys), weights_of(b), strict=True))
    return sum(weight for key, weight in weights.items() if key in in_a)
