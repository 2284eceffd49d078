"""Turn a match into the verdict on its document."""

from __future__ import annotations

from collections.abc import Sequence

from scrapy_neardup.document import Document, Fingerprint, Kind, Match, Reason, Status, Verdict
from scrapy_neardup.rules.policy import REVISIT_SHARE, Policy
from scrapy_neardup.rules.trace import SILENT, Trace

# A copy is abridged or extended if one shingle set has fewer than this share of the shingles of both. If the larger one
# holds nearly all of the smaller one, the rest of it is a block of its own: then less of it is enough.
_NEAR_SIZE, _NEAR_SIZE_IF_HELD, _HELD = 0.75, 0.9, 0.9


def verdict_of(
    document: Document, fingerprint: Fingerprint, match: Match | None, changes: Sequence[str], policy: Policy
) -> Verdict:
    """Return the verdict on a document, which has the id under which it is registered.

    ``changes`` are the figures that changed since the match, such as "dead: 4 -> 12".
    """
    if match is not None and match.is_wall:
        return Verdict("unchecked", reason="boilerplate", id=document.id)
    if match is None or not match.is_seen or (fingerprint.is_boilerplate and not match.same_text):
        if fingerprint.is_boilerplate or not fingerprint.signature:
            reason: Reason = "boilerplate" if fingerprint.is_boilerplate else "too-short"
            return Verdict("unchecked", reason=reason, id=document.id)
        return Verdict("original", story=match.story if match else document.id, id=document.id)
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
    """Return the status of a document with this match, and the kind if it is a duplicate or a translation."""
    if match.related:
        return "related", "translation" if match.is_translation else None
    if changes:
        trace.note(f"figures changed: {'; '.join(changes)}")
    if changes or match.is_page_changed:
        return "update", None
    return "duplicate", _kind(match, trace)


def _kind(match: Match, trace: Trace) -> Kind:
    if match.same_page and (match.same_text or match.share >= REVISIT_SHARE):
        return "revisit"
    if match.same_text:
        return "exact"
    ratio = match.containment and match.similarity / match.containment
    is_near = not ratio or trace.at_least("resemblance divided by containment", ratio, _NEAR_SIZE)
    if is_near and ratio and match.containment >= _HELD:
        sizes = 1 / (1 / ratio - 1 + match.containment)
        is_near = trace.at_least("size of the smaller text, as a share of the larger", sizes, _NEAR_SIZE_IF_HELD)
    if is_near:
        return "near"
    # The containment is the share of the smaller text that the larger one holds.
    return "abridged" if match.share >= match.containment * match.covered else "extended"
