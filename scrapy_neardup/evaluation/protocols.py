"""Run labelled documents through the detector in several random orders, and score each order."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from statistics import fmean
from typing import Any

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Fingerprint, Verdict
from scrapy_neardup.evaluation.alarms import raise_alarms, score_alarms
from scrapy_neardup.evaluation.all_pairs import score_all_pairs
from scrapy_neardup.evaluation.labels import LabelledPages
from scrapy_neardup.evaluation.metrics import Score, b_cubed, mean, online, pairwise
from scrapy_neardup.evaluation.pages import Page
from scrapy_neardup.evaluation.published import published_for
from scrapy_neardup.evaluation.replay import Judged, opened, replay
from scrapy_neardup.evaluation.sketches import SharedSketches, learn, sketcher_of
from scrapy_neardup.evaluation.story_scores import STORY_PROTOCOLS, scores_by_language, story_scores
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import Preset

PROTOCOLS = ("online", "originals", "pairwise", "b-cubed")
"""The protocols that are shown unless others are asked for."""

ORIGINAL_FIRST_PROTOCOLS = ("original-first", "original-first-once")
ALL_PAIRS_PROTOCOLS = ("all-pairs", "all-pairs-b-cubed")
EVERY_PROTOCOL = (*PROTOCOLS, "online-once", *ORIGINAL_FIRST_PROTOCOLS, *ALL_PAIRS_PROTOCOLS)

COPIES = ("duplicate", "update")
"""Verdicts that link a document to its original."""

OnJudged = Callable[[int], object]
"""Gets a number of pages that were judged, to show how much is done."""

_WARM_UP = 16  # pages
_TOLD_TOGETHER = 32  # pages
_START = 1_000_000_000.0  # seen_at of the first document; labels say nothing of times


def ignore(judged: int) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class Order:
    """Verdicts on the documents in one random order.

    ``order`` holds positions of documents, in the order they were checked. The other lists have one entry for each
    document, in the documents' own order. An entry is the position of another document: the one by which a copy was
    recognised, the original to which it was linked (both None if it is not a copy), or the one that began its final
    story. A document that joined no story began its own.
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

    orders: tuple[Order, ...]
    cost: Cost
    original_first: tuple[Order, ...] = ()

    def scores(self, clusters: Sequence[str | None]) -> dict[str, list[Score]]:
        """Return the scores of each protocol, one for each order. ``clusters`` has None for background documents.

        ``online`` scores copies (``duplicate`` and ``update``) by the earlier document they were recognised by.
        ``originals`` is stricter: it scores them by the original they were linked to. The two differ if documents of
        different clusters copy each other. ``pairwise`` and ``b-cubed`` score final stories: the documents that
        ``duplicate``, ``update`` and ``related`` joined. A document that was not judged is its own story.
        ``online-once`` is ``online``, but a link to a wrong cluster counts once, as a false positive.
        ``original-first`` and ``original-first-once`` are ``online`` and ``online-once`` in the orders that begin each
        cluster with its original. ``original-first-once`` is the protocol of Rodier and Carter (2020).
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
    on_judged: OnJudged = ignore,
) -> Evaluation:
    """Check all pages once for each seed, in a random order.

    Each order has its own empty window in memory, and the pages are spread over its time. The urls, titles and texts
    are judged; the recorded times are not. ``sketches`` of the same configuration can be handed from one call to the
    next, so that no text is sketched twice. The features of a ``corpus`` are counted first. With ``originals`` all
    pages are checked again in as many orders that begin each cluster with its original. ``on_judged`` gets the number
    of pages that were checked since its last call. Raise ValueError without a seed.
    """
    if not seeds:
        raise ValueError("at least one order is needed")
    settings = replace(settings, store="memory://")
    sketches = sketches or SharedSketches(settings, corpus)
    seconds_before = sketches.seconds
    orders, sizes, seconds = [], [], 0.0
    arranged = [(seed, shuffled(len(pages), seed)) for seed in seeds]
    if originals is not None:
        arranged += [(seed, originals.first(positions)) for seed, positions in arranged]
    await _warm_up(settings, pages)
    for seed, positions in arranged:
        detector = NearDupDetector(settings, run=str(seed), sketcher=sketches.new_sketcher())
        timed = _timed(pages, positions, settings.window)
        async with opened(detector):
            start = time.perf_counter()
            judged = []
            async for each in replay(timed, detector):
                judged.append(each)
                if len(judged) % _TOLD_TOGETHER == 0:
                    on_judged(_TOLD_TOGETHER)
            on_judged(len(judged) % _TOLD_TOGETHER)
            seconds += time.perf_counter() - start
            final_stories = await detector.final_stories()
            summary = await detector.summary()
        if summary.bytes is not None and summary.documents:
            sizes.append(summary.bytes / summary.documents)
        orders.append(_order(seed, positions, judged, final_stories))
    cost = Cost(
        sketch=1e6 * sketches.seconds_a_text,
        check=1e6 * (seconds + seconds_before - sketches.seconds) / max(1, len(pages) * len(arranged)),
        bytes=fmean(sizes) if sizes else None,
    )
    return Evaluation(tuple(orders[: len(seeds)]), cost, tuple(orders[len(seeds) :]))


async def _warm_up(settings: NearDupSettings, pages: Sequence[Page]) -> None:
    """Judge a few pages, so that the costs of the others include neither imports nor the first call of anything."""
    async with opened(NearDupDetector(settings, run="")) as detector:
        async for _ in replay(_timed(pages, range(min(len(pages), _WARM_UP)), settings.window), detector):
            pass


def shuffled(count: int, seed: int) -> list[int]:
    """Return the positions of ``count`` documents in the random order of a seed."""
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
        first = {self.clusters[position]: position for position in reversed(order)}
        for cluster, original in self.position.items():
            order[place[first[cluster]]], order[place[original]] = original, first[cluster]
        return order


def sketch_all(
    pages: Sequence[Page], settings: NearDupSettings, corpus: Sequence[Page] = ()
) -> tuple[Preset, list[Fingerprint]]:
    """Return the preset, and the fingerprints of all pages in their order, as in a window that forgets nothing."""
    sketcher = sketcher_of(settings, corpus)
    return sketcher.preset, [learn(sketcher, page) for page in pages]


def _timed(pages: Sequence[Page], positions: Sequence[int], window: float) -> list[Page]:
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


def _order(seed: int, positions: Sequence[int], judged: Sequence[Judged], final_stories: Mapping[str, str]) -> Order:
    by_position = sorted(zip(positions, judged, strict=True), key=itemgetter(0))
    position_of = {each.document.id: position for position, each in by_position if each.document is not None}
    verdicts = [each.verdict for _, each in by_position]
    copies = [verdict if verdict.status in COPIES else None for verdict in verdicts]
    return Order(
        seed=seed,
        order=tuple(positions),
        verdicts=tuple(verdicts),
        matches=tuple(position_of[copy.match] if copy and copy.match else None for copy in copies),
        originals=tuple(position_of[copy.original] if copy and copy.original else None for copy in copies),
        stories=tuple(
            position_of.get(final_stories.get(verdict.story, verdict.story) if verdict.story else "", position)
            for position, verdict in enumerate(verdicts)
        ),
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


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: the protocols, in one random order for each seed, and events of at least ``event_size``.

    ``ranks`` asks for the area under the ROC curve. The features of the ``corpus`` are counted first. ``by_language``
    asks for the scores of stories for each language.
    """

    protocols: frozenset[str]
    seeds: Sequence[int]
    event_size: int
    ranks: bool = False
    corpus: Sequence[Page] = ()
    by_language: bool = False

    @property
    def needs_originals(self) -> bool:
        return not self.protocols.isdisjoint(ORIGINAL_FIRST_PROTOCOLS)

    @property
    def scores_stories(self) -> bool:
        return not self.protocols.isdisjoint(STORY_PROTOCOLS)

    def pages_to_judge(self, source: LabelledPages) -> int:
        """Return how many pages are judged, each as often as it comes, to measure one configuration in all orders."""
        pages = len(source.pages) * (2 if self.needs_originals else 1)
        if self.scores_stories and source.background:
            pages += source.labelled
        return pages * len(self.seeds)


