"""Measure how correct the verdicts on real pages are, by pairs that people read one by one.

Also find the copies that only brute force finds.

usage: python benchmarks/real_pages.py [--data DIR] [--set stream-dev|day-dev]
                                       [--half seen|unseen|both] [--order shuffled|time]
                                       [--extractor NAME|both] [--workers N] [--read FILE]

DIR as for accuracy.py. The pages of a set are judged with default settings at their real times, in one fixed random
order or in that of their times. ``day-dev`` has texts, so the extractor is not used. Whoever changes a rule looks at
pages of the ``seen`` half of the sources only, and measures the other half at the end. ``--read FILE`` writes the pairs
without a label for a reader. See labels/README.md for the labels.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from difflib import unified_diff
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from shared import HALVES, data_parser, half_of, print_table, unpacked

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Verdict
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.commands.eval import COPIES
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_background
from scrapy_neardup.tools.lab.replay import PageReader, RecordedPage, replay

SETS = ("stream-dev", "day-dev")
EXTRACTORS = ("trafilatura", "resiliparse")
SEED = 20191115
DAY = 24 * 3600
LABELS = Path(__file__).parent / "labels"
NOT_NEWS = ("wall", "template", "links", "gallery")  # text that brute force need not find again
_KINDS = {
    kind: kind for kind in ("copy", "version", "arguable")
}  # of labels for the second reader; the rest is "other"
NAMES = ("copy", "version", "related", "different", "arguable")
CLASSES = ("", "background", "series", "translation", *NOT_NEWS)
RATINGS = ("right", "arguable", "version", "wrong", "unread")  # version: a duplicate that says something new
STATES = ("found", "other", "missed", "aside")
Key = tuple[str, str]


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--set", choices=SETS, default=SETS[0], help="of pages")
    parser.add_argument("--half", choices=(*HALVES, "both"), default="both", help="of the sources")
    parser.add_argument("--order", choices=("shuffled", "time"), default="shuffled")
    parser.add_argument("--extractor", choices=(*EXTRACTORS, "both"), default="both")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="extraction processes")
    parser.add_argument("--read", type=Path, metavar="FILE", help="write the pairs without a label for a reader")
    options = parser.parse_args()
    labels = _read_labels(LABELS / f"{options.set}.jsonl")
    to_read: dict[Key, str] = {}
    with ExitStack() as stack:
        data = unpacked(options.data, stack)
        extractors = EXTRACTORS if options.extractor == "both" else (options.extractor,)
        for extractor in ("stored texts",) if options.set == "day-dev" else extractors:
            recorded = _recorded(data / f"{options.set}.jsonl", options.half, options.order)
            run = asyncio.run(_judge(recorded, extractor, options.workers))
            unread = _report(run, labels)
            if options.read:
                to_read |= {pair: _beside(run, pair, how) for pair, how in unread.items() if pair not in to_read}
    if options.read:
        options.read.write_text("\n".join(to_read.values()), encoding="utf-8")
        print(f"\n{len(to_read)} pairs without a label: {options.read}")


# Labels


@dataclass(frozen=True, slots=True)
class Label:
    label: str
    reason: str  # why the pair looks alike although it is no copy, or ""
    holder: str  # id of the page that holds the other one and adds much, or ""
    figures: bool  # a copy whose figures really changed

    def rate(self, verdict: Verdict, page: str) -> str:
        """Return how right the verdict on ``page`` is, which matched the other page of the pair: see RATINGS."""
        if verdict.status == "related":
            return "wrong" if self.label == "different" else "right"
        if verdict.status == "update":
            return self._rated(self.label == "version" or (self.label == "copy" and self.figures))
        if self.label == "version":
            return "right" if self._holds(page) else "version"
        if self.label in ("related", "different") and self._holds(page):
            return "arguable"
        return self._rated(self.label == "copy")

    def rate_drop(self, verdict: Verdict, page: str) -> str:
        """Rate as ``rate`` does; to take away a page that holds its match and adds much is wrong."""
        return "wrong" if self.holder == page else self.rate(verdict, page)

    def _holds(self, page: str) -> bool:
        """Whether the other page holds nearly all of this one, so that nothing is lost without it."""
        return self.holder not in ("", page)

    def _rated(self, is_right: bool) -> str:
        return "right" if is_right else "arguable" if self.label == "arguable" else "wrong"


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _read_labels(path: Path) -> dict[Key, Label]:
    labels: dict[Key, Label] = {}
    for number, row in enumerate(_rows(path), 1):
        key = _key(row["a"], row["b"])
        if row["label"] not in NAMES or row["class"] not in CLASSES:
            sys.exit(f"{path}:{number}: label {row['label']!r} or class {row['class']!r} is not in labels/README.md")
        if key in labels:
            sys.exit(f"{path}:{number}: the pair {key} has a label already")
        labels[key] = Label(row["label"], row["class"], row.get("holder", ""), bool(row.get("figures")))
    return labels


def _key(one: str, other: str) -> Key:
    return (one, other) if one < other else (other, one)


# Verdicts


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


@dataclass(frozen=True)
class Run:
    extractor: str
    verdicts: Counter[tuple[str, str]]
    answers: dict[str, Answer]  # by id of the page; none of a page that could not be extracted

    def where(self, pair: Key) -> str:
        """Whether both pages are of one source."""
        one, other = (self.answers[page].document.source for page in pair)
        return "within" if one == other else "across"

    def copies(self) -> dict[str, str]:
        """The group of each page; a copy or an update shares that of its match and its original."""
        parent = {page: page for page in self.answers}

        def root(page: str) -> str:
            while parent[page] != page:
                page = parent[page]
            return page

        for answer in self.answers.values():
            if answer.is_copy:
                for other in (answer.match, answer.original):
                    if other in parent:
                        parent[root(answer.id)] = root(other)
        return {page: root(page) for page in parent}


def _recorded(path: Path, half: str, order: str) -> list[RecordedDocument]:
    recorded = [each for each in read_background([path]) if half in ("both", half_of(each.url))]
    if order == "time":
        return sorted(recorded, key=lambda each: each.time or 0.0)
    random.Random(SEED).shuffle(recorded)
    return recorded


async def _judge(recorded: Sequence[RecordedDocument], extractor: str, workers: int) -> Run:
    settings = NearDupSettings(store="memory://", extractor=extractor if extractor in EXTRACTORS else EXTRACTORS[0])
    detector = NearDupDetector(settings, run="")
    await detector.open()
    verdicts: Counter[tuple[str, str]] = Counter()
    answers: dict[str, Answer] = {}
    pages: dict[str, str] = {}  # document id -> id of the page
    with PageReader(settings, workers) as reader:
        async for judged in replay(reader.read(recorded), detector):
            verdict, document = judged.verdict, judged.document
            if verdict is None or not isinstance(judged.page, RecordedPage):
                continue
            verdicts[verdict.status, verdict.kind or verdict.reason or ""] += 1
            if document is not None:
                page = str(judged.page.recorded.id)
                pages[document.id] = page
                others = (pages.get(other or "", "") for other in (verdict.match, verdict.original))
                answers[page] = Answer(page, judged.page, document, verdict, *others)
    await detector.close()
    return Run(extractor, verdicts, answers)


# The report


def _report(run: Run, labels: dict[Key, Label]) -> dict[Key, str]:
    """Print the tables of one run; return the pairs without a label, each with how it was found."""
    matched = [answer for answer in run.answers.values() if answer.match]
    rows = [(status, kind, count) for (status, kind), count in sorted(run.verdicts.items())]
    print_table(f"{run.extractor}: {run.verdicts.total()} pages", ("status", "kind or reason", "pages"), rows)
    _precision(run, matched, labels)
    _still_wrong(run, matched, labels)
    _second_reader(run, matched, labels)
    forced = _contained(run.answers.values())
    _brute_force(run, labels, forced)
    found = {answer.pair: _described(answer) for answer in sorted(matched, key=lambda each: each.verdict.status)}
    found |= {pair: f"brute force: containment {share:.2f}" for pair, share in forced.items() if pair not in found}
    unread = {pair: how for pair, how in found.items() if pair not in labels}
    print(f"\n{run.extractor}: {len(unread)} pairs without a label; all but those called related:")
    for pair, how in unread.items():
        if not how.startswith("related"):
            print(f"- {pair[0]} {pair[1]}: {how}")
    return unread


def _described(answer: Answer) -> str:
    verdict = answer.verdict
    kind = f"/{verdict.kind}" if verdict.kind else ""
    return (
        f"{verdict.status}{kind} of {answer.id} by {answer.match}: similarity {verdict.similarity}, "
        f"containment {verdict.containment}, share {verdict.share}, changes {'; '.join(verdict.changes) or '-'}"
    )


def _precision(run: Run, matched: Sequence[Answer], labels: dict[Key, Label]) -> None:
    groups: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for answer in matched:
        verdict, label = answer.verdict, labels.get(answer.pair)
        where = run.where(answer.pair)
        rated = label.rate(verdict, answer.id) if label else "unread"
        groups[verdict.status, where][rated] += 1
        if verdict.status == "duplicate":
            groups[f"duplicate/{verdict.kind}", where][rated] += 1
        if verdict.would_drop:
            groups["what drop takes", where][label.rate_drop(verdict, answer.id) if label else "unread"] += 1
    rows = []
    for (name, where), counts in sorted(groups.items()):
        right, version, wrong = counts["right"], counts["version"], counts["wrong"]
        shares = (f"{right / decided:.3f}" if decided else "-" for decided in (right + wrong, right + version + wrong))
        rows.append((name, where, *(counts[rating] for rating in RATINGS), *shares))
    head = ("verdict", "sites", *RATINGS, "precision", "precision if versions count as wrong")
    print_table(f"{run.extractor}: within one site and across sites", head, rows)


def _still_wrong(run: Run, matched: Sequence[Answer], labels: dict[Key, Label]) -> None:
    classes: Counter[tuple[str, ...]] = Counter()
    for answer in matched:
        label = labels.get(answer.pair)
        if label and label.rate(answer.verdict, answer.id) in ("version", "wrong"):
            where = run.where(answer.pair)
            classes[answer.verdict.status, where, label.label, label.reason or "-"] += 1
            if answer.is_copy:
                share = "-" if answer.verdict.share is None else f"{answer.verdict.share:.2f}"
                print(f"- wrong: {answer.verdict.status} {where} {answer.id} by {answer.match}, share {share}")
    rows = [(*names, count) for names, count in sorted(classes.items())]
    print_table(f"{run.extractor}: what is wrong", ("verdict", "sites", "label", "class", "pairs"), rows)


def _second_reader(run: Run, matched: Sequence[Answer], labels: dict[Key, Label]) -> None:
    """Print how often a second reader, who knew neither verdicts nor labels, agrees with the labels."""
    second = {_key(row["a"], row["b"]): row["label"] for row in _rows(LABELS / "stream-dev.second.jsonl")}
    both = Counter((_KINDS.get(labels[pair].label, "other"), label) for pair, label in second.items() if pair in labels)
    firsts, seconds = Counter[str](), Counter[str]()
    for (one, other), count in both.items():
        firsts[one] += count
        seconds[other] += count
    pairs = both.total()
    if not pairs:
        return
    agreed = sum(both[kind, kind] for kind in firsts) / pairs
    chance = sum(firsts[kind] * seconds[kind] for kind in firsts) / pairs**2
    kappa = (agreed - chance) / (1 - chance)
    print(f"\nboth readers have labelled {pairs} pairs of both halves: {agreed:.3f} alike, kappa {kappa:.3f}")
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for answer in matched:
        if answer.is_copy:
            where = run.where(answer.pair)
            counts[answer.verdict.status, where][second.get(answer.pair, "unread")] += 1
    kinds = ("copy", "version", "arguable", "other", "unread")
    rows = [(*group, *(count[kind] for kind in kinds)) for group, count in sorted(counts.items())]
    print_table(f"{run.extractor}: labels of the second reader", ("verdict", "sites", *kinds), rows)


# Brute force

# Characters of scripts without spaces are tokens of their own.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_WIDTH, _LEAST, _CONTAINED = 5, 80, 0.6
_COMMON = 200  # pages: a run of words in more of them is nobody's article


def _brute_force(run: Run, labels: dict[Key, Label], pairs: dict[Key, float]) -> None:
    """Print how many of the pairs that contain each other are found."""
    groups = run.copies()
    states = {pair: _state(run, pair, labels.get(pair), groups) for pair in pairs}
    rows = []
    for where in ("across", "within"):
        counts = Counter(state for pair, state in states.items() if run.where(pair) == where)
        rows.append((where, *(counts[state] for state in STATES)))
    title = f"{run.extractor}: pairs with containment >= {_CONTAINED} of {_WIDTH}-word runs, found as copies or updates"
    head = ("sites", "found", "later page is a copy of another", "missed", "aside: walls, templates, other articles")
    print_table(title, head, rows)
    for pair, state in states.items():
        if state in ("other", "missed"):
            label = labels.get(pair)
            name = f"{label.label} {label.reason}".strip() if label else "unread"
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
    for answer in answers:
        tokens = _TOKEN.findall(answer.page.text.casefold())
        if len(tokens) >= _LEAST:
            runs[answer.id] = {hash(each) for each in zip(*(tokens[start:] for start in range(_WIDTH)), strict=False)}
            times[answer.id] = answer.document.seen_at
    holders: dict[int, list[str]] = defaultdict(list)
    for page, hashes in runs.items():
        for each in hashes:
            holders[each].append(page)
    shared: Counter[Key] = Counter()
    for pages in holders.values():
        if 1 < len(pages) <= _COMMON:
            shared.update(combinations(sorted(pages), 2))
    shares = {pair: count / min(len(runs[page]) for page in pair) for pair, count in shared.items()}
    return {
        pair: share
        for pair, share in sorted(shares.items())
        if share >= _CONTAINED and abs(times[pair[0]] - times[pair[1]]) < DAY
    }


# For a reader


def _beside(run: Run, pair: Key, how: str) -> str:
    """Both pages as text, with marks at the lines that only one of them has, and a line to copy into the labels."""
    first, second = sorted(pair, key=lambda page: run.answers[page].document.seen_at)
    stub = json.dumps({"a": first, "b": second, "label": "", "class": ""})
    lines = [f"{'=' * 100}\n{stub}", f"{run.extractor}: {how}"]
    for name, page in (("A", first), ("B", second)):
        recorded = run.answers[page].page.recorded
        lines.append(f"{name}  {recorded.title}\n   {recorded.url}")
    texts = [run.answers[page].page.text.splitlines() for page in (first, second)]
    lines += unified_diff(*texts, "A", "B", lineterm="", n=sys.maxsize)
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
