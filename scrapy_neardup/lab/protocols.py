"""Run labelled documents through the detector in several random orders, and score each order."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from statistics import fmean

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Verdict
from scrapy_neardup.lab.metrics import Score, b_cubed, mean, online, pairwise
from scrapy_neardup.lab.pages import RecordedPage
from scrapy_neardup.lab.replay import Judged, opened, replay
from scrapy_neardup.settings import NearDupSettings

PROTOCOLS = ("online", "originals", "pairwise", "b-cubed")

COPIES = ("duplicate", "update")
"""Verdicts that link a document to its original."""

_START = 1_000_000_000.0  # seen_at of the first document; labels say nothing of times


@dataclass(frozen=True, slots=True)
class Order:
    """Verdicts on the documents in one random order.

    ``order`` holds positions of documents, in the order they were checked. The other lists have one entry for each
    document, in the documents' own order. An entry is the position of another document: the one by which a copy was
    recognised, the original to which it was linked (both None if it is not a copy), or the one that began its final
    story. A document that joined no story began its own.
    """

    order: tuple[int, ...]
    verdicts: tuple[Verdict, ...]
    matches: tuple[int | None, ...]
    originals: tuple[int | None, ...]
    stories: tuple[int, ...]

    def as_they_came(
        self, links: Sequence[int | None], clusters: Sequence[str | None]
    ) -> tuple[list[str | None], list[int | None]]:
        """Return clusters and links in the order in which the documents came. A link is a position in this order."""
        came = {position: number for number, position in enumerate(self.order)}
        linked = (links[position] for position in self.order)
        return [clusters[position] for position in self.order], [
            None if link is None else came[link] for link in linked
        ]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The verdicts of several orders under one configuration."""

    orders: tuple[Order, ...]
    bytes: float | None  # of the store for a document; None if the store does not know

    def scores(self, clusters: Sequence[str | None]) -> dict[str, list[Score]]:
        """Return the scores of each protocol, one for each order. ``clusters`` has None for background documents.

        ``online`` scores copies (``duplicate`` and ``update``) by the earlier document they were recognised by.
        ``originals`` is stricter: it scores them by the original they were linked to. The two differ if documents of
        different clusters copy each other. ``pairwise`` and ``b-cubed`` score final stories: the documents that
        ``duplicate``, ``update`` and ``related`` joined. A document that was not judged is its own story.
        """
        return {
            "online": [online(*order.as_they_came(order.matches, clusters)) for order in self.orders],
            "originals": [online(*order.as_they_came(order.originals, clusters)) for order in self.orders],
            "pairwise": [pairwise(clusters, order.stories) for order in self.orders],
            "b-cubed": [b_cubed(clusters, order.stories) for order in self.orders],
        }

    def mean_scores(self, clusters: Sequence[str | None]) -> dict[str, Score]:
        """Return the means of precision, recall and F1 over the orders."""
        return {protocol: mean(scores) for protocol, scores in self.scores(clusters).items()}


async def evaluate(
    pages: Sequence[RecordedPage],
    settings: NearDupSettings,
    seeds: Sequence[int],
    *,
    arrange: Callable[[Sequence[int]], Sequence[int]] = tuple,
    on_judged: Callable[[int], object] = lambda judged: None,
) -> Evaluation:
    """Check all pages once for each seed, in a random order.

    Each order has its own empty window in memory, and the pages are spread over its time. The urls, titles and texts
    are judged; the recorded times are not. ``arrange`` may change an order before it is judged. ``on_judged`` gets the
    number of pages that were checked since its last call. Raise ValueError without a seed.
    """
    if not seeds:
        raise ValueError("at least one order is needed")
    settings = replace(settings, store="memory://")
    orders, sizes = [], []
    for seed in seeds:
        positions = arrange(shuffled(len(pages), seed))
        timed = _timed(pages, positions, settings.window)
        async with opened(NearDupDetector(settings, run=str(seed))) as detector:
            judged = [each async for each in replay(timed, detector)]
            final_stories = await detector.final_stories()
            summary = await detector.summary()
        on_judged(len(judged))
        if summary.bytes is not None and summary.documents:
            sizes.append(summary.bytes / summary.documents)
        orders.append(_order(positions, judged, final_stories))
    return Evaluation(tuple(orders), fmean(sizes) if sizes else None)


def shuffled(count: int, seed: int) -> list[int]:
    """Return the positions of ``count`` documents in the random order of a seed."""
    positions = list(range(count))
    random.Random(seed).shuffle(positions)
    return positions


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
            page_title="",
            page_language="",
        )
        for number, position in enumerate(positions)
    ]


def _order(positions: Sequence[int], judged: Sequence[Judged], final_stories: Mapping[str, str]) -> Order:
    by_position = sorted(zip(positions, judged, strict=True), key=itemgetter(0))
    position_of = {each.document.id: position for position, each in by_position if each.document is not None}
    verdicts = [each.verdict for _, each in by_position]
    copies = [verdict if verdict.status in COPIES else None for verdict in verdicts]
    return Order(
        order=tuple(positions),
        verdicts=tuple(verdicts),
        matches=tuple(position_of[copy.match] if copy and copy.match else None for copy in copies),
        originals=tuple(position_of[copy.original] if copy and copy.original else None for copy in copies),
        stories=tuple(
            position_of.get(final_stories.get(verdict.story, verdict.story) if verdict.story else "", position)
            for position, verdict in enumerate(verdicts)
        ),
    )
