"""Measure how well coverage of one event joins one story, in whatever words it is written.

usage: python benchmarks/stories.py [--data DIR] [--orders 5] [--workers N] [--only SET ...] [--read FILE]
                                      [--embedder PATH]

DIR as for accuracy.py. Four sets are measured:

rewritten  reports of events in other words, among other pages, all at random times within one window. A story is for
           one window, so reports that appeared more than three days apart neither belong together nor count as mixed.
same       reports of pairs of events that resemble each other
gold       the gold set, in which clusters about one event count as one
stream     real pages at their real times: links and stories, by the labels of people who read them

``--read FILE`` writes the links and stories of real pages that nobody has labelled; see labels/README.md.

``--embedder PATH`` measures with a language model, see NEARDUP_EMBEDDER. Put the folder of its module on PYTHONPATH.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from read_stories import Link, report_large_events, report_links, report_pairs, report_stories, write_unread
from shared import data_parser, print_table, read_pages, unpacked

from scrapy_neardup.content.embedding import shared_embedding
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.evidence.vectors import text_to_embed
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.registration import CheckedDocument
from scrapy_neardup.rules.match import Match
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.tools.lab.evaluation import COPIES, Score, mean, online
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_background, read_labelled
from scrapy_neardup.tools.lab.replay import PageReader, RecordedPage, replay

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
    global SETTINGS
    parser = data_parser(__doc__)
    parser.add_argument("--orders", type=int, default=5, help="random orders of the labelled sets")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--only", nargs="+", choices=SETS, default=SETS, metavar="SET", help=f"of {', '.join(SETS)}")
    parser.add_argument("--read", type=Path, metavar="FILE", help="write the links and stories without a label")
    parser.add_argument("--embedder", metavar="PATH", help="import path of a callable or class, see NEARDUP_EMBEDDER")
    options = parser.parse_args()
    SETTINGS = replace(SETTINGS, embedder=options.embedder)
    with ExitStack() as stack:
        data = unpacked(options.data, stack)
        with PageReader(SETTINGS, options.workers, sketches=True) as reader:
            others = (
                read_pages(reader, read_background([data / "stream-dev.jsonl"])) if options.only != ["same"] else []
            )
            gold_pages = (
                read_pages(reader, read_background([data / "gold-dev.jsonl"])) if "gold" in options.only else []
            )
        rewritten = _corpus(data / "rewritten-dev.jsonl", others) if "rewritten" in options.only else None
        same = _corpus(data / "same-event.jsonl") if "same" in options.only else None
        if options.embedder:
            labelled = [page for corpus in (rewritten, same) if corpus for page in corpus.pages]
            _embed_ahead([*others, *gold_pages, *labelled])
        if rewritten:
            _rewritten(rewritten, options.orders, options.workers)
        if same:
            _same(same, options.orders, options.workers)
        if gold_pages:
            clusters = {label: read_labelled(data / "gold-dev.jsonl", label)[1] for label in ("cluster", "merged")}
            _gold(gold_pages, clusters, options.orders, options.workers)
        if "stream" in options.only:
            _stream(others, options.read)


def _embed_ahead(pages: Sequence[RecordedPage]) -> None:
    """Embed pages once, before the processes that judge them begin with a copy of this one."""
    embedding = shared_embedding(SETTINGS.embedder or "")
    start = time.perf_counter()
    for vector in [embedding.submit(text_to_embed(page.title, page.text)) for page in pages]:
        vector.result()
    print(f"{SETTINGS.embedder}: {time.perf_counter() - start:.0f} s; {embedding.failures} failed")


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

    @cached_property
    def names(self) -> list[str]:
        return sorted({event for event in self.events if event is not None})


def _corpus(path: Path, others: Sequence[RecordedPage] = ()) -> Corpus:
    recorded = read_background([path])
    pages = [RecordedPage(each, each.text or "") for each in recorded]
    events = [*(str(each.extra["cluster"]) for each in recorded), *([None] * len(others))]
    return Corpus([*pages, *others], events, [*map(_published, recorded), *([None] * len(others))])


def _published(recorded: RecordedDocument) -> float | None:
    given = recorded.extra.get("published")
    return datetime.fromisoformat(given).replace(tzinfo=timezone.utc).timestamp() if isinstance(given, str) else None


class Order(NamedTuple):
    """For each page, in the order of the corpus: the page that began its final story, and the page that it is a copy
    of (or None). ``came`` holds the positions of the pages in the order in which they came."""

    stories: list[str]
    copies: list[int | None]
    came: list[int]


class Listener(NearDupDetector):
    """A detector that remembers the match of each document."""

    def __init__(self, settings: NearDupSettings) -> None:
        super().__init__(settings, run="")
        self.matches: dict[str, Match] = {}
        check = self.index.documents.check

        async def remember(*arguments: Any) -> list[CheckedDocument | StoreError]:
            answers = await check(*arguments)
            checked = [each for each in answers if isinstance(each, CheckedDocument)]
            self.matches |= {each.id: each.decision.match for each in checked if each.decision.match}
            return answers

        self.index.documents.check = remember  # type: ignore[method-assign]


class Answer(NamedTuple):
    document: str
    status: str
    story: str
    match: Match | None


async def _judge(
    pages: Iterable[RecordedPage], on_event: Callable[[StoryEvent], None] = lambda event: None
) -> list[Answer]:
    """Return one answer a page. Stories are those that are known at the end."""
    detector = Listener(SETTINGS)
    await detector.open()
    try:
        judged = [each async for each in replay(pages, detector, on_event)]
        final = await detector.final_stories()
    finally:
        await detector.close()
    answers = []
    for number, each in enumerate(judged):
        document = each.document.id if each.document else f"none {number}"
        story = each.verdict.story or document
        answers.append(Answer(document, each.verdict.status, final.get(story, story), detector.matches.get(document)))
    return answers


def _order(corpus: Corpus, seed: int) -> Order:
    """Judge all pages at random times within one window."""
    draw = random.Random(seed)
    times = [START + draw.uniform(0, WINDOW) for _ in corpus.pages]
    came = sorted(range(len(times)), key=times.__getitem__)
    timed = (
        replace(corpus.pages[each], recorded=replace(corpus.pages[each].recorded, time=times[each])) for each in came
    )
    answers = asyncio.run(_judge(timed))
    position = {answer.document: place for place, answer in zip(came, answers, strict=True)}
    stories: list[str] = [""] * len(came)
    copies: list[int | None] = [None] * len(came)
    for place, answer in zip(came, answers, strict=True):
        stories[place] = answer.story
        if answer.status in COPIES and answer.match:
            copies[place] = position[answer.match.id]
    return Order(stories, copies, came)


_here: Corpus  # of a worker process


def _begin(corpus: Corpus) -> None:
    global _here
    _here = corpus


def _order_here(seed: int) -> Order:
    return _order(_here, seed)


def _orders(corpus: Corpus, seeds: int, workers: int) -> list[Order]:
    """Return one order for each seed."""
    with ProcessPoolExecutor(workers, initializer=_begin, initargs=(corpus,)) as pool:
        return list(pool.map(_order_here, range(seeds)))


def _rates(score: Score) -> tuple[str, str, str]:
    return f"{score.precision:.3f}", f"{score.recall:.3f}", f"{score.f1:.3f}"


def _scores(corpus: Corpus, orders: Sequence[Order]) -> tuple[Score, Score]:
    """Return the means over the orders: of pairs and B-cubed, over the pages that are near each other."""
    each = [_near_scores(corpus, order.stories) for order in orders]
    return mean([pairs for pairs, _ in each]), mean([documents for _, documents in each])


def _near_scores(corpus: Corpus, stories: Sequence[str]) -> tuple[Score, Score]:
    by_story, by_event = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
    for place, (event, story) in enumerate(zip(corpus.events, stories, strict=True)):
        by_story[story].append(place)
        if event is not None:
            by_event[event].append(place)
    right = found = wanted = 0.0
    rates: list[tuple[float, float]] = []
    for event, places in by_event.items():
        for place in places:
            together = [each for each in by_story[stories[place]] if corpus.are_near(place, each)]
            own = [each for each in places if corpus.are_near(place, each)]
            common = sum(corpus.events[each] == event for each in together)
            rates.append((common / len(together), common / len(own)))
            right, wanted = right + common - 1, wanted + len(own) - 1
            # A pair of two labelled pages is met from both of its ends, a pair with a page of the background from one.
            found += sum(1 if corpus.events[each] else 2 for each in together) - 1
    precision, recall = (sum(column) / len(rates) for column in zip(*rates, strict=True))
    return Score.of(right, found, wanted), Score.from_rates(precision, recall)


def _print_scores(title: str, corpus: Corpus, orders: Sequence[Order], asked: Sequence[str]) -> None:
    names = "pairwise", "B-cubed"
    rows = [(name, *_rates(score)) for name, score in zip(names, _scores(corpus, orders), strict=True)]
    print_table(
        title,
        ("stories", "precision", "recall", "F1", "asked"),
        [(*row, ask) for row, ask in zip(rows, asked, strict=True)],
    )


# The labelled sets


def _rewritten(corpus: Corpus, seeds: int, workers: int) -> None:
    orders = _orders(corpus, seeds, workers)
    title = (
        f"Reports in other words: {len(corpus.names)} events among {corpus.events.count(None)} pages, {seeds} orders"
    )
    _print_scores(title, corpus, orders, ("precision >= 0.94", "F1 >= 0.95"))


def _same(corpus: Corpus, seeds: int, workers: int) -> None:
    orders = _orders(corpus, seeds, workers)
    title = f"Pairs of events that resemble each other: {len(corpus.pages)} reports, {seeds} orders"
    _print_scores(title, corpus, orders, ("precision >= 0.90, recall >= 0.5", ""))


def _gold(pages: Sequence[RecordedPage], clusters: dict[str, list[str]], seeds: int, workers: int) -> None:
    corpus = Corpus(pages, [ONE_EVENT.get(name, name) for name in clusters["merged"]], [None] * len(pages))
    orders = _orders(corpus, seeds, workers)
    _print_scores(f"Gold set by event: {len(pages)} pages, {seeds} orders", corpus, orders, ("", "F1 >= 0.95"))
    rows = [(label, *_rates(mean([_online(order, names) for order in orders]))) for label, names in clusters.items()]
    print_table("Gold set: online, copies only", ("label", "precision", "recall", "F1"), rows)


def _online(order: Order, clusters: Sequence[str]) -> Score:
    arrival = {place: number for number, place in enumerate(order.came)}
    links = (order.copies[place] for place in order.came)
    return online([clusters[each] for each in order.came], [None if link is None else arrival[link] for link in links])


# Real pages


def _stream(pages: Sequence[RecordedPage], unread: Path | None) -> None:
    came = sorted(pages, key=lambda page: page.recorded.time or 0.0)
    events: list[StoryEvent] = []
    answers = asyncio.run(_judge(came, events.append))
    page_of = {answer.document: page for page, answer in zip(came, answers, strict=True)}
    links: list[Link] = []
    stories: dict[str, list[RecordedPage]] = {}
    for page, answer in zip(came, answers, strict=True):
        stories.setdefault(answer.story, []).append(page)
        if answer.status == "related" and answer.match:
            other = page_of[answer.match.id]
            same_source = source_of(page.recorded.url) == source_of(other.recorded.url)
            links.append(Link(page, other, answer.match.topic_score, same_source))
    report_links(links)
    report_pairs([*stories.values()])
    large = [members for members in stories.values() if _sources(members) >= 4]
    report_stories(large)
    raised = {event.story.id for event in events}  # the id of a story is that of its first document
    first = {answer.story for answer in answers if answer.document in raised}
    report_large_events([(members, name in first) for name, members in stories.items()])
    if unread:
        write_unread(unread, links, large)


def _sources(members: Sequence[RecordedPage]) -> int:
    return len({source_of(page.recorded.url) for page in members})


if __name__ == "__main__":
    main()
