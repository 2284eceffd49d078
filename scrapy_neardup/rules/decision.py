"""Decide what a new document is. The window, ``explain`` and the lab call the same function: ``Judge.decide``.

*The second look*: choose, by sketch alone, the candidates whose texts are read before a document is decided.
``Judge.decide`` chooses among all candidates. Some may come in the same batch, so the window reads texts before all
records are known: it chooses among the candidates that are stored. What ``decide`` chooses of these, the window has
chosen too, unless an equal text is in the same batch: the rank of a candidate depends on no other candidate.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from scrapy_neardup.document import WHOLE_TEXT, Document, Kind, Reason, Status, Verdict
from scrapy_neardup.evidence.edits import Change
from scrapy_neardup.evidence.titles import SAME_TITLES
from scrapy_neardup.evidence.topic import NO_TOPIC
from scrapy_neardup.records.documents import DELIVERED, IS_DROPPED, NO_TEXT, Record, seconds_of
from scrapy_neardup.records.texts import StoredText
from scrapy_neardup.rules.guards import SAME_ARTICLE
from scrapy_neardup.rules.joining import in_united_story, is_bridge, join_of, narrowed, news_of_notice
from scrapy_neardup.rules.match import Finding, Match, Measured, Trace, best_match, too_low
from scrapy_neardup.rules.pair import TOGETHER, Pair
from scrapy_neardup.rules.policy import Policy, longest_hold
from scrapy_neardup.rules.systems import NEWS, NOT_DROPPED, System, compare
from scrapy_neardup.story import Join

# A copy is *near* if the smaller shingle set has this share of the shingles of both. If the larger one holds nearly all
# of the smaller one, the rest of it is a block of its own: then the smaller one must have more of its size.
_NEAR_SIZE = 0.75

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

        ``new`` is its record as an original, which is the new one in all ``candidates``. A candidate that
        does not count as seen is chosen only if there is no other. The new document then rejoins its story.

        ``texts`` has the texts of the candidates that are chosen for a second look, and of the documents that were kept
        instead of them, as far as they are known.
        """
        pairs = with_second_look(candidates, document, texts) if texts else candidates
        new = _with_holder(document, new, candidates, self.policy)
        judged = [compare(pair, self.system) for pair in pairs]
        matches = [each for each in judged if each.relation != "none"]
        seen = [each for each in matches if each.pair.is_seen]
        # Without one that is seen, a copy takes the place of the best lost one in its story.
        best = _choose(seen) or best_match(each for each in matches if not each.related)
        if best is None:
            findings = [finding for each in judged for finding in each.findings]
            return Decision(_alone(document, new), new, findings=findings)
        if best.pair.is_wall:
            wall = Finding(True, ("one source has the text under titles without a common word",))
            verdict = Verdict("unchecked", reason="boilerplate", id=document.id)
            return Decision(verdict, replace(new, match=best.pair.key), best, findings=[*best.findings, wall])
        return self._decide_by(best, document, new, matches, seen)

    def _decide_by(
        self, best: Match, document: Document, new: Record, matches: Sequence[Match], seen: Sequence[Match]
    ) -> Decision:
        """Return the decision on a document by its best match. The other matches tell of its page and its story."""
        versions = [each for each in matches if each.pair.same_page]
        changed_page = _changed_version(best, versions)
        before = changed_page or best
        changes = before.pair.changes if best.pair.is_seen else ()
        if best.related:  # another report counts other things in like sentences
            changes = tuple(change for change in changes if change.is_toll)
        trace = Trace()
        is_kept = changed_page is not None and trace.applies(NOT_DROPPED, changed_page.pair)
        added = filter(attrgetter("applies"), trace.findings)  # what the earlier text of its page does not say
        verdict, findings = self._verdict(document, best, before, changes, is_kept=is_kept)
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
        return Decision(verdict, record, best, join, changed, [*best.findings, *added, *findings])

    def _verdict(
        self, document: Document, match: Match, before: Match, changes: Sequence[Change], *, is_kept: bool
    ) -> tuple[Verdict, list[Finding]]:
        """Return the verdict on a document, and why.

        An update is told from ``before``: the version of its page that the document changes, or else its match.
        ``is_kept`` says that it adds something.
        """
        pair = match.pair
        if not pair.is_seen or (pair.new.is_boilerplate and not pair.same_text):
            return _alone(document, pair.new, match.story), []  # it takes the place of a lost match in its story
        # Without NEARDUP_KEEP_UPDATES a rewritten page is an update only if its text is too unlike for a copy.
        may_be_update = self.policy.keep_updates or before.pair.likeness.score < self.policy.preset.threshold
        kind: Kind | None = None
        findings = list[Finding]()
        would_drop = False
        if match.related:
            status: Status = "related"
            kind = "translation" if pair.is_translation else None
        elif any(change.is_figure for change in changes) or (may_be_update and before.pair.is_rewritten):
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
            news=news_of_notice(document, before) if status == "update" else (),
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
        findings = [too_low(held)]
        if not held.is_reached or self.policy.keeps(source):
            return False, findings
        trace = Trace()
        return not trace.applies(NOT_DROPPED, match.pair), findings + trace.findings


