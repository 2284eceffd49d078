"""A replay of input that it cannot use: each wrong line is counted once, and a limit is never met by nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from newsdesk import text
from scrapy_processes import neardup

from scrapy_neardup import NearDupSettings
from scrapy_neardup.evaluation.feed import NoDocumentsError, read_feed
from scrapy_neardup.evaluation.single import read_single
from scrapy_neardup.exceptions import InputError


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_an_empty_file_keeps_no_limit(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    done = neardup(tmp_path, "replay", "empty.jsonl", "--fail-on", "errors>0")
    assert (done.returncode, done.stdout) == (1, "")
    said = "empty.jsonl: the file has no documents, so there is nothing to compare with --fail-on"
    assert done.stderr.splitlines() == [said]


@pytest.mark.parametrize(
    ("item", "missing"),
    [({}, "no 'id' and no 'text', 'html' or 'file'"), ({"text": "News."}, "no 'id'"), ({"id": 1}, "no 'text', ")],
)
def test_a_feed_of_items_is_recognised_by_its_first_lines(tmp_path: Path, item: dict[str, Any], missing: str) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(lines([{"url": "https://www.wire.example/a", **item}] * 30), encoding="utf-8")
    with pytest.raises(NoDocumentsError, match=f"line 1 has {missing}.*crawl again with -s NEARDUP_RECORD="):
        read_feed(items)
    with pytest.raises(InputError, match=r"name a document by its url, as https://www\.wire\.example/a$"):
        read_single(f"{items}#1", NearDupSettings())


def test_a_feed_of_items_is_no_input_of_a_replay(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text(lines([{"url": "https://www.wire.example/a"}] * 2), encoding="utf-8")
    done = neardup(tmp_path, "replay", "items.jsonl", "-O", "out.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("scrapy neardup replay: error: items.jsonl: its lines are no documents")
    assert not (tmp_path / "out.jsonl").exists()


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
