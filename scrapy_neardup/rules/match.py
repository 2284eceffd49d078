"""What a new document is to a candidate: a copy, related, or neither. The best candidate is the match."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from scrapy_neardup.document import WHOLE_TEXT
from scrapy_neardup.rules.findings import Finding
from scrapy_neardup.rules.pair import Pair


@dataclass(slots=True)  # not frozen: a check may make dozens, and that takes three times as long
class Match:
    """A pair as the rules judge it. ``topic_score`` is 0 unless only topics or names relate the documents.

    ``findings`` are those of all guards that were asked, in their order.
    """

    pair: Pair
    relation: Literal["none", "copy", "related"]
    findings: list[Finding]
    topic_score: float = 0.0

    @property
    def key(self) -> bytes:
        """Return the key of the candidate."""
        return self.pair.key

    @property
    def is_seen(self) -> bool:
        return self.pair.is_seen

    @property
    def related(self) -> bool:
        """Return whether it is similar enough to join the story, and too different to be a copy."""
        return self.relation == "related"

    @property
    def is_by_text(self) -> bool:
        """Return whether the texts themselves are alike, and not only their topics or names."""
        return not self.pair.is_translation and not self.topic_score

    @property
    def original(self) -> str:
        """Return the id of the candidate, or of the document that the candidate is a copy of."""
        return self.pair.old.original.hex()

    @property
    def original_url(self) -> str:
        return _text(self.pair.old.of_original(self.key)[0])

    @property
    def original_title(self) -> str:
        return _text(self.pair.old.of_original(self.key)[1])

    @property
    def story(self) -> str:
        """Return the id of the story's first document."""
        return self.pair.old.story.hex()

    @property
    def id(self) -> str:
        """Return the id of the candidate."""
        return self.key.hex()

    @property
    def url(self) -> str:
        return _text(self.pair.old.url)

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, bool, float, bytes]:
        """Return the key by which candidates are sorted, the best first."""
        pair = self.pair
        topic = self.topic_score
        return (
            not pair.same_text,  # the same text first
            not pair.same_page,  # then the page itself, unchanged or changed
            not pair.is_wall,  # then a wall: it decides before an article with this text
            self.related,  # copies before related texts
            topic > 0,  # those before texts that only share the topic
            # The most similar first, also by resemblance: with such a version figures and kind are best compared.
            -(topic or (pair.resemblance + pair.share) / 2),
            pair.age_rank,
        )

    @property
    def kept_share(self) -> float:
        """Return the share of the new document's text that is in a document that was kept.

        If the candidate was dropped, it is counted in the text of the document that was kept. If that text is gone, or
        the candidate would only have been dropped, it is the share in the candidate, times the share of the
        candidate's text that was kept.
        """
        if self.pair.old.is_dropped and self.pair.kept_comparison is not None:
            return self.pair.kept_comparison.share
        return self.pair.share * self.pair.old.kept_share_parts / WHOLE_TEXT


def best_match(matches: Iterable[Match]) -> Match | None:
    return min(matches, key=lambda match: match.rank, default=None)


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "replace")
