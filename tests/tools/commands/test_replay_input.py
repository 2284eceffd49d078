"""A replay of input that it cannot use: each wrong line is counted once, and a limit is never met by nothing."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scrapy_neardup import NearDupSettings
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.tools.commands.inputs import read_single
from scrapy_neardup.tools.lab.feed import LONGEST_LINE, TOO_LONG, FeedLine, RecordedDocument, read_feed, read_labelled
from scrapy_neardup.tools.lab.replay import PageReader
from scrapy_neardup.tools.report.gathering import read_rows


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("item", "missing"),
    [({}, "no 'id' and no 'text', 'html' or 'file'"), ({"text": "News."}, "no 'id'"), ({"id": 1}, "no 'text', ")],
)
def test_a_feed_of_items_is_recognised_by_its_first_lines(tmp_path: Path, item: dict[str, Any], missing: str) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(lines([{"url": "https://www.wire.example/a", **item}] * 30), encoding="utf-8")
    with pytest.raises(InputError, match=f"line 1 has {missing}.*crawl again with -s NEARDUP_RECORD="):
        read_feed(items)


# Recorded documents of strangers


LONG = "a " * (LONGEST_LINE // 2)


@pytest.mark.parametrize("read", [read_feed, read_rows])
def test_a_line_that_is_too_long_is_named_and_the_others_are_read(tmp_path: Path, read: Callable[..., Any]) -> None:
    rows = [{"id": 1, "text": "one"}, {"id": 2, "text": LONG}, {"id": 3, "text": "two"}]
    path = tmp_path / "in.jsonl.gz"
    path.write_bytes(gzip.compress(lines(rows).encode(), 1))
    first, wrong, last = read(path)
    assert wrong.error == f"{path}:2: {TOO_LONG}"
    assert [each.row["id"] if isinstance(each, FeedLine) else each.id for each in (first, last)] == [1, 3]
    path.write_bytes(gzip.compress(lines(rows[:2])[:-9].encode(), 1))
    assert [entry.error for entry in read(path) if entry.error is not None] == [wrong.error]


def test_a_report_reads_no_item_of_any_length(tmp_path: Path) -> None:
    (tmp_path / "items").write_text(f'[{{"id": "1"}},\n{{"id": "{LONG * 2}"}}', encoding="utf-8")
    first, *_, wrong = read_rows(tmp_path / "items")
    assert first.row == {"id": "1"}
    assert TOO_LONG in str(wrong.error)


def test_long_documents_are_not_read_far_ahead() -> None:
    read = 0

    def entries() -> Iterator[RecordedDocument]:
        nonlocal read
        for read in range(1, 100):
            yield RecordedDocument(read, "", read, text="text", size=LONGEST_LINE // 4)

    with PageReader(NearDupSettings(), workers=1) as reader:
        next(reader.read(entries()))
    assert read <= 12


@pytest.mark.parametrize("name", ["{secret}", "../secret", "link", "folder/link", "/dev/zero", "pages/../../secret"])
def test_a_page_outside_the_folder_of_the_input_is_not_read(tmp_path: Path, name: str) -> None:
    secret, folder = tmp_path / "secret", tmp_path / "in"
    secret.write_text("<p>The password is harbour.", encoding="utf-8")
    (folder / "pages").mkdir(parents=True)
    (folder / "link").symlink_to(secret)
    (folder / "folder").symlink_to(tmp_path)
    (tmp_path / "link").symlink_to(secret)
    (folder / "pages/1.html").write_text("<p>A page of a crawl.", encoding="utf-8")
    given = [{"id": 1, "file": name.format(secret=secret)}, {"id": 2, "file": "pages/1.html"}]
    (folder / "in.jsonl").write_text(lines([{**row, "cluster": 1, "original": True} for row in given]))

    wrong, right = read_feed(folder / "in.jsonl")
    said = f"{folder}/in.jsonl:1: 'file' is {given[0]['file']!r}, which is not below the folder"
    assert str(wrong.error).startswith(said)
    assert right.error is None
    for read in (
        lambda: read_single(f"{folder}/in.jsonl#1", NearDupSettings()),
        lambda: read_labelled(folder / "in.jsonl"),
    ):
        with pytest.raises(InputError, match=r"in\.jsonl:1: 'file' is"):
            read()


def test_only_regular_files_are_pages_and_no_more_than_a_page_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    given = [{"id": name, "file": name} for name in ("pipe", "huge", "gone")]
    (tmp_path / "in.jsonl").write_text(lines(given))
    with PageReader(NearDupSettings(), workers=1) as reader:
        errors = [str(page.error) for page in reader.read(read_feed(tmp_path / "in.jsonl"))]
    reasons = ["not a regular file", "over the limit of 5000000 bytes", "No such file or directory"]
    assert [error.rpartition(": ")[2] for error in errors] == reasons


def test_the_folder_of_the_input_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/in.jsonl").write_text(lines([{"id": 1, "text": "one"}, {"id": 2, "file": "1.html"}]))
    (tmp_path / "linked").symlink_to(tmp_path / "pages")
    assert [entry.id for entry in read_feed(tmp_path / "linked" / "in.jsonl")] == [1, 2]
