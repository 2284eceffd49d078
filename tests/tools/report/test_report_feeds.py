"""Feeds in every form, whole and damaged, become the same rows."""

import gzip
import json
import lzma
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from report_items import item
from scrapy.exporters import JsonItemExporter, JsonLinesItemExporter

from scrapy_neardup.exceptions import InputError
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.report.gathering import gather
from scrapy_neardup.tools.report.page import build_report

EXPORTERS = {"jsonl": JsonLinesItemExporter, "json": JsonItemExporter}
ITEMS = [item(), item(1, "duplicate"), item(2, "update"), item(3, "unchecked", neardup_reason="too-short")]


def export(form: str, items: list[dict[str, Any]], **options: Any) -> bytes:
    file = BytesIO()
    exporter = EXPORTERS[form](file, **options)
    exporter.start_exporting()
    for each in items:
        exporter.export_item(each)
    exporter.finish_exporting()
    return file.getvalue()


def written(folder: Path, content: bytes, name: str = "feed") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress], ids=["plain", "gzip", "xz"])
@pytest.mark.parametrize("form", EXPORTERS)
def test_a_feed_that_scrapy_exports_gives_the_same_rows_in_every_form(
    tmp_path: Path, form: str, pack: Callable[[bytes], bytes]
) -> None:
    expected = gather([written(tmp_path, export("jsonl", ITEMS), "expected")], NearDupSettings()).rows
    found = gather([written(tmp_path, pack(export(form, ITEMS)))], NearDupSettings())
    assert found.rows == expected
    assert [row.verdict.status for row in found.rows] == ["original", "duplicate", "update", "unchecked"]
    assert [row.verdict.would_drop for row in found.rows] == [False, True, False, False]
    assert found.rows[1].verdict.share == 0.85
    assert found.problems == []


@pytest.mark.parametrize("form", EXPORTERS)
def test_a_feed_that_was_cut_off_gives_the_items_before_its_end(tmp_path: Path, form: str) -> None:
    whole = export(form, ITEMS)
    end = whole.rindex(b"too-short") + 3
    gathered = gather([written(tmp_path, whole[:end])], NearDupSettings())
    assert [row.verdict.status for row in gathered.rows[:3]] == ["original", "duplicate", "update"]
    (problem,) = gathered.problems
    assert "half written" in problem


def test_a_wrong_line_in_the_middle_costs_one_line(tmp_path: Path) -> None:
    lines = [json.dumps(ITEMS[0]), '{"url": ', "[1]", json.dumps(ITEMS[1])]
    gathered = gather([written(tmp_path, "\n".join(lines).encode())], NearDupSettings())
    assert len(gathered.rows) == 2
    assert [problem.partition(": ")[0][-2:] for problem in gathered.problems] == [":2", ":3"]


@pytest.mark.parametrize("content", [b"just words\nand more", b"\x00\x01\x02", b"a,b\n1,2\n"])
def test_a_file_that_is_no_feed_is_refused_with_its_name(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match="feed: is neither JSON lines nor JSON"):
        gather([written(tmp_path, content)], NearDupSettings())


@pytest.mark.parametrize("indent", [None, 0, 2], ids=["one line", "lines", "indented"])
def test_a_list_may_have_each_item_on_one_line_or_on_several_or_all_on_one(tmp_path: Path, indent: int | None) -> None:
    whole = export("json", ITEMS, indent=indent)
    feed = written(tmp_path, whole * (2 if indent == 0 else 1))  # twice, as by a crawl that appends
    assert len(gather([feed], NearDupSettings()).rows) == (8 if indent == 0 else 4)


def test_renamed_fields_are_found_by_the_settings(tmp_path: Path) -> None:
    settings = NearDupSettings.from_mapping({"NEARDUP_ITEM_FIELDS": {"url": "link"}})
    path = written(
        tmp_path, b'{"neardup_status": "related", "neardup_story": "1", "link": "https://www.a.example/x"}\n'
    )
    (row,) = gather([path], settings).rows
    assert (row.verdict.status, row.verdict.story, row.source) == ("related", "1", "a.example")


def test_values_of_wrong_types_are_left_out(tmp_path: Path) -> None:
    wrong = {
        name: [{}, 5]
        for name in ("url", "title", "text", "published", "neardup_match", "neardup_share", "neardup_kind")
    }
    (row,) = gather([written(tmp_path, export("jsonl", [item(**wrong)]))], NearDupSettings()).rows
    assert (row.url, row.title, row.time) == ("", "", None)
    assert (row.verdict.match, row.verdict.share, row.verdict.kind) == ("", None, "")


