"""Decide which candidate is the match of a document, what is registered of it, and its verdict. All stores ask this."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from scrapy_neardup.document import WHOLE_TEXT, Document, Fingerprint, Kind, Reason, Status, Verdict
from scrapy_neardup.evidence.figures import have_changed_figures
from scrapy_neardup.evidence.names import LEAST_COSINE, names_score
from scrapy_neardup.evidence.titles import SAME_TITLES, title_overlap
from scrapy_neardup.evidence.topic import shared_terms, topic_cosine, topic_score
from scrapy_neardup.records.documents import IS_DROPPED, Record
from scrapy_neardup.rules.match import CandidateState, Match
from scrapy_neardup.rules.meaning import UNITING, mean_cosine
from scrapy_neardup.rules.policy import NEVER_DROPPED, REVISIT_SHARE, Policy
from scrapy_neardup.rules.scoring import (
    FIRST_COSINE,
    FIRST_COSINE_IF_STRONG,
    STRONG_SCORE,
    are_two_languages,
    is_same_url,
    related_topic_score,
    score_candidate,
)
from scrapy_neardup.rules.trace import SILENT, Trace

# A copy is abridged or extended if one shingle set has fewer than this share of the shingles of both. If the larger one
# holds nearly all of the smaller one, the rest of it is a block of its own: then less of it is enough.
_NEAR_SIZE, _NEAR_SIZE_IF_HELD, _HELD = 0.75, 0.9, 0.9
# A document joins two stories if it scores this much more than it needs to, and if their members are that much alike.
UNITING_EXTRA, UNITING_COSINE = 0.04, 0.25
UNITING_COSINE_IF_STRONG, UNITING_NAMES = 0.15, 2  # if it scores ``STRONG_SCORE`` with both, and shares so many names

MOST_POSTINGS = 16
"""How many postings (documents listed under a key) are read for each key.

