"""The oldest versions that are tested are the oldest that can be installed."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_PINNED = {"numpy", "python-dateutil"}  # the oldest has no wheel for every Python; the other is needed by others too


def test_the_floors_are_the_versions_that_are_tested() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    (dependencies,) = re.findall(r"^dependencies = \[(.*?)^\]", project, re.MULTILINE | re.DOTALL)
    floors = dict(re.findall(r'^    "([\w-]+)>=([\d.]+)"', dependencies, re.MULTILINE))
    oldest = dict(re.findall(r"^([\w-]+)==(.+)$", (ROOT / "tests/oldest.txt").read_text("utf-8"), re.MULTILINE))
    assert {name: floor for name, floor in floors.items() if name not in NOT_PINNED} == oldest
