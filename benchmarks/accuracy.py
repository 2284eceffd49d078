"""How right the verdicts are: gold clusters, scripted edits, reports of one event.

usage: python benchmarks/accuracy.py [--data DIR] [--seeds N] [--workers N]

DIR is the folder of the research data (default: $NEARDUP_DATA, or ../shared/data beside this checkout), either as it
comes, with ``tools/prepare_data.py`` beside it, or as that script unpacked it.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from edits import EDITS, dressed
from shared import data_parser, print_table, read_pages, unpacked

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Verdict
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.commands.eval import COPIES, evaluate, mean
from scrapy_neardup.tools.lab.feed import read_background, read_labelled
from scrapy_neardup.tools.lab.replay import PageReader

SETTINGS = NearDupSettings(store="memory://")
LABELS = ("cluster", "merged")
SEED = 2019
START = 1_500_000_000.0


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="random orders of the gold set")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="extraction processes")
    options = parser.parse_args()
    with ExitStack() as stack:
        data = unpacked(options.data, stack)
        reader = stack.enter_context(PageReader(SETTINGS, options.workers))
        asyncio.run(_gold(data, reader, range(options.seeds)))
        asyncio.run(_edits(data))
        asyncio.run(_same_event(data))


# The gold set


async def _gold(data: Path, reader: PageReader, seeds: Sequence[int]) -> None:
    clusters_of = {label: read_labelled(data / "gold-dev.jsonl", label)[1] for label in LABELS}
    pages = read_pages(reader, read_background([data / "gold-dev.jsonl"]))
    names = ("stream-dev.jsonl", "same-event.jsonl")
    background = read_pages(reader, read_background(data / name for name in names))
    rows = []
    for among, others in (("alone", []), (f"among {len(background)} others", background)):
        evaluation = await evaluate([*pages, *others], SETTINGS, seeds)
        for label in LABELS:
            clusters = [*clusters_of[label], *([None] * len(others))]
            for protocol, scores in evaluation.scores(clusters).items():
                score = mean(scores)
                rates = (f"{rate:.4f}" for rate in (score.precision, score.recall, score.f1))
                rows.append((among, label, protocol, *rates))
        print(f"{among}: {evaluation.bytes:.0f} bytes a document")
    title = f"Gold set: {len(pages)} pages, preset {SETTINGS.preset}, mean of {len(seeds)} orders"
    print_table(title, ("", "label", "protocol", "precision", "recall", "F1"), rows)


# Documents one after the other


@dataclass(frozen=True, slots=True)
class Text:
    id: str
    text: str
    url: str = ""
    title: str = ""
    time: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """``original`` is the text this one was linked to, ``match`` the one with which it was compared."""

    text: Text
    verdict: Verdict
    original: Text | None
    match: Text | None

    @property
    def is_copy(self) -> bool:
        return self.verdict.status in COPIES


async def _judge(texts: Sequence[Text]) -> list[Answer]:
    detector = NearDupDetector(SETTINGS, run="")
    await detector.open()
    answers: list[Answer] = []
    texts_by_id: dict[str, Text] = {}
    try:
        for first in range(0, len(texts), 64):
            batch = texts[first : first + 64]
            documents: list[Document] = []
            for number, text in enumerate(batch, first):
                seen_at = START + number if text.time is None else text.time
                documents.append(detector.document(text.text, url=text.url, title=text.title, seen_at=seen_at))
            texts_by_id.update((document.id, text) for document, text in zip(documents, batch, strict=True))
            for text, verdict in zip(batch, await detector.check_in_order(documents), strict=True):
                linked = (texts_by_id.get(name or "") for name in (verdict.original, verdict.match))
                answers.append(Answer(text, verdict, *linked))
    finally:
        await detector.close()
    return answers


# Edits


async def _edits(data: Path) -> None:
    plain = [(str(entry.id), entry.text or "") for entry in read_background([data / "articles.jsonl"])]
    rng = random.Random(SEED)
    originals = [Text(name, dressed(text, rng), f"https://first.example/{name}") for name, text in plain]
    rows = []
    for title, edit in EDITS.items():
        rng = random.Random(f"{SEED} {title}")
        edited: list[Text] = []
        for number, (name, text) in enumerate(plain):
            other = plain[(number + 1) % len(plain)][1]
            # Byline and footer are the first paper's, but where they are the edit.
            base = text if title.startswith("byline") else originals[number].text
            changed = edit(base, other, rng)
            if changed is not None:
                edited.append(Text(f"{name} edited", changed, f"https://second.example/{name}"))
        answers = (await _judge([*originals, *edited]))[len(originals) :]
        found = sum(_is_found(answer) for answer in answers)
        wrong = sum(answer.is_copy and not _is_found(answer) for answer in answers)
        statuses = Counter(answer.verdict.status for answer in answers)
        rows.append(
            (title, len(answers), f"{found / len(answers):.1%}", f"{statuses['update'] / len(answers):.1%}", wrong)
        )
    head = ("edit", "texts", "found", "`update`", "linked to another article")
    print_table(f"Edits of {len(plain)} modern articles (seed {SEED})", head, rows)


def _is_found(answer: Answer) -> bool:
    return answer.is_copy and answer.original is not None and f"{answer.original.id} edited" == answer.text.id


# Same event, other words


async def _same_event(data: Path) -> None:
    texts, clusters = [], {}
    for entry in read_background([data / "same-event.jsonl"]):
        texts.append(Text(str(entry.id), entry.text or ""))
        clusters[str(entry.id)] = str(entry.extra["cluster"])
    answers = await _judge(texts)
    statuses = Counter(answer.verdict.status for answer in answers)
    counts = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    flagged = [answer for answer in answers if answer.is_copy and answer.original is not None]
    rows = [
        (
            answer.text.id,
            answer.original.id,
            "yes" if clusters[answer.text.id] == clusters[answer.original.id] else "no",
            "/".join(filter(None, (answer.verdict.status, answer.verdict.kind))),
            answer.verdict.similarity,
            answer.verdict.containment,
            _longest_shared_run(answer.original.text, answer.text.text),
            _start(answer.text.text),
        )
        for answer in flagged
        if answer.original is not None
    ]
    head = ("text", "original", "same event", "verdict", "resemblance", "containment", "run", "begins")
    print_table(f"Same event: {len(texts)} texts ({counts}); the {len(rows)} copies", head, rows)


def _longest_shared_run(one: str, other: str) -> int:
    """Words in a row that two texts share: a dozen and more is copied, from one another or from one agency."""
    a, b = one.lower().split(), other.lower().split()
    return SequenceMatcher(None, a, b, autojunk=False).find_longest_match().size


def _start(text: str) -> str:
    return " ".join(text.split()[:12]).replace("|", "/")


if __name__ == "__main__":
    main()
