"""Documents that the window knows: a store keeps fingerprints, titles and urls of them, and no texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from difflib import get_close_matches

from scrapy_neardup.content import require_page, source_of
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Kind, Match, Status
from scrapy_neardup.evidence.figures import changed_figures, unpack_figures
from scrapy_neardup.evidence.minima import likeness_of
from scrapy_neardup.evidence.topic import TopicParts, shared_terms, topic_parts, words_of
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.index import Selection
from scrapy_neardup.records.documents import Record, new_record, seconds_of
from scrapy_neardup.rules.decision import is_same_url, most_similar, score_candidate, to_match
from scrapy_neardup.rules.trace import Trace
from scrapy_neardup.rules.verdicts import status_of
from scrapy_neardup.sketch import page_hash, source_hash

_ASKED_TOGETHER = 4096  # stories, as many as a store answers for in time
_DOCUMENT_ID = re.compile("[0-9a-f]{16}")
_MOST_NEAR = 3  # names that a message offers
_MOST_COMPARED = 1000  # pages of a source


@dataclass(frozen=True, slots=True)
class Registered:
    """A document of the window, or one whose fingerprint was just made."""

    key: bytes
    record: Record

    @property
    def id(self) -> str:
        return self.key.hex()

    @property
    def url(self) -> str:
        return self.record.url.decode("utf-8", "replace")

    @property
    def title(self) -> str:
        return self.record.title.decode("utf-8", "replace")

    @property
    def seen_at(self) -> str:
        return datetime.fromtimestamp(seconds_of(self.key), timezone.utc).isoformat()


@dataclass(frozen=True, slots=True)
class SketchComparison:
    """What the fingerprints of two documents tell: estimates in [0, 1], and what the second is after the first."""

    status: Status
    kind: Kind | None
    why: tuple[str, ...]
    resemblance: float
    containment: float
    score: float
    share: float | None  # of the text of the second that the first holds; None if it is no match
    topic: TopicParts | None  # None if the preset compares no topics, or if a document is too short
    title_terms: tuple[str, ...]  # of the terms that the topics share those that a title has, as its words
    changes: tuple[str, ...]  # of figures, without their labels
    match_of_first: Registered | None  # what each was compared with when it came; None if it was an original, or if
    match_of_second: Registered | None  # the window has forgotten its match


def is_document_id(name: str) -> bool:
    return _DOCUMENT_ID.fullmatch(name) is not None


def may_be_registered(name: str) -> bool:
    """Decide whether a name is a document id or the url of a page."""
    return is_document_id(name) or name.startswith(("http://", "https://"))


def find(records: Sequence[tuple[bytes, Record]], name: str) -> Registered | None:
    """Return the document with this id, or the newest one of this page. Raise InputError if no id is like it."""
    if is_document_id(name):
        found = [Registered(key, record) for key, record in records if key.hex() == name]
        if not found:
            raise InputError(f"{name}: the window has no document with this id")
        return found[0]
    try:
        page = page_hash(require_page(name))
    except ValueError:
        return None
    of_page = [Registered(key, record) for key, record in records if record.url_hash == page]
    return max(of_page, key=lambda each: each.key) if of_page else None


def missing_page(records: Sequence[tuple[bytes, Record]], url: str) -> str:
    """Say that a window does not have a page, and which pages or sources it has that are like it."""
    if not (source := source_of(url)):
        return "the window does not have this page"
    wanted = source_hash(source)
    of_source = {Registered(key, record).url: None for key, record in records if record.source_hash == wanted}
    if near := get_close_matches(url, list(of_source)[-_MOST_COMPARED:], _MOST_NEAR, cutoff=0):
        return f"the window does not have this page. Of {source} it has {' '.join(near)}"
    meant = " or ".join(similar_sources(records, source))
    question = f"; is it {meant}?" if meant else ""
    return f"the window has no page of {source}{question} (scrapy neardup status shows where it is, and what it holds)"


def similar_sources(records: Sequence[tuple[bytes, Record]], wanted: str) -> list[str]:
    """Return a few sources of a window whose names are like that of the wanted one, or contain it."""
    pages = {record.source_hash: Registered(key, record).url for key, record in records}  # one of each source
    names = {source: source.partition(".")[0] for source in map(source_of, pages.values()) if source}
    name = wanted.partition(".")[0]
    near = get_close_matches(name, names.values(), _MOST_NEAR, cutoff=0.7)
    return sorted((source for source, each in names.items() if name in each or each in near), key=len)[:_MOST_NEAR]


def copies_elsewhere(records: Sequence[tuple[bytes, Record]], selection: Selection) -> int:
    """Count the copies of selected documents that are not selected themselves."""
    selected = {key for key, record in records if selection.takes(record)}
    return sum(record.original in selected and key not in selected for key, record in records)


def similar_to(
    detector: NearDupDetector, records: Sequence[tuple[bytes, Record]], wanted: Registered, most: int
) -> list[tuple[Match, Status]]:
    """Return the documents of the window that match the wanted one, best first, without the page itself.

    The status is that of the wanted document if the match were the only one before it.
    """
    others = {key: record for key, record in records if not _is_page_of(wanted, key, record)}
    policy = detector.index.policy
    return [
        (match, status_of(match, _changes(others[bytes.fromhex(match.candidate)], wanted.record), policy)[0])
        for match in most_similar(others.items(), wanted.record, policy, most)
    ]


async def other_members(
    detector: NearDupDetector, records: Sequence[tuple[bytes, Record]], wanted: Registered
) -> list[Registered]:
    """Return the other pages in the final story of a document, the oldest first."""
    stories = sorted({record.story.hex() for _, record in records})
    final: dict[str, str] = {}
    for start in range(0, len(stories), _ASKED_TOGETHER):
        final |= await detector.index.final_stories(stories[start : start + _ASKED_TOGETHER])
    story = wanted.record.story.hex()
    members = (
        Registered(key, record)
        for key, record in records
        if final.get(record.story.hex(), record.story.hex()) == final.get(story, story)
        and not _is_page_of(wanted, key, record)
    )
    return sorted(members, key=lambda member: member.key)


def _is_page_of(wanted: Registered, key: bytes, record: Record) -> bool:
    return key == wanted.key or is_same_url(record, wanted.record)


def sketched(detector: NearDupDetector, text: str, url: str, title: str) -> Registered:
    """Return a document that is not in the window as if it were."""
    document = detector.document(text, url=url, title=title)
    return Registered(bytes.fromhex(document.id), new_record(detector.sketcher.fingerprint(document), document))


def compare_sketches(
    detector: NearDupDetector,
    records: Sequence[tuple[bytes, Record]],
    first: Registered,
    second: Registered,
) -> SketchComparison:
    """Compare two documents by their fingerprints. ``records`` is the window."""
    policy, trace = detector.index.policy, Trace()
    for name, each in (("A", first), ("B", second)):
        if not each.record.signature:
            trace.note(f"{name} is too short to compare: only exact repeats match")
    scored = score_candidate(first.key, second.record, first.record, policy, trace=trace)
    match = None if scored is None else to_match(scored)
    changed = _changes(first.record, second.record) if match is not None and not match.related else ()
    status: Status = "original" if second.record.signature else "unchecked"
    kind: Kind | None = None
    if match is not None:
        status, kind = status_of(match, changed, policy, trace)
    has_topics = detector.preset.topic_terms and first.record.signature and second.record.signature
    topic = topic_parts(first.record.topic, second.record.topic) if has_topics else None
    likeness = likeness_of(first.record, second.record, policy.measure, policy.collisions)
    return SketchComparison(
        status=status,
        kind=kind,
        why=trace.lines,
        resemblance=likeness.similarity,
        containment=likeness.containment,
        score=likeness.score,
        share=None if match is None else match.share,
        topic=topic,
        title_terms=tuple(_title_terms(first, second)) if topic else (),
        changes=changed,
        match_of_first=_match_of(first, records),
        match_of_second=_match_of(second, records),
    )


def _changes(old: Record, new: Record) -> tuple[str, ...]:
    """Return the figures that changed. Records have no labels of figures."""
    if not (old.figures and new.figures):
        return ()
    try:
        found = changed_figures(unpack_figures(old.figures), unpack_figures(new.figures))
    except ValueError:  # damaged
        return ()
    return tuple(change.line for change in found)


def _match_of(document: Registered, records: Sequence[tuple[bytes, Record]]) -> Registered | None:
    """Return the document that this one was compared with when it came, if the window still has it."""
    wanted = document.record.candidate
    return next((Registered(key, record) for key, record in records if key == wanted != document.key), None)


def _title_terms(first: Registered, second: Registered) -> Iterator[str]:
    """Yield the words of titles that stand for a term of both topics, those that add most to the score first."""
    slots = [term.slot for term in shared_terms(first.record.topic, second.record.topic)]
    words = words_of(slots, second.title, "") | words_of(slots, first.title, "")
    yield from (words[slot] for slot in slots if slot in words)
