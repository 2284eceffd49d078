"""The record under which a document is registered: how it links to its match, its story and its text."""

from collections.abc import Iterable
from dataclasses import replace

from scrapy_neardup.document import WHOLE_TEXT, Document
from scrapy_neardup.evidence.topic import NO_TOPIC
from scrapy_neardup.records.documents import DELIVERED, NO_TEXT, Record, seconds_of
from scrapy_neardup.rules.guards import SAME_ARTICLE
from scrapy_neardup.rules.match import Match
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.policy import Policy, longest_hold


def with_holder(document: Document, new: Record, pairs: Iterable[Pair], policy: Policy) -> Record:
    """Let the newest candidate hold the text of a new document that has the same one, for as long as is needed."""
    if new.text_at == NO_TEXT:
        return new
    second = seconds_of(bytes.fromhex(document.id))
    longest = longest_hold(policy.window)
    equal = (pair.key for pair in pairs if pair.same_content and pair.old.text_at == pair.key)
    holders = [key for key in equal if abs(seconds_of(key) - second) <= longest]
    return replace(new, text_at=max(holders)) if holders else new


def linked(record: Record, match: Match, policy: Policy, *, is_dropped: bool, is_bridge: bool) -> Record:
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
    record = replace(record, first_topic=first_topic, story=old.story, match=match.key)
    if match.related or not match.is_seen:
        return record
    original_url, original_title = old.of_original(match.key)
    copy = replace(
        record,
        kept_share_parts=WHOLE_TEXT,
        original=old.original,
        vector=record.vector or old.vector,
        original_url=original_url,
        original_title=original_title,
    )
    return _dropped_copy(match, copy, policy) if is_dropped else copy


def _dropped_copy(match: Match, copy: Record, policy: Policy) -> Record:
    """Return the record of a copy that is dropped, or would be if the crawl dropped copies."""
    if policy.drops and match.pair.old.life.state == "delivered":  # its match is delivered, so nobody has to ask for it
        copy = replace(copy, packed_life=DELIVERED)
    elif policy.drops and copy.life.state != "delivered":
        # A page that is crawled again and again links to the one that is kept: chains do not grow.
        is_again = match.pair.same_page and match.pair.same_text and match.pair.old.is_dropped
        copy = replace(copy, packed_life=copy.life.as_dropped, match=match.pair.old.match if is_again else match.key)
    return replace(copy, kept_share_parts=policy.held_parts(match.kept_share))
