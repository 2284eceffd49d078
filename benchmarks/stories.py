"""Measure how well coverage of one event joins one story, in whatever words it is written.

usage: python benchmarks/stories.py [--data DIR] [--orders 5] [--workers N] [--only SET ...] [--embedder PATH]

DIR as for accuracy.py. Four sets are measured:

rewritten  reports of events in other words, among other pages, all at random times within one window. A story is for
           one window, so reports that appeared more than three days apart neither belong together nor count as mixed.
same       reports of pairs of events that resemble each other
gold       the gold set, in which clusters about one event count as one
stream     real pages at their real times: links and stories, by the labels of people who read them

``--embedder PATH`` measures with a language model, see NEARDUP_EMBEDDER. Put the folder of its module on PYTHONPATH.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from read_stories import Link, report_large_events, report_links, report_pairs, report_stories
from shared import add_workers, data_parser, print_table, read_pages, unpacked

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.index.batch import CheckedDocument
from scrapy_neardup.rules.match import Match
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.tools.commands.eval import COPIES, Score, mean_rates, online
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_checked, read_labelled
from scrapy_neardup.tools.lab.replay import PageReader, RecordedPage, opened, replay

SETS = ("rewritten", "same", "gold", "stream")
SETTINGS = NearDupSettings(store="memory://")
START = 1_573_776_000.0  # 15 November 2019, UTC
WINDOW = 23.9 * 3600  # all documents are seen within this time
NEAR = 3 * 24 * 3600  # seconds
ONE_EVENT = {  # merged label -> event: wire stories and later reports on one event are two clusters of copies
    "Release": "Adobe",
    "Judgement": "FCC_Water",
    "People": "Gum",
    "Paparazzi": "Plea",
    "Plot": "Saddam_Execution",
    "Tsunami2": "Tsunami",
    "Tsunami3": "Tsunami",
}


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--orders", type=int, default=5, help="random orders of the labelled sets")
    parser.add_argument("--only", nargs="+", choices=SETS, default=SETS, metavar="SET", help=f"of {', '.join(SETS)}")
    parser.add_argument("--embedder", metavar="PATH", help="import path of a callable or class, see NEARDUP_EMBEDDER")
    add_workers(parser)
    options = parser.parse_args()
    settings = replace(SETTINGS, embedder=options.embedder)
    with ExitStack() as stack:
        data = unpacked(options.data, stack)
        reader = stack.enter_context(PageReader(settings, options.workers, sketches=True))
        pages = {
            name: read_pages(reader, data / f"{name}-dev.jsonl")
            for name, needed in (("gold", {"gold"}), ("stream", {"rewritten", "stream"}))
            if needed.intersection(options.only)
        }
        orders = range(options.orders)
        if "rewritten" in options.only:
            corpus = _corpus(data / "rewritten-dev.jsonl", pages["stream"])
            title = f"Reports in other words: {corpus.count_events()} events among {len(pages['stream'])} pages"
            _print_scores(title, corpus, _orders(corpus, settings, orders), "pairs: precision >= 0.94; B-cubed >= 0.95")
        if "same" in options.only:
            corpus = _corpus(data / "same-event.jsonl")
            title = f"Pairs of events that resemble each other: {len(corpus.pages)} reports"
            _print_scores(title, corpus, _orders(corpus, settings, orders), "pairs: precision >= 0.90, recall >= 0.5")
        if "gold" in options.only:
            clusters = {label: read_labelled(data / "gold-dev.jsonl", label)[1] for label in ("cluster", "merged")}
            events = [ONE_EVENT.get(name, name) for name in clusters["merged"]]
            corpus = Corpus(pages["gold"], events, [None] * len(events))
            judged = _orders(corpus, settings, orders)
            _print_scores(f"Gold set by event: {len(events)} pages", corpus, judged, "B-cubed F1 >= 0.95")
            rows = [(label, *_rates([_online(order, names) for order in judged])) for label, names in clusters.items()]
            print_table("Gold set: online, copies only", ("label", "precision", "recall", "F1"), rows)
        if "stream" in options.only:
            _stream(pages["stream"], settings)


# Stories of one order


@dataclass(frozen=True)
class Corpus:
    """Pages with the event of each, None for background, and when each appeared, None if that is unknown."""

    pages: Sequence[RecordedPage]
    events: Sequence[str | None]
    published: Sequence[float | None]

    def are_near(self, one: int, other: int) -> bool:
        """Return whether two pages may have been in one window, as far as is known."""
        first, second = self.published[one], self.published[other]
        return first is None or second is None or abs(first - second) <= NEAR

    def count_events(self) -> int:
        return len(set(self.events) - {None})


def _corpus(path: Path, others: Sequence[RecordedPage] = ()) -> Corpus:
    recorded = read_checked([path])
    pages = [RecordedPage(each, each.text or "") for each in recorded]
    events = [*(str(each.extra["cluster"]) for each in recorded), *([None] * len(others))]
    return Corpus([*pages, *others], events, [*map(_published, recorded), *([None] * len(others))])


def _published(recorded: RecordedDocument) -> float | None:
    given = recorded.extra.get("published")
    return datetime.fromisoformat(given).replace(tzinfo=timezone.utc).timestamp() if isinstance(given, str) else None


class Answer(NamedTuple):
    document: str
    status: str
    story: str
    match: Match | None


async def judge(
    pages: Iterable[RecordedPage],
    settings: NearDupSettings = SETTINGS,
    on_event: Callable[[StoryEvent], None] = lambda event: None,
) -> list[Answer]:
    """Return one answer a page. Stories are those that are known at the end."""
    detector = NearDupDetector(settings, run="")
    matches: dict[str, Match | None] = {}
    check = detector.index.documents.check

    async def remember(*arguments: Any) -> list[Any]:
        answers = await check(*arguments)
        matches.update((each.key.hex(), each.decision.match) for each in answers if isinstance(each, CheckedDocument))
        return answers

    detector.index.documents.check = remember  # type: ignore[method-assign]
    async with opened(detector):
        judged = [each async for each in replay(pages, detector, on_event)]
        final = await detector.final_stories()
    answers = []
    for number, each in enumerate(judged):
        document = each.document.id if each.document else f"none {number}"
        story = each.verdict.story or document
        answers.append(Answer(document, each.verdict.status, final.get(story, story), matches.get(document)))
    return answers


class Order(NamedTuple):
    """Pages as they came in one random order: the place of each in the corpus, and its answer."""

    came: list[int]
    answers: list[Answer]


def _orders(corpus: Corpus, settings: NearDupSettings, seeds: Iterable[int]) -> list[Order]:
    """Judge all pages at random times within one window, once for each seed."""
    orders = []
    for seed in seeds:
        draw = random.Random(seed)
        times = [START + draw.uniform(0, WINDOW) for _ in corpus.pages]
        came = sorted(range(len(times)), key=times.__getitem__)
        timed = (
            replace(corpus.pages[each], recorded=replace(corpus.pages[each].recorded, time=times[each]))
            for each in came
        )
        orders.append(Order(came, asyncio.run(judge(timed, settings))))
    return orders


def _rates(scores: Sequence[Score]) -> tuple[str, str, str]:
    precision, recall, f1 = mean_rates(scores).values()
    return f"{precision:.3f}", f"{recall:.3f}", f"{f1:.3f}"


def _print_scores(title: str, corpus: Corpus, orders: Sequence[Order], asked: str) -> None:
    """Print the means over the orders: of pairs and B-cubed, over the pages that are near each other."""
    scores = zip(*(_near_scores(corpus, order) for order in orders), strict=True)
    rows = [(name, *_rates(each)) for name, each in zip(("pairs", "B-cubed"), scores, strict=True)]
    print_table(f"{title}, {len(orders)} orders; asked: {asked}", ("stories", "precision", "recall", "F1"), rows)


def _near_scores(corpus: Corpus, order: Order) -> tuple[Score, Score]:
    by_story, by_event = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
    story_of = {place: answer.story for place, answer in zip(*order, strict=True)}
    for place, event in enumerate(corpus.events):
        by_story[story_of[place]].append(place)
        if event is not None:
            by_event[event].append(place)
    right = found = wanted = 0.0
    rates: list[tuple[float, float]] = []
    for event, places in by_event.items():
        for place in places:
            together = [each for each in by_story[story_of[place]] if corpus.are_near(place, each)]
            own = [each for each in places if corpus.are_near(place, each)]
            common = sum(corpus.events[each] == event for each in together)
            rates.append((common / len(together), common / len(own)))
            right, wanted = right + common - 1, wanted + len(own) - 1
            # A pair of two labelled pages is met from both of its ends, a pair with a page of the background from one.
            found += sum(1 if corpus.events[each] else 2 for each in together) - 1
    precision, recall = (sum(column) / len(rates) for column in zip(*rates, strict=True))
    return Score.of(right, found, wanted), Score(precision, recall)


def _online(order: Order, clusters: Sequence[str]) -> Score:
    """Score copies by the document of which each was recognised."""
    arrival = {answer.document: number for number, answer in enumerate(order.answers)}
    links = [arrival[answer.match.id] if answer.status in COPIES and answer.match else None for answer in order.answers]
    return online([clusters[each] for each in order.came], links)


# Real pages


def _stream(pages: Sequence[RecordedPage], settings: NearDupSettings) -> None:
    came = sorted(pages, key=lambda page: page.recorded.time or 0.0)
    events: list[StoryEvent] = []
    answers = asyncio.run(judge(came, settings, events.append))
    report_links(links_of(came, answers))
    stories = defaultdict[str, list[RecordedPage]](list)
    for page, answer in zip(came, answers, strict=True):
        stories[answer.story].append(page)
    report_pairs([*stories.values()])
    report_stories([each for each in stories.values() if len({source_of(page.recorded.url) for page in each}) >= 4])
    raised = {event.story.id for event in events}  # the id of a story is that of its first document
    first = {answer.story for answer in answers if answer.document in raised}
    report_large_events([(members, name in first) for name, members in stories.items()])


def links_of(pages: Sequence[RecordedPage], answers: Sequence[Answer]) -> list[Link]:
    page_of = {answer.document: page for page, answer in zip(pages, answers, strict=True)}
    return [
        Link(page, page_of[answer.match.id], answer.match.topic_score)
        for page, answer in zip(pages, answers, strict=True)
        if answer.status == "related" and answer.match
    ]


if __name__ == "__main__":
    main()
