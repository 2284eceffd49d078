"""The manners of all commands: -, closed pipes, Ctrl-C, narrow terminals, and input that is not what it should be."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from json_lines import lines_of
from newsdesk import text
from scrapy_processes import neardup, start_scrapy

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.tools.commands import INTERRUPTED, PIPE_CLOSED, SUBCOMMANDS
from scrapy_neardup.tools.lab.replay import opened

STORE = "sqlite:///window.sqlite"
WIRE, COPY, OTHER = "https://www.wire.example/a", "https://www.copy.example/b", "https://other.example/c"


def rows(count: int = 6) -> list[dict[str, Any]]:
    """Documents in pairs of copies, labelled."""
    return [
        {"id": n, "url": f"https://s{n}.example/", "text": text(n // 2), "cluster": str(n // 2), "original": n % 2 == 0}
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with recorded documents and a window of three documents."""
    folder = tmp_path_factory.mktemp("manners")
    (folder / "in.jsonl").write_text(lines_of(rows()), encoding="utf-8")
    (folder / "empty.jsonl").touch()
    asyncio.run(_fill(f"sqlite:///{folder}/window.sqlite"))
    return folder


async def _fill(store: str) -> None:
    start = time.time() - 60  # of two documents of one second, either may count as the older one
    async with opened(NearDupDetector(NearDupSettings(store=store, namespace="sports"))) as detector:
        for number, (url, body) in enumerate(((WIRE, text("fire")), (COPY, text("fire")), (OTHER, text("other")))):
            title = f"News of {url[8:13]}"
            await detector.check(detector.document(body, url=url, title=title, seen_at=start + number))


# - is standard input or output


def test_a_replay_reads_and_writes_a_pipe(tmp_path: Path) -> None:
    done = neardup(tmp_path, "replay", "-", "-O", "-", "--json", answer=lines_of(rows()))
    assert [json.loads(line)["status"] for line in done.stdout.splitlines()] == ["original", "duplicate"] * 3
    assert json.loads(done.stderr)["documents"] == 6, "the summary does not mix with the verdicts"
    for nothing, status in ("", 0), ("root:x:0\n" * 26, 2):
        done = neardup(tmp_path, "replay", "-", answer=nothing)
        assert (done.returncode, len(done.stderr.splitlines())) == (status, 1)


def test_a_closed_pipe_ends_a_replay_quietly(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(lines_of(rows(1500)), encoding="utf-8")
    process = start_scrapy(tmp_path, "neardup", "replay", "in.jsonl", "-O", "-", "--workers", "1")
    process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    assert process.wait() == PIPE_CLOSED
    assert "Ended early, after" in said
    assert "Traceback" not in said
    assert "Exception" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_ends_a_replay_with_what_was_done(tmp_path: Path) -> None:
    process = start_scrapy(
        tmp_path, "neardup", "replay", "-", "-O", "out.jsonl", "--workers", "1", stdin=subprocess.PIPE
    )
    process.stdin.write(lines_of(rows(900)))  # some are judged; the rest never comes
    process.stdin.flush()
    output = tmp_path / "out.jsonl"
    while not output.exists() or not output.stat().st_size:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.stdin.close()
    said = process.stderr.read()
    assert process.wait() == INTERRUPTED
    assert "Ended early, after" in said
    assert "Traceback" not in said


def test_similar_takes_a_url_or_an_id_of_the_window(folder: Path) -> None:
    window = "--store", STORE, "--namespace", "sports", "--json"
    (copy,) = map(json.loads, neardup(folder, "explain", f"{WIRE}?utm_source=x", *window).stdout.splitlines())
    assert (copy["url"], copy["like"]) == (COPY, "copy")
    (wire,) = map(json.loads, neardup(folder, "explain", copy["id"], *window).stdout.splitlines())
    assert wire["url"] == WIRE
    missing = neardup(folder, "explain", "0123456789abcdef", *window)
    assert missing.returncode == 2
    assert "not in the window; scrapy neardup watch" in missing.stderr


def test_explain_compares_documents_of_the_window_and_files(folder: Path, tmp_path: Path) -> None:
    window = "--store", STORE, "--namespace", "sports"
    done = neardup(folder, "explain", WIRE, COPY, *window)
    assert done.returncode == 0
    assert "B after A: duplicate/exact" in done.stdout
    assert "the same text, except for case and punctuation" in done.stdout
    (tmp_path / "given.txt").write_text(text("other"), encoding="utf-8")
    found = json.loads(neardup(folder, "explain", WIRE, str(tmp_path / "given.txt"), *window, "--json").stdout)
    assert (found["status"], found["a"]["url"]) == ("original", WIRE)


@pytest.mark.parametrize(
    "setting", ['NEARDUP_KEEP_SOURCES=["s1.example", "s3.example"]', 'NEARDUP_PRESET_OPTIONS={"min_block_words": 5}']
)
def test_values_on_the_command_line_may_be_json(folder: Path, setting: str) -> None:
    done = neardup(folder, "replay", "in.jsonl", "-O", "-", "--json", "-s", setting)
    assert done.returncode == 0, done.stderr
    dropped = [json.loads(line)["would_drop"] for line in done.stdout.splitlines()]
    assert sum(dropped) == (1 if "KEEP" in setting else 3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["watch", "--nmaespace", "x"], "watch: error: unrecognized arguments: --nmaespace x ("),
        (["--json", "watch"], "watch: error: unrecognized arguments: --json (options go after the subcommand)"),
        (["replay"], "replay: error: the following arguments are required: INPUT (scrapy neardup replay --help"),
        (["watch", "--store", "host:6379/0"], "watch: error: NEARDUP_STORE = 'host:6379/0': a store is memory://"),
    ],
)
def test_what_is_mistyped_is_named_in_one_line(tmp_path: Path, given: list[str], said: str) -> None:
    done = neardup(tmp_path, *given)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"scrapy neardup {said}")


@pytest.mark.parametrize(("given", "name"), [(["stauts"], "stauts"), (["--store", "x", "watch"], "x")])
def test_a_mistyped_subcommand_is_told_the_others(tmp_path: Path, given: list[str], name: str) -> None:
    done = neardup(tmp_path, *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"invalid choice: {name!r}" in done.stderr
    assert all(name in done.stderr for name in SUBCOMMANDS)
