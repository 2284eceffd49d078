"""Precision, recall and F1 under several protocols: plain arithmetic on labels and verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeVar

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Score:
    """Rates in [0, 1]. A rate over nothing is 1: if no links were found, the precision is 1."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, right: float, found: float, wanted: float) -> Score:
        """Return the score of ``right`` answers among those ``found``, out of those ``wanted``."""
        return cls.from_rates(right / found if found else 1.0, right / wanted if wanted else 1.0)

    @classmethod
    def from_rates(cls, precision: float, recall: float) -> Score:
        total = precision + recall
        return cls(precision, recall, 2 * precision * recall / total if total else 0.0)

    def rounded(self) -> dict[str, Any]:
        """Return the rates by their names, for output."""
        return {"precision": round(self.precision, 4), "recall": round(self.recall, 4), "f1": round(self.f1, 4)}


def mean(scores: Sequence[Score]) -> Score:
    """Return the mean of each of the three rates. Raise ValueError (statistics.StatisticsError) if there are none."""
    return Score(*(fmean(getattr(score, name) for score in scores) for name in ("precision", "recall", "f1")))


def online(clusters: Sequence[T | None], links: Sequence[int | None]) -> Score:
    """Score how well copies are distinguished from firsts. Documents are in the order in which they came.

    ``clusters`` holds the true cluster of each document, or None for background. ``links`` holds the position of the
    original that each document was called a copy of, or None if it was not called a copy. A link is right if that
    original is of the document's own cluster. Precision is the share of right links among all links with a labelled
    document at either end. Recall is the number of right links, divided by the number of documents that have an earlier
    document of their own cluster.
    """
    right = found = wanted = 0
    seen: set[T] = set()
    for cluster, link in zip(clusters, links, strict=True):
        target = None if link is None else clusters[link]
        found += link is not None and (cluster is not None or target is not None)
        right += cluster is not None and cluster == target
        if cluster is not None:
            wanted += cluster in seen
            seen.add(cluster)
    return Score.of(right, found, wanted)


def pairwise(clusters: Sequence[T | None], predicted: Sequence[Hashable]) -> Score:
    """Score pairs of documents.

    A pair is found if both are in one predicted cluster, and true if both are in one true cluster. A pair of a labelled
    and a background document (cluster None) is never true; one of two background documents is not scored.
    """
    together = Counter(zip(predicted, clusters, strict=True))
    right = _pairs([count for (_, cluster), count in together.items() if cluster is not None])
    background = [count for (_, cluster), count in together.items() if cluster is None]
    found = _pairs(list(Counter(predicted).values())) - _pairs(background)
    wanted = _pairs(list(Counter(cluster for cluster in clusters if cluster is not None).values()))
    return Score.of(right, found, wanted)


def b_cubed(clusters: Sequence[T | None], predicted: Sequence[Hashable]) -> Score:
    """Return the mean purity and completeness of the predicted clusters of all labelled documents.

    A background document (cluster None) makes the predicted cluster it is in less pure, and has no score of its own.
    (Bagga and Baldwin 1998.)
    """
    together = Counter(zip(predicted, clusters, strict=True))
    found, true = Counter(predicted), Counter(clusters)
    labelled = [(name, cluster, count) for (name, cluster), count in together.items() if cluster is not None]
    documents = sum(count for _, _, count in labelled)
    if not documents:
        return Score(1.0, 1.0, 1.0)
    return Score.from_rates(
        sum(count * count / found[name] for name, _, count in labelled) / documents,
        sum(count * count / true[cluster] for _, cluster, count in labelled) / documents,
    )


def _pairs(sizes: Sequence[int]) -> int:
    return sum(size * (size - 1) // 2 for size in sizes)
