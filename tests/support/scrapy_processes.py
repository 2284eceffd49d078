"""Scrapy's commands, each in a process of its own: see fork_server.py."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

FRESH = "NEARDUP_TEST_FRESH"
"""If this variable of the environment is set, each command has an interpreter of its own. That takes twice as long."""


def run_scrapy(
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    answer: str = "",
    one_output: bool = False,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end in a folder. ``answer`` is its input; ``one_output`` puts its errors into its output."""
    given = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})}
    if FRESH in os.environ or not hasattr(os, "fork"):
        return subprocess.run(
            [sys.executable, "-m", "scrapy", *arguments],
            cwd=folder,
            env=given,
            input=answer,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if one_output else subprocess.PIPE,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )
    with TemporaryDirectory() as kept:
        files = [Path(kept, name) for name in ("input", "output", "errors")]
        for each, text in zip(files, (answer, "", ""), strict=True):
            each.write_text(text, encoding="utf-8")
        paths = [str(each) for each in (files[0], files[1], files[1] if one_output else files[2])]
        command = {"arguments": arguments, "folder": str(folder), "environment": given, "files": paths}
        status = _run_forked(command, timeout)
        output, errors = (each.read_text(encoding="utf-8") for each in files[1:])
    return subprocess.CompletedProcess(["scrapy", *arguments], status, output, errors)


def neardup(folder: Path, *arguments: str, columns: int = 160, answer: str = "") -> subprocess.CompletedProcess[str]:
    """Run ``scrapy neardup`` in a folder, on a terminal of this width."""
    return run_scrapy(folder, "neardup", *arguments, environment={"COLUMNS": str(columns)}, answer=answer)


def _run_forked(command: dict[str, object], timeout: float) -> int:
    """Return the exit status of a command."""
    server = _fork_server()
    assert server.stdin is not None
    assert server.stdout is not None
    began = time.monotonic()
    process = late = None
    try:
        print(json.dumps(command), file=server.stdin, flush=True)
        process = int(server.stdout.readline())
        late = threading.Timer(timeout, os.kill, (process, signal.SIGKILL))
        late.start()
        status = int(server.stdout.readline())
    except BaseException:  # such as the time limit of a test: this server's answer would be taken for another command's
        _fork_server.cache_clear()
        server.kill()
        if process is not None:
            os.kill(process, signal.SIGKILL)
        raise
    finally:
        if late is not None:
            late.cancel()
    if status == -signal.SIGKILL and time.monotonic() - began > timeout:
        raise subprocess.TimeoutExpired(str(command["arguments"]), timeout)
    return status


@cache
def _fork_server() -> subprocess.Popen[str]:
    """Start the server of this test process; it ends when its input does."""
    command = [sys.executable, str(Path(__file__).with_name("fork_server.py"))]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