async def measure(
    source: LabelledPages, settings: NearDupSettings, plan: Plan, on_judged: OnJudged = ignore
) -> dict[str, Any]:
    """Return the rates of each label by each protocol, the costs of a document, and the published figures.

    Events are scored if every page has a time.
    """
    originals = Originals.of(source.pages, source.finest_clusters) if plan.needs_originals else None
    evaluation = await evaluate(
        source.pages, settings, plan.seeds, corpus=plan.corpus, originals=originals, on_judged=on_judged
    )
    found: dict[str, Any] = {"labels": {}}
    pairs = {}
    if plan.ranks or plan.protocols.intersection(ALL_PAIRS_PROTOCOLS):
        pairs = score_all_pairs(*sketch_all(source.pages, settings, plan.corpus), source.clusters)
        found["au_roc"] = {label: each.area_under_roc for label, each in pairs.items()}
    for label, clusters in source.clusters.items():
        by_order = evaluation.scores(clusters)
        scores = {protocol: [score] for protocol, score in pairs[label].scores().items()} if pairs else {}
        rates = {protocol: mean(each).rounded() for protocol, each in {**by_order, **scores}.items()}
        for protocol, each in by_order.items():
            rates[protocol]["f1_by_order"] = [round(score.f1, 4) for score in each]
        wanted = [protocol for protocol in EVERY_PROTOCOL if protocol in plan.protocols and protocol in rates]
        found["labels"][label] = {protocol: rates[protocol] for protocol in wanted}
    if plan.scores_stories:
        found["stories"] = await _measure_stories(source, settings, plan, evaluation, on_judged)
    times = [page.recorded.time for page in source.pages if page.recorded.time is not None]
    if len(times) == len(source.pages):
        alarms = await raise_alarms(source.pages, settings)
        found["events"] = {
            label: score_alarms(alarms, times, clusters, plan.event_size).rounded()
            for label, clusters in source.clusters.items()
        }
    cost = evaluation.cost
    found["microseconds"] = {"sketch": round(cost.sketch, 1), "check": round(cost.check, 1)}
    found["bytes"] = None if cost.bytes is None else round(cost.bytes)
    found["published"] = [asdict(row) for row in published_for(settings.preset)]
    return found


async def _measure_stories(
    source: LabelledPages, settings: NearDupSettings, plan: Plan, evaluation: Evaluation, on_judged: OnJudged
) -> dict[str, Any]:
    """Return for each label the rates of stories: alone, among the background if there is one, and by language."""
    found: dict[str, Any] = {label: {} for label in source.clusters}
    alone = evaluation
    if source.background:
        labelled = source.pages[: source.labelled]
        alone = await evaluate(labelled, settings, plan.seeds, corpus=plan.corpus, on_judged=on_judged)
    for label, clusters in source.clusters.items():
        found[label]["alone"] = story_scores(alone.orders, clusters[: source.labelled])
        if alone is not evaluation:
            found[label]["among_background"] = story_scores(evaluation.orders, clusters)
        if plan.by_language:
            found[label]["languages"] = scores_by_language(source.pages, evaluation.orders, clusters)
    return found