def test_recorded_documents_fill_what_the_output_of_a_replay_lacks(tmp_path: Path) -> None:
    verdicts = [{"id": n, "status": "original", "story": n} for n in (1, 2)]
    documents = [
        {"id": 2, "url": "https://b.example/", "title": "B", "time": 1_700_000_000, "text": "two"},
        {"id": 1, "url": "https://a.example/", "html": "<title>x</title><p>" + "one two three four. " * 20},
    ]
    feed = written(tmp_path, export("jsonl", verdicts), "verdicts")
    gathered = gather([feed], NearDupSettings(), [written(tmp_path, export("jsonl", documents), "documents")])
    assert [(row.url, row.title) for row in gathered.rows] == [("https://a.example/", ""), ("https://b.example/", "B")]
    texts = gathered.texts({0, 1})
    assert texts[1] == "two"
    assert texts[0].startswith("one two three four.")


def test_visits_of_one_page_get_their_own_documents(tmp_path: Path) -> None:
    feed = written(tmp_path, export("jsonl", [item(text=None), item(text=None)]), "items")
    documents = [{"id": f"d{n}", "url": item()["url"], "text": f"visit {n}"} for n in range(2)]
    gathered = gather([feed], NearDupSettings(), [written(tmp_path, export("jsonl", documents), "documents")])
    assert gathered.texts({0, 1}) == {0: "visit 0", 1: "visit 1"}


def test_documents_of_another_recording_are_told_from_missing_ones(tmp_path: Path) -> None:
    given = [item(n, text=None) for n in range(3)] + [item(3, "unchecked", text=None)]
    feed = written(tmp_path, export("jsonl", given))
    rows = [{"id": "a", "url": "https://paper1.example/1", "text": "The text of the first."}, {"id": "b", "text": "x"}]
    recorded = written(tmp_path, "".join(json.dumps(row) + "\n" for row in rows).encode(), "other.jsonl")
    report = build_report(gather([feed], NearDupSettings(), [recorded]))
    assert "2 of 3 items are without a document of its id or url in other.jsonl." in [
        each.text for each in report.notes
    ]
    recorded.write_text(json.dumps(rows[1]) + "\n", encoding="utf-8")
    notes = build_report(gather([feed], NearDupSettings(), [recorded])).notes
    assert "3 of 3 items are without a document of its id or url in other.jsonl." in [each.text for each in notes]
    assert "Give the recording of the same crawl (NEARDUP_RECORD) with --documents." in [each.remedy for each in notes]
    assert not any("--documents INPUT" in each.remedy for each in notes)


def test_recorded_documents_are_no_feed(tmp_path: Path) -> None:
    row = {"id": "a", "url": "https://paper1.example/1", "text": "The first.", "time": "2026-03-17T03:10:00+00:00"}
    feed = written(tmp_path, json.dumps(row).encode())
    report = build_report(gather([feed], NearDupSettings.from_mapping({"NEARDUP_ITEM_FIELDS": {"time": "published"}})))
    assert not any("time" in each.text for each in report.notes), "the record has its own field"
    (note,) = [each for each in report.notes if "verdict" in each.text]
    assert "scrapy neardup replay INPUT" in note.remedy
    assert "--documents" in note.remedy


@pytest.mark.parametrize("form", ["[%s]", "%s"], ids=["list", "lines"])
@pytest.mark.parametrize("value", ["9" * 5000, "[" * 100_000 + "]" * 100_000], ids=["a long number", "lists in lists"])
def test_a_value_that_python_refuses_costs_a_line_or_the_rest_of_a_list(tmp_path: Path, value: str, form: str) -> None:
    rows = [json.dumps(each) for each in ITEMS]
    rows.insert(2, f'{{"url": "https://a.example/", "size": {value}}}')
    feed = written(tmp_path, (form % ("," if form != "%s" else "").join(f"{row}\n" for row in rows)).encode())
    found = gather([feed], NearDupSettings())
    read = ITEMS if form == "%s" else ITEMS[:2]
    assert [row.title for row in found.rows] == [each["title"] for each in read]
    assert len(found.problems) == 1
    assert "not JSON" in found.problems[0]
