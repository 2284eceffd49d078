"""A replay on a cluster: a real scheduler, and workers that are killed in each step."""

import argparse
import asyncio
import gzip
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from json_lines import read_lines, write_lines

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.tools.commands import add_arguments, run_subcommand
from scrapy_neardup.tools.lab.feed import read_documents, read_feed
from scrapy_neardup.tools.lab.replay import OutputFormat, PageReader, opened, replay

distributed = pytest.importorskip("distributed")
warc = pytest.importorskip("fastwarc.warc")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from scrapy_neardup.tools import cluster as archive  # noqa: E402

NOON = 1_700_000_000
HTML = "HTTP/1.1 200 OK\r\nContent-Type: text/html"
MOMENTS = ("read_file-", "fingerprint-", "find_pairs-", "decide-", "00002-")  # one in each step
# So copies of copies are kept because too little of them is in what was kept.
SETTINGS_GIVEN = {"NEARDUP_KEEP_UPDATES": False}
SETTINGS = NearDupSettings.from_mapping({"NEARDUP_STORE": "memory://", **SETTINGS_GIVEN})


def sentences(draw: random.Random, count: int) -> list[str]:
    words = ["".join(map(draw.choice, ("bdfgklmnprstv", "aeiou") * 3)) for _ in range(40)]
    return [" ".join([f"{draw.randrange(10**6):x}".upper(), *draw.choices(words, k=11)]) + "." for _ in range(count)]


def documents(count: int) -> list[dict[str, Any]]:
    """Return documents of which half are copies, each of the one before it, a page that comes often, and a notice."""
    draw = random.Random(7)
    rows: list[dict[str, Any]] = []
    while len(rows) < count:
        body = sentences(draw, 12)
        title = body[0][:40]
        for _ in range(draw.choice((1, 1, 2, 3, 8))):
            page = f"https://paper{draw.randrange(9)}.example/news/{len(rows)}"
            rows.append({"url": page, "title": title, "text": "\n".join(body)})
            body = [*body[: draw.randrange(10, len(body) + 1)], *sentences(draw, draw.choice((0, 0, 2, 3)))]
    again = {"url": "https://paper1.example/live", "title": "Live", "text": "\n".join(sentences(draw, 8))}
    rows += [again] * 20 + [{**again, "url": "https://paper1.example/notice", "title": "Subscribe today"}]
    draw.shuffle(rows)
    return [{"id": f"d{number}", "time": NOON + 40 * number, **row} for number, row in enumerate(rows)]


def write_inputs(folder: Path, rows: list[dict[str, Any]]) -> list[Path]:
    """Write documents in four formats, with wrong lines among them, and a file that cannot be read."""
    paths = [folder / name for name in ("in0.jsonl.gz", "in1.jsonl.zst", "in2.parquet", "in3.jsonl")]
    lines = ["".join(json.dumps(row) + "\n" for row in rows[number::4]).encode() for number in range(4)]
    paths[0].write_bytes(gzip.compress(lines[0] + b"{broken\n"))
    with paths[1].open("wb") as file, pa.CompressedOutputStream(file, "zstd") as packed:
        packed.write(lines[1])
    table = [{**row, "time": datetime.fromtimestamp(row["time"], timezone.utc)} for row in rows[2::4]]
    pq.write_table(pa.Table.from_pylist([*table, {"id": "empty"}]), paths[2])
    paths[3].write_bytes(b'{"id": "wordless", "text": ""}\n' + lines[3])
    damaged = folder / "in4.parquet"
    damaged.write_bytes(b"PAR1")
    return [*paths, damaged]


async def plain_replay(path: Path) -> list[dict[str, Any]]:
    output = OutputFormat()
    async with opened(NearDupDetector(SETTINGS, run="")) as detector:
        with PageReader(SETTINGS, 1) as reader:
            return [output.row(judged) async for judged in replay(reader.read(read_feed(path)), detector)]


