"""``eval`` and ``tune`` on reports in other words: final stories, alone and among other documents."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from json_lines import write_lines
from newsdesk import text
from other_words import report
from scrapy_processes import run_scrapy

Neardup = Callable[..., str]


def names(seed: object, count: int) -> str:
    draw = random.Random(repr(seed))
    return " ".join("".join(draw.choices("abdegiklmnoprstuv", k=8)).capitalize() for _ in range(count))


@pytest.fixture
def neardup(tmp_path: Path) -> Neardup:
    def run(*arguments: str, code: int = 0) -> str:
        done = run_scrapy(tmp_path, "neardup", *arguments, environment={"COLUMNS": "160"})
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


def test_stories_are_scored_among_the_background(neardup: Neardup, tmp_path: Path) -> None:
    """Reports of three events are labelled, and three more of the second event are in the background."""
    rows = []
    for event, count in (("en", 4), ("de-AT", 3), ("", 2)):
        for number in range(count):
            row = {"id": f"{event}{number}", "text": report(names(event, 6), (event, number))}
            rows.append({**row, "cluster": event or "other", "all": "one"})
    write_lines(tmp_path / "gold.jsonl", rows)
    rows = [{"id": n, "text": report(names("de-AT", 6), n)} for n in range(3)]
    write_lines(tmp_path / "background.jsonl", [*rows, *({"id": 9 + n, "text": text(("other", n))} for n in range(9))])

    def rates(label: str, *more: str) -> dict[str, Any]:
        printed = neardup("eval", "gold.jsonl", "--label", label, "--seeds", "2", "--json", *more)
        found: dict[str, Any] = json.loads(printed)["presets"]["news"]["labels"][label]
        return found

    alone, among = rates("cluster"), rates("cluster", "--background", "background.jsonl")
    assert (alone["pairwise"]["precision"], alone["pairwise"]["recall"]) == (1, 1)
    # All reports are one cluster of the label "all": 10 of its 36 pairs are in stories.
    assert rates("all")["pairwise"]["recall"] == round(10 / 36, 4)
    # Of the 15 pairs of the second event, 3 are right and 3 are of background documents.
    assert among["pairwise"]["precision"] == round(10 / 19, 4)
    assert among["b-cubed"]["precision"] == round((4 + 2 + 3 / 2) / 9, 4)


def test_the_final_stories_count(neardup: Neardup, tmp_path: Path) -> None:
    """Two reports begin two stories, and long after that a third shows that they are one."""
    rows = []
    for event in range(12):
        shared, one, other = names((event, "shared"), 4), names((event, 1), 4), names((event, 2), 4)
        for number, words in enumerate((f"{shared} {one}", f"{shared} {other}", f"{shared} {one} {other}"[:-9])):
            rows.append({"id": f"{event}-{number}", "text": report(words, (event, number)), "cluster": event})
    write_lines(tmp_path / "gold.jsonl", rows)
    # Documents that are judged together know their final stories, so there must be many.
    write_lines(tmp_path / "background.jsonl", [{"id": n, "text": text(("other", n))} for n in range(350)])
    found = neardup("eval", "gold.jsonl", "--background", "background.jsonl", "--seeds", "2", "--json")
    assert json.loads(found)["presets"]["news"]["labels"]["cluster"]["pairwise"]["recall"] == 1


@pytest.mark.slow
def test_tune_suggests_a_topic_threshold(neardup: Neardup, tmp_path: Path) -> None:
    """Events have all their names in common, two events half of theirs: too low a threshold makes them one story."""
    shared = names("shared", 6)
    rows = []
    for event in range(3):
        for number in range(3):
            words = f"{shared} {names(event, 6)}"
            rows.append({"id": f"{event}-{number}", "text": report(words, (event, number)), "cluster": event})
    write_lines(tmp_path / "gold.jsonl", rows)
    write_lines(tmp_path / "background.jsonl", [{"id": n, "text": text(("other", n))} for n in range(3)])
    given = "tune", "gold.jsonl", "--parameter", "topic_threshold", "--seeds", "1", "--background", "background.jsonl"
    grid = "--from", "0.06", "--to", "0.96", "--step", "0.1"
    found = json.loads(neardup(*given, *grid, "--json"))
    low, *_, high = found["curve"]
    assert (low["threshold"], high["threshold"]) == (0.06, 0.96)
    assert low["pairwise"]["precision"] < 0.9
    assert low["b-cubed"]["recall"] == 1
    assert high["b-cubed"] == {"precision": 1, "recall": round(1 / 3, 4), "f1": 0.5}
    assert found["suggested"]["b-cubed"]["f1"] == 1
    assert low["threshold"] < found["suggested"]["threshold"] < high["threshold"]

    printed = neardup(*given, *grid)
    assert "Take care: low thresholds look better than they are" in printed
    assert printed.index("Take care") < printed.index('NEARDUP_PRESET_OPTIONS = {"topic_')
    assert f'NEARDUP_PRESET_OPTIONS = {{"topic_threshold": {found["suggested"]["threshold"]:g}}}\n' in printed
    assert "<- suggested" in printed
    printed = neardup(*given, "--from", "0.06", "--to", "0.06", code=1)
    assert "No threshold here has a precision of 0.9 (pairwise); try a higher --to" in printed
