"""Two documents side by side: how alike they are, what they share, and why the second gets its verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Fingerprint, Kind, Status
from scrapy_neardup.evidence.figures import changed_figures, find_figures, unpack_figures
from scrapy_neardup.evidence.minima import exact_shares, likeness_of
from scrapy_neardup.evidence.topic import TopicParts, shared_terms, topic_parts, words_of
from scrapy_neardup.lab.stored import StoredDocument, changes_of
from scrapy_neardup.rules.decision import LEAST_WEIGHT, status_of, weights_of
from scrapy_neardup.rules.scoring import least_common_terms, score_candidate
from scrapy_neardup.rules.trace import Trace
from scrapy_neardup.sketch import Body, Sketcher
from scrapy_neardup.sketch.signatures.minhash import distinct_features
from scrapy_neardup.text.reading import Reading, has_unspaced
from scrapy_neardup.wording import counted


class Passage(NamedTuple):
    """A run of words as they stand in the text. Two characters of a script without spaces count as one word."""

    text: str
    words: int


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two texts. ``words`` are those that enter the fingerprint."""

    words: int
    own: tuple[Passage, ...]  # passages that the other one does not have
    left_out: tuple[tuple[str, str], ...]  # lines that do not enter the fingerprint, each with the reason


@dataclass(frozen=True, slots=True)
class TextComparison:
    """What two texts share, word by word. Resemblance and containment are exact, in [0, 1]."""

    resemblance: float
    containment: float
    shared: tuple[Passage, ...]  # as they stand in the second text
    first: Side
    second: Side


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
    texts: TextComparison | None  # None if the window has one of the documents: it keeps no texts


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
        texts=_compare_texts(detector.sketcher, first.text, second.text) if first.text and second.text else None,
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
    found = changed_figures(unpack_figures(first.record.figures), find_figures(second.text))
    return tuple(change.line for change in found)


def _terms(first: StoredDocument, second: StoredDocument) -> list[str]:
    slots = shared_terms(first.record.topic, second.record.topic)
    words = words_of(slots, second.title, second.text) | words_of(slots, first.title, first.text)
    return [words[slot] for slot in slots if slot in words]


def _compare_texts(sketcher: Sketcher, first: str, second: str) -> TextComparison:
    bodies = [read.body for read in sketcher.read_texts([first, second])]
    sets = [set(distinct_features(body, sketcher.preset).tolist()) for body in bodies]
    passages = [cut_passages(sketcher, one, other) for one, other in (bodies, bodies[::-1])]
    sides = [
        Side(
            words=sum(passage.words for _, passage in found),
            own=tuple(passage for is_shared, passage in found if not is_shared),
            left_out=_left_out(sketcher, body),
        )
        for body, found in zip(bodies, passages, strict=True)
    ]
    shared = tuple(passage for is_shared, passage in passages[1] if is_shared)
    return TextComparison(*exact_shares(*sets), shared, *sides)


def _left_out(sketcher: Sketcher, body: Body) -> tuple[tuple[str, str], ...]:
    few = f"under {sketcher.preset.min_block_words}"
    short = (line for line, is_long in body.read_lines if not is_long)
    return tuple((line.text, f"{counted(line.words, 'word')}, {few}") for line in short)


def cut_passages(sketcher: Sketcher, body: Body, other: Body) -> list[tuple[bool, Passage]]:
    """Cut the text into runs of words that lie in a shingle of both texts, and runs of words that do not."""
    width = sketcher.shingle_width(body)
    pieces = _pieces(body)
    owners = [number for number, (_, tokens) in enumerate(pieces) for _ in tokens]
    in_other = set(_windows(other.tokens, width))
    windows = enumerate(_windows([token for _, tokens in pieces for token in tokens], width))
    shared = {number for start, each in windows if each in in_other for number in owners[start : start + width]}
    passages = []
    for is_shared, run in groupby(enumerate(pieces), key=lambda numbered: numbered[0] in shared):
        texts, tokens = zip(*(piece for _, piece in run), strict=True)
        halves = sum(1 if has_unspaced(token) else 2 for each in tokens for token in each)
        passages.append((is_shared, Passage(" ".join("".join(texts).split()), max(1, halves // 2))))
    return passages


def _pieces(body: Body) -> list[tuple[str, tuple[str, ...]]]:
    """Return the words of a text, and the single characters of scripts without spaces, each with its tokens.

    White space goes with the word behind it. A dash goes with the word before it, and a bracket at the beginning with
    the first word.
    """
    pieces: list[tuple[str, tuple[str, ...]]] = []
    before = ""
    for line in body.lines:
        for text in _split(f"\n{line.text}") if line.key not in body.boilerplate else ():
            if tokens := tuple(Reading.of(text).tokens()):
                pieces.append((before + text, tokens))
                before = ""
            elif pieces:
                pieces[-1] = pieces[-1][0] + text, pieces[-1][1]
            else:
                before += text
    return pieces


def _split(text: str) -> Iterator[str]:
    for chunk in re.findall(r"\s*\S+", text):
        for is_unspaced, run in groupby(chunk, key=has_unspaced):
            piece = "".join(run)
            yield from piece if is_unspaced else (piece,)


def _windows(tokens: Sequence[str], width: int) -> Iterator[tuple[str, ...]]:
    return zip(*(tokens[start:] for start in range(width)), strict=False)
