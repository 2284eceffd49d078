"""A replay of input that it cannot use: each wrong line is counted once, and a limit is never met by nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from newsdesk import text
from scrapy_processes import neardup


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_an_empty_file_keeps_no_limit(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    done = neardup(tmp_path, "replay", "empty.jsonl", "--fail-on", "errors>0")
    assert (done.returncode, done.stdout) == (1, "")
    said = "empty.jsonl: the file has no documents, so there is nothing to compare with --fail-on"
    assert done.stderr.splitlines() == [said]


def test_a_feed_of_items_is_no_input_of_a_replay(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text(lines([{"url": "https://www.wire.example/a"}] * 2), encoding="utf-8")
    done = neardup(tmp_path, "replay", "items.jsonl")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 3
    assert done.stderr.splitlines()[-1].endswith("give documents as NEARDUP_RECORD writes them")


def test_a_page_that_is_not_there_is_counted_once(tmp_path: Path) -> None:
    given = [{"id": 1, "file": "nothing.html"}, {"id": 2, "text": text("one")}]
    (tmp_path / "in.jsonl").write_text(lines(given) + "not JSON\n", encoding="utf-8")
    done = neardup(tmp_path, "replay", "in.jsonl")
    assert done.returncode == 1
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.stdout.splitlines() if "│" in line]
    assert ["unchecked", "extraction-failed", "1", "50.0%"] in cells
    assert ["wrong lines, not counted above", "", "1", ""] in cells
    assert sum(int(cell[2]) for cell in cells) == 3, "two documents and a wrong line"
    found = json.loads(neardup(tmp_path, "replay", "in.jsonl", "--json").stdout)
    assert (found["documents"], found["wrong_lines"], found["errors"]) == (2, 1, 2)
