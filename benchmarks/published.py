"""How right the presets are by the protocols of the papers, beside the figures that the papers report.

usage: python benchmarks/published.py [--data DIR] [--seeds N] [--workers N] [--preset NAME ...]

DIR has ``gold-dev.jsonl``: half of the 2,167 news articles in 68 clusters of Theobald et al. (2008), "SpotSigs". The
protocols that every user may want are in ``scrapy neardup eval``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

from all_pairs import score_all_pairs

from scrapy_neardup.content import source_of
from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.lab.labels import read_labelled
from scrapy_neardup.lab.pages import PageReader, RecordedPage
from scrapy_neardup.lab.protocols import Order, Score, evaluate, mean, online
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import PRESETS, Sketcher

LABEL = "cluster"
GOLD_SET = "gold set"
_ONE_LINK = "one link a document, originals first, a wrong link counted once"
_PAIRS = "all pairs"
_CLUSTERS = "B-cubed over the closure of all pairs"
_NOT_SAID = "not said there"


@dataclass(frozen=True, slots=True)
class Published:
    """A figure of a paper; ``preset`` is None for systems that are no preset.

    ``ours`` is the protocol of ``scrapy neardup eval`` that counts in the same way, "" if there is none.
    ``reported_in`` names the paper that has the figure, and who measured it if these are not the system's authors.
    """

    system: str
    preset: str | None
    precision: float | None
    recall: float | None
    f1: float
    data: str
    protocol: str
    ours: str
    reported_in: str

    def __str__(self) -> str:
        rates = f"P {self.precision} R {self.recall} " if self.precision is not None else ""
        return f"{rates}F {self.f1}, {self.data}"


_ANDD = "Hajishirzi et al. 2010, in Rodier and Carter 2020, table 4"
_IN_TABLE_5 = "measured by Zhang et al. 2016, in Mohammadi and Khasteh 2020, table 5"
_CEDAR_DATA = "1,621 pages of 27 sites, half of them"

PUBLISHED = (
    Published(
        "Rodier and Carter 2020",
        "nrc",
        *(0.971, 0.940, 0.955),
        GOLD_SET,
        _ONE_LINK,
        "original-first-once",
        "their table 3",
    ),
    Published("Gibson et al. 2008", "cedar", 0.992, 0.979, 0.985, _CEDAR_DATA, _PAIRS, "all-pairs", "their table 3"),
    Published(
        "Gibson et al. 2008",
        "cedar",
        *(0.992, 0.979, 0.985),
        _CEDAR_DATA,
        _CLUSTERS,
        "all-pairs-b-cubed",
        "their table 3",
    ),
    Published(
        "Montanari and Puglisi 2012, threshold 0.8",
        "ddd",
        *(None, None, 0.953),
        "744 items of one channel in a day, 111 pairs",
        _PAIRS,
        "all-pairs",
        "their abstract; the body has the best F at 0.7 and names no figure",
    ),
    Published(
        "Simhash of Charikar 2002",
        "simhash",
        0.85,
        0.45,
        0.59,
        GOLD_SET,
        _NOT_SAID,
        "",
        f"{_IN_TABLE_5}; Hu and You 2017 report no figure",
    ),
    Published("Mohammadi and Khasteh 2020", "multiref", 0.87, 0.98, 0.92, GOLD_SET, _NOT_SAID, "", "their table 5"),
    Published(
        "SpotSigs",
        None,
        0.96,
        0.92,
        0.94,
        GOLD_SET,
        _NOT_SAID,
        "",
        "Theobald et al. 2008, in Rodier and Carter 2020, table 4",
    ),
    Published("SpotSigs", None, 0.90, 0.77, 0.83, GOLD_SET, _NOT_SAID, "", _IN_TABLE_5),
    Published("SigNCD", None, 0.95, 0.89, 0.92, GOLD_SET, _NOT_SAID, "", "Zhang et al. 2016, in both tables"),
    Published("SpotSigNCD", None, 0.97, 0.87, 0.92, GOLD_SET, _NOT_SAID, "", _IN_TABLE_5),
    Published("NCD", None, 0.90, 0.78, 0.83, GOLD_SET, _NOT_SAID, "", _IN_TABLE_5),
    Published("ANDD-Raw", None, None, None, 0.956, GOLD_SET, _NOT_SAID, "", _ANDD),
    Published("ANDD-LSH-Cos", None, 0.965, 0.923, 0.943, GOLD_SET, _NOT_SAID, "", _ANDD),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("NEARDUP_DATA"))
    parser.add_argument("--seeds", type=int, default=3, help="random orders of the gold set")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="extraction processes")
    parser.add_argument("--preset", nargs="+", choices=PRESETS, default=list(PRESETS))
    options = parser.parse_args()
    if options.data is None:
        parser.error("--data DIR, or NEARDUP_DATA, is needed")
    labelled = read_labelled(options.data / "gold-dev.jsonl", [LABEL])
    with PageReader(NearDupSettings(), options.workers) as reader:
        pages = [page for page in reader.read(labelled.documents) if isinstance(page, RecordedPage)]
    clusters = labelled.clusters[LABEL]
    print("| preset | protocol | P | R | F1 | published by this protocol |\n|---|---|---|---|---|---|")
    for preset in options.preset:
        scores = asyncio.run(online_scores(pages, clusters, NearDupSettings(preset=preset), range(options.seeds)))
        pairs = score_all_pairs(PRESETS[preset], fingerprints(pages, preset), {LABEL: clusters})[LABEL]
        for protocol, score in {**scores, **pairs.scores()}.items():
            published = "; ".join(str(row) for row in PUBLISHED if (row.preset, row.ours) == (preset, protocol))
            rates = " | ".join(f"{rate:.3f}" for rate in (score.precision, score.recall, score.f1))
            print(f"| {preset} | {protocol} | {rates} | {published} |")
        print(f"| {preset} | AU-ROC | | | {pairs.area_under_roc:.3f} | |", flush=True)
    print("\n| system | P | R | F1 | data | protocol | reported by |\n|---|---|---|---|---|---|---|")
    for row in PUBLISHED:
        rates = " | ".join("" if rate is None else f"{rate:.3f}" for rate in (row.precision, row.recall, row.f1))
        print(f"| {row.system} | {rates} | {row.data} | {row.protocol} | {row.reported_in} |")


async def online_scores(
    pages: Sequence[RecordedPage], clusters: Sequence[str | None], settings: NearDupSettings, seeds: Sequence[int]
) -> dict[str, Score]:
    """Return the mean scores of online links: in random orders, and in those that begin with the originals."""
    plain = await evaluate(pages, settings, seeds)
    first = await evaluate(pages, settings, seeds, arrange=Originals.of(pages, clusters).first)
    return {
        "online": plain.mean_scores(clusters)["online"],
        "online-once": online_once(plain.orders, clusters),
        "original-first": first.mean_scores(clusters)["online"],
        "original-first-once": online_once(first.orders, clusters),
    }


def online_once(orders: Sequence[Order], clusters: Sequence[str | None]) -> Score:
    """Return the mean of ``online`` in which a copy with a wrong link counts once: as false, and not as missed too.

    Rodier and Carter (2020, section 3.2) count in this way.
    """
    scores = []
    for order in orders:
        names, links = order.as_they_came(order.matches, clusters)
        score, seen, missed, right = online(names, links), set[str | None](), 0, 0
        for name, link in zip(names, links, strict=True):
            missed += name is not None and name in seen and link is None
            right += link is not None and name is not None and names[link] == name
            seen.add(name)
        scores.append(Score.from_rates(score.precision, right / (right + missed) if right + missed else 1.0))
    return mean(scores)


@dataclass(frozen=True, slots=True)
class Originals:
    """The cluster of each document, None for background, and the position of the original of each cluster."""

    clusters: Sequence[Hashable]
    position: dict[Hashable, int]

    @classmethod
    def of(cls, pages: Sequence[RecordedPage], clusters: Sequence[str | None]) -> Originals:
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


def fingerprints(pages: Sequence[RecordedPage], preset: str) -> list[Fingerprint]:
    """Return the fingerprints of all pages in their order, as in a window that forgets nothing."""
    settings, prints = NearDupSettings(preset=preset), []
    sketcher = Sketcher(settings.resolved_preset(), **settings.sketch_options())
    for page in pages:
        recorded = page.recorded
        document = Document("00" * 8, recorded.url, source_of(recorded.url), recorded.title, page.text, 0.0)
        prints.append(sketcher.fingerprint(document))
        sketcher.learn(prints[-1])
    return prints


if __name__ == "__main__":
    main()
