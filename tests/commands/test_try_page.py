"""The pages that lead through a task: all their commands run, in their order, in a copy of the example project."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from json_lines import read_lines
from pages import ROOT, run_page, run_shell

pytestmark = pytest.mark.slow


def _page() -> str:
    return " ".join((ROOT / "docs/try.md").read_text(encoding="utf-8").split())


def test_the_page_leads_from_a_record_to_a_drop(tmp_path: Path) -> None:
    project, printed = run_page("try.md", tmp_path)
    tuned = " ".join("".join(printed).split())
    assert 'NEARDUP_PRESET_OPTIONS = {"threshold": 0.45} ' in tuned
    ranges = [re.findall(r"all thresholds from (\S+) to (\S+) have", said, re.IGNORECASE) for said in (tuned, _page())]
    assert ranges[0] == ranges[1] != []
    kept, dropped, verdicts = (read_lines(project / name) for name in ("kept.jsonl", "dropped.jsonl", "verdicts.jsonl"))
    assert len(kept) + len(dropped) == len(verdicts) == 89
    assert "Content-Security-Policy" in (project / "report.html").read_text(encoding="utf-8")
    commands = re.findall(r"^(.+)\n  (scrapy neardup explain .+)$", printed[3], re.MULTILINE)
    assert len(dropped) == sum(row["would_drop"] for row in verdicts) == len(commands)
    shown = (ROOT / "docs/try.md").read_text(encoding="utf-8").split("```text\n")[1:]
    pair, explained = (block.partition("```")[0].splitlines() for block in shown)
    done = run_shell(dict(commands)[pair[0]], project)
    assert done.returncode == 0, done.stderr
    assert set(explained) - {"…"} <= set(done.stdout.splitlines())


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("page", ["try.md", "notebooks.md"])
def test_git_ignores_what_the_pages_write(tmp_path: Path, page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    written = re.findall(r"(?:-[oO] |RECORD=|FEED=|open\(|savefig\()\"?([\w.]+)", text)
    assert len(written) > 2
    shutil.copy(ROOT / "example_project/.gitignore", tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for name in {*written, "neardup.sqlite", "neardup.sqlite-wal"} - {"truth.jsonl"}:
        assert subprocess.run(["git", "check-ignore", "-q", name], cwd=tmp_path).returncode == 0, name
    for name in ("truth.jsonl", "newsroom/site/pages.jsonl"):
        assert subprocess.run(["git", "check-ignore", "-q", name], cwd=tmp_path).returncode == 1, name


def test_the_page_about_pandas_groups_stories_and_plots_them(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    project, (_, printed) = run_page("notebooks.md", tmp_path)
    assert "original     41" in printed
    assert "Explosion at Brackwater grain terminal" in printed
    assert "breaking" in printed
    assert (project / "coverage.png").read_bytes().startswith(b"\x89PNG")
