"""Events of several processes, and of the same input read twice."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from json_lines import read_lines, write_lines
from newsdesk import HOUR, MINUTE, START, text
from scrapy_processes import start_scrapy

pytestmark = pytest.mark.slow


def write_stream(path: Path, seed: int, clusters: int, share: float = 1.0) -> list[dict[str, Any]]:
    """Clusters of copies over six hours, shuffled."""
    chance = random.Random(seed)
    rows = []
    for number in range(clusters):
        begin = random.Random(number).uniform(0, 3 * HOUR)
        for n in range(30):
            at = START + begin + random.Random(n).uniform(0, 40 * MINUTE)
            rows.append(
                {"id": f"{number}-{n}", "url": f"https://s{n}.example/{number}", "title": f"Story {number}",
                 "time": at, "text": text(number)}
            )  # fmt: skip
    rows = chance.sample(rows, int(len(rows) * share))
    write_lines(path, rows)
    return rows


def start_replay(folder: Path, name: str, *arguments: str) -> subprocess.Popen[str]:
    command = ["neardup", "replay", f"{name}.jsonl", "--events", f"{name}.events", "--json", "--workers", "1"]
    return start_scrapy(folder, *command, *arguments, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)


def test_eight_processes_raise_each_level_of_each_event_once(tmp_path: Path, shared_url: str, namespace: str) -> None:
    arguments = ("--store", shared_url, "-s", f"NEARDUP_NAMESPACE={namespace}", "-s", "NEARDUP_STORE_TIMEOUT=60")
    for number in range(8):
        write_stream(tmp_path / f"half{number}.jsonl", number, clusters=12, share=0.5)
    processes = [start_replay(tmp_path, f"half{number}", *arguments) for number in range(8)]
    assert [process.wait(timeout=120) for process in processes] == [0] * 8

    raised = Counter(
        (event["headline"], event["level"], (event["update"] or {}).get("sources_before"))
        for path in tmp_path.glob("*.events")
        for event in map(json.loads, path.read_text().splitlines())
    )

    assert set(raised.values()) == {1}
    assert {headline for headline, level, _ in raised if level == "breaking"} == {f"Story {n}" for n in range(12)}


def test_a_replay_says_the_same_every_time_and_speaks_of_the_ids_of_its_input(tmp_path: Path) -> None:
    rows = write_stream(tmp_path / "one.jsonl", 1, clusters=4)
    (tmp_path / "two.jsonl").write_bytes((tmp_path / "one.jsonl").read_bytes())
    for name in ("one", "two"):
        assert start_replay(tmp_path, name, "-O", f"{name}.out").wait(timeout=60) == 0

    assert (tmp_path / "one.events").read_bytes() == (tmp_path / "two.events").read_bytes()
    events = read_lines(tmp_path / "one.events")
    verdicts = read_lines(tmp_path / "one.out")
    ids = {row["id"] for row in rows}
    assert {event["level"] for event in events} == {"watch", "breaking", "update", "ended"}
    assert all(member["id"] in ids for event in events for member in event["members"])
    assert all(event["story"] in ids for event in events)
    tipped = {verdict["id"]: verdict["event"] for verdict in verdicts if verdict["event"]}
    assert tipped == {event["item"]: event["level"] for event in events if event["item"]}
