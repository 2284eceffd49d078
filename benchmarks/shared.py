"""What the benchmarks of accuracy share: the folder of the research data, and tables in Markdown."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import xxhash

from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.tools.lab.feed import read_feed
from scrapy_neardup.tools.lab.replay import PageReader, RecordedPage

Part = TypeVar("Part", bound=Callable[[], object])

LABELS = Path(__file__).parent / "labels"
HALVES = ("seen", "unseen")  # of the sources: whoever changes a rule reads pages of the first half only


def half_of(url: str) -> str:
    """Return the half of the sources of real pages to which that of a url belongs."""
    return HALVES[xxhash.xxh32_intdigest(source_of(url).encode()) % 2]


def data_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the option ``--data``: the folder of the research data."""
    given = os.environ.get("NEARDUP_DATA")
    default = Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=default, help="folder of the research data")
    return parser


def chosen_parts(parts: Sequence[Part], description: str | None) -> list[Part]:
    """Return the functions that the command line names, or all of them."""
    by_name = {part.__name__: part for part in parts}
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(by_name)}; default: all")
    names = parser.parse_args().parts or by_name
    if unknown := set(names) - set(by_name):
        parser.error(f"{', '.join(unknown)}: choose from {', '.join(by_name)}")
    return [by_name[name] for name in names]


def add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")


def read_labels(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LABELS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def unpacked(data: Path, stack: ExitStack) -> Path:
    """Return the folder of the unpacked data. Unpack them first if they are as they come."""
    if (data / "gold-dev.jsonl").exists():
        return data
    script = data.resolve().parent / "tools" / "prepare_data.py"
    if not script.exists():
        sys.exit(f"{data}: no gold-dev.jsonl there and no {script}; --data DIR names the folder of the research data")
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="neardup-accuracy-")))
    subprocess.run([sys.executable, str(script), str(folder)], check=True)
    return folder


def print_table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    print(f"\n### {title}\n")
    print(f"| {' | '.join(head)} |")
    print(f"|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")
    sys.stdout.flush()


def read_pages(reader: PageReader, *paths: Path) -> list[RecordedPage]:
    return list(reader.read(chain.from_iterable(map(read_feed, paths))))
