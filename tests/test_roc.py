"""The area under the ROC curve: against a count of all pairs by hand, with the scores the index would find."""

from __future__ import annotations

from itertools import combinations

import pytest
from texts import NAMES, article, noisy

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.evaluation.roc import area_under_roc
from scrapy_neardup.measures import likeness
from scrapy_neardup.sketch import PRESETS, Sketcher


def _prints(preset: str) -> tuple[list[Fingerprint], list[str | None]]:
    sketcher = Sketcher(PRESETS[preset], figures=False)
    texts = [(str(n), noisy(article(n), share, n)) for n in range(4) for share in (0, 0, 0.1, 0.3, 0.7)]
    texts += [("0", "too short"), ("1", "too short"), ("1", "short too")]
    prints = [sketcher.fingerprint(Document("00" * 8, "", "", "", text, 0.0)) for _, text in texts]
    return prints, [cluster for cluster, _ in texts]


@pytest.mark.parametrize("preset", NAMES)
def test_the_area_is_the_chance_that_a_pair_of_one_cluster_scores_higher(preset: str) -> None:
    row = PRESETS[preset]
    prints, clusters = _prints(preset)
    within, between = [], []
    for (a, one), (b, other) in combinations(zip(prints, clusters, strict=True), 2):
        found = likeness(row.measure, a.signature, b.signature, a.size, b.size, row.collisions).score
        score = 1.0 if a.text_hash == b.text_hash else found
        (within if one == other else between).append(round(score, 9))
    wins = sum((w > b) + (w == b) / 2 for w in within for b in between)

    assert area_under_roc(row, prints, clusters) == pytest.approx(wins / (len(within) * len(between)), abs=1e-6)


def test_background_is_left_out_and_one_kind_of_pair_says_nothing() -> None:
    prints, _ = _prints("news")

    assert area_under_roc(PRESETS["news"], prints[:3], ["a", "a", "a"]) == 0.5
    assert area_under_roc(PRESETS["news"], prints[:2] + prints[5:7], ["a", "a", None, "b"]) == 1
    assert area_under_roc(PRESETS["news"], prints[:1], ["a"]) == 0.5
