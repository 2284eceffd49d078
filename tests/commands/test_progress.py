"""Commands that take long show on a terminal how much is done."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from newsdesk import text

pty = pytest.importorskip("pty", reason="POSIX terminals")


@pytest.mark.parametrize("arguments", [("tune", "in.jsonl", "--from", "0.45", "--to", "0.45"), ("eval", "in.jsonl")])
def test_the_documents_of_a_single_threshold_are_counted_as_they_are_judged(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    rows = [{"id": n, "text": text(n // 2), "cluster": n // 2, "original": n % 2 == 0} for n in range(300)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "neardup", *arguments, "--workers", "1"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        env={**os.environ, "COLUMNS": "80", "TERM": "xterm"},
    )
    shown, counts, total = "", set[int](), 5 * len(rows)
    deadline = time.monotonic() + 60
    while not counts.difference((0, total)) and time.monotonic() < deadline and process.poll() is None:
        if select.select([master], [], [], 1)[0]:
            shown += os.read(master, 65536).decode("utf-8", "replace")
            plain = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown)
            counts = {int(found) for found in re.findall(rf"documents judged\D*(\d+)/{total}\b", plain)}
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert counts.difference((0, total)), "a count between none and all of them"
