"""Run labelled documents through the detector in several random orders, and score each order."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, TypeVar

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.content.head import PageHead
from scrapy_neardup.tools.lab.replay import Judged, RecordedPage, opened, replay

T = TypeVar("T", bound=Hashable)

COPIES = ("duplicate", "update")  # verdicts that link a document to its original

_START = 1_000_000_000.0  # seen_at of the first document; labels say nothing of times


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
    right = 0
    found = 0
    wanted = 0
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
    found = Counter(predicted)
    true = Counter(clusters)
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


@dataclass(frozen=True, slots=True)
class JudgedOrder:
    """What became of the documents in one random order. Each list has an entry for each document, as they came.

    ``positions`` are those in the input. The other entries are places in this order: that of the document by which a
    copy was recognised (None if it is not a copy), and of the document that began its final story. A document that
    joined no story began its own.
    """

    positions: tuple[int, ...]
    matches: tuple[int | None, ...]
    stories: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The verdicts of several orders under one configuration."""

    orders: tuple[JudgedOrder, ...]
    bytes: float  # of the store for a document

    def scores(self, clusters: Sequence[str | None]) -> dict[str, list[Score]]:
        """Return the scores of each protocol, one for each order. ``clusters`` has None for background documents.

        ``online`` scores copies (``duplicate`` and ``update``) by the earlier document they were recognised by.
        ``pairwise`` and ``b-cubed`` score final stories: the documents that ``duplicate``, ``update`` and ``related``
        joined. A document that was not judged is its own story.
        """
        came = [([clusters[position] for position in order.positions], order) for order in self.orders]
        return {
            "online": [online(true, order.matches) for true, order in came],
            "pairwise": [pairwise(true, order.stories) for true, order in came],
            "b-cubed": [b_cubed(true, order.stories) for true, order in came],
        }


async def evaluate(
    pages: Sequence[RecordedPage],
    settings: NearDupSettings,
    seeds: Iterable[int],
) -> Evaluation:
    """Check all pages once for each seed, in a random order.

    Each order has its own empty window in memory, and the pages are spread over its time. The urls, titles and texts
    are judged; the recorded times are not.
    """
    settings = replace(settings, store="memory://")
    orders = []
    sizes = []
    for seed in seeds:
        positions = list(range(len(pages)))
        random.Random(seed).shuffle(positions)
        timed = _timed(pages, positions, settings.window)
        async with opened(NearDupDetector(settings, run=str(seed))) as detector:
            judged = [each async for each in replay(timed, detector)]
            final_stories = await detector.final_stories()
            summary = await detector.index.summary()
        sizes.append((summary.store.bytes or 0) / max(1, summary.documents))
        orders.append(_order(positions, judged, final_stories))
    return Evaluation(tuple(orders), fmean(sizes))


def _timed(pages: Sequence[RecordedPage], positions: Sequence[int], window: float) -> list[RecordedPage]:
    """Return the pages in an order, seen one after the other within a window.

    Titles and languages are only those of the feed, and not those that pages give themselves: the figures in
    ``docs/accuracy.md`` were measured like this.
    """
    step = min(1.0, window / (len(pages) + 1))
    return [
        replace(
            pages[position],
            recorded=replace(pages[position].recorded, time=_START + step * number),
            head=PageHead(),
        )
        for number, position in enumerate(positions)
    ]


def _order(positions: Sequence[int], judged: Sequence[Judged], final_stories: Mapping[str, str]) -> JudgedOrder:
    place_of = {each.document.id: place for place, each in enumerate(judged) if each.document is not None}
    copies = {place: each.verdict.match or "" for place, each in enumerate(judged) if each.verdict.status in COPIES}
    stories = [each.verdict.story or "" for each in judged]
    return JudgedOrder(
        positions=tuple(positions),
        matches=tuple(place_of.get(copies.get(place, "")) for place in range(len(judged))),
        stories=tuple(place_of.get(final_stories.get(key, key), place) for place, key in enumerate(stories)),
    )
