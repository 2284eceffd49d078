"""Measure how correct the verdicts on real pages are, by pairs that people read one by one.

Also find the copies that only brute force finds.

usage: python benchmarks/real_pages.py [--data DIR] [--set stream-dev|day-dev] [--half seen|unseen|both]
                                       [--extractor NAME] [--workers N]

DIR as for accuracy.py. The pages of a set are judged with default settings at their real times. ``day-dev`` has texts,
so the extractor is not used. Whoever changes a rule looks at pages of the ``seen`` half of the sources only, and
measures the other half at the end. See labels/README.md for the labels.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import combinations
from typing import Any, NamedTuple

from shared import HALVES, add_workers, data_parser, half_of, print_table, read_labels, unpacked

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Verdict
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.commands.eval import COPIES
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_checked
from scrapy_neardup.tools.lab.replay import PageReader, RecordedPage, replay

SETS = ("stream-dev", "day-dev")
DAY = 24 * 3600
NOT_NEWS = ("wall", "template", "links", "gallery")  # text that brute force need not find again
RATINGS = ("right", "arguable", "version", "wrong", "unread")  # version: a duplicate that says something new
STATES = ("found", "other", "missed", "aside")
Key = tuple[str, str]


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--set", choices=SETS, default=SETS[0], help="of pages")
    parser.add_argument("--half", choices=(*HALVES, "both"), default="both", help="of the sources")
    parser.add_argument("--extractor", default="trafilatura")
    add_workers(parser)
    options = parser.parse_args()
    labels = {_key(row["a"], row["b"]): Label(row) for row in read_labels(options.set)}
    with ExitStack() as stack:
        path = unpacked(options.data, stack) / f"{options.set}.jsonl"
        recorded = [each for each in read_checked([path]) if options.half in ("both", half_of(each.url))]
        recorded.sort(key=lambda each: each.time or 0.0)
        settings = NearDupSettings(store="memory://", extractor=options.extractor)
        reader = stack.enter_context(PageReader(settings, options.workers))
        run = asyncio.run(_judge(recorded, settings, reader))
    _report(run, labels)


class Label:
    """What a reader said of a pair: ``holder`` is the page that holds the other one and adds much, or ""."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.label: str = row["label"]
        self.reason: str = row["class"]
        self.holder: str = row.get("holder", "")
        self.has_new_figures = bool(row.get("figures"))

    def rate(self, verdict: Verdict, page: str) -> str:
        """Return how right the verdict on ``page`` is, which matched the other page of the pair: see RATINGS."""
        is_held = self.holder not in ("", page)  # nothing is lost without this page
        if verdict.status == "related":
            return "wrong" if self.label == "different" else "right"
        if verdict.status == "update":
            return self._rated(self.label == "version" or (self.label == "copy" and self.has_new_figures))
        if self.label == "version":
            return "right" if is_held else "version"
        if self.label in ("related", "different") and is_held:
            return "arguable"
        return self._rated(self.label == "copy")

    def _rated(self, is_right: bool) -> str:
        if is_right:
            return "right"
        return "arguable" if self.label == "arguable" else "wrong"


def _key(one: str, other: str) -> Key:
    return (one, other) if one < other else (other, one)


class Answer(NamedTuple):
    """A page with its document and verdict; ``match`` and ``original`` are ids of pages."""

    id: str
    page: RecordedPage
    document: Document
    verdict: Verdict
    match: str
    original: str

    @property
    def pair(self) -> Key:
        return _key(self.id, self.match)

    @property
    def is_copy(self) -> bool:
        return self.verdict.status in COPIES


class Run(NamedTuple):
    verdicts: Counter[tuple[str, str]]
    answers: dict[str, Answer]  # by id of the page; none of a page that could not be extracted

    def where(self, pair: Key) -> str:
        """Say whether both pages are of one source."""
        one, other = (self.answers[page].document.source for page in pair)
        return "within" if one == other else "across"

    def groups(self) -> dict[str, str]:
        """Return the group of each page; a copy or an update shares that of its match and its original."""
        parent = {page: page for page in self.answers}

        def root(page: str) -> str:
            while parent[page] != page:
                page = parent[page]
            return page

        for answer in self.answers.values():
            if answer.is_copy:
                for other in {answer.match, answer.original} & parent.keys():
                    parent[root(answer.id)] = root(other)
        return {page: root(page) for page in parent}


async def _judge(recorded: Sequence[RecordedDocument], settings: NearDupSettings, reader: PageReader) -> Run:
    detector = NearDupDetector(settings, run="")
    await detector.open()
    run = Run(Counter(), {})
    pages: dict[str | None, str] = {}  # document id -> id of the page
    async for judged in replay(reader.read(recorded), detector):
        verdict, document = judged.verdict, judged.document
        if verdict is None or not isinstance(judged.page, RecordedPage):
            continue
        run.verdicts[verdict.status, verdict.kind or verdict.reason or ""] += 1
        if document is not None:
            page = pages[document.id] = str(judged.page.recorded.id)
            others = (pages.get(other, "") for other in (verdict.match, verdict.original))
            run.answers[page] = Answer(page, judged.page, document, verdict, *others)
    await detector.close()
    return run


