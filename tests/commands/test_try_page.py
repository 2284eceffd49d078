"""The pages that lead through a task: all their commands run, in their order, in a copy of the example project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pages import run_page


def test_the_page_leads_from_a_record_to_a_drop(tmp_path: Path) -> None:
    project, printed = run_page("try.md", tmp_path)
    assert "NEARDUP_THRESHOLD = 0.5\n" in "".join(printed)
    kept, dropped, verdicts = (
        [json.loads(line) for line in (project / name).read_text(encoding="utf-8").splitlines()]
        for name in ("kept.jsonl", "dropped.jsonl", "verdicts.jsonl")
    )
    assert len(kept) + len(dropped) == len(verdicts) == 89
    assert "Content-Security-Policy" in (project / "report.html").read_text(encoding="utf-8")
    listed = [line for line in printed[3].splitlines() if " | " in line]
    assert len(dropped) == sum(row["would_drop"] for row in verdicts) == len(listed)


def test_the_page_about_pandas_groups_stories_and_plots_them(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    project, (_, printed) = run_page("notebooks.md", tmp_path)
    assert "original     41" in printed
    assert "Explosion at Brackwater grain terminal" in printed
    assert "breaking" in printed
    assert (project / "coverage.png").read_bytes().startswith(b"\x89PNG")
