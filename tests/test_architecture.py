"""The pages about the code show the code: the picture of the rooms, and files that are named."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FOLDERS = "|".join(sorted(each.name for each in (ROOT / "scrapy_neardup").iterdir() if each.is_dir()))
ROOTS = f"scrapy_neardup|tests|benchmarks|docs|example_project|{FOLDERS}"
FILE = re.compile(rf"\b((?:{ROOTS})/[\w./-]+\.(?:py|lua|json|txt))\b")


def test_the_picture_of_the_rooms_is_drawn_from_the_code() -> None:
    pytest.importorskip("grimp")
    command = [sys.executable, "benchmarks/draw_rooms.py"]
    drawn = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert drawn in page, "run: python benchmarks/draw_rooms.py --write"


def test_every_folder_of_the_package_has_its_paragraph() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rooms = {room for heading in re.findall("^### (.+)$", page, re.MULTILINE) for room in heading.split(", ")}
    package = ROOT / "scrapy_neardup"
    there = {each.stem for each in package.iterdir() if each.suffix == ".py" or (each / "__init__.py").exists()}
    assert rooms == there - {"__init__"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page: Path) -> None:
    named = set(FILE.findall(page.read_text(encoding="utf-8")))
    missing = {each for each in named if not any((base / each).exists() for base in (ROOT, ROOT / "scrapy_neardup"))}
    assert not missing


def test_the_reading_path_is_short_and_named_with_its_lines() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = page.partition("## The reading path")[2].partition("## Words")[0]
    given = {name: int(lines) for name, lines in re.findall(r"^\| `(\S+)` \| (\d+) \|", table, re.MULTILINE)}
    found = {name: len((ROOT / name).read_text("utf-8").splitlines()) for name in given}
    assert len(found) >= 12
    assert sum(found.values()) <= 3200
    assert {name: lines for name, lines in found.items() if abs(lines - given[name]) > 0.1 * lines} == {}


def test_dotted_names_in_docstrings_exist() -> None:
    """``Class.member`` of this package, and ``module.Class``."""
    members: dict[str, set[str]] = {}  # of each class, module and folder
    bases: dict[str, list[str]] = {}
    files = sorted((ROOT / "scrapy_neardup").rglob("*.py"))
    for path in files:
        members.setdefault(path.parent.name, set()).add(path.stem)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in [tree, *(each for each in ast.walk(tree) if isinstance(each, ast.ClassDef))]:
            names = [getattr(each, name, None) for each in ast.walk(node) for name in ("name", "id", "attr")]
            members.setdefault(getattr(node, "name", path.stem), set()).update(filter(None, names))
            bases[getattr(node, "name", "")] = [each.id for each in getattr(node, "bases", ()) if hasattr(each, "id")]

    def has(owner: str, name: str) -> bool:
        return name in members.get(owner, ()) or any(has(base, name) for base in bases.get(owner, ()))

    for path in files:
        for owner, name in re.findall(r"``(?:\w+\.)*(\w+)\.(\w+)(?:\(\))?``", path.read_text(encoding="utf-8")):
            if name not in {"json", "lua", "py"} and (owner in members or owner[0].isupper() or name[0].isupper()):
                assert has(owner, name), f"{path}: ``{owner}.{name}``"
