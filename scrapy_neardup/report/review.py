"""Choose the pairs that a person should look at: those near the threshold, and a random sample of each kind."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from scrapy_neardup.report.rows import Row, score_of
from scrapy_neardup.report.stories import Links
from scrapy_neardup.settings import NearDupSettings

NEAR_THRESHOLD = "nearest to the threshold"

_MOST_NEAR = 40
_MOST_OF_A_KIND = 20
_LINKED = ("duplicate", "update", "related")
_CERTAIN = ("exact", "revisit")


class Pair(NamedTuple):
    """A match and the item that was judged to be like it. ``group`` is the sample that the pair belongs to."""

    match: Row
    row: Row
    group: str
    score: float | None


class Sample(NamedTuple):
    """The pairs, and how many pairs there are in each group that was sampled at random."""

    pairs: tuple[Pair, ...]
    population: dict[str, int]
    threshold: float
    without_match: int  # items whose match is in none of the feeds


def choose_pairs(rows: Sequence[Row], links: Links, settings: NearDupSettings) -> Sample:
    """Return the same pairs for the same feeds. A pair is in one group only."""
    preset = settings.resolved_preset()
    groups: defaultdict[str, list[Pair]] = defaultdict(list)
    without_match = 0
    for row in rows:
        if row.status in _LINKED:
            match = links.match(row)
            if match is None:
                without_match += 1
                continue
            score = score_of(row, preset.measure)
            group = f"{row.status}, {row.kind}" if row.kind else row.status
            groups[group].append(Pair(match, row, group, row.similarity if score is None else score))
    near = _near_threshold(groups, preset.threshold)
    taken = {pair.row.number for pair in near}
    chosen = random.Random(0)  # the same sample each time
    sampled = []
    for pairs in sorted(groups.values(), key=len, reverse=True):
        left = [pair for pair in pairs if pair.row.number not in taken]
        sampled += chosen.sample(left, min(_MOST_OF_A_KIND, len(left)))
    population = {group: len(pairs) for group, pairs in groups.items()}
    return Sample((*near, *sampled), population, preset.threshold, without_match)


def _near_threshold(groups: dict[str, list[Pair]], threshold: float) -> list[Pair]:
    """Return the pairs whose score is nearest, at most a quarter of all, so that enough are left for the sample."""
    doubtful = [
        pair for pairs in groups.values() for pair in pairs if pair.score is not None and pair.row.kind not in _CERTAIN
    ]
    most = min(_MOST_NEAR, -(-len(doubtful) // 4))
    nearest = sorted(doubtful, key=lambda pair: (abs((pair.score or 0.0) - threshold), pair.row.number))[:most]
    return [pair._replace(group=NEAR_THRESHOLD) for pair in nearest]
