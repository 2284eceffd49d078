"""Run labelled documents through the detector in several random orders, and score each order."""

from __future__ import annotations

import random
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from statistics import fmean

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Fingerprint, Verdict, unchecked
from scrapy_neardup.evaluation.corpus import learn
from scrapy_neardup.evaluation.metrics import Score, b_cubed, mean, online, pairwise
from scrapy_neardup.evaluation.pages import Page
from scrapy_neardup.evaluation.sketches import SharedSketches, sketcher_of
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import Preset

PROTOCOLS = ("online", "originals", "pairwise", "b-cubed")
"""The protocols that are shown unless others are asked for."""

ORIGINAL_FIRST_PROTOCOLS = ("original-first", "original-first-once")
ALL_PAIRS_PROTOCOLS = ("all-pairs", "all-pairs-b-cubed")
EVERY_PROTOCOL = (*PROTOCOLS, "online-once", *ORIGINAL_FIRST_PROTOCOLS, *ALL_PAIRS_PROTOCOLS)

COPIES = ("duplicate", "update")
"""Verdicts that link a document to its original."""

_START = 1_000_000_000.0  # seen_at of the first document; labels say nothing of times
_TOGETHER = 64


@dataclass(frozen=True, slots=True)
class Order:
    """Verdicts on the documents in one random order.

    ``order`` holds positions of documents, in the order they were checked. The other lists are in the documents' own
    order, and name documents by position: the document by which a copy was recognised, and the original to which it was
    linked (both None if it is not a copy); the document that began its story, which is itself if it joined none.
    """

    seed: int
    order: tuple[int, ...]
    verdicts: tuple[Verdict, ...]
    matches: tuple[int | None, ...]
    originals: tuple[int | None, ...]
    stories: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """Mean cost of a document: microseconds, and bytes of the store (None if the store does not know)."""

    sketch: float
    check: float
    bytes: float | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The verdicts of several orders under one configuration.

    ``original_first`` holds orders in which the first document of each cluster is its original, if any were asked for.
    """

    preset: str
    orders: tuple[Order, ...]
    cost: Cost
    original_first: tuple[Order, ...] = ()

    def scores(self, clusters: Sequence[str | None]) -> dict[str, list[Score]]:
        """Return one score an order for each protocol; ``clusters`` has None for background documents.

        Online judges copies, verdicts ``duplicate`` and ``update``, by the earlier document they were recognised by;
        originals is the same, stricter: by the original they were linked to. The two differ where labels tell
        clusters apart that copy each other. Pairwise and B-cubed judge stories: all that ``duplicate``, ``update``
        and ``related`` joined; a document that was not judged is a story of its own. Online-once is online with a
        link to a wrong cluster counted once, as a false positive. Original-first and original-first-once are these two
        in the orders that begin each cluster with its original; the last is the protocol of Rodier and Carter (2020).
        """
        scores = {
            "online": [_online(order, order.matches, clusters) for order in self.orders],
            "originals": [_online(order, order.originals, clusters) for order in self.orders],
            "pairwise": [pairwise(clusters, order.stories) for order in self.orders],
            "b-cubed": [b_cubed(clusters, order.stories) for order in self.orders],
            "online-once": [_online(order, order.matches, clusters, once=True) for order in self.orders],
        }
        if self.original_first:
            scores["original-first"] = [_online(order, order.matches, clusters) for order in self.original_first]
            scores["original-first-once"] = [
                _online(order, order.matches, clusters, once=True) for order in self.original_first
            ]
        return scores

    def mean_scores(self, clusters: Sequence[str | None]) -> dict[str, Score]:
        """Return the means of precision, recall and F1 over the orders."""
        return {protocol: mean(scores) for protocol, scores in self.scores(clusters).items()}


async def evaluate(
    pages: Sequence[Page],
    settings: NearDupSettings,
    seeds: Sequence[int],
    sketches: SharedSketches | None = None,
    *,
    corpus: Sequence[Page] = (),
    originals: Originals | None = None,
) -> Evaluation:
    """Check all pages in one random order a seed, each time in an empty window in memory, spread over that window.

    The urls, titles and texts are judged; the recorded times are not. ``sketches`` of the same configuration can be
    handed from one call to the next, so that no text is sketched twice. The features of a ``corpus`` are counted first.
    With ``originals`` all pages are checked again in as many orders that begin each cluster with its original. Raise
    ValueError without a seed.
    """
    if not seeds:
        raise ValueError("at least one order is needed")
    settings = replace(settings, store="memory://", shards=1)
    sketches = sketches or SharedSketches(settings, corpus)
    seconds_before = sketches.seconds
    orders, sizes, seconds = [], [], 0.0
    arranged = [(seed, shuffled(len(pages), seed)) for seed in seeds]
    if originals is not None:
        arranged += [(seed, originals.first(positions)) for seed, positions in arranged]
    for seed, positions in arranged:
        detector = NearDupDetector(settings, run=str(seed), sketcher=sketches.new_sketcher())
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
        sketch=1e6 * sketches.seconds_a_text,
        check=1e6 * (seconds + seconds_before - sketches.seconds) / max(1, len(pages) * len(arranged)),
        bytes=fmean(sizes) if sizes else None,
    )
    return Evaluation(settings.preset, tuple(orders[: len(seeds)]), cost, tuple(orders[len(seeds) :]))


def shuffled(count: int, seed: int) -> list[int]:
    """Return the positions of so many documents in the random order of a seed."""
    positions = list(range(count))
    random.Random(seed).shuffle(positions)
    return positions


@dataclass(frozen=True, slots=True)
class Originals:
    """The cluster of each document, None for background, and the position of the original of each cluster."""

    clusters: Sequence[Hashable]
    position: dict[Hashable, int]

    @classmethod
    def of(cls, pages: Sequence[Page], clusters: Sequence[str | None]) -> Originals:
        """Find the originals by the label ``original``: true. Of several in a cluster the first counts."""
        position: dict[Hashable, int] = {}
        for number, (page, cluster) in enumerate(zip(pages, clusters, strict=True)):
            if cluster is not None and page.recorded.extra.get("original") is True:
                position.setdefault(cluster, number)
        return cls(clusters, position)

    def first(self, positions: Sequence[int]) -> list[int]:
        """Return an order in which each original has changed places with the first document of its cluster."""
        order = list(positions)
        place = {position: number for number, position in enumerate(order)}
        seen: set[Hashable] = set()
        for number in range(len(order)):
            cluster = self.clusters[order[number]]
            if cluster in seen or cluster not in self.position:
                continue
            seen.add(cluster)
            other = place[self.position[cluster]]
            order[number], order[other] = order[other], order[number]
            place[order[number]], place[order[other]] = number, other
        return order


def sketch_all(
    pages: Sequence[Page], settings: NearDupSettings, corpus: Sequence[Page] = ()
) -> tuple[Preset, list[Fingerprint]]:
    """Return the preset, and the fingerprints of all pages in their order, as in a window that forgets nothing."""
    sketcher = sketcher_of(settings, corpus)
    return sketcher.preset, [learn(sketcher, page) for page in pages]


async def _check(detector: NearDupDetector, pages: Sequence[Page]) -> list[tuple[str | None, Verdict]]:
    """Return the document id and the verdict of each page. The id is None if there was nothing to check."""
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
                canonical=page.canonical,
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
    by_position = sorted(zip(positions, checked, strict=True), key=itemgetter(0))
    links = [
        (verdict.match, verdict.original) if verdict.status in COPIES else (None, None)
        for _, (_, verdict) in by_position
    ]
    return Order(
        seed=seed,
        order=tuple(positions),
        verdicts=tuple(verdict for _, (_, verdict) in by_position),
        matches=tuple(position_of[match] if match else None for match, _ in links),
        originals=tuple(position_of[original] if original else None for _, original in links),
        stories=tuple(position_of.get(verdict.story or "", position) for position, (_, verdict) in by_position),
    )


def _online(order: Order, links: Sequence[int | None], clusters: Sequence[str | None], *, once: bool = False) -> Score:
    """Call ``metrics.online`` with documents and links in the order in which the documents came."""
    came = {position: number for number, position in enumerate(order.order)}
    linked = (links[position] for position in order.order)
    return online(
        [clusters[position] for position in order.order],
        [None if link is None else came[link] for link in linked],
        wrong_links_are_misses=not once,
    )
