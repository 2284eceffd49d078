"""Measure how correctly and how soon events are raised, on labelled documents at their own times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.evaluation.pages import Page
from scrapy_neardup.evaluation.replay import opened, replay
from scrapy_neardup.settings import NearDupSettings

_DAY = 24 * 3600


@dataclass(frozen=True, slots=True)
class AlarmScore:
    """``found`` of the ``wanted`` events were raised.

    ``delay`` is their median delay in seconds, None if none was found.
    """

    wanted: int
    found: int
    delay: float | None
    false_a_day: float

    @property
    def recall(self) -> float:
        """Return the share of events that were found, in [0, 1]; 1 if there are none."""
        return self.found / self.wanted if self.wanted else 1.0

    def rounded(self) -> dict[str, float | None]:
        """Return the figures by their names, for output."""
        return {
            "wanted": self.wanted,
            "found": self.found,
            "recall": round(self.recall, 4),
            "delay_minutes": None if self.delay is None else round(self.delay / 60, 1),
            "false_a_day": round(self.false_a_day, 2),
        }


async def raise_alarms(pages: Sequence[Page], settings: NearDupSettings) -> list[int]:
    """Judge the pages in the order of their times, in an empty window in memory.

    Return the positions of the pages that tip a story to ``breaking``. Every page needs a recorded time.
    """
    order = sorted(range(len(pages)), key=lambda position: pages[position].recorded.time or 0.0)
    async with opened(NearDupDetector(replace(settings, store="memory://"), run="")) as detector:
        judged = [each async for each in replay((pages[position] for position in order), detector)]
    return [position for position, each in zip(order, judged, strict=True) if each.verdict.event == "breaking"]


def score_alarms(
    alarms: Sequence[int], times: Sequence[float], clusters: Sequence[str | None], size: int
) -> AlarmScore:
    """Score alarms, which are positions of documents in the order of their times.

    ``times`` (Unix seconds) and ``clusters`` are those of all documents; background documents have the cluster None. A
    cluster of at least ``size`` documents is an event. It is found by the first alarm at one of its documents, and its
    delay counts from its first document. An alarm is false if it is raised at a background document, or if its cluster
    has raised one before. The first alarm of a smaller cluster counts neither as found nor as false.
    """
    sizes = Counter(cluster for cluster in clusters if cluster is not None)
    began: dict[str | None, float] = {}
    for cluster, time in zip(clusters, times, strict=True):
        began[cluster] = min(time, began.get(cluster, time))
    wanted = {cluster for cluster, documents in sizes.items() if documents >= size}
    raised: dict[str, float] = {}
    false = 0
    for position in alarms:
        cluster = clusters[position]
        if cluster is None or cluster in raised:
            false += 1
        else:
            raised[cluster] = times[position] - began[cluster]
    delays = [delay for cluster, delay in raised.items() if cluster in wanted]
    days = max(1.0, (max(times) - min(times)) / _DAY) if times else 1.0
    return AlarmScore(len(wanted), len(delays), median(delays) if delays else None, false / days)
