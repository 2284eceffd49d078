"""Two sketched documents, the second of which is judged after the first, and what the rules compare of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from scrapy_neardup.document import Fingerprint, Status
from scrapy_neardup.records.documents import Record
from scrapy_neardup.similarity.likeness import Likeness, likeness_of, share_of_larger, title_overlap
from scrapy_neardup.similarity.policy import Policy
from scrapy_neardup.similarity.verification import (
    is_copy_by_text,
    is_same_page,
    is_same_source,
    is_same_url,
    weights_of,
)


@dataclass(frozen=True, slots=True)
class LookUp:
    """How two documents are found by each other: the keys that both have."""

    shared_bands: int
    bands: int
    shared_topic_keys: int
    shared_weight: int  # what all shared keys count

    @classmethod
    def of(cls, a: Fingerprint, b: Fingerprint, bands: int) -> LookUp:
        in_a = {*a.identity_keys, *a.text_keys}
        weights = dict(zip((*b.identity_keys, *b.text_keys), weights_of(b), strict=True))
        return cls(
            shared_bands=len(set(a.band_keys) & set(b.band_keys)),
            bands=bands,
            shared_topic_keys=len(set(a.topic_keys) & set(b.topic_keys)),
            shared_weight=sum(weight for key, weight in weights.items() if key in in_a),
        )


@dataclass(frozen=True)
class Pair:
    """Two documents as they are compared, and the status of the second."""

    a: Fingerprint | Record
    b: Fingerprint | Record
    status: Status
    policy: Policy

    @cached_property
    def likeness(self) -> Likeness:
        return likeness_of(self.a, self.b, self.policy.measure, self.policy.collisions)

    @property
    def score(self) -> float:
        return self.likeness.score

    @cached_property
    def same_source(self) -> bool:
        return is_same_source(self.a, self.b)

    @property
    def same_url(self) -> bool:
        return is_same_url(self.a, self.b)

    @cached_property
    def same_page(self) -> bool:
        """Return whether url or article number make the two one page."""
        are_alike = self.score >= self.policy.related_threshold
        return is_same_page(self.b, self.a, self.title_overlap, are_alike)

    @property
    def in_scope(self) -> bool:
        """Return whether the scope allows a match of these sources. It never excludes one of the same page."""
        return self.policy.allows(same_source=self.same_source)

    @property
    def same_text(self) -> bool:
        return self.a.text_hash == self.b.text_hash

    @property
    def are_signed(self) -> bool:
        return bool(self.a.signature and self.b.signature)

    @cached_property
    def title_overlap(self) -> float:
        """Return the overlap of the titles, which counts within one source only."""
        return title_overlap(self.a.titles, self.b.titles) if self.same_source else 1.0

    @property
    def share_of_larger(self) -> float:
        """Return the share of the larger shingle set that lies in the smaller."""
        return share_of_larger(self.likeness.similarity, self.a.size, self.b.size)

    @property
    def is_copy(self) -> bool:
        return self.status in ("duplicate", "update")

    @cached_property
    def is_copy_by_text(self) -> bool:
        """Return whether the texts are alike enough for a copy. Another rule may still speak against it."""
        return is_copy_by_text(self.b, self.a, self.likeness, self.title_overlap, self.same_source, self.policy)

    @property
    def shares_a_part(self) -> bool:
        """Return whether the texts are alike enough to be related, if the topics support it."""
        return self.score >= self.policy.related_threshold and self.title_overlap > 0
