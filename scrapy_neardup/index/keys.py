"""The look-up keys of a document, and how much each of them counts."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from scrapy_neardup.document import Fingerprint

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

TAG_BYTES = 2


def weights_of(fingerprint: Fingerprint) -> list[int]:
    """Return the weight of each key, in the order of ``identity_keys`` and ``text_keys``."""
    topics = max(0, len(fingerprint.topic_keys) - 1)  # the first one is that of the title's heaviest term
    texts = len(fingerprint.text_keys) - topics
    return [IDENTITY_WEIGHT] * len(fingerprint.identity_keys) + [TEXT_WEIGHT] * texts + [TOPIC_WEIGHT] * topics


class Keys:
    """The look-up keys of one document, each with its weight."""

    __slots__ = ("_shards", "numbers", "packed", "packed_weights", "tags", "weights")

    def __init__(self, keys: Sequence[int], weights: Sequence[int]) -> None:
        by_key = dict(zip(reversed(keys), reversed(weights), strict=True))  # of equal keys the first one counts
        self.numbers = {key: number for number, key in enumerate(by_key)}
        self.weights = [*by_key.values()]
        self.packed_weights = bytes([min(each, 0xFF) for each in self.weights])
        self.packed = struct.pack(f">{len(by_key)}I", *by_key)
        self.tags: Sequence[bytes] = struct.unpack("2x2s" * len(by_key), self.packed)
        self._shards: dict[int, Sequence[bytes]] = {}

    def shards(self, bits: int) -> Sequence[bytes]:
        """Return the name of the shard of each key if ``bits`` bits name a shard."""
        if bits not in self._shards:
            mask = -1 << 32 - bits
            names = struct.pack(f">{len(self.numbers)}I", *[key & mask for key in self.numbers])
            self._shards[bits] = struct.unpack("3sx" * len(self.numbers), names)
        return self._shards[bits]
