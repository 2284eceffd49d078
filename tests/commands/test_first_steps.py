"""What a user meets first: a window that is not there, an id that is not there, long lines."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest
from newsdesk import text
from other_words import BOTH, BUDGET, STRIKE
from projects import FERRY, ITEM_A_PAGE, Project
from scrapy_processes import neardup, run_scrapy

from scrapy_neardup import NearDupDetector, NearDupSettings, StoreError
from scrapy_neardup.lab.replay import opened

STORE = "sqlite:///window.sqlite"


def record(folder: Path, *texts: str) -> None:
    rows = [{"id": f"d{number}", "time": 1_700_000_000 + number, "text": each} for number, each in enumerate(texts, 1)]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


# A window that is not there


@pytest.mark.parametrize("command", ["watch", "events", "status"])
def test_a_window_that_is_not_there_is_named_with_the_settings_that_name_it(project: Project, command: str) -> None:
    project.prepare(ITEM_A_PAGE, {})
    done = run_scrapy(project.folder, "neardup", command)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"{project.folder}/.scrapy/neardup.sqlite: there is no such file" in line
    assert "the window of the project 'news'" in line
    assert "a NEARDUP_STORE in its custom_settings, give that with --store" in line


def test_a_window_outside_a_project_and_one_of_an_option_are_named_too(tmp_path: Path) -> None:
    (line,) = neardup(tmp_path, "status", "-s", f"NEARDUP_DATA_DIR={tmp_path}").stderr.splitlines()
    assert f"{tmp_path}/neardup.sqlite: there is no such file; it is the window of a crawl outside a project" in line
    (line,) = neardup(tmp_path, "status", "--store", STORE).stderr.splitlines()
    assert line.endswith("window.sqlite: there is no such file; --store names it, relative to the current directory")
    (line,) = neardup(tmp_path, "status", "--store", "memory://").stderr.splitlines()
    assert "memory://: such a window ends with its process" in line


def test_purge_names_a_namespace_that_is_not_there(project: Project) -> None:
    project.crawl(FERRY)
    done = neardup(project.folder, "purge", "--yes", "--namespace", "mistyped")
    assert (done.returncode, done.stdout) == (0, "Removed 0 documents.\n")
    assert "This store has the namespaces default." in done.stderr


# Documents that are not there


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("in.jsonl#2", "no line has the id '2'; line 2 has the id 'd2'"),
        ("in.jsonl", "a file of JSON lines holds many documents; name one, as in.jsonl#d1"),
        ("in.jsonl#69b91504a82af0c4", "no line has the id '69b91504a82af0c4'; line 1 has the id 'd1'"),
    ],
)
def test_an_unknown_id_is_told_one_of_the_file(tmp_path: Path, wanted: str, said: str) -> None:
    record(tmp_path, text("one"), text("two"))
    done = neardup(tmp_path, "explain", wanted, "in.jsonl#d1")
    assert (done.returncode, done.stderr) == (2, f"scrapy neardup explain: error: in.jsonl: {said}\n")


# Commands that only read


async def learned(store: str) -> tuple[int, int]:
    """Return from how many documents a window knows terms, and how many documents of a source."""
    detector = NearDupDetector(NearDupSettings(store=store))
    await detector.open()
    (count,) = [each.documents for each in detector.sketcher.all_frequencies.values()]
    source = detector.document("", url="https://a.example/1").source
    known = await detector.index.exchange_boilerplate({})
    await detector.close()
    return count, len(known.get(source.encode(), ()))


def test_similar_and_explain_leave_what_the_window_has_learned_as_it_is(tmp_path: Path) -> None:
    record(tmp_path, *map(text, range(3)))
    assert neardup(tmp_path, "replay", "in.jsonl", "--store", STORE).returncode == 0
    before = asyncio.run(learned(f"sqlite:///{tmp_path}/window.sqlite"))
    assert before[0] == 3
    (tmp_path / "other.txt").write_text(text("other"), encoding="utf-8")
    found = neardup(tmp_path, "similar", "in.jsonl#d1", "--store", STORE, "--json")
    (key,) = [json.loads(line)["id"] for line in found.stdout.splitlines()]
    for command in (("similar", "other.txt"), ("explain", key, "other.txt"), ("explain", "in.jsonl#d1", "other.txt")):
        assert neardup(tmp_path, *command, "--store", STORE).returncode == 0
    assert asyncio.run(learned(f"sqlite:///{tmp_path}/window.sqlite")) == before


def test_commands_that_only_read_leave_the_file_of_the_window_as_it_is(tmp_path: Path) -> None:
    record(tmp_path, *map(text, range(3)))
    assert neardup(tmp_path, "replay", "in.jsonl", "--store", STORE).returncode == 0
    window = tmp_path / "window.sqlite"
    before = window.read_bytes()
    for command in (("status",), ("watch", "--once"), ("events",), ("similar", "in.jsonl#d1"), ("doctor",)):
        done = neardup(tmp_path, *command, "--store", STORE, "--namespace", "mistyped")
        assert done.returncode == 0, done.stderr
        assert window.read_bytes() == before, command
    assert [path.name for path in tmp_path.glob("window.sqlite-*")] == []


@pytest.mark.parametrize(("command", "option"), [("status", "--json"), ("watch", "--once"), ("events", "--json")])
def test_an_empty_file_does_not_become_a_window(tmp_path: Path, command: str, option: str) -> None:
    (tmp_path / "window.sqlite").touch()
    done = neardup(tmp_path, command, option, "--store", STORE)
    assert (done.returncode, done.stdout) == (2, "")
    said = f"scrapy neardup {command}: error: window.sqlite: the file is empty: no crawl has kept its window there\n"
    assert done.stderr == said
    assert (tmp_path / "window.sqlite").stat().st_size == 0


async def test_a_window_that_is_only_read_shows_what_others_make_and_remove_meanwhile(tmp_path: Path) -> None:
    settings = NearDupSettings(store=f"sqlite:///{tmp_path}/window.sqlite")
    first, writer = NearDupDetector(replace(settings, namespace="other")), NearDupDetector(settings)
    reader = NearDupDetector(settings, reads_only=True)
    await first.open()
    await reader.open()
    assert (await reader.summary()).documents == 0
    await writer.open()
    await writer.check(writer.document(text("one"), url="https://a.example/1"))
    assert (await reader.summary()).documents == 1
    with pytest.raises(StoreError):
        await reader.purge()
    for each in (reader, writer, first):
        await each.close()


@pytest.mark.parametrize("name", ["window.sqlite", "a b?mode=rwc#100%.sqlite"])
async def test_a_file_that_is_only_read_is_not_made(tmp_path: Path, name: str) -> None:
    settings = NearDupSettings(store=f"sqlite:///{tmp_path}/{name}")
    with pytest.raises(StoreError, match="there is no such file"):
        await NearDupDetector(settings, reads_only=True).open()
    assert not list(tmp_path.iterdir())  # noqa: ASYNC240
    async with opened(NearDupDetector(settings)) as writer:
        await writer.check(writer.document(text("one"), url="https://a.example/1"))
    async with opened(NearDupDetector(settings, reads_only=True)) as reader:
        assert (await reader.summary()).documents == 1


# Ended early


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_interrupted_replay_writes_the_final_stories_of_what_was_done(tmp_path: Path) -> None:
    record(tmp_path, BUDGET, STRIKE, BOTH, *["short"] * 600)
    command = [sys.executable, "-m", "scrapy", "neardup", "replay", "-", "-O", "-", "--stories", "s.jsonl"]
    process = subprocess.Popen(
        [*command, "--workers", "1"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write((tmp_path / "in.jsonl").read_bytes())
    process.stdin.flush()
    for _ in range(256):  # as many as are judged together; the others wait for more
        assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert json.loads((tmp_path / "s.jsonl").read_text("utf-8")) == {"story": "d2", "final_story": "d1"}


def test_a_reader_that_closes_its_pipe_ends_a_command_that_prints_a_table(project: Project) -> None:
    project.crawl(FERRY)
    process = project.start("neardup", "status")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait() == 141


# 80 columns


def test_similar_breaks_no_url(project: Project) -> None:
    crawl = project.crawl(FERRY.replace("/ferry", f"/{'a-long-path-' * 7}ferry"))
    urls = [item["url"] for item in crawl.items]
    done = neardup(project.folder, "similar", urls[-1], columns=80)
    assert done.stdout.startswith(f"6 documents like {urls[-1]}\n")
    for url in urls[:-1]:
        assert f"\n    {url}\n" in done.stdout
    assert done.stdout.count(f"\n    original: {urls[0]}\n") == 5


def test_the_usage_can_be_read_at_80_columns(tmp_path: Path) -> None:
    done = run_scrapy(tmp_path, "neardup", environment={"COLUMNS": "80"})
    assert done.returncode == 2
    assert "explain" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("length", [1, 4])
def test_doctor_breaks_no_path(tmp_path: Path, length: int) -> None:
    folder = tmp_path / ("a-long-name-of-a-folder-" * length) / "data"
    done = neardup(tmp_path, "doctor", "-s", f"NEARDUP_DATA_DIR={folder}", columns=80)
    assert done.returncode == 0, done.stderr
    assert str(folder) in done.stdout
    for line in done.stdout.splitlines():
        assert len(line) <= 80 or line.split()[0].startswith(str(folder)), "a long path begins its line"
        assert line[:4].isupper() or line.startswith(("ok ", "    "))


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX terminals")
@pytest.mark.parametrize("command", [("events",), ("report", "a file that is not there.jsonl")])
def test_a_message_on_a_terminal_is_wrapped_between_words(tmp_path: Path, command: tuple[str, ...]) -> None:
    terminal, end = os.openpty()
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "60", "TERM": "xterm"}
    arguments = [sys.executable, "-m", "scrapy", "neardup", *command, "-s", f"NEARDUP_DATA_DIR={tmp_path}"]
    process = subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=end, env=environment)
    os.close(end)
    with open(terminal, encoding="utf-8", closefd=True) as shown:
        first, *others = read_until_closed(shown)
    assert process.wait() == 2
    assert first.startswith(f"scrapy neardup {command[0]}: error:")
    assert all(line.startswith("  ") for line in others)
    assert all(len(line) <= 60 or str(tmp_path) in line for line in (first, *others))


def read_until_closed(terminal: IO[str]) -> list[str]:
    """Return the lines of a terminal. Linux raises an error at the end of the last process that has it open."""
    lines = []
    with suppress(OSError):
        lines += terminal  # keeps the lines that came before the error
    return [line.rstrip() for line in lines]


def test_the_heading_of_watch_is_wrapped_between_words(project: Project) -> None:
    project.crawl(FERRY)
    store = "sqlite:///.scrapy/neardup.sqlite"
    lines = neardup(project.folder, "watch", "--once", "--store", store, columns=60).stdout.splitlines()
    assert lines[0].endswith(" UTC  default")
    assert lines[1] == f"  {store}"


def test_status_shows_the_settings_that_people_ask_for(tmp_path: Path) -> None:
    record(tmp_path, text("one"))
    settings = "--store", STORE, "-s", 'NEARDUP_PRESET_OPTIONS={"min_block_words": 9, "threshold": 0.6}'
    neardup(tmp_path, "replay", "in.jsonl", *settings)
    shown = " ".join(neardup(tmp_path, "status", *settings, columns=80).stdout.replace("│", " ").split())
    thresholds = "threshold 0.6, related_threshold 0.25, topic_threshold 0.28"
    assert f"settings preset news, {thresholds}, min_block_words 9, scope all, window 24 hours configuration" in shown
    full = json.loads(neardup(tmp_path, "status", *settings, "--json").stdout)
    assert full["configuration"]["num_perm"] == 256


# One thing, one number


def test_watch_counts_stories_that_became_one_once(project: Project) -> None:
    spider = f"""
    class News(scrapy.Spider):
        name = "news"
        start_urls = ["data:,"]

        def parse(self, response):
            for number, body in enumerate({[BUDGET, BUDGET, STRIKE, STRIKE, BOTH]!r}):
                yield {{"url": f"https://source{{number}}.example/news", "text": body}}
    """
    project.crawl(spider)
    done = neardup(project.folder, "watch", "--once", "--json")
    view = json.loads(done.stdout)
    (story,) = view["stories"]
    assert story["hour"] == 3, "two copies, and the report that shows that both stories are one"


@pytest.mark.parametrize(("action", "said"), [("tag", "would be dropped"), ("drop", "dropped")])
def test_watch_says_whether_items_are_dropped(project: Project, action: str, said: str) -> None:
    project.crawl(FERRY, NEARDUP_ACTION=action)
    done = neardup(project.folder, "watch", "--once", columns=80)
    assert re.search(rf"│ {said} +│", done.stdout)
    assert "running events, items counted up to now" in done.stdout
    assert "1 event, items counted up to now" in neardup(project.folder, "events").stdout
