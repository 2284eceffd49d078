"""``scrapy neardup eval``: measure the verdicts on documents that people sorted into clusters.

They are judged in several random orders, and each order has a score. It also tells the threshold with the best F1 of
copies.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.content.head import PageHead
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.text.display import counted
from scrapy_neardup.tools.commands.console import (
    Options,
    Values,
    json_option,
    number_from,
    option,
    print_error,
    print_json,
    print_table,
    print_wrapped,
    read_pages,
    track,
    workers_option,
)
from scrapy_neardup.tools.lab.feed import read_checked, read_labelled, shown, without_labelled
from scrapy_neardup.tools.lab.replay import PageReader, RecordedPage, opened, replay

COPIES = ("duplicate", "update")  # verdicts that link a document to its original

OPTIONS = (
    option(
        "input", metavar="INPUT", type=Path, help="JSON lines as for replay, with a cluster label; - is standard input"
    ),
    option("--label", metavar="KEY", default="cluster", help="key of the label (default: cluster)"),
    option(
        "--background",
        metavar="FILE",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        help="documents without labels, mixed with the others. A match with one of them counts as wrong. Documents with"
        " the url or the text of a labelled document are left out",
    ),
    option(
        "--seeds",
        metavar="N",
        type=number_from(1),
        default=5,
        help="random orders in which the documents are judged (default: 5)",
    ),
    workers_option(),
    json_option(),
)


def run(options: Options, values: Values) -> int:
    """Measure. A page that cannot be extracted is counted and judged ``unchecked``."""
    configured = NearDupSettings.from_mapping(values)
    labelled, clusters = read_labelled(options.input, options.label)
    background, left_out = without_labelled(read_checked(options.background), labelled)
    documents = [*labelled, *background]
    if left_out:
        print_wrapped(
            f"{left_out[0]}: this document of --background is labelled too (the same url or text), so it is left out"
            f" of the background. Documents left out: {len(left_out)}",
            stderr=True,
        )
    if len(documents) < 2:
        raise InputError(
            f"{shown(options.input)}: fewer than two documents make no pair, so there is nothing to measure"
        )
    # Workers sketch the texts too, so the pages can be judged only with values that change no sketch.
    with PageReader(configured, options.workers, sketches=True) as reader:
        pages = list(read_pages(reader, documents, len(documents)))
    truth = [*clusters, *[None] * len(background)]
    has_copies = len(set(clusters)) < len(labelled)
    preset = configured.resolved_preset()
    f1_by_threshold = {}
    # These thresholds are measured in one order each, to tell the best one.
    tried = [threshold for threshold in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8) if has_copies]
    orders = asyncio.run(evaluate(pages, configured, track(range(options.seeds), "orders", options.seeds)))
    for threshold in track(tried, "thresholds", len(tried)):
        # A related threshold above the threshold is lowered to it.
        thresholds = {"threshold": threshold, "related_threshold": min(preset.related_threshold, threshold)}
        other = replace(configured, preset_options=configured.preset_options | thresholds)
        of_other = asyncio.run(evaluate(pages, other, range(1)))
        f1_by_threshold[threshold] = scores_of(of_other, truth)["online"][0].f1
    scores = scores_of(orders, truth)
    f1_by_threshold[preset.threshold] = scores["online"][0].f1
    # Without copies nothing can be found, so only the precision is known.
    unknown = {name: None for name in ("recall", "f1", "f1_by_order") if not has_copies}
    errors = sum(page.error is not None for page in pages)
    found = {
        "input": str(options.input),
        "label": options.label,
        "preset": configured.preset,
        "documents": len(labelled),
        "background": len(background),
        "left_out_of_background": len(left_out),
        "without_text": sum(not page.text.strip() and not page.error for page in pages[: len(labelled)]),
        "errors": errors,
        "clusters": len(set(clusters)),
        "orders": options.seeds,
        "protocols": {
            protocol: {**mean_rates(each), "f1_by_order": [round(score.f1, 4) for score in each], **unknown}
            for protocol, each in scores.items()
        },
        "present_threshold": preset.threshold,
        "best_threshold": best_threshold(f1_by_threshold, preset.threshold) if has_copies else None,
    }
    if not has_copies:
        print_error(
            f"No {options.label} has two documents, so there are no copies to find: only wrong links can be counted."
        )
    (print_json if options.json else _print)(found)
    return int(errors > 0)


def best_threshold(f1_by_threshold: Mapping[float, float], present: float) -> float:
    """Return the threshold with the best F1; of equally good ones the nearest to the present one."""
    return max(f1_by_threshold, key=lambda threshold: (f1_by_threshold[threshold], -abs(threshold - present)))


def _print(found: dict[str, Any]) -> None:
    rows = [
        (protocol, *("-" if score[name] is None else f"{score[name]:.4f}" for name in ("precision", "recall", "f1")))
        for protocol, score in found["protocols"].items()
    ]
    among = f" among {counted(found['background'], 'other')}" if found["background"] else ""
    print_table(
        f"{counted(found['documents'], 'document')}{among}, mean of {counted(found['orders'], 'order')}",
        ("protocol", "precision", "recall", "F1"),
        rows,
    )
    if found["best_threshold"] is not None:
        print(
            f"Best threshold for copies: {found['best_threshold']:g}. The present one is {found['present_threshold']:g}"
        )


@dataclass(frozen=True, slots=True)
class Score:
    """Rates in [0, 1]. A rate over nothing is 1: if no links were found, the precision is 1."""

    precision: float
    recall: float

    @classmethod
    def of(cls, right: float, found: float, wanted: float) -> "Score":
        """Return the score of ``right`` answers among those ``found``, out of those ``wanted``."""
        return cls(right / found if found else 1.0, right / wanted if wanted else 1.0)

    @property
    def f1(self) -> float:
        return 2 * self.precision * self.recall / (self.precision + self.recall or 1.0)


def mean_rates(scores: Sequence[Score]) -> dict[str, float]:
    return {name: round(fmean(map(attrgetter(name), scores)), 4) for name in ("precision", "recall", "f1")}


def online(clusters: Sequence[Hashable | None], links: Sequence[int | None]) -> Score:
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
    seen: set[Hashable] = set()
    for cluster, link in zip(clusters, links, strict=True):
        target = None if link is None else clusters[link]
        found += link is not None and (cluster is not None or target is not None)
        right += cluster is not None and cluster == target
        if cluster is not None:
            wanted += cluster in seen
            seen.add(cluster)
    return Score.of(right, found, wanted)


def pairwise_score(clusters: Sequence[Hashable | None], predicted: Sequence[Hashable]) -> Score:
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


def b_cubed(clusters: Sequence[Hashable | None], predicted: Sequence[Hashable]) -> Score:
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
        return Score(1.0, 1.0)
    return Score(
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


def scores_of(orders: Sequence[JudgedOrder], clusters: Sequence[str | None]) -> dict[str, list[Score]]:
    """Return the scores of each protocol, one for each order. ``clusters`` has None for background documents.

    ``online`` scores copies (``duplicate`` and ``update``) by the earlier document they were recognised by.
    ``pairwise`` and ``b-cubed`` score final stories: the documents that ``duplicate``, ``update`` and ``related``
    joined. A document that was not judged is its own story.
    """
    came = [([clusters[position] for position in order.positions], order) for order in orders]
    return {
        "online": [online(true, order.matches) for true, order in came],
        "pairwise": [pairwise_score(true, order.stories) for true, order in came],
        "b-cubed": [b_cubed(true, order.stories) for true, order in came],
    }


async def evaluate(
    pages: Sequence[RecordedPage],
    settings: NearDupSettings,
    seeds: Iterable[int],
) -> list[JudgedOrder]:
    """Check all pages once for each seed, in a random order.

    Each order has its own empty window in memory, and the pages are spread over its time. The urls, titles and texts
    are judged; the recorded times are not.
    """
    settings = replace(settings, store="memory://")
    orders = list[JudgedOrder]()
    for seed in seeds:
        positions = list(range(len(pages)))
        random.Random(seed).shuffle(positions)
        # Titles and languages are only those of the feed, and not those that pages give themselves: the figures in
        # ``docs/accuracy.md`` were measured like this.
        # Labels say nothing of times, so the first document has any.
        step = min(1.0, settings.window / (len(pages) + 1))
        timed = [
            replace(
                pages[position],
                recorded=replace(pages[position].recorded, time=1_000_000_000.0 + step * number),
                head=PageHead(),
            )
            for number, position in enumerate(positions)
        ]
        async with opened(NearDupDetector(settings, run=str(seed))) as detector:
            judged = [each async for each in replay(timed, detector)]
            final_stories = await detector.final_stories()
        place_of = {each.document.id: place for place, each in enumerate(judged) if each.document is not None}
        copies = {place: each.verdict.match or "" for place, each in enumerate(judged) if each.verdict.status in COPIES}
        stories = [each.verdict.story or "" for each in judged]
        orders.append(
            JudgedOrder(
                positions=tuple(positions),
                matches=tuple(place_of.get(copies.get(place, "")) for place in range(len(judged))),
                stories=tuple(place_of.get(final_stories.get(key, key), place) for place, key in enumerate(stories)),
            )
        )
    return orders
