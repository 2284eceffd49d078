from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.evidence.minima import containment, resemblance


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (bytes(range(256)), bytes(range(256)), 1.0),
        (bytes(range(256)), bytes(129) + bytes(range(129, 256)), 127 / 255),
        (bytes(256), bytes(1) + b"\x01" * 255, 0.0),  # as many as are equal by chance
        (bytes(256), b"\x01" * 256, 0.0),
        (b"", b"", 0.0),
        (b"\x01\x02", b"", 0.0),
        (b"\x01\x02", b"\x01\x02\x03\x04", 0.0),
    ],
)
def test_resemblance_is_the_share_of_equal_lanes_less_those_by_chance(a: bytes, b: bytes, expected: float) -> None:
    assert resemblance(a, b) == expected


@given(st.sets(st.integers(0, 200), min_size=1), st.sets(st.integers(0, 200), min_size=1))
def test_containment_follows_from_resemblance_and_sizes(a: set[int], b: set[int]) -> None:
    jaccard = len(a & b) / len(a | b)

    assert containment(jaccard, len(a), len(b)) == pytest.approx(len(a & b) / min(len(a), len(b)))


def test_containment_is_at_most_one_however_wrong_the_estimate() -> None:
    assert containment(0.9, 10, 1000) == 1.0
