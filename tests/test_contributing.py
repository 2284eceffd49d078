"""The worked examples of CONTRIBUTING.md work: each change is applied to a copy of the repository and tested there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
EXAMPLES = dict(
    re.findall(
        r"^### (.+?)\n(.*?)(?=^### |\Z)",
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
)


def blocks(example: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", example, re.MULTILINE | re.DOTALL)


def apply(change: str, root: Path) -> None:
    """Make a change: its first line names the file, lines without ``+`` must be there once, as they stand."""
    name, *lines = change.splitlines()
    path = root / name.removeprefix("# ")
    before = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    after = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{name}: these lines of CONTRIBUTING.md are not there once:\n{before}"
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_the_examples_work(tmp_path: Path) -> None:
    for folder in ("scrapy_neardup", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests/test_docs.py", tmp_path / "tests")
    for number, example in enumerate(EXAMPLES.values()):
        for change in blocks(example, "diff"):
            apply(change, tmp_path)
        (test,) = blocks(example, "python")
        (tmp_path / f"tests/test_example{number}.py").write_text(test, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", "-k", "example or explained"]
    paths = os.pathsep.join([str(tmp_path), str(ROOT / "tests/support")])
    environment = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
