"""A table of scores has the numbers of ``likeness_of``, to the bit, for every measure."""

from __future__ import annotations

import random
from typing import get_args

import pytest

from scrapy_neardup.document import Fingerprint
from scrapy_neardup.similarity.likeness import LEAD_LANES, Measure, likeness_of
from scrapy_neardup.similarity.score_table import ScoreTable

LANES = 2 * LEAD_LANES
COLLISIONS = 20


def fingerprint(draw: random.Random, base: bytes) -> Fingerprint:
    """A fingerprint like the base, by more or less; a few have no signature, some have its text."""
    changed = draw.random() ** 2
    lanes = bytes(draw.randrange(256) if draw.random() < changed else lane for lane in base)
    return Fingerprint(
        signature=draw.choice((lanes, lanes, lanes, b"")) if draw.random() < 0.1 else lanes,
        size=draw.randrange(1, 2000),
        text_hash=draw.choice((b"the text", draw.randbytes(8), draw.randbytes(8), draw.randbytes(8))),
        url_hash=bytes(8),
        source_hash=bytes(4),
        identity_keys=(),
        band_keys=(),
    )


@pytest.mark.parametrize("measure", get_args(Measure))
def test_a_row_of_scores_equals_the_likeness_of_its_pairs(measure: Measure) -> None:
    draw = random.Random(measure)
    base = draw.randbytes(LANES)
    prints = [fingerprint(draw, base) for _ in range(120)]
    table = ScoreTable(measure, COLLISIONS, prints)

    for row, one in enumerate(prints[:-1]):
        expected = [likeness_of(one, other, measure, COLLISIONS).score for other in prints[row + 1 :]]
        assert table.scores(row).tolist() == expected
