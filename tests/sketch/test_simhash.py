"""SimHash: blocks that few changed bits leave alone, vectors of the user's own, and the query for similar news."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from conftest import OpenIndex
from documents import checked
from hypothesis import given
from hypothesis import strategies as st
from texts import START

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.index import Policy
from scrapy_neardup.rules.systems import PUBLISHED
from scrapy_neardup.sketch import PRESETS
from scrapy_neardup.sketch.signatures import block_keys, simhash

pytestmark = pytest.mark.in_memory

BITS = 64
_SIGNATURES = st.lists(st.integers(0, 1), min_size=BITS, max_size=BITS).map(bytes)


def flipped(signature: bytes, places: set[int]) -> bytes:
    return bytes(bit ^ (place in places) for place, bit in enumerate(signature))


@given(signature=_SIGNATURES, places=st.permutations(range(BITS)))
def test_a_signature_is_found_by_every_one_in_which_three_bits_differ(signature: bytes, places: list[int]) -> None:
    """It has four blocks of 16 bits, so one of them is the same."""
    ours, theirs = block_keys(signature, 16), block_keys(flipped(signature, set(places[:3])), 16)
    assert len(ours) == len(theirs) == 4
    assert set(ours) & set(theirs)


def test_bits_changed_in_all_blocks_leave_no_key() -> None:
    signature = bytes(BITS)
    for places in combinations(range(0, BITS, 16), 3):
        assert len(set(block_keys(signature, 16)) & set(block_keys(flipped(signature, set(places)), 16))) == 1
    assert set(block_keys(signature, 16)).isdisjoint(block_keys(flipped(signature, {0, 16, 32, 48}), 16))


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.floats(0.01, 100)), min_size=1, unique_by=lambda each: each[0]))
def test_lanes_are_the_signs_of_the_weighted_sum(terms: list[tuple[int, float]]) -> None:
    hashes, weights = np.array([h for h, _ in terms], np.uint64), np.array([w for _, w in terms])
    signature = simhash(hashes, weights)
    for lane in range(BITS):
        total = sum(w if h >> (BITS - 1 - lane) & 1 else -w for h, w in terms)
        assert abs(total) < 1e-3 or signature[lane] == (total > 0)


@pytest.mark.parametrize(("changed", "answer"), [(0, "copy"), (3, "copy"), (4, "related"), (7, "related"), (8, "none")])
async def test_up_to_three_bits_are_a_copy_and_four_to_seven_related(
    open_store: OpenIndex, changed: int, answer: str
) -> None:
    row = PRESETS["simhash"]
    policy = Policy(threshold=row.threshold, related_threshold=row.related_threshold, measure=row.measure)
    index = await open_store(policy, system=PUBLISHED)
    first = bytes(place % 2 for place in range(BITS))
    for number, signature in enumerate((first, flipped(first, set(range(changed))))):
        document = Document(int(START).to_bytes(4, "big").hex() + f"{number:08x}", "", "", "", "", START)
        print_ = Fingerprint(
            9,
            bytes([number]) * 8,
            bytes(8),
            bytes(4),
            signature=signature,
            identity_keys=(number,),
            band_keys=block_keys(signature, 16),
        )
        match = (await checked(index, print_, document)).decision.match

    assert ("none" if match is None else "related" if match.related else "copy") == answer
