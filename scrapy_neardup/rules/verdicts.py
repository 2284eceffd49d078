"""Turn a match into the verdict on its document."""

from __future__ import annotations

from collections.abc import Sequence

from scrapy_neardup.document import Document, Fingerprint, Kind, Match, Status, Verdict
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.rules.trace import SILENT, Trace

_NEAR_SIZE = 0.75  # if one shingle set is smaller than this share of the other set, the copy is abridged or extended


def verdict_of(
    document: Document, fingerprint: Fingerprint, match: Match | None, changes: Sequence[str], policy: Policy
) -> Verdict:
    """Return the verdict on a document, which has the id under which it is registered.

    ``changes`` are the figures that changed since the match, such as "dead: 4 -> 12".
    """
    if match is None or not match.is_seen or (fingerprint.is_boilerplate and not match.same_text):
        return _unmatched(document, match.story if match else document.id, fingerprint)
    status, kind = status_of(match, changes, policy)
    return Verdict(
        status,
        kind=kind,
        original=match.original,
        original_url=match.url or None,
        match=match.candidate,
        match_url=match.candidate_url or None,
        similarity=round(match.similarity, 4),
        containment=round(match.containment, 4),
        share=round(match.share, 4),
        would_drop=status == "duplicate" and match.kept_share >= policy.least_dropped_share(document.source),
        story=match.story,
        changes=tuple(changes),
        id=document.id,
    )


def status_of(
    match: Match, changes: Sequence[str], policy: Policy, trace: Trace = SILENT
) -> tuple[Status, Kind | None]:
    """Return the status of a document with this match, and the kind if it is a duplicate."""
    if match.related:
        return "related", None
    if changes:
        trace.note(f"figures changed: {'; '.join(changes)}")
    if changes or _is_changed_page(match, policy):
        return "update", None
    return "duplicate", _kind(match, trace)


def _unmatched(document: Document, story: str, fingerprint: Fingerprint) -> Verdict:
    if fingerprint.is_boilerplate or not fingerprint.signature:
        return Verdict("unchecked", reason="boilerplate" if fingerprint.is_boilerplate else "too-short", id=document.id)
    return Verdict("original", story=story, id=document.id)


def _is_changed_page(match: Match, policy: Policy) -> bool:
    is_kept = policy.keep_updates or match.score < policy.threshold
    return is_kept and match.same_url and not match.same_text


def _kind(match: Match, trace: Trace) -> Kind:
    if match.same_text:
        return "revisit" if match.same_url else "exact"
    ratio = match.similarity / match.containment if match.containment else _NEAR_SIZE
    if trace.at_least("resemblance divided by containment", ratio, _NEAR_SIZE):
        return "near"
    # The containment is the share of the smaller text that the larger one holds.
    return "abridged" if match.share >= match.containment * match.covered else "extended"
