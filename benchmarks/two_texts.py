"""What two texts say of labelled pairs: changed figures told, lines told, copies found, drops that lose a fact.

usage: python benchmarks/two_texts.py [LABELS] [--data DIR] [--lines]

LABELS has JSON lines with ids (default: ``benchmarks/labels/changed-figures.jsonl``, see the README there). DIR has the
recorded documents as ``SET.jsonl`` (default: $NEARDUP_DATA). Each new text is judged as if the window held only the old
one. The table has the halves of the sites of the new texts, as ``half_of`` in ``shared.py`` divides them.
``--lines`` also prints what was told or missed, and the drops that lose a fact.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from shared import half_of, print_table

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.evidence.tokens import tokens_of
from scrapy_neardup.records.documents import StoredText, new_record
from scrapy_neardup.records.stories import StoryCounters
from scrapy_neardup.rules.decision import Decision
from scrapy_neardup.rules.news import with_news
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.story import Ledger
from scrapy_neardup.text.folding import fold
from scrapy_neardup.tools.commands.eval import COPIES
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_feed

LABELS = Path(__file__).parent / "labels" / "changed-figures.jsonl"
START = 1_500_000_000.0
_VALUE = re.compile(r"\d[\d.,]*|\w+")
COUNTS = {
    "changed figures in copies": "told of these",
    "in aligned sentences": "told of those",
    "changed figures": "told, or in the news",
    "changed figures of joined": "told, or in their news",
    "lines told": "right",
    "copies": "found",
    "found, no copies": "of these other reports of the event",
    "drops": "that lose a fact",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("labels", type=Path, nargs="?", default=LABELS)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("NEARDUP_DATA", ".")))
    parser.add_argument("--lines", action="store_true")
    options = parser.parse_args()
    pairs = [json.loads(line) for line in options.labels.read_text("utf-8").splitlines()]
    wanted = defaultdict[str, set[str]](set)
    for pair in pairs:
        wanted[pair["set"]].update((pair["old"], pair["new"]))
    texts = {
        (name, str(each.id)): each
        for name, ids in wanted.items()
        for each in read_feed(options.data / f"{name}.jsonl")
        if str(each.id) in ids
    }
    detector = NearDupDetector(NearDupSettings(store="memory://"))
    counts = defaultdict[str, Counter[str]](Counter)
    for pair in pairs:
        old, new = (texts[pair["set"], pair[side]] for side in ("old", "new"))
        decision = judge(detector, old, new)
        join = decision.join
        text = StoredText.of(old.title or "", old.text or "")
        news = with_news([], Ledger(), StoryCounters(), join, text).member.news if join else ()
        found = counted(pair, decision, news)
        counts[half_of(new.url or "")].update(found)
        if options.lines:
            print_lines(pair, decision, news)
    rows = []
    for of, share in COUNTS.items():
        for half, each in sorted(counts.items()):
            rows.append((of, half, each[of], f"{share}: {each[share]}", f"{each[share] / max(1, each[of]):.2f}"))
    print_table(f"{len(pairs)} pairs of {options.labels.name}", ("", "half", "", "", "share"), rows)


def judge(detector: NearDupDetector, old: RecordedDocument, new: RecordedDocument) -> Decision:
    """Return the decision on the new text if the window holds only the old one."""
    documents = [
        detector.document(
            each.text or "",
            url=each.url or "",
            title=each.title or "",
            seen_at=each.time or START + 3600 * number,
        )
        for number, each in enumerate((old, new))
    ]
    first, second = (new_record(detector.sketcher.fingerprint(each), each) for each in documents)
    key = bytes.fromhex(documents[0].id)
    text = StoredText.of(documents[0].title, documents[0].text)
    judge = detector.index.partition.judge
    return judge.decide(documents[1], second, [Pair(key, second, first, judge.policy)], {key: text})


def values(text: str) -> set[str]:
    words = {each.strip(".,").replace(",", "") for each in _VALUE.findall(fold(text).casefold())}
    return words | {each.text for each in tokens_of(text, "en")}


def is_told(figure: dict[str, str], line: str) -> bool:
    """Decide whether a line tells a labelled figure: one number or word of its new value is in the line."""
    return not values(figure["new"]).isdisjoint(values(line.rpartition("->")[2]))


def counted(pair: dict[str, object], decision: Decision, news: Sequence[str]) -> Counter[str]:
    verdict, figures = decision.verdict, pair["figures"]
    assert isinstance(figures, list)
    is_copy = pair["label"] == "copy"
    aligned = [each for each in figures if each["sentence"] == "partner"]
    told = [each for each in figures if any(is_told(each, line) for line in verdict.changes)]
    shown = [each for each in figures if any(is_told(each, line) for line in (*verdict.changes, *news))]
    found = verdict.status in COPIES
    drops = verdict.would_drop
    return Counter(
        {
            "changed figures in copies": len(figures) * is_copy,
            "told of these": len(told) * is_copy,
            "in aligned sentences": len(aligned),
            "told of those": sum(each in told for each in aligned),
            "changed figures": len(figures),
            "told, or in the news": len(shown),
            "changed figures of joined": len(figures) * (decision.join is not None),
            "told, or in their news": len(shown) * (decision.join is not None),
            "lines told": len(verdict.changes),
            "right": sum(any(is_told(each, line) for each in figures) for line in verdict.changes),
            "copies": int(is_copy),
            "found": int(is_copy and found),
            "found, no copies": int(found and not is_copy),
            "of these other reports of the event": int(found and pair["label"] == "same-event"),
            "drops": int(drops),
            "that lose a fact": int(drops and bool(pair["loses"])),
        }
    )


def print_lines(pair: dict[str, object], decision: Decision, news: Sequence[str]) -> None:
    verdict, figures = decision.verdict, pair["figures"]
    assert isinstance(figures, list)
    name = f"{pair['set']} {pair['old']} {pair['new']} {pair['label']} {verdict.status}"
    for line in verdict.changes:
        print(f"{name}: {'told' if any(is_told(each, line) for each in figures) else 'WRONG'}: {line}")
    for each in figures:
        if not any(is_told(each, line) for line in verdict.changes):
            where = "in the news" if any(is_told(each, line) for line in news) else "missed"
            print(f"{name}: {where} in a {each['sentence']} sentence: {each['what']}: {each['old']} -> {each['new']}")
    if verdict.would_drop and pair["loses"]:
        print(f"{name}: dropped, and loses a fact")


if __name__ == "__main__":
    main()
