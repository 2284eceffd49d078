"""The README shows what happens: its commands run, its output is real, its figures were measured."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from scrapy_processes import run_python, run_scrapy

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme") / "example_project"
    shutil.copytree(ROOT / "example_project", folder, ignore=shutil.ignore_patterns(".scrapy", "__pycache__"))
    return folder


def run(project: Path, command: str) -> str:
    """Run a command of the README in the example project. Return what it printed."""
    program, *arguments = shlex.split(command)
    done = run_scrapy(project, *arguments) if program == "scrapy" else run_python(project, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_first_command_prints_what_the_readme_shows(project: Path) -> None:
    install, folder, *commands = COMMANDS[0].strip().split(" && ")
    assert (install, folder) == ('pip install ".[example]"', "cd example_project")
    printed = "".join(run(project, command) for command in commands)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    for part in shown.split("…\n"):
        assert part in printed


def test_the_tests_are_run_by_the_second_command() -> None:
    assert COMMANDS[1] == 'pip install "tox>=4.10" && tox\n'


@pytest.mark.slow
def test_the_report_of_the_readme_is_made(project: Path) -> None:
    pytest.importorskip("jinja2")
    install, *commands = COMMANDS[2].splitlines()
    assert install.startswith("pip install ")
    for command in commands:
        run(project, command)
    assert (project / "report.html").stat().st_size > 100_000


def figures(page: str, heading: str, columns: slice) -> list[str]:
    """Return the figures in these columns of the tables under a heading."""
    section = page.partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    cells = [cell for row in section.splitlines() if row.startswith("| ") for cell in row.split("|")[columns]]
    return re.findall(r"[\d,.]*\d", " ".join(cells))


@pytest.mark.parametrize(
    ("name", "heading", "columns"),
    [
        ("README.md", "## Measured", slice(2, 4)),
        ("docs/sizing.md", "## Cores of the crawlers", slice(2, 4)),
        ("docs/choosing-a-preset.md", "## Figures", slice(2, 5)),
    ],
)
def test_figures_are_those_of_the_measurements(name: str, heading: str, columns: slice) -> None:
    measured = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("accuracy.md", "benchmarks.md"))
    found = figures((ROOT / name).read_text(encoding="utf-8"), heading, columns)
    assert len(found) > 4
    assert [figure for figure in found if f" {figure} " not in measured.replace("%", " ")] == []
