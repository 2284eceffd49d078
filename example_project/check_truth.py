"""Compares the items of a crawl with the truth file: ``python check_truth.py items.jsonl``.

Prints precision and recall of duplicates and every line that differs. Exit status 0 when there is none, 1 when there
is one, 2 when a file cannot be read.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

Row = Mapping[str, object]
Visit = tuple[str, int]  # address, and 1 for the first time it was fetched, 2 for the second

TRUTH = Path(__file__).with_name("truth.jsonl")


@dataclass(frozen=True)
class Score:
    """Duplicates: how many the crawl named, how many there are, and how many it linked to the right original."""

    named: int
    true: int
    right: int
    wrong_lines: list[str]

    @property
    def precision(self) -> float:
        return self.right / self.named if self.named else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.true if self.true else 1.0


def compare(items: list[Row], truth: list[Row]) -> Score:
    found = _by_visit(items)
    expected = {(str(row["url"]), int(str(row["visit"]))): row for row in truth}
    duplicates = [visit for visit, item in found.items() if item.get("neardup_status") == "duplicate"]
    right = [
        visit
        for visit in duplicates
        if visit in expected
        and expected[visit]["status"] == "duplicate"
        and expected[visit]["original"] == found[visit].get("neardup_original")
    ]
    return Score(
        named=len(duplicates),
        true=sum(row["status"] == "duplicate" for row in truth),
        right=len(right),
        wrong_lines=[
            line for visit in {**expected, **found} if (line := _fault(visit, found.get(visit), expected.get(visit)))
        ],
    )


def _by_visit(items: list[Row]) -> dict[Visit, Row]:
    seen: Counter[str] = Counter()
    found: dict[Visit, Row] = {}
    for item in items:
        url = str(item["url"])
        seen[url] += 1
        found[url, seen[url]] = item
    return found


def _fault(visit: Visit, item: Row | None, row: Row | None) -> str | None:
    where = f"{visit[0]} (visit {visit[1]})"
    if row is None:
        return f"{where}: not in the truth file"
    if item is None:
        return f"{where}: not crawled"
    said, meant = _tags(item), _expected_tags(row)
    if said["status"] in _also(row):
        return None
    differing = [key for key in meant if said[key] != meant[key]]
    return (
        f"{where}: " + ", ".join(f"{key} {said[key]}, should be {meant[key]}" for key in differing)
        if differing
        else None
    )


def _also(row: Row) -> list[object]:
    """Other statuses that are right as well: independent reports of one event may be called related."""
    also = row.get("also", [])
    return also if isinstance(also, list) else []


def _tags(item: Row) -> dict[str, object]:
    # A CSV or a declared item has empty tags where a dict has none.
    return {key: item.get(f"neardup_{key}") or None for key in ("status", "kind", "original", "reason")}


def _expected_tags(row: Row) -> dict[str, object]:
    return {key: row.get(key) for key in ("status", "kind", "original", "reason")}


def read_lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare the items of a crawl with the truth file.")
    parser.add_argument("items", type=Path, help="what scrapy crawl newswire -O wrote")
    parser.add_argument("truth", type=Path, nargs="?", default=TRUTH)
    options = parser.parse_args(arguments)
    try:
        items, truth = read_lines(options.items), read_lines(options.truth)
    except (OSError, ValueError) as error:
        print(f"check_truth: {error}", file=sys.stderr)
        return 2
    score = compare(items, truth)
    for line in score.wrong_lines:
        print(line)
    print(f"{len(items)} items, {score.true} duplicates: precision {score.precision:.3f}, recall {score.recall:.3f}")
    return 1 if score.wrong_lines or score.right != score.named or score.right != score.true else 0


if __name__ == "__main__":
    sys.exit(main())
