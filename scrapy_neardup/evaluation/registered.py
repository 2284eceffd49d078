"""Documents that the window knows: a store keeps fingerprints, titles and urls of them, and no texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal

from scrapy_neardup.content import require_page
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Match
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.records.documents import Record, new_record, seconds_of
from scrapy_neardup.similarity.likeness import likeness_of
from scrapy_neardup.similarity.verification import most_similar
from scrapy_neardup.sketch import page_hash
from scrapy_neardup.sketch.guards.figures import changed_figures, unpack_figures

_DOCUMENT_ID = re.compile("[0-9a-f]{16}")


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

    status: Literal["copy", "related", "unlike"]
    resemblance: float
    containment: float
    score: float
    share: float | None  # of the text of the second that the first holds; None if it is no match
    same_text: bool
    same_page: bool
    changes: tuple[str, ...]  # of figures, without their labels
    match_of_second: str  # document id of the match that the second got in the window, "" if it was an original


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


def similar_to(
    detector: NearDupDetector, records: Sequence[tuple[bytes, Record]], wanted: Registered, most: int
) -> list[Match]:
    """Return the documents of the window that match a registered one, best first, without itself."""
    others = [each for each in records if each[0] != wanted.key]
    return most_similar(others, wanted.record, detector.index.policy, most)


def sketched(detector: NearDupDetector, text: str, url: str, title: str) -> Registered:
    """Return a document that is not in the window as if it were."""
    document = detector.document(text, url=url, title=title)
    return Registered(bytes.fromhex(document.id), new_record(detector.sketcher.fingerprint(document), document))


def compare_sketches(detector: NearDupDetector, first: Registered, second: Registered) -> SketchComparison:
    policy = detector.index.policy
    found = likeness_of(first.record, second.record, policy.measure, policy.collisions)
    match = next(iter(most_similar([(first.key, first.record)], second.record, policy, 1)), None)
    try:
        changes = changed_figures(unpack_figures(first.record.figures), unpack_figures(second.record.figures))
    except ValueError:  # damaged
        changes = ()
    candidate = second.record.candidate
    return SketchComparison(
        status="unlike" if match is None else "related" if match.related else "copy",
        resemblance=found.similarity,
        containment=found.containment,
        score=found.score,
        share=None if match is None else match.share,
        same_text=first.record.text_hash == second.record.text_hash,
        same_page=match is not None and match.same_url,
        changes=tuple(change.line for change in changes) if match is not None and not match.related else (),
        match_of_second="" if candidate == second.key else candidate.hex(),
    )
