"""Spread one namespace over several shards: where a document's keys go, and which of two documents came first.

A document's keys are spread over the shards, and each shard that has one of them has its record. All are asked at the
same time, each by one call of ``scripts/probe.lua``. It returns the candidates that arrived in that shard before the
document, and registers the document there as one whose match is not decided yet.

If two documents are checked at the same time, the lowest-numbered shard in which they share a key decides: the one that
came later there may match the other. Both find this out by themselves, because an undecided document is stored with its
keys. So of any two that are alike exactly one sees the other before it, however their calls are interleaved. It waits
until the other is decided, so that it links to an original and not to a duplicate.

Three or more that are alike but not identical can wait for each other in a ring, because each pair may share another
shard. The first one whose patience ends is an original, and the others follow.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scrapy_neardup.document import Document, Fingerprint, Match
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.redis.layout import pack_keys
from scrapy_neardup.records.documents import KEY_BYTES, Record, new_record, read_record
from scrapy_neardup.similarity.policy import Policy
from scrapy_neardup.similarity.verification import CANDIDATE_STATES, ScoredCandidate, score_candidate, to_match

MOST_RETURNED = 8
"""Candidates that a shard returns: its best, and some more in case the document came before some of them."""

_MIX = 0x9E37_79B1  # odd, near 2**32 over the golden ratio: every bit of a key reaches the high ones
_WORD = 0xFFFF_FFFF


def shard_of(key: int, shards: int) -> int:
    """Return the shard of an unsigned 32-bit key. The bits are mixed first: a shard uses the unmixed ones itself."""
    return ((key * _MIX) & _WORD) * shards >> 32


@dataclass(frozen=True, slots=True)
class Part:
    """A document's keys in one shard. The first ``identities`` of them are of its text and url."""

    shard: int
    identities: int
    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A document to be checked."""

    key: bytes
    second: int
    record: Record  # as an original
    keys: frozenset[int]
    parts: tuple[Part, ...]
    least_dropped: float  # share from which on it is dropped as a copy

    @classmethod
    def of(
        cls, fingerprint: Fingerprint, document: Document, shards: int, least_dropped: float, run: int = 0
    ) -> Question:
        keys = fingerprint.identity_keys + fingerprint.text_keys
        spread: dict[int, list[int]] = {}
        identities: dict[int, int] = {}
        for index, key in enumerate(keys):
            shard = shard_of(key, shards)
            spread.setdefault(shard, []).append(key)
            identities[shard] = identities.get(shard, 0) + (index < len(fingerprint.identity_keys))
        return cls(
            key=bytes.fromhex(document.id),
            second=int(document.seen_at),
            record=new_record(fingerprint, document, run),
            keys=frozenset(keys),
            parts=tuple(Part(shard, identities[shard], tuple(spread[shard])) for shard in sorted(spread)),
            least_dropped=least_dropped,
        )

    @property
    def packed_keys(self) -> bytes:
        return pack_keys(sorted(self.keys))


@dataclass(slots=True)
class Candidate:
    """A document that arrived before the new one in at least one shard, as the shards describe it."""

    key: bytes
    record: bytes  # packed
    keys: bytes  # packed, with one more byte if somebody waited in vain; empty once its match is decided
    shards: set[int] = field(default_factory=set)  # in which it arrived before the new document
    state: int = 0  # its place in CANDIDATE_STATES, the worst that a shard says

    @property
    def is_decided(self) -> bool:
        return not self.keys

    @property
    def is_doubted(self) -> bool:
        return len(self.keys) % 4 == 1

    def came_first(self, keys: frozenset[int], shards: int) -> bool:
        """Return whether a document with these keys may match it."""
        words = len(self.keys) // 4
        shared = keys.intersection(struct.unpack_from(f">{words}I", self.keys))
        return self.is_decided or min((shard_of(key, shards) for key in shared), default=-1) in self.shards


def known_answer(
    question: Question, answers: Iterable[Sequence[bytes]], policy: Policy
) -> tuple[Match | None, bytes] | None:
    """Return match and record of a document that was checked before and is decided, else None."""
    decided = [answer for answer in answers if answer[0]]
    for packed, *matched in decided:
        known = read_record(packed)
        old = read_record(matched[0]) if known and matched else None
        state = CANDIDATE_STATES[int(matched[1])] if matched else "seen"
        scored = score_candidate(known.candidate, question.record, old, policy, state) if known and old else None
        if scored:
            return to_match(scored), packed
    return (None, decided[0][0]) if decided else None


def candidates(
    question: Question,
    answers: Mapping[int, Sequence[bytes]],
    policy: Policy,
    shards: int,
    warn_of_damage: Callable[[], None],
) -> list[tuple[ScoredCandidate, Candidate]]:
    """Return the candidates that the document may match, the best first. Raise StoreError on a wrong answer."""
    found: dict[bytes, Candidate] = {}
    for shard, answer in answers.items():
        if len(answer) % 4 != 1 or answer[0]:
            continue  # decided in this shard already
        parts = (answer[at::4] for at in range(1, 5))
        for key, packed, keys, state in zip(*parts, strict=True):
            if len(key) != KEY_BYTES:
                raise StoreError(f"a document key of {len(key)} bytes is not one of ours")
            candidate = found.setdefault(key, Candidate(key, packed, keys))
            candidate.state = max(candidate.state, int(state))
            candidate.shards.add(shard)
            if not keys:  # one shard may learn the decision before another
                candidate.record, candidate.keys = packed, b""
    scored = []
    for candidate in found.values():
        if not candidate.came_first(question.keys, shards):
            continue
        if (record := read_record(candidate.record)) is None:
            warn_of_damage()
            continue
        if record.original == question.key:
            continue
        if passed := score_candidate(candidate.key, question.record, record, policy, CANDIDATE_STATES[candidate.state]):
            scored.append((passed, candidate))
    # Among equals, one that is decided comes first: nobody has to wait for it.
    return sorted(scored, key=lambda each: (*each[0].rank[:-1], not each[1].is_decided, each[0].rank[-1]))
