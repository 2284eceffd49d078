"""The page "Try before you drop": all its commands run, in their order, in a copy of the example project."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(
    r"^```(sh|python)\n(.*?)^```$", (ROOT / "docs/try.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)


def test_the_page_leads_from_a_record_to_a_drop(tmp_path: Path) -> None:
    project = tmp_path / "example_project"
    shutil.copytree(ROOT / "example_project", project, ignore=shutil.ignore_patterns(".scrapy", "__pycache__"))
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    printed = []
    for language, block in BLOCKS:
        command = ["sh", "-e", "-c", block.removeprefix("cd example_project\n")]
        if language == "python":
            command = [sys.executable, "-c", block]
        done = subprocess.run(
            command, cwd=project, env={**os.environ, "PATH": path}, capture_output=True, text=True, encoding="utf-8"
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        printed.append(done.stdout)
    assert len(BLOCKS) == len(printed) >= 7
    assert "NEARDUP_THRESHOLD = 0.5\n" in "".join(printed)

    kept, dropped = (
        [json.loads(line) for line in (project / name).read_text(encoding="utf-8").splitlines()]
        for name in ("kept.jsonl", "dropped.jsonl")
    )
    verdicts = [json.loads(line) for line in (project / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(kept) + len(dropped) == len(verdicts) == 89
    assert len(dropped) == sum(row["would_drop"] for row in verdicts) == len(printed[2].splitlines())