The newest are read. If more documents share a key, they are reports of one template, or copies that each name their
original.
"""

IDENTITY_WEIGHT, TEXT_WEIGHT, TOPIC_WEIGHT = 1000, 2, 1
"""What a shared key counts. A shared text or url counts for more than all other keys together."""

LEAST_WEIGHT = 2
"""How much the shared keys of a candidate must count. One rare term in common makes a candidate only if it is the
heaviest of the new document's title: then it counts as a text's key does."""

MAX_CANDIDATES = 32
"""How many records a check reads: first those of the same page or text, then those that share most bands."""
MOST_LINKS = 8
"""How many matches are followed from a document that is dropped to one that is kept."""


def weights_of(fingerprint: Fingerprint) -> list[int]:
    """Return the weight of each key, in the order of ``identity_keys`` and ``text_keys``."""
    topics = max(0, len(fingerprint.topic_keys) - 1)  # the first one is that of the title's heaviest term
    texts = len(fingerprint.text_keys) - topics
    return [IDENTITY_WEIGHT] * len(fingerprint.identity_keys) + [TEXT_WEIGHT] * texts + [TOPIC_WEIGHT] * topics


def decide(
    new: Record, candidates: Iterable[tuple[bytes, Record, CandidateState]], policy: Policy, least_dropped_share: float
) -> tuple[Record, Match | None]:
    """Choose the match of a document among candidates, given as key, record and state. Return the record to register.

    A candidate whose state is ``lost`` is chosen only if there is no other. The new document then rejoins its story.
    A copy would be dropped if a kept document holds ``least_dropped_share`` of its text or more.
    """
    scored = [found for key, old, state in candidates if (found := score_candidate(key, new, old, policy, state))]
    alive = [each for each in scored if each.is_seen]
    match = _choose(new, alive) or best(each for each in scored if not each.related)
    if match is None:
        return new, None
    if match.is_wall:
        return replace(new, candidate=match.key), match
    earlier, changed = _versions_of_page(new, match, scored)
    compared = changed or match
    match = replace(
        match,
        must_stay=match.must_stay or compared.must_stay,
        is_page_changed=compared.is_page_changed,
        figures=compared.figures,
        earlier_of_page=earlier.candidate if earlier else "",
        also=_in_united_story(new, match, alive, policy),
    )
    is_update = match.is_page_changed or have_changed_figures(new.figures, match.figures)
    record = link_record(new, match, policy, least_dropped_share, is_update=is_update)
    if changed and (is_update or changed.must_stay):  # also if the document is checked again
        record = replace(record, candidate=changed.key)
    return record, match


def _choose(new: Record, alive: Sequence[Match]) -> Match | None:
    """Return the best match. A wall is passed over for the same text under the same title, here or elsewhere."""
    match = best(alive)
    if match is None or not match.is_wall:
        return match
    copies = (each for each in alive if each.same_text and not each.is_wall)
    return best(each for each in copies if title_overlap(new.titles, each.record.titles) >= SAME_TITLES) or match


def _versions_of_page(new: Record, match: Match, scored: Sequence[Match]) -> tuple[Match | None, Match | None]:
    """Return an earlier version of the document's page, if the match is of another page, or is lost.

    Return also the version of the same url with another text, if another page printed the new text first.
    """
    if match.same_page:
        return (None if match.is_seen else match), None
    other_texts = (each for each in scored if each.is_seen and not each.same_text)
    changed = best(each for each in other_texts if is_same_url(new, each.record))
    return best(each for each in scored if each.same_page), changed


def _in_united_story(new: Record, match: Match, alive: Sequence[Match], policy: Policy) -> Match | None:
    """Return the best match that is in another story, if that is one with the story of the match."""
    other = best(each for each in alive if each.record.story != match.record.story)
    return other if other and _unites(new, match.record, other.record, alive, policy) else None


def decide_again(key: bytes, known: Record, old: Record, policy: Policy, state: CandidateState) -> Match | None:
    """Return the match of a document that was checked before; ``old`` is the record that its own record links to."""
    if not known.has_match(key):
        return None
    # A document whose match was a wall has kept its own story. ``tells_title`` is not stored, so the story tells it.
    known = replace(known, tells_title=known.story != key)
    return decide(known, [(known.candidate, old, state)], policy, NEVER_DROPPED)[1]


def best(matches: Iterable[Match]) -> Match | None:
    return min(matches, key=lambda match: match.rank, default=None)


def most_similar(records: Iterable[tuple[bytes, Record]], new: Record, policy: Policy, most: int) -> list[Match]:
    """Return the matches among records with their keys, the best first."""
    scored = filter(None, (score_candidate(key, new, old, policy) for key, old in records))
    return heapq.nsmallest(most, scored, key=lambda match: match.rank)


def link_record(
    record: Record, match: Match, policy: Policy, least_dropped_share: float, *, is_update: bool = False
) -> Record:
    """Return the record of a document with its match. The record of a copy names the original, not another copy.

    A copy would be dropped if it is no update, and if a kept document holds ``least_dropped_share`` of its text.
    """
    old = match.record
    # Topics of two languages share no terms, so the first document of another language begins a line of its own.
    is_first = match.related and are_two_languages(record, old)
    first_topic = b"" if is_first else old.first_topic or old.topic
    record = replace(record, first_topic=first_topic)
    if match.related or not match.is_seen:
        return replace(record, story=old.story, candidate=match.key)
    original_url, original_title = old.of_original(match.key)
    run, candidate = record.run, match.key
    is_dropped = not is_update and match.kept_share >= least_dropped_share
    if is_dropped and policy.drops and run and old.run:
        run |= IS_DROPPED
        # A page that is crawled again and again links to the one that is kept: chains do not grow.
        if match.same_page and match.same_text and old.is_dropped:
            candidate = old.candidate
    return replace(
        record,
        # At least that share: a document that is dropped now is dropped again when its page is crawled again.
        kept_share_parts=max(int(WHOLE_TEXT * match.kept_share), math.ceil(WHOLE_TEXT * least_dropped_share))
        if is_dropped
        else WHOLE_TEXT,
        run=run,
        original=old.original,
        story=old.story,
        candidate=candidate,
        vector=record.vector or old.vector,
        original_url=original_url,
        original_title=original_title,
    )


def _unites(new: Record, match: Record, other: Record, alive: Sequence[Match], policy: Policy) -> bool:
    """Decide whether the story of the match and that of another candidate are one, because the document fits both.

    All members that the document was compared with count, so that a digest in one story does not unite it with others.
    The first documents must be alike too, because somebody could write many members that fit both stories. If one story
    is in another language, the names must be enough, and the document stands for its members, which share no terms with
    the other story. Names alone join no stories: one page that lists the names of two events would.
    """
    near, far = (match, other) if are_two_languages(new, other) else (other, match)
    if not related_topic_score(new, near, policy, UNITING_EXTRA):
        return False
    members = [each.record for each in alive if each.record.story == near.story]
    pairs = list(itertools.product(members, [each.record for each in alive if each.record.story == far.story]))
    is_strong = not new.vector and all(
        topic_score(new.topic, each.topic) >= STRONG_SCORE and len(shared_terms(new.names, each.names)) >= UNITING_NAMES
        for each in (near, far)
    )
    cosine = topic_cosine(match.first_topic or match.topic, other.first_topic or other.topic)
    are_firsts_alike = cosine >= (FIRST_COSINE_IF_STRONG if is_strong or new.vector else FIRST_COSINE)
    if are_firsts_alike and mean_cosine(pairs) >= UNITING:
        return True
    if are_two_languages(new, far):
        if far is other and names_score(new.names, far.names) < LEAST_COSINE:
            return False
        pairs = [(new, each) for each in members]
    elif not are_firsts_alike:
        return False
    least = UNITING_COSINE_IF_STRONG if is_strong else UNITING_COSINE
    return sum(topic_cosine(one.topic, another.topic) for one, another in pairs) >= least * len(pairs)


def verdict_of(
    document: Document, fingerprint: Fingerprint, match: Match | None, changes: Sequence[str], policy: Policy
) -> Verdict:
    """Return the verdict on a document, which has the id under which it is registered.

    ``changes`` are the figures that changed since the match, such as "dead: 4 -> 12". One is "" if no word says what it
    counts: it makes an update, but is not told.
    """
    if match is not None and match.is_wall:
        return Verdict("unchecked", reason="boilerplate", id=document.id)
    if match is None or not match.is_seen or (fingerprint.is_boilerplate and not match.same_text):
        if fingerprint.is_boilerplate or not fingerprint.signature:
            reason: Reason = "boilerplate" if fingerprint.is_boilerplate else "too-short"
            return Verdict("unchecked", reason=reason, id=document.id)
        return Verdict("original", story=match.story if match else document.id, id=document.id)
    status, kind = status_of(match, changes)
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
        changes=tuple(filter(None, changes)),
        id=document.id,
    )


def status_of(match: Match, changes: Sequence[str], trace: Trace = SILENT) -> tuple[Status, Kind | None]:
    """Return the status of a document with this match, and the kind if it is a duplicate or a translation."""
    if match.related:
        return "related", "translation" if match.is_translation else None
    if changes:
        trace.note(f"figures changed: {'; '.join(filter(None, changes)) or 'no word says what they count'}")
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