def _choose(seen: Sequence[Match]) -> Match | None:
    """Return the best match. A wall is passed over for the same text under the same title, here or elsewhere."""
    best = best_match(seen)
    if best is None or not best.pair.is_wall:
        return best
    copies = (each for each in seen if each.pair.same_text and not each.pair.is_wall)
    return best_match(each for each in copies if each.pair.title_overlap >= SAME_TITLES) or best


def _changed_version(best: Match, versions: Sequence[Match]) -> Match | None:
    """Return the version at the document's url whose text differs: a newer one, if the page has had its text before.

    Texts that came together may be entries of a feed that share a link.
    """
    if best.pair.same_page:
        versions = [
            each
            for each in versions
            if best.pair.same_text and each.pair.old.counted_at - best.pair.old.counted_at >= TOGETHER
        ]
    return best_match(each for each in versions if each.pair.is_seen and each.pair.same_url and not each.pair.same_text)


def _alone(document: Document, new: Record, story: str = "") -> Verdict:
    """Return the verdict on a document without a match, or with one that does not count."""
    if new.is_boilerplate or new.is_too_short:
        reason: Reason = "boilerplate" if new.is_boilerplate else "too-short"
        return Verdict("unchecked", reason=reason, id=document.id)
    return Verdict("original", story=story or document.id, id=document.id)


def _kind(pair: Pair) -> tuple[Kind, list[Finding]]:
    """Return the kind of a duplicate, and the measures that tell it."""
    if pair.same_page and not pair.is_rewritten:
        return "revisit", []
    if pair.same_text:
        return "exact", []
    ratio = pair.containment and pair.resemblance / pair.containment
    facts = [Measured("resemblance divided by containment", ratio, _NEAR_SIZE)] if ratio else []
    if ratio >= _NEAR_SIZE and pair.containment >= 0.9:
        size = 1 / (1 / ratio - 1 + pair.containment)
        facts.append(Measured("size of the smaller text, as a share of the larger", size, 0.9))
    findings = [Finding(False, tuple(facts))]
    if all(each.is_reached for each in facts):
        return "near", findings
    # The containment is the share of the smaller text that the larger one holds.
    return ("abridged" if pair.share >= pair.containment else "extended"), findings


def _with_holder(document: Document, new: Record, pairs: Iterable[Pair], policy: Policy) -> Record:
    """Let the newest candidate hold the text of a new document that has the same one, for as long as is needed."""
    if new.text_at == NO_TEXT:
        return new
    second = seconds_of(bytes.fromhex(document.id))
    equal = (pair.key for pair in pairs if pair.same_content and pair.old.text_at == pair.key)
    holders = [key for key in equal if abs(seconds_of(key) - second) <= longest_hold(policy.window)]
    return replace(new, text_at=max(holders)) if holders else new


def _linked(record: Record, match: Match, policy: Policy, *, is_dropped: bool, is_bridge: bool) -> Record:
    """Return the record of a document with its match. The record of a copy names the original, not another copy.

    Without a known topic of its story's first document, as in a bridge, nobody joins a story through a document.
    """
    pair = match.pair
    old = pair.old
    # Topics of two languages share no terms, so the first document of another language begins a line of its own.
    is_first = match.related and pair.two_languages and not match.is_by_text
    first_topic = old.first_topic or old.topic
    is_part = match.related or pair.resemblance < SAME_ARTICLE
    if is_first:
        first_topic = b""
    elif is_bridge or (is_part and not first_topic):
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
        # A page that is crawled again and again links to the one that is kept: chains do not grow.
        is_again = pair.same_page and pair.same_text and old.is_dropped
        copy = replace(copy, life=copy.life | IS_DROPPED, match=old.match if is_again else pair.key)
    return replace(copy, kept_share_parts=policy.held_parts(match.kept_share))


def chosen_for_second_look(pairs: Sequence[Pair]) -> dict[bytes, Pair]:
    """Return at most ``MOST_LOOKS`` pairs by the hash of the candidate's text, the best first.

    They are those that may be copies. Of candidates with equal texts one is chosen. If the window has the very text of
    the new document, only another text of its own page is chosen, and only a newer one if the page had that very text.
    """
    alike = [pair for pair in pairs if pair.may_be_copy]
    equal = [pair for pair in alike if pair.same_content and pair.is_seen]
    if equal:
        newest = max((pair.key for pair in equal if pair.same_page), default=b"")
        alike = [pair for pair in alike if pair.same_page and not pair.same_text and pair.key > newest]
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
    return dict([*by_content.items()][:MOST_LOOKS])


def with_second_look(pairs: Sequence[Pair], document: Document, texts: Texts) -> Sequence[Pair]:
    """Return the pairs with what a second look brings. Candidates with equal texts get it together."""
    chosen = chosen_for_second_look(pairs)
    if not chosen:
        return pairs
    new_text = StoredText.of(document.title, document.text)
    looked = []
    for pair in pairs:
        if (equal := chosen.get(pair.old.content_hash)) is not None:
            looked.append(pair.with_texts(new_text, texts.get(equal.key), texts.get(pair.kept_key)))
        elif pair.may_be_copy and not pair.same_content:
            looked.append(pair.passed_over())
        else:
            looked.append(pair)
    return looked
