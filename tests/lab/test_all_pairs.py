"""All pairs and the area under the ROC curve: against counts by hand, with the scores the index would find."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from typing import get_args

import pytest
from all_pairs import ScoreTable, score_all_pairs
from texts import NAMES, article, noisy

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.evidence.minima import LEAD_LANES, Measure, likeness, likeness_of
from scrapy_neardup.lab.protocols import b_cubed
from scrapy_neardup.sketch import PRESETS, Preset, Sketcher


def area_under_roc(preset: Preset, prints: list[Fingerprint], clusters: Sequence[str | None]) -> float:
    return score_all_pairs(preset, prints, {"cluster": clusters})["cluster"].area_under_roc


def _prints(preset: str) -> tuple[list[Fingerprint], list[str | None]]:
    sketcher = Sketcher(PRESETS[preset], figures=False)
    texts = [(str(n), noisy(article(n), share, n)) for n in range(4) for share in (0, 0, 0.1, 0.3, 0.7)]
    texts += [("0", "too short"), ("1", "too short"), ("1", "short too")]
    prints = [sketcher.fingerprint(Document("00" * 8, "", "", "", text, 0.0)) for _, text in texts]
    return prints, [cluster for cluster, _ in texts]


# All pairs, from the threshold on.


@pytest.mark.parametrize("preset", NAMES)
def test_all_pairs_are_those_whose_score_reaches_the_threshold(preset: str) -> None:
    row = PRESETS[preset]
    prints, clusters = _prints(preset)
    clusters = [None if number % 7 == 3 else cluster for number, cluster in enumerate(clusters)]
    right = found = wanted = 0
    together = {number: {number} for number in range(len(prints))}
    for (first, a), (second, b) in combinations(enumerate(prints), 2):
        score = likeness(row.measure, a.signature, b.signature, a.size, b.size, row.collisions).score
        one, other = clusters[first], clusters[second]
        is_within = one is not None and one == other
        wanted += is_within
        if score >= row.threshold or a.text_hash == b.text_hash:
            found += one is not None or other is not None
            right += is_within
            joined = together[first] | together[second]
            together.update(dict.fromkeys(joined, joined))

    scored = score_all_pairs(row, prints, {"cluster": clusters})["cluster"]

    assert 0 < right <= found
    assert (scored.pairs.precision, scored.pairs.recall) == (right / found, right / wanted)
    assert scored.closure == b_cubed(clusters, [min(together[number]) for number in range(len(prints))])


# A table of scores has the numbers of ``likeness_of``, to the bit, for every measure.

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
