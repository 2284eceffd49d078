"""The match of a document: a candidate that passed verification."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scrapy_neardup.document import WHOLE_TEXT
from scrapy_neardup.records.documents import Record
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.systems import Relation


@dataclass(slots=True)  # not frozen: a check may make dozens, and that takes three times as long
class Match:
    """A pair of the new document and a candidate, with what the candidate is to it."""

    pair: Pair
    relation: Relation

    @property
    def key(self) -> bytes:
        """Return the key of the candidate."""
        return self.pair.key

    @property
    def record(self) -> Record:
        """Return the record of the candidate."""
        return self.pair.old

    @property
    def is_seen(self) -> bool:
        """Return False if the candidate's run died before it delivered the candidate: nothing is a copy of it."""
        return self.pair.state != "lost"

    @property
    def related(self) -> bool:
        """Return whether it is similar enough to join the story, and too different to be a copy."""
        return self.relation.name != "copy"

    @property
    def similarity(self) -> float:
        """Return how alike the signatures are, in [0, 1].

        For MinHash signatures it estimates the Jaccard resemblance of the two shingle sets, with a standard error of
        about sqrt(J(1-J)/num_perm), 0.032 at most for 256 lanes. For other signatures it is the share of equal lanes,
        or the cosine.
        """
        return self.pair.likeness.similarity

    @property
    def containment(self) -> float:
        return self.pair.likeness.containment

    @property
    def share(self) -> float:
        """Return the share of the new document's text that the candidate also has."""
        return self.pair.share

    @property
    def original(self) -> str:
        """Return the id of the candidate, or of the document that the candidate is a copy of."""
        return self.record.original.hex()

    @property
    def original_url(self) -> str:
        return _text(self.record.of_original(self.key)[0])

    @property
    def original_title(self) -> str:
        return _text(self.record.of_original(self.key)[1])

    @property
    def story(self) -> str:
        """Return the id of the story's first document."""
        return self.record.story.hex()

    @property
    def id(self) -> str:
        """Return the id of the candidate."""
        return self.key.hex()

    @property
    def url(self) -> str:
        return _text(self.record.url)

    @property
    def language(self) -> str:
        """Return the language of the candidate, ISO 639-1; "" if it is unknown."""
        code = self.record.language.decode("ascii", "replace")
        return code if code.isascii() and code.isalpha() and code.islower() else ""

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, bool, float, bytes]:
        """Return the key by which candidates are sorted, the best first.

        The order is: the page itself unchanged, a wall, the same text, the page itself changed, copies, related texts,
        texts on the same topic. Among candidates of one kind the most similar comes first, and among equals the oldest.
        But if the page itself is unchanged, its newest version comes first: lines that are too short to compare may
        have changed since the oldest.
        """
        pair, topic = self.pair, self.relation.topic
        is_page = pair.same_text and pair.same_page
        age_key = bytes(0xFF - byte for byte in self.key) if is_page else self.key
        # Figures and kind are best compared with the most similar version, so the similarity counts beside the share.
        score = topic or (self.similarity + pair.share) / 2
        other_text, other_page = not pair.same_text, not pair.same_page
        return other_text, other_page, not pair.is_wall, self.related, topic > 0, -score, age_key

    @property
    def kept_share(self) -> float:
        """Return the share of the new document's text that is in the nearest document that was kept.

        It is the share in the candidate, without that of the facts that the candidate lacks, times the share of the
        candidate's text that was kept.
        """
        lost_facts = 0.0 if self.related or self.pair.same_text else self.pair.lost_facts
        return max(0.0, self.share - lost_facts) * self.record.kept_share_parts / WHOLE_TEXT


def best_match(matches: Iterable[Match]) -> Match | None:
    return min(matches, key=lambda match: match.rank, default=None)


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "replace")