def compared(rows: list[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """Return what a replay on a cluster says as another one does."""
    found = {}
    for row in rows:
        status = row["status"].replace("related", "original")
        copy = tuple(row[name] for name in ("kind", "match", "original", "share"))
        copy += tuple(row["changes"])
        found[row["id"]] = (status, row["would_drop"], *(copy if status != "original" else ()))
    return found


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """Yield the address of a scheduler with two workers."""
    (tmp_path / "notes").mkdir()
    script = Path(__file__).parents[1] / "support/dask_worker.py"
    with distributed.LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=None) as here:
        command = [sys.executable, str(script), here.scheduler_address, str(tmp_path / "notes"), *MOMENTS]
        workers = subprocess.Popen(command, start_new_session=True)
        yield here.scheduler_address
        os.killpg(workers.pid, signal.SIGKILL)
        workers.wait()


def test_workers_are_killed_in_each_step_and_nothing_is_lost_or_twice(
    tmp_path: Path, cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = documents(160)
    inputs = tuple(write_inputs(tmp_path, rows))
    out = tmp_path / "out"

    def stop(line: str) -> None:
        if line.startswith("find_pairs: 16 "):
            raise InterruptedError

    with archive.connected(cluster, 1) as client, pytest.raises(InterruptedError):
        archive.replay_archive(client, archive.job_of(SETTINGS, inputs, out), stop)
    given = [*map(str, inputs), "--cluster", cluster, "-O", str(out)]
    with pytest.raises(InputError, match="unfinished ones of another replay"):
        command(given[1:], SETTINGS_GIVEN)
    assert command([*given, "--json"], SETTINGS_GIVEN) == 1  # there are wrong lines
    printed = capsys.readouterr()
    _, *told = printed.err.splitlines()
    summary = json.loads(printed.out)

    # The second try begins where the first one was stopped.
    assert told[0].startswith("decide: ")
    assert sorted(each.name for each in (tmp_path / "notes").iterdir()) == sorted(MOMENTS)
    assert sorted(each.name for each in out.iterdir()) == [f"0000{number}-in{number}.jsonl" for number in range(5)]

    parts = [read_lines(part) for part in sorted(out.iterdir())]
    assert [[row["id"] for row in part if row["id"]] for part in parts] == [
        [row["id"] for row in rows[0::4]],
        [row["id"] for row in rows[1::4]],
        [*(row["id"] for row in rows[2::4]), "empty"],
        ["wordless", *(row["id"] for row in rows[3::4])],
        [],
    ]
    errors = [row["error"] for part in parts for row in part if "error" in row]
    last = [len(rows[number::4]) + 1 for number in range(4)]
    wrong = [f"{inputs[0]}:{last[0]}: not JSON", f"{inputs[2]}:{last[2]}: a document needs", f"{inputs[4]}: "]
    assert all(error.startswith(beginning) for error, beginning in zip(errors, wrong, strict=True))
    assert (summary["documents"], summary["errors"], summary["wrong_lines"]) == (len(rows) + 1, 3, 3)
    assert summary["verdicts"]["unchecked/no-text"] == 1
    assert "the newest were taken" in told[-1]

    write_lines(tmp_path / "all.jsonl", rows)
    expected = compared(asyncio.run(plain_replay(tmp_path / "all.jsonl")))
    found = compared([row for part in parts for row in part if row["id"]])
    assert {name: found[name] for name in expected} == expected
    assert {status for status, *_ in expected.values()} >= {"original", "duplicate"}
    assert len({row["original"] for part in parts for row in part if row["would_drop"]}) > 20


@pytest.mark.slow
def test_ctrl_c_reaches_the_workers_too_and_ends_in_one_line(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", documents(500))
    given = "neardup replay in.jsonl -O out --cluster local --workers 1".split()
    started = [sys.executable, "-m", "scrapy", *given]
    with subprocess.Popen(started, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stderr.readline().startswith("Dask shows its progress")
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr.readlines() == ["Interrupted.\n"]
    assert process.returncode == 130


def command(arguments: list[str], settings: dict[str, Any]) -> int:
    parser = argparse.ArgumentParser()
    add_arguments(parser, "replay")
    return run_subcommand("replay", parser.parse_args(arguments), settings)


@pytest.mark.parametrize(
    ("more", "settings", "error"),
    [
        ([], {}, "many files, and --parquet, need --cluster"),
        (["--cluster", "local"], {}, "-O FOLDER"),
        (["--cluster", "local", "-O", "out", "--events", "events.jsonl"], {}, "--events needs the order of a stream"),
        (["--cluster", "local", "-O", "out"], {"NEARDUP_PRESET": "simhash"}, "'simhash', which learns from each"),
        (["--cluster", "local", "-O", "out"], {}, "one.jsonl: is no file"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused(more: list[str], settings: dict[str, Any], error: str) -> None:
    with pytest.raises(InputError, match=error):
        command(["one.jsonl", "two.jsonl", *more], settings)


@pytest.mark.versions
def test_a_warc_has_its_pages_with_their_times_and_urls(tmp_path: Path) -> None:
    path = tmp_path / "CC-NEWS-20260301.warc.gz"
    with path.open("wb") as file:
        packed = gzip.GzipFile(fileobj=file, mode="wb")
        for number in range(1000):
            for kind, head, body in (
                ("request", "GET / HTTP/1.1\r\n", ""),
                ("response", f"{HTML}; charset=utf-8\r\n", f"<p>Página {number}</p>"),
            ):
                add_record(packed, kind, number, head, body)
        add_record(packed, "response", 1000, "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n", "gone")
        add_record(packed, "response", 1001, "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n", "no page")
        packed.close()
    pages = list(read_documents(path))
    assert [page.url for page in pages] == [f"https://paper.example/{number}" for number in range(1000)]
    assert [page.time for page in pages] == [NOON + number for number in range(1000)]
    assert [page.html for page in pages] == [f"<p>Página {number}</p>" for number in range(1000)]
    assert pages[1].where == f"{path}:4"
    assert len({page.id for page in pages}) == 1000
    path.write_bytes(path.read_bytes()[:-3000])
    *pages, last = read_documents(path)
    assert 800 < len(pages) < 1000
    assert last.error is not None
    assert "cannot be read further: Compressed file ended before" in last.error


def add_record(file: gzip.GzipFile, kind: str, number: int, head: str, body: str) -> None:
    record = warc.WarcRecord()
    record.init_headers(getattr(warc.WarcRecordType, kind))
    record.headers["WARC-Target-URI"] = f"https://paper.example/{number}"
    record.headers["WARC-Date"] = datetime.fromtimestamp(NOON + number, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    record.headers["Content-Type"] = f"application/http; msgtype={kind}"
    record.set_bytes_content(f"{head}\r\n{body}".encode())
    record.write(file)


def test_a_key_of_many_documents_in_several_files_is_paired_with_the_newest(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    seconds = (draw.permutation(1000) * 48).tolist()
    keys = draw.choice([5, 5, 5, 6, 7, 8, 9], 1000).tolist()
    posted = [(second << 96 | number).to_bytes(16, "big") for number, second in enumerate(seconds)]
    job = archive.Job(NearDupSettings.from_mapping({"NEARDUP_WINDOW": 7200}), tmp_path, [], 0.0)
    for task in range(3):
        with closing(sqlite3.connect(job.file("fingerprint", task))) as rows, rows:
            rows.executescript(archive.TABLES)
            postings = [*zip(keys, seconds, posted, range(1000), [2] * 1000, strict=True)][task::3]
            rows.executemany("INSERT INTO postings VALUES (?, ?, ?, ?, ?)", postings)
    before = {each.path for each in psutil.Process().open_files()}
    with closing(sqlite3.connect(":memory:", uri=True)) as rows:
        rows.executescript(archive.TABLES)
        counts = archive.find_pairs(job, rows, 0, (0, 1 << 32))
        found = rows.execute("SELECT place, candidate, weight FROM pairs").fetchall()
        assert {each.path for each in psutil.Process().open_files()} == before  # however many files there are

    expected = {}
    crowded = 0
    for key in range(5, 10):
        of_key = sorted((seconds[address], address) for address in range(1000) if keys[address] == key)
        for place, (moment, address) in enumerate(of_key):
            near = [other for then, other in of_key[:place] if moment - then <= 7200]
            crowded += len(near) > 16
            expected |= {(address, posted[other]): 2 for other in near[-16:]}
    assert {each[:2]: each[2] for each in found} == expected
    assert counts == {"crowded": crowded}


def test_a_key_of_many_documents_costs_no_more_than_its_newest_ones() -> None:
    with closing(sqlite3.connect(":memory:")) as rows:
        rows.executescript(archive.TABLES + "CREATE TEMP TABLE sorted AS SELECT * FROM postings;")
        plan = rows.execute(f"EXPLAIN QUERY PLAN {archive.PAIRS}", {"window": 1, "most": 16}).fetchall()
    assert "SEARCH earlier USING INTEGER PRIMARY KEY" in str(plan)
