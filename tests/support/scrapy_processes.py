"""Python and Scrapy's commands, each in a process of its own that starts fast: see fork_server.py."""

import os
import shlex
import subprocess
import sys
from atexit import register
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

FRESH = "NEARDUP_TEST_FRESH"
"""With this variable in the environment, each command starts an interpreter, which takes three times as long."""

SCRAPY = ("-m", "scrapy")


def run_scrapy(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end in a folder. Its options are those of ``run_python``."""
    return run_python(folder, *SCRAPY, *arguments, **options)


def run_python(
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    answer: str = "",
    one_output: bool = False,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run a script, or ``-m`` and a module, to its end in a folder.

    ``answer`` is its input; ``one_output`` puts its errors into its output.
    """
    given = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})}
    return subprocess.run(
        [*_python_command(given), *arguments],
        cwd=folder,
        env=given,
        input=answer,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if one_output else subprocess.PIPE,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )


def start_scrapy(
    folder: Path, *arguments: str, stdin: int | None = None, stderr: int = subprocess.PIPE, fresh: bool = False
) -> subprocess.Popen[str]:
    """Start a command in a folder. Signals reach it through the process that is returned, SIGKILL a little later."""
    given = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [*([sys.executable] if fresh else _python_command(given)), *SCRAPY, *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=given, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, encoding="utf-8"
    )


def neardup(folder: Path, *arguments: str, columns: int = 160, answer: str = "") -> subprocess.CompletedProcess[str]:
    """Run ``scrapy neardup`` in a folder, on a terminal of this width."""
    return run_scrapy(folder, "neardup", *arguments, environment={"COLUMNS": str(columns)}, answer=answer)


def _python_command(environment: Mapping[str, str]) -> list[str]:
    """Return what to run for ``python`` in this environment, without its arguments.

    Variables that the interpreter reads when it starts would do nothing in a fork.
    """
    forked = hasattr(os, "pidfd_open") and FRESH not in os.environ and _of_python(environment) == _of_python(os.environ)
    return _warm_command() if forked else [sys.executable]


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    without = "PYTHONDONTWRITEBYTECODE"
    return {name: value for name, value in environment.items() if name.startswith("PYTHON") and name != without}


@cache
def folder_of_scrapy() -> str:
    """Return a folder for PATH, in which the program ``scrapy`` starts fast."""
    folder = _temporary_folder()
    program = folder / "scrapy"
    command = shlex.join([*_python_command(os.environ), *SCRAPY])
    program.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return str(folder)


def fast_python() -> str:
    """Return a program that starts fast: ``python`` for modules, code and scripts without options."""
    _warm_command()
    return str(_server_folder() / "python")


@cache
def _server_folder() -> Path:
    return _temporary_folder()


@cache
def _warm_command() -> list[str]:
    """Start the server of this test process; it ends when its input does."""
    here, socket = Path(__file__).parent, _server_folder() / "socket"
    server = subprocess.Popen(
        [sys.executable, str(here / "fork_server.py"), str(socket)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    assert server.stdout.readline() == "ready\n"
    register(server.communicate)
    command = [sys.executable, "-I", "-S", str(here / "warm_python.py"), str(socket)]
    program = _server_folder() / "python"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return command


def _temporary_folder() -> Path:
    # No TemporaryDirectory: since Python 3.13 a fork by multiprocessing would lose the last reference to it.
    folder = mkdtemp(prefix="neardup-")
    register(rmtree, folder, ignore_errors=True)
    return Path(folder)