def _report(run: Run, labels: dict[Key, Label]) -> None:
    matched = [answer for answer in run.answers.values() if answer.match]
    rows = [(status, kind, count) for (status, kind), count in sorted(run.verdicts.items())]
    print_table(f"{run.verdicts.total()} pages", ("status", "kind or reason", "pages"), rows)
    _precision(run, matched, labels)
    forced = _contained(run.answers.values())
    _brute_force(run, labels, forced)
    found = {answer.pair: f"{answer.verdict.status} of {answer.id} by {answer.match}" for answer in matched}
    forced_only = {pair: f"brute force: containment {share:.2f}" for pair, share in forced.items()}
    unread = {pair: how for pair, how in (forced_only | found).items() if pair not in labels}
    print(f"\n{len(unread)} pairs without a label; all but those called related:")
    for pair, how in unread.items():
        if not how.startswith("related"):
            print(f"- {pair[0]} {pair[1]}: {how}")


def _precision(run: Run, matched: Sequence[Answer], labels: dict[Key, Label]) -> None:
    """Print how right the verdicts are, and each copy that is none."""
    groups: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for answer in matched:
        verdict = answer.verdict
        label = labels.get(answer.pair)
        where = run.where(answer.pair)
        rated = label.rate(verdict, answer.id) if label else "unread"
        groups[verdict.status, where][rated] += 1
        if verdict.status == "duplicate":
            groups[f"duplicate/{verdict.kind}", where][rated] += 1
        if verdict.would_drop:
            loses = label is not None and label.holder == answer.id
            groups["what drop takes", where]["wrong" if loses else rated] += 1
        if label and answer.is_copy and rated in ("version", "wrong"):
            name = f"{label.label} {label.reason}".strip()
            print(f"- wrong: {verdict.status} {where} {answer.id} by {answer.match}, {name}, share {verdict.share}")
    rows = []
    for (name, where), counts in sorted(groups.items()):
        decided = counts["right"] + counts["wrong"]
        shares = (counts["right"] / max(1, each) for each in (decided, decided + counts["version"]))
        rows.append((name, where, *(counts[rating] for rating in RATINGS), *(f"{share:.3f}" for share in shares)))
    head = ("verdict", "sites", *RATINGS, "precision", "precision if versions count as wrong")
    print_table("Within one site and across sites", head, rows)


# Brute force

# Characters of scripts without spaces are tokens of their own.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_WIDTH, _LEAST, _CONTAINED = 5, 80, 0.6
_COMMON = 200  # pages: a run of words in more of them is nobody's article


def _brute_force(run: Run, labels: dict[Key, Label], pairs: dict[Key, float]) -> None:
    """Print how many of the pairs that contain each other are found."""
    groups = run.groups()
    states = {pair: _state(run, pair, labels.get(pair), groups) for pair in pairs}
    rows = []
    for where in ("across", "within"):
        counts = Counter(state for pair, state in states.items() if run.where(pair) == where)
        rows.append((where, *(counts[state] for state in STATES)))
    title = f"Pairs with containment >= {_CONTAINED} of {_WIDTH}-word runs, found as copies or updates"
    head = ("sites", "found", "later page is a copy of another", "missed", "aside: walls, templates, other articles")
    print_table(title, head, rows)
    for pair, state in states.items():
        if state in ("other", "missed"):
            name = labels[pair].label if pair in labels else "unread"
            print(f"- {state} {run.where(pair)}: {pair[0]} {pair[1]}, containment {pairs[pair]:.2f}, {name}")


def _state(run: Run, pair: Key, label: Label | None, groups: dict[str, str]) -> str:
    if label and (label.label in ("related", "different") or label.reason in NOT_NEWS):
        return "aside"
    if groups[pair[0]] == groups[pair[1]]:
        return "found"
    later = max((run.answers[page] for page in pair), key=lambda answer: answer.document.seen_at)
    return "other" if later.is_copy else "missed"


def _contained(answers: Iterable[Answer]) -> dict[Key, float]:
    runs: dict[str, set[int]] = {}
    times: dict[str, float] = {}
    holders: dict[int, list[str]] = defaultdict(list)
    for answer in answers:
        tokens = _TOKEN.findall(answer.page.text.casefold())
        if len(tokens) >= _LEAST:
            runs[answer.id] = {hash(each) for each in zip(*(tokens[start:] for start in range(_WIDTH)), strict=False)}
            times[answer.id] = answer.document.seen_at
            for each in runs[answer.id]:
                holders[each].append(answer.id)
    shared: Counter[Key] = Counter()
    for pages in holders.values():
        if 1 < len(pages) <= _COMMON:
            shared.update(combinations(sorted(pages), 2))
    shares = {pair: count / min(len(runs[page]) for page in pair) for pair, count in sorted(shared.items())}
    return {
        (one, other): share
        for (one, other), share in shares.items()
        if share >= _CONTAINED and abs(times[one] - times[other]) < DAY
    }


if __name__ == "__main__":
    main()
