"""The README, and the pages that lead through a task, show what happens: their commands run, their output is real."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from guides import SITE, blocks
from json_lines import read_lines
from news_site import NewsSite, article, page
from scrapy_processes import folder_of_scrapy, run_scrapy

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def copied(folder: Path) -> Path:
    """Return a copy of the example project in this folder."""
    ignored = shutil.ignore_patterns(".scrapy", "__pycache__")
    return Path(shutil.copytree(ROOT / "example_project", folder / "example_project", ignore=ignored))


def run(project: Path, *command: str) -> str:
    """Run a command in a copy of the example project, on a terminal of 80 columns. Return what it printed."""
    path = os.pathsep.join((folder_of_scrapy(), str(Path(sys.executable).parent), os.environ["PATH"]))
    given = {**os.environ, "PATH": path, "COLUMNS": "80"}
    done = subprocess.run(command, cwd=project, env=given, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def shell(project: Path, command: str) -> str:
    return run(project, "sh", "-e", "-c", command)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("readme"))


@pytest.mark.slow
def test_the_first_command_prints_what_the_readme_shows(project: Path) -> None:
    install, folder, *commands = COMMANDS[0].strip().split(" && ")
    assert (install, folder) == ('pip install ".[example]"', "cd example_project")
    printed = "".join(shell(project, command) for command in commands)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    for part in shown.split("…\n"):
        assert part in printed


def test_the_versions_at_the_top_are_those_that_are_required() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (scrapy,) = re.findall('"scrapy>=(.+)"', project)
    (python,) = re.findall('requires-python = ">=(.+)"', project)
    (redis,) = re.findall(r"Redis \(([0-9.]+) and later\)", (ROOT / "docs/redis.md").read_text(encoding="utf-8"))
    top = f"Scrapy {scrapy} or later · Python {python} or later · Redis {redis} or later, or none · BSD-3-Clause"
    assert README.splitlines()[2] == top


def test_the_spider_of_the_readme_drops_a_copy(site: NewsSite, tmp_path: Path) -> None:
    site.publish("/news", "<h2><a href='/a'>A</a></h2><h2><a href='/b'>B</a></h2>")
    for path in ("/a", "/b"):
        site.publish(path, page(article("ferry"), "Ferry runs aground"))
    (spider,) = [text for title, text in blocks(ROOT / "README.md", "python") if title == "courier.py"]
    (tmp_path / "courier.py").write_text(spider.replace(SITE, site.url), encoding="utf-8")
    done = run_scrapy(tmp_path, "runspider", "courier.py")
    assert [item["neardup_status"] for item in read_lines(tmp_path / "items.jsonl")] == ["original"], done.stderr
    assert "2 items judged, 1 kept" in done.stderr


def test_every_meta_key_is_in_the_table() -> None:
    texts = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "scrapy_neardup").rglob("*.py"))
    keys = set(re.findall(r"\bmeta(?:\.get\(|\[)\"(\w+)\"", texts)) - {"redirect_urls"}  # Scrapy's own
    table = README.partition("| meta key of a request")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+):", table, re.MULTILINE)) == keys != set()


@pytest.mark.slow
def test_the_report_of_the_readme_is_made(project: Path) -> None:
    pytest.importorskip("jinja2")
    install, *commands = COMMANDS[1].splitlines()
    assert install.startswith("pip install ")
    for command in commands:
        shell(project, command)
    assert (project / "report.html").stat().st_size > 100_000


def run_page(name: str, folder: Path) -> tuple[Path, list[str]]:
    """Run every block of a page, and return the copy of the project and what each shell command and script printed.

    Blocks of Python that follow each other, with text between them, are one script, as in a notebook.
    """
    scripts: list[tuple[str, str]] = []
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    page = page.replace("eval labelled.jsonl", "eval labelled.jsonl --seeds 1")  # in place of five orders
    for language, block in re.findall(r"^```(sh|python)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if language == "python" and scripts[-1][0] == "python":
            block = f"{scripts.pop()[1]}\n{block}"
        scripts.append((language, block.removeprefix("cd example_project\n")))
    project, python = copied(folder), (sys.executable, "-W", "error::DeprecationWarning", "-c")
    return project, [
        shell(project, script) if language == "sh" else run(project, *python, script) for language, script in scripts
    ]


@pytest.mark.slow
def test_the_page_leads_from_a_record_to_a_drop(tmp_path: Path) -> None:
    page = (ROOT / "docs/try.md").read_text(encoding="utf-8")
    project, printed = run_page("try.md", tmp_path)
    tuned = " ".join("".join(printed).split())
    assert "Best threshold for copies: 0.45. The present one is 0.45" in tuned
    kept, dropped, verdicts = (read_lines(project / name) for name in ("kept.jsonl", "dropped.jsonl", "verdicts.jsonl"))
    assert len(kept) + len(dropped) == len(verdicts) == 89
    assert "Content-Security-Policy" in (project / "report.html").read_text(encoding="utf-8")
    would_drop = [row for row in verdicts if row["would_drop"]]
    assert len(dropped) == len(would_drop)
    copy = next(row for row in would_drop if row["kind"] == "abridged")
    _, explained = page.split("```text\n")[1:]
    shown = shell(project, "scrapy neardup explain recorded.jsonl.gz#{match} recorded.jsonl.gz#{id}".format(**copy))
    assert {*explained.partition("```")[0].splitlines()} - {"…"} <= {*shown.splitlines()}
