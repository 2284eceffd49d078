"""``scrapy neardup replay``: the product as it is measured from outside, and input that it cannot use."""

import gzip
import json
import lzma
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from json_lines import lines_of, read_lines, write_lines
from newsdesk import text
from projects import ITEM_A_PAGE, Project
from scrapy_processes import run_scrapy

from scrapy_neardup import NearDupSettings
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.tools.commands.console import read_single
from scrapy_neardup.tools.lab.feed import LONGEST_LINE, TOO_LONG, FeedLine, RecordedDocument, read_feed, read_labelled
from scrapy_neardup.tools.lab.replay import PageReader
from scrapy_neardup.tools.report.gathering import read_rows

KEYS = (
    "id status kind original original_url match match_url similarity containment "
    "share would_drop story changes news event reason"
).split()
NOON = 1_700_000_000


def scrapy_neardup(*arguments: object, folder: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = run_scrapy(folder, "neardup", *map(str, arguments))
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def replay(tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Replay rows and read the output back."""

    def run(rows: list[dict[str, Any]], *arguments: object, code: int = 0) -> list[dict[str, Any]]:
        source, out = tmp_path / "input.jsonl", tmp_path / "out.jsonl"
        write_lines(source, rows)
        scrapy_neardup("replay", source, "-O", out, *arguments, folder=tmp_path, code=code)
        return read_lines(out)

    return run


Replay = Callable[..., list[dict[str, Any]]]


def test_one_line_out_for_each_line_in_with_exactly_the_documented_keys(replay: Replay) -> None:
    edited = text(1).replace(text(1).split()[40], "zebra")
    out = replay(
        [
            {"id": "a", "url": "https://one.example/1", "title": "A", "time": NOON, "text": text(1)},
            {"id": 7, "url": "https://two.example/1", "title": "B", "time": NOON + 60, "text": text(1)},
            {"id": "c", "url": "https://three.example/1", "time": NOON + 61, "text": edited},
            {"id": "d", "url": "https://four.example/1", "time": NOON + 62, "text": text(2)},
            {"id": "e", "url": "https://one.example/1?utm_source=mail", "time": NOON + 63, "text": text(1)},
            {"id": "f", "url": "https://five.example/1", "time": NOON + 64, "text": "Too short."},
            {"id": "g", "url": "https://six.example/1", "time": NOON + 65, "text": " "},
            {"id": "h", "url": "https://six.example/2", "time": NOON + 66, "text": " ".join(text(1).split()[:70])},
        ]
    )
    assert [list(row) for row in out] == [KEYS] * 8
    assert [row["id"] for row in out] == ["a", 7, "c", "d", "e", "f", "g", "h"]
    assert [(row["status"], row["kind"], row["original"], row["reason"]) for row in out] == [
        ("original", None, None, None),
        ("duplicate", "exact", "a", None),
        ("duplicate", "near", "a", None),
        ("original", None, None, None),
        ("duplicate", "revisit", "a", None),
        ("unchecked", None, None, "too-short"),
        ("unchecked", None, None, "no-text"),
        ("duplicate", "abridged", "a", None),
    ]
    assert (out[1]["original_url"], out[1]["match_url"]) == ("https://one.example/1", "https://one.example/1")
    assert out[1]["similarity"] == out[1]["containment"] == out[1]["share"] == 1.0
    assert [row["would_drop"] for row in out] == [False, True, False, False, True, False, False, True]
    assert out[0]["match"] is out[0]["match_url"] is out[0]["share"] is None
    assert [row["story"] for row in out] == ["a", "a", "a", "d", "a", None, None, "a"]


def test_the_window_is_the_documents_own(replay: Replay) -> None:
    times = ["2019-11-15T00:00:00Z", "2019-11-15T23:59:00+00:00", "2019-11-17T00:00:00", 1574035200]
    out = replay([{"id": str(n), "time": time, "text": text(4)} for n, time in enumerate(times)])
    assert [row["status"] for row in out] == ["original", "duplicate", "original", "duplicate"]
    assert [row["original"] for row in out] == [None, "0", None, "2"]


def test_pages_are_extracted_and_verdicts_keep_the_order_of_the_input(replay: Replay, tmp_path: Path) -> None:
    def page(body: str) -> str:
        paragraphs = "".join(f"<p>{line}.</p>" for line in body.splitlines())
        return f"<html><body><nav>Home News Sport</nav><article><h1>News</h1>{paragraphs}</article></body></html>"

    (tmp_path / "pages").mkdir()
    rows: list[dict[str, Any]] = []
    for number in range(40):
        body = page(text(number // 2, 300))
        if number % 2:
            (tmp_path / f"pages/{number}.html").write_bytes(body.encode("utf-16"))
            rows.append({"id": number, "file": f"pages/{number}.html"})
        else:
            rows.append({"id": number, "html": body})
    out = replay(rows, "--workers", 2)
    assert [row["id"] for row in out] == list(range(40))
    assert [row["original"] for row in out] == [number - 1 if number % 2 else None for number in range(40)]


def test_wrong_lines_are_reported_with_file_and_line_and_nothing_else_is_lost(tmp_path: Path) -> None:
    good = [json.dumps({"id": name, "text": text(1)}) for name in "abc"]
    lines = [
        good[0].encode(),
        b"{not json",
        b'["a list"]',
        b'{"text": "no id"}',
        b'{"id": "x", "url": "https://a.example/"}',
        b'{"id": "y", "text": 7}',
        b'{"id": "z", "text": "t", "time": "yesterday"}',
        b'{"id": "w", "text": "\xff"}',
        b'{"id": "gone", "file": "missing.html"}',
        good[1].encode(),
        b"",
        good[2].encode(),
    ]
    (tmp_path / "input.jsonl").write_bytes(b"\n".join(lines))
    done = scrapy_neardup("replay", "input.jsonl", "-O", "out.jsonl", folder=tmp_path, code=1)
    reported = done.stderr.splitlines()
    assert [line.split(": ")[0] for line in reported[:7]] == [f"input.jsonl:{number}" for number in range(2, 9)]
    assert "missing.html" in reported[7]
    out = read_lines(tmp_path / "out.jsonl")
    assert [row["id"] for row in out] == ["a", None, None, None, "x", "y", "z", None, "gone", "b", "c"]
    assert [row["original"] for row in out if "error" not in row] == [None, "a", "a"]
    assert all(row["status"] == "unchecked" for row in out if "error" in row)


def test_a_replay_gives_the_same_events_every_time_in_ids_of_its_input(replay: Replay, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "id": f"{story}-{n}",
            "url": f"https://s{n}.example/{story}",
            "time": NOON + 3600 * story + 80 * n,
            "text": text(story),
        }
        for story in range(4)
        for n in range(30)
    ]
    random.Random(1).shuffle(rows)
    once, again = (replay(rows, "--events", tmp_path / name, "--workers", 1) for name in ("one", "two"))
    events = read_lines(tmp_path / "one")

    assert once == again
    assert events == read_lines(tmp_path / "two")
    assert {event["level"] for event in events} == {"watch", "breaking", "update", "ended"}
    named = {member["id"] for event in events for member in event["members"]} | {event["story"] for event in events}
    assert named <= {row["id"] for row in rows}
    tipped = {verdict["id"]: verdict["event"] for verdict in once if verdict["event"]}
    assert tipped == {event["item"]: event["level"] for event in events if event["item"]}


def test_a_store_that_lasts_remembers_the_replay_before(replay: Replay, tmp_path: Path) -> None:
    row = {"id": "a", "url": "https://one.example/1", "time": NOON, "text": text(1)}
    store = f"sqlite:///{tmp_path}/window.sqlite"
    assert replay([row], "--store", store)[0]["status"] == "original"
    again = replay([row], "--store", store)[0]
    assert (again["status"], again["kind"], again["original_url"]) == ("duplicate", "revisit", "https://one.example/1")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["missing.jsonl"], "missing.jsonl: cannot be read"),
        (["input.jsonl", "-O", "input.jsonl/out.jsonl"], "input.jsonl/out.jsonl: cannot be read or written"),
        (["input.jsonl", "-O", "/dev/full"], "No space left on device"),
        (["input.jsonl", "-O", "input.jsonl"], "input.jsonl: is the input or another output"),
        (["input.jsonl", "-O", "out", "--events", "./out"], "out: is the input or another output"),
        (["input.jsonl", "-O", "-", "--stories", "-"], "-: is the input or another output"),
        (["input.jsonl", "--store", "mysql://host"], "NEARDUP_STORE = 'mysql://host'"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(tmp_path: Path, arguments: list[str], told: str) -> None:
    write_lines(tmp_path / "input.jsonl", [{"id": 1, "text": text(1)}])
    done = scrapy_neardup("replay", *arguments, folder=tmp_path, code=2)
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert read_lines(tmp_path / "input.jsonl"), "no input is lost"


@pytest.mark.parametrize("packer", [gzip.compress, lzma.compress])
def test_a_damaged_archive_is_told_with_its_line_and_what_came_before_is_judged(tmp_path: Path, packer: Any) -> None:
    packed = packer(b"".join(json.dumps({"id": n, "text": text(n)}).encode() + b"\n" for n in range(300)))
    (tmp_path / "input.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    done = scrapy_neardup("replay", "input.jsonl.gz", "-O", "out.jsonl", folder=tmp_path, code=1)
    out = read_lines(tmp_path / "out.jsonl")
    assert [row["id"] for row in out[:-1]] == list(range(len(out) - 1))
    assert len(out) > 100
    assert out[-1]["error"].startswith(f"input.jsonl.gz:{len(out)}: cannot be read further")
    assert out[-1]["error"] in done.stderr


def test_odd_characters_lose_no_line(replay: Replay) -> None:
    rows = [{"id": "\ud800", "url": "http://a\udc80.example/", "text": text(1)}, {"id": "b", "file": "a\x00b"}]
    out = replay([*rows, {"id": "c", "text": "\U0001f525 \U0001f525"}, {"id": "d", "text": text(1)}], code=1)
    assert [row["status"] for row in out] == ["original", "unchecked", "unchecked", "duplicate"]
    assert "'file' is 'a\\x00b', which is not below" in out[1]["error"]
    assert out[2]["reason"] == "no-text"


def test_a_replay_alarms_nobody(replay: Replay) -> None:
    """And needs nothing that sends alarms, such as Apprise."""
    hook, chat = "NEARDUP_EVENTS_WEBHOOK=http://127.0.0.1:1/", "NEARDUP_EVENTS_NOTIFY=no service"
    (row,) = replay([{"id": 1, "text": text(1)}], "-s", hook, "-s", chat, "-s", "NEARDUP_EVENTS_ATOM=events.xml")
    assert row["status"] == "original"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["-s", "NEARDUP_PRESET=multiref"], 0, '"documents": 1'),
        (["--store", "sqlite:///window.sqlite"], 0, '"documents": 1'),
        (
            ["-s", "NEARDUP_PRESET=multiref", "-s", 'NEARDUP_PRESET_OPTIONS={"measure": "larger"}'],
            2,
            "NEARDUP_PRESET = 'multiref' has no such parameter",
        ),
    ],
)
def test_another_preset_or_store_leaves_the_project_s_parameters_behind(
    project: Project, options: list[str], code: int, said: str
) -> None:
    settings = {"NEARDUP_STORE": "redis://localhost/0", "NEARDUP_PRESET": "nrc"}
    project.prepare(ITEM_A_PAGE, {**settings, "NEARDUP_PRESET_OPTIONS": {"min_block_words": 5}})
    project.write("input.jsonl", json.dumps({"id": 1, "text": text(1)}))
    process = project.start("neardup", "replay", "input.jsonl", "--json", *options)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == code
    assert said in output


@pytest.mark.parametrize(
    ("item", "missing"),
    [({}, "no 'id' and no 'text', 'html' or 'file'"), ({"text": "News."}, "no 'id'"), ({"id": 1}, "no 'text', ")],
)
def test_a_feed_of_items_is_recognised_by_its_first_lines(tmp_path: Path, item: dict[str, Any], missing: str) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(lines_of([{"url": "https://www.wire.example/a", **item}] * 30), encoding="utf-8")
    with pytest.raises(InputError, match=f"line 1 has {missing}.*crawl again with -s NEARDUP_RECORD="):
        read_feed(items)


# Recorded documents of strangers


LONG = "a " * (LONGEST_LINE // 2)


@pytest.mark.parametrize("read", [read_feed, read_rows])
def test_a_line_that_is_too_long_is_named_and_the_others_are_read(tmp_path: Path, read: Callable[..., Any]) -> None:
    rows = [{"id": 1, "text": "one"}, {"id": 2, "text": LONG}, {"id": 3, "text": "two"}]
    path = tmp_path / "in.jsonl.gz"
    path.write_bytes(gzip.compress(lines_of(rows).encode(), 1))
    first, wrong, last = read(path)
    assert wrong.error == f"{path}:2: {TOO_LONG}"
    assert [each.row["id"] if isinstance(each, FeedLine) else each.id for each in (first, last)] == [1, 3]
    path.write_bytes(gzip.compress(lines_of(rows[:2])[:-9].encode(), 1))
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
    (folder / "in.jsonl").write_text(lines_of([{**row, "cluster": 1, "original": True} for row in given]))

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
    (tmp_path / "in.jsonl").write_text(lines_of(given))
    with PageReader(NearDupSettings(), workers=1) as reader:
        errors = [str(page.error) for page in reader.read(read_feed(tmp_path / "in.jsonl"))]
    reasons = ["not a regular file", "over the limit of 5000000 bytes", "No such file or directory"]
    assert [error.rpartition(": ")[2] for error in errors] == reasons


def test_the_folder_of_the_input_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/in.jsonl").write_text(lines_of([{"id": 1, "text": "one"}, {"id": 2, "file": "1.html"}]))
    (tmp_path / "linked").symlink_to(tmp_path / "pages")
    assert [entry.id for entry in read_feed(tmp_path / "linked" / "in.jsonl")] == [1, 2]
