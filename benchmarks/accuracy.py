"""How right the verdicts are: gold clusters and scripted edits.

usage: python benchmarks/accuracy.py [--data DIR] [--seeds N] [--workers N]

DIR is the folder of the research data (default: $NEARDUP_DATA, or ../shared/data beside this checkout), either as it
comes, with ``tools/prepare_data.py`` beside it, or as that script unpacked it.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from edits import EDITS, dressed
from shared import add_workers, data_parser, print_table, read_pages, unpacked

from scrapy_neardup import NearDupDetector, NearDupSettings, Verdict
from scrapy_neardup.tools.commands.eval import COPIES, evaluate, mean_rates, scores_of
from scrapy_neardup.tools.lab.feed import read_checked, read_labelled
from scrapy_neardup.tools.lab.replay import PageReader, opened

SETTINGS = NearDupSettings(store="memory://")
SEED = 2019
START = 1_500_000_000.0


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="random orders of the gold set")
    add_workers(parser)
    options = parser.parse_args()
    with ExitStack() as stack:
        data = unpacked(options.data, stack)
        reader = stack.enter_context(PageReader(SETTINGS, options.workers))
        asyncio.run(_gold(data, reader, range(options.seeds)))
        asyncio.run(_edits(data))


async def _gold(data: Path, reader: PageReader, seeds: Sequence[int]) -> None:
    pages = read_pages(reader, data / "gold-dev.jsonl")
    background = read_pages(reader, data / "stream-dev.jsonl", data / "same-event.jsonl")
    rows = []
    for among, others in (("alone", []), (f"among {len(background)} others", background)):
        orders = await evaluate([*pages, *others], SETTINGS, seeds)
        for label in ("cluster", "merged"):
            clusters = read_labelled(data / "gold-dev.jsonl", label)[1]
            for protocol, scores in scores_of(orders, [*clusters, *([None] * len(others))]).items():
                rates = (f"{rate:.4f}" for rate in mean_rates(scores).values())
                rows.append((among, label, protocol, *rates))
    title = f"Gold set: {len(pages)} pages, preset {SETTINGS.preset}, mean of {len(seeds)} orders"
    print_table(title, ("", "label", "protocol", "precision", "recall", "F1"), rows)


async def _edits(data: Path) -> None:
    """Judge articles as one paper prints them, and then edited ones of another paper."""
    plain = [(str(entry.id), entry.text or "") for entry in read_checked([data / "articles.jsonl"])]
    rng = random.Random(SEED)
    originals = {f"https://first.example/{name}": dressed(text, rng) for name, text in plain}
    rows = []
    for title, edit in EDITS.items():
        rng = random.Random(f"{SEED} {title}")
        edited: dict[str, str] = {}
        for number, (name, text) in enumerate(plain):
            other = plain[(number + 1) % len(plain)][1]
            # Byline and footer are the first paper's, but where they are the edit.
            base = text if title.startswith("byline") else originals[f"https://first.example/{name}"]
            changed = edit(base, other, rng)
            if changed is not None:
                edited[f"https://second.example/{name}"] = changed
        verdicts = await _judge(originals | edited)
        copies = [(url, verdicts[url]) for url in edited if verdicts[url].status in COPIES]
        found = sum(verdict.original_url == url.replace("second", "first") for url, verdict in copies)
        updates = Counter(verdict.status for _, verdict in copies)["update"]
        shares = (f"{count / len(edited):.1%}" for count in (found, updates))
        rows.append((title, len(edited), *shares, len(copies) - found))
    head = ("edit", "texts", "found", "`update`", "linked to another article")
    print_table(f"Edits of {len(plain)} modern articles (seed {SEED})", head, rows)


async def _judge(texts: dict[str, str]) -> dict[str, Verdict]:
    """Return the verdicts on texts by url, one a second."""
    async with opened(NearDupDetector(SETTINGS, run="")) as detector:
        documents = [
            detector.document(text, url=url, seen_at=START + number) for number, (url, text) in enumerate(texts.items())
        ]
        return dict(zip(texts, await detector.check_in_order(documents), strict=True))


if __name__ == "__main__":
    main()
