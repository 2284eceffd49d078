"""Run the commands and the Python of a page of docs/, in their order, in a copy of the example project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from scrapy_processes import folder_of_scrapy

ROOT = Path(__file__).parents[2]


def run_page(name: str, folder: Path) -> tuple[Path, list[str]]:
    """Run every block of a page, and return the copy of the project and what each shell command and script printed.

    Blocks of Python that follow each other, with text between them, are one script, as in a notebook.
    """
    project = folder / "example_project"
    shutil.copytree(ROOT / "example_project", project, ignore=shutil.ignore_patterns(".scrapy", "__pycache__"))
    printed = []
    for command in _commands((ROOT / "docs" / name).read_text(encoding="utf-8")):
        done = _run(command, project)
        assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"
        printed.append(done.stdout)
    return project, printed


def run_shell(command: str, project: Path) -> subprocess.CompletedProcess[str]:
    """Run a command on a terminal of 80 columns."""
    return _run(["sh", "-e", "-c", command], project, COLUMNS="80")


def _run(command: list[str], project: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((folder_of_scrapy(), str(Path(sys.executable).parent), os.environ["PATH"]))
    given = {**os.environ, "PATH": path, **environment}
    return subprocess.run(command, cwd=project, env=given, capture_output=True, text=True, encoding="utf-8")


def _commands(page: str) -> list[list[str]]:
    commands: list[list[str]] = []
    for language, block in re.findall(r"^```(sh|python)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if language == "sh":
            commands.append(["sh", "-e", "-c", block.removeprefix("cd example_project\n")])
        elif commands and commands[-1][0] == sys.executable:
            commands[-1][-1] += f"\n{block}"
        else:
            commands.append([sys.executable, "-W", "error::DeprecationWarning", "-c", block])
    return commands
