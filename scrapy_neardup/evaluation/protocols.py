"""Labelled documents through the detector in several random orders, and what came of each."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from scrapy_neardup.detector import NearDupDetector, unchecked
from scrapy_neardup.document import Document, Fingerprint, Verdict
from scrapy_neardup.evaluation.metrics import Score, b_cubed, mean, online, pairwise
from scrapy_neardup.evaluation.pages import Page
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import Sketcher

PROTOCOLS = ("online", "pairwise", "b-cubed")
COPIES = ("duplicate", "update")
"""Verdicts that link a document to its original."""

_START = 1_000_000_000.0  # seen_at of the first document; labels say nothing of times
_TOGETHER = 64


@dataclass(frozen=True, slots=True)
class Order:
    """Verdicts on the documents in one random order.

    ``order`` holds positions of documents, in the order they were checked. ``originals`` and ``stories`` are in the
    documents' own order: for each the position of the document it was called a copy of, or None, and the position of
    the document that began its story, its own where it was not judged.
    """

    seed: int
    order: tuple[int, ...]
    verdicts: tuple[Verdict, ...]
    originals: tuple[int | None, ...]
    stories: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one document, on average: time in microseconds, the store's memory in bytes (None where it cannot tell)."""

    sketch: float
    check: float
    bytes: float | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The verdicts of several orders under one configuration."""

    preset: str
    orders: tuple[Order, ...]
    cost: Cost

    def scores(self, clusters: Sequence[str | None]) -> dict[str, list[Score]]:
        """Of each protocol one score an order; ``clusters`` has None for background documents.

        Online judges copies: verdicts ``duplicate`` and ``update``. Pairwise and B-cubed judge stories: all that
        ``duplicate``, ``update`` and ``related`` joined; a document that was not judged is a story of its own.
        """
        return {
            "online": [_online(order, clusters) for order in self.orders],
            "pairwise": [pairwise(clusters, order.stories) for order in self.orders],
            "b-cubed": [b_cubed(clusters, order.stories) for order in self.orders],
        }

    def mean_scores(self, clusters: Sequence[str | None]) -> dict[str, Score]:
        """The mean over the orders, of precision, recall and F1 each by itself."""
        return {protocol: mean(scores) for protocol, scores in self.scores(clusters).items()}


async def evaluate(pages: Sequence[Page], settings: NearDupSettings, seeds: Sequence[int]) -> Evaluation:
    """Check all pages in one random order a seed, each time in an empty window in memory, spread over that window.

    The urls, titles and texts are judged; the recorded times are not. Raises ValueError without a seed.
    """
    if not seeds:
        raise ValueError("at least one order is needed")
    settings = replace(settings, store="memory://")
    sketcher = _RememberingSketcher(NearDupDetector(settings).sketcher)
    orders, sizes, seconds = [], [], 0.0
    for seed in seeds:
        positions = list(range(len(pages)))
        random.Random(seed).shuffle(positions)
        detector = NearDupDetector(settings, run=str(seed))
        detector.sketcher = sketcher
        await detector.open()
        try:
            start = time.perf_counter()
            checked = await _check(detector, [pages[position] for position in positions])
            seconds += time.perf_counter() - start
            summary = await detector.summary()
        finally:
            await detector.close()
        if summary.bytes is not None and summary.documents:
            sizes.append(summary.bytes / summary.documents)
        orders.append(_order(seed, positions, checked))
    cost = Cost(
        sketch=1e6 * sketcher.seconds / max(1, sketcher.sketched),
        check=1e6 * (seconds - sketcher.seconds) / max(1, len(pages) * len(seeds)),
        bytes=fmean(sizes) if sizes else None,
    )
    return Evaluation(settings.preset, tuple(orders), cost)


class _RememberingSketcher(Sketcher):
    """Sketches each text once: a fingerprint depends on nothing but the document, whatever the order."""

    def __init__(self, sketcher: Sketcher) -> None:
        vars(self).update(vars(sketcher))
        self._remembered: dict[tuple[str, str, str, str], Fingerprint] = {}
        self.seconds = 0.0

    @property
    def sketched(self) -> int:
        return len(self._remembered)

    def fingerprint(self, document: Document) -> Fingerprint:
        key = (document.text, document.title, document.source, document.url_identity)
        if (known := self._remembered.get(key)) is not None:
            return known
        start = time.perf_counter()
        fingerprint = self._remembered[key] = super().fingerprint(document)
        self.seconds += time.perf_counter() - start
        return fingerprint


async def _check(detector: NearDupDetector, pages: Sequence[Page]) -> list[tuple[str | None, Verdict]]:
    """Document id (None where there was nothing to check) and verdict of each page."""
    step = min(1.0, detector.settings.window / (len(pages) + 1))
    checked: list[tuple[str | None, Verdict]] = []
    for first in range(0, len(pages), _TOGETHER):
        batch = pages[first : first + _TOGETHER]
        documents = [
            detector.document(
                page.text,
                url=page.recorded.url,
                title=page.recorded.title,
                seen_at=_START + step * (first + number),
            )
            for number, page in enumerate(batch)
        ]
        usable = [document for document, page in zip(documents, batch, strict=True) if page.reason is None]
        verdicts = iter(await detector.check_in_order(usable))
        for document, page in zip(documents, batch, strict=True):
            if page.reason is None:
                checked.append((document.id, next(verdicts)))
            else:
                checked.append((None, unchecked(page.reason)))
    return checked


def _order(seed: int, positions: Sequence[int], checked: Sequence[tuple[str | None, Verdict]]) -> Order:
    position_of = {given: position for position, (given, _) in zip(positions, checked, strict=True) if given}
    verdicts: dict[int, Verdict] = {
        position: verdict for position, (_, verdict) in zip(positions, checked, strict=True)
    }
    originals: list[int | None] = []
    stories: list[int] = []
    for position in range(len(positions)):
        verdict = verdicts[position]
        copy_of = verdict.original if verdict.status in COPIES else None
        originals.append(None if copy_of is None else position_of[copy_of])
        stories.append(position if verdict.story is None else position_of.get(verdict.story, position))
    return Order(
        seed,
        tuple(positions),
        tuple(verdicts[position] for position in range(len(positions))),
        tuple(originals),
        tuple(stories),
    )


def _online(order: Order, clusters: Sequence[str | None]) -> Score:
    """``metrics.online`` wants documents, and the links between them, in the order they came."""
    came = {position: number for number, position in enumerate(order.order)}
    links = (order.originals[position] for position in order.order)
    return online(
        [clusters[position] for position in order.order],
        [None if link is None else came[link] for link in links],
    )
