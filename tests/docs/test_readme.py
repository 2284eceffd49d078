"""The README shows what happens: its commands run, its output is real, its figures are those of the pages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
FIGURES = README.partition("## Measured")[2].partition("\n## ")[0]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme") / "example_project"
    shutil.copytree(ROOT / "example_project", folder, ignore=shutil.ignore_patterns(".scrapy", "__pycache__"))
    return folder


def run(project: Path, command: str) -> str:
    """Run a command of the README in the example project. Return what it printed."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = os.environ | {"PATH": path}
    done = subprocess.run(
        ["sh", "-c", command], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_the_first_command_prints_what_the_readme_shows(project: Path) -> None:
    install, folder, *commands = COMMANDS[0].strip().split(" && ")
    assert (install, folder) == ('pip install ".[example]"', "cd example_project")
    printed = "".join(run(project, command) for command in commands)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    for line in shown.splitlines():
        assert line in printed
    assert "precision 1.000, recall 1.000" in printed


def test_the_tests_are_run_by_the_second_command() -> None:
    assert COMMANDS[1] == 'pip install "tox>=4.10" && tox\n'


def test_the_report_of_the_readme_is_made(project: Path) -> None:
    pytest.importorskip("jinja2")
    install, *commands = COMMANDS[2].splitlines()
    assert install.startswith("pip install ")
    for command in commands:
        run(project, command)
    assert (project / "report.html").stat().st_size > 100_000


def test_the_figures_are_those_of_the_pages() -> None:
    pages = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("accuracy.md", "benchmarks.md"))
    cells = [cell for row in FIGURES.splitlines() if row.startswith("| ") for cell in row.split("|")[2:4]]
    figures = re.findall(r"[\d,.]*\d", " ".join(cells))
    assert len(figures) > 12
    assert [figure for figure in figures if f" {figure} " not in pages.replace("%", " ")] == []
