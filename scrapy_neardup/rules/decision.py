"""Decide what a new document is. The window, ``explain`` and the lab call the same function: ``Judge.decide``.

*The second look*: choose, by sketch alone, the candidates whose texts are read before a document is decided.
``Judge.decide`` chooses among all candidates. Some may come in the same batch, so the window reads texts before all
records are known: it chooses among the candidates that are stored. What ``decide`` chooses of these, the window has
chosen too, unless an equal text is in the same batch: the rank of a candidate depends on no other candidate.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from scrapy_neardup.document import WHOLE_TEXT, Document, Kind, Status, Verdict
from scrapy_neardup.evidence.edits import Change
from scrapy_neardup.evidence.titles import SAME_TITLES
from scrapy_neardup.evidence.topic import NO_TOPIC
from scrapy_neardup.records.documents import DELIVERED, IS_DROPPED, NO_TEXT, Record, StoredText, seconds_of
from scrapy_neardup.rules.guards import SAME_ARTICLE
from scrapy_neardup.rules.joining import in_united_story, is_bridge, join_of, narrowed, news_of_notice
from scrapy_neardup.rules.match import Finding, Match, Measured, Trace, best_match, too_low
from scrapy_neardup.rules.pair import TOGETHER, Pair
from scrapy_neardup.rules.policy import Policy, longest_hold
from scrapy_neardup.rules.systems import NEWS, NOT_DROPPED, System, compare
from scrapy_neardup.story import Join

# A copy is *near* if the smaller text has at least this share of the shingles that the two texts have together.
_NEAR_SIZE = 0.75
# From this containment on, all that differs is one block of the larger text. It must be small: the smaller text has at
# least the same share of the larger text's size.
_NEARLY_ALL = 0.9

# How many texts of candidates are compared with one document. Candidates with equal texts count as one.
MOST_LOOKS = 2

# Texts of documents by the keys of the documents.
Texts = Mapping[bytes, StoredText]


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rules say of a new document: its verdict, the record to register, and how it changes its story.

    ``join`` is None if it joins no story. ``changed`` has the records of other documents that change with it, by their
    keys: as they were, and as they are then. ``findings`` are what was found of the match, or of all candidates if none
    is a match; they are the trace.
    """

    verdict: Verdict
    record: Record
    match: Match | None = None
    join: Join | None = None
    changed: Mapping[bytes, tuple[Record, Record]] = field(default_factory=dict)
    findings: Sequence[Finding] = ()

    @property
    def trace(self) -> list[str]:
        """Return what was asked, in its order, for people."""
        return [str(fact) for finding in self.findings for fact in finding.facts]


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides by the rules of a system and a policy. It is a pure function: the same candidates, the same decision.

    ``owner_of`` returns who runs a source, and ``source_of`` the source of a url.
    """

    policy: Policy
    system: System = NEWS
    owner_of: Callable[[str], str] = str
    source_of: Callable[[str], str] = str

    def decide(
        self, document: Document, new: Record, candidates: Sequence[Pair], texts: Texts | None = None
    ) -> Decision:
        """Return the decision on a document, which has the id under which it is registered.

        ``new`` is its record as an original. Each of the ``candidates`` is a pair of this record and an older one. A
        candidate that does not count as seen is chosen only if there is no other. The new document then takes its place
        in its story.

        ``texts`` has the texts of the candidates that are chosen for a second look, and of the documents that were kept
        instead of them, as far as they are known.
        """
        pairs = with_second_look(candidates, document, texts) if texts else candidates
        new = _with_text_holder(document, new, candidates, self.policy)
        judged = [compare(pair, self.system) for pair in pairs]
        matches = [match for match in judged if match.relation != "none"]
        seen = [match for match in matches if match.pair.is_seen]
        # If none is seen, a copy takes the place of the best lost one in its story.
        best = _choose(seen) or best_match(match for match in matches if not match.related)
        if best is None:
            findings = [finding for match in judged for finding in match.findings]
            return Decision(_alone(document, new), new, findings=findings)
        if best.pair.is_wall:
            wall = Finding(True, ("one source has the text under titles without a common word",))
            verdict = Verdict("unchecked", reason="boilerplate", id=document.id)
            return Decision(verdict, replace(new, match=best.pair.key), best, findings=[*best.findings, wall])
        return self._decide_by(best, document, new, matches, seen)

    def _decide_by(
        self, best: Match, document: Document, new: Record, matches: Sequence[Match], seen: Sequence[Match]
    ) -> Decision:
        """Return the decision on a document by its best match. The other matches tell of its page and its story.

        Figures are compared with the earlier version of the page if its text changed, or else with the match.
        """
        versions = [match for match in matches if match.pair.same_page]
        changed_page = _changed_version(best, versions)
        earlier = changed_page or best
        changes = earlier.pair.changes if best.pair.is_seen else ()
        if best.related:  # another report counts other things in like sentences
            changes = tuple(change for change in changes if change.is_toll)
        trace = Trace()
        is_kept = changed_page is not None and trace.applies(NOT_DROPPED, changed_page.pair)
        reasons_to_keep = filter(attrgetter("applies"), trace.findings)
        verdict, findings = self._verdict(document, best, earlier, changes, is_kept=is_kept)
        record = _linked(new, best, self.policy, is_dropped=verdict.would_drop, is_bridge=is_bridge(best, seen))
        if changed_page and (verdict.status == "update" or is_kept):
            record = replace(record, match=changed_page.pair.key)  # also if the document is checked again
        join = None
        changed = dict[bytes, tuple[Record, Record]]()
        is_again = best.pair.is_seen and best.pair.same_page and verdict.status != "update"
        if not (is_again or best.pair.new.is_too_short):  # copies of a notice or a caption join no story
            other = in_united_story(best, seen)
            join = join_of(document, best, other, best_match(versions), verdict, self.owner_of, self.source_of)
            changed = narrowed(best, seen)
        return Decision(verdict, record, best, join, changed, [*best.findings, *reasons_to_keep, *findings])

    def _verdict(
        self, document: Document, match: Match, earlier: Match, changes: Sequence[Change], *, is_kept: bool
    ) -> tuple[Verdict, list[Finding]]:
        """Return the verdict on a document, and why.

        An update is told from ``earlier``: the version of its page that the document changes, or else its match.
        ``is_kept`` says that a copy is not dropped, because it says more than that version.
        """
        pair = match.pair
        if not pair.is_seen or (pair.new.is_boilerplate and not pair.same_text):
            return _alone(document, pair.new, match.story), []  # it takes the place of a lost match in its story
        # Without NEARDUP_KEEP_UPDATES a rewritten page is an update only if its text is too unlike for a copy.
        may_be_update = self.policy.keep_updates or earlier.pair.likeness.score < self.policy.preset.threshold
        kind: Kind | None = None
        findings = list[Finding]()
        would_drop = False
        if match.related:
            status: Status = "related"
            kind = "translation" if pair.is_translation else None
        elif any(change.is_figure for change in changes) or (may_be_update and earlier.pair.is_rewritten):
            status = "update"
            if changes:
                findings = [Finding(True, (f"changed: {'; '.join(change.line for change in changes)}",))]
        else:
            status = "duplicate"
            kind, findings = _kind(pair)
            if not is_kept:
                would_drop, why = self._would_drop(document.source, match)
                findings += why
        verdict = Verdict(
            status,
            kind=kind,
            original=match.original,
            original_url=match.original_url or None,
            match=match.id,
            match_url=pair.old.url.decode("utf-8", "replace") or None,
            similarity=round(pair.resemblance, 4),
            containment=round(pair.containment, 4),
            share=round(pair.share, 4),
            would_drop=would_drop,
            story=match.story,
            changes=tuple(change.line for change in changes),
            news=news_of_notice(document, earlier) if status == "update" else (),
            id=document.id,
        )
        return verdict, findings

    def _would_drop(self, source: str, match: Match) -> tuple[bool, list[Finding]]:
        """Decide whether a crawl drops this copy, and return why."""
        held = Measured(
            "share of its text that a kept document holds",
            match.kept_share,
            self.policy.drop_share,
            "NEARDUP_DROP_SHARE",
        )
        trace = Trace()
        trace.findings.append(too_low(held))
        may_drop = held.is_reached and not self.policy.keeps(source)
        return may_drop and not trace.applies(NOT_DROPPED, match.pair), trace.findings


def _choose(seen: Sequence[Match]) -> Match | None:
    """Return the best match. It is no wall if the same text is also known under the document's own title.

    A wall is a text that its source prints under unlike titles, see ``Pair.is_wall``.
    """
    best = best_match(seen)
    if best is None or not best.pair.is_wall:
        return best
    copies = (match for match in seen if match.pair.same_text and not match.pair.is_wall)
    return best_match(copy for copy in copies if copy.pair.title_overlap >= SAME_TITLES) or best


def _changed_version(best: Match, versions: Sequence[Match]) -> Match | None:
    """Return the best version at the document's url whose text differs, None if there is none.

    If the best match is of the page itself, there is one only if the page changed and was changed back: the best match
    has the document's text, and the other version came later. Texts that came together do not count: they may be
    entries of a feed that share a link.
    """
    if best.pair.same_page:
        versions = [
            match
            for match in versions
            if best.pair.same_text and match.pair.old.counted_at - best.pair.old.counted_at >= TOGETHER
        ]
    return best_match(each for each in versions if each.pair.is_seen and each.pair.same_url and not each.pair.same_text)


def _alone(document: Document, new: Record, story: str = "") -> Verdict:
    """Return the verdict on a document without a match, or with one that does not count."""
    if new.is_boilerplate or new.is_too_short:
        return Verdict("unchecked", reason="boilerplate" if new.is_boilerplate else "too-short", id=document.id)
    return Verdict("original", story=story or document.id, id=document.id)


def _kind(pair: Pair) -> tuple[Kind, list[Finding]]:
    """Return the kind of a duplicate, and the measures that tell it.

    The measures are those of *near*. If one of them is too low, one text is a part of the other: *abridged* if the new
    text is the shorter one, else *extended*.
    """
    if pair.same_page and not pair.is_rewritten:
        return "revisit", []
    if pair.same_text:
        return "exact", []
    # With resemblance shared / union and containment shared / smaller, this is smaller / union.
    ratio = pair.containment and pair.resemblance / pair.containment
    measures = [Measured("resemblance divided by containment", ratio, _NEAR_SIZE)] if ratio else []
    if ratio >= _NEAR_SIZE and pair.containment >= _NEARLY_ALL:
        size = 1 / (1 / ratio - 1 + pair.containment)  # smaller / larger, for larger = union - smaller + shared
        measures.append(Measured("size of the smaller text, as a share of the larger", size, _NEARLY_ALL))
    findings = [Finding(False, tuple(measures))]
    if all(measured.is_reached for measured in measures):
        return "near", findings
    # The containment is the share of the smaller text that the larger one holds.
    return ("abridged" if pair.share >= pair.containment else "extended"), findings


def _with_text_holder(document: Document, new: Record, pairs: Iterable[Pair], policy: Policy) -> Record:
    """Return the record of a document. Its text is kept once, by the newest candidate that has the same one.

    An older holder than ``longest_hold`` allows would lose the text before this record does.
    """
    if new.text_at == NO_TEXT:
        return new
    second = seconds_of(bytes.fromhex(document.id))
    may_hold = (pair.key for pair in pairs if pair.same_content and pair.old.text_at == pair.key)
    holders = [key for key in may_hold if abs(seconds_of(key) - second) <= longest_hold(policy.window)]
    return replace(new, text_at=max(holders)) if holders else new


def _linked(record: Record, match: Match, policy: Policy, *, is_dropped: bool, is_bridge: bool) -> Record:
    """Return the record of a document with its match. The record of a copy names the original, not another copy.

    Later documents are compared with ``first_topic``, the topic of the story's first document. It is ``NO_TOPIC`` if
    that is not known, or if the document is a bridge: then nobody joins the story through it.
    """
    pair = match.pair
    old = pair.old
    # Topics of two languages share no terms. So later documents are compared with the first one of their language.
    is_first_of_language = match.related and pair.two_languages and not match.is_by_text
    first_topic = old.first_topic or old.topic
    shares_a_part = match.related or pair.resemblance < SAME_ARTICLE
    if is_first_of_language:
        first_topic = b""
    elif is_bridge or (shares_a_part and not first_topic):
        first_topic = NO_TOPIC
    record = replace(record, first_topic=first_topic, story=old.story, match=pair.key)
    if match.related or not pair.is_seen:
        return record
    original_url, original_title = old.of_original(pair.key)
    copy = replace(
        record,
        kept_share_parts=WHOLE_TEXT,
        original=old.original,
        vector=record.vector or old.vector,
        original_url=original_url,
        original_title=original_title,
    )
    if not is_dropped:
        return copy
    if policy.drops and old.life == DELIVERED:  # its match is delivered, so nobody has to ask for it
        copy = replace(copy, life=DELIVERED)
    elif policy.drops and copy.life != DELIVERED:
        # A page that is crawled again and again links to the document that is kept: chains do not grow.
        is_dropped_again = pair.same_page and pair.same_text and old.is_dropped
        copy = replace(copy, life=copy.life | IS_DROPPED, match=old.match if is_dropped_again else pair.key)
    return replace(copy, kept_share_parts=policy.held_parts(match.kept_share))


def chosen_for_second_look(pairs: Sequence[Pair]) -> dict[bytes, Pair]:
    """Return at most ``MOST_LOOKS`` pairs by the hash of the candidate's text, the best first.

    They are those that may be copies. Of candidates with equal texts one is chosen. If the window has the very text of
    the new document, only another text of its own page is chosen, which the new one may replace. If the page itself had
    the very text, that other text must be newer. An equal text that was itself dropped is chosen if its match did not
    hold all of it: the text that was kept decides.
    """
    alike = [pair for pair in pairs if pair.may_be_copy]
    equal = [pair for pair in alike if pair.same_content and pair.is_seen]
    if equal:
        last_of_page = max((pair.key for pair in equal if pair.same_page), default=b"")  # keys begin with the time
        alike = [pair for pair in alike if _is_read_beside_equal(pair, last_of_page)]
    by_content = dict[bytes, Pair]()
    # The best first, as ``Match.rank`` sorts copies.
    alike.sort(
        key=lambda pair: (
            not pair.same_text,
            not pair.same_page,
            -(pair.likeness.similarity + pair.estimated_share),
            pair.age_rank,
        )
    )
    for pair in alike:
        by_content.setdefault(pair.old.content_hash, pair)
    return dict(list(by_content.items())[:MOST_LOOKS])


def _is_read_beside_equal(pair: Pair, last_of_page: bytes) -> bool:
    if pair.same_content:
        return pair.old.is_dropped and not pair.is_kept_whole
    return pair.same_page and not pair.same_text and pair.key > last_of_page


def with_second_look(pairs: Sequence[Pair], document: Document, texts: Texts) -> Sequence[Pair]:
    """Return the pairs, with their texts if they were chosen. A chosen text is that of all candidates that are equal.

    A pair that may be a copy and was not chosen is marked: it is no copy, because others are more alike.
    """
    chosen = chosen_for_second_look(pairs)
    if not chosen:
        return pairs
    new_text = StoredText.of(document.title, document.text)
    looked = []
    for pair in pairs:
        if (with_text := chosen.get(pair.old.content_hash)) is not None:
            looked.append(pair.with_texts(new_text, texts.get(with_text.key), texts.get(pair.kept_key)))
        elif pair.may_be_copy and not pair.same_content:
            looked.append(pair.passed_over())
        else:
            looked.append(pair)
    return looked
