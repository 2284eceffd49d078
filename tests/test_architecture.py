"""The pages about the code show the code: the picture of the rooms, and files that are named."""

import ast
import json
import re
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from projects import Project

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "scrapy_neardup"
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page: Path) -> None:
    named = set(FILE.findall(page.read_text(encoding="utf-8")))
    missing = {each for each in named if not any((base / each).exists() for base in (ROOT, PACKAGE, ROOT / "tests"))}
    assert not missing


def test_only_crawls_and_doctor_can_send_events() -> None:
    """So a replay sends none to a receiver, whichever settings it leaves out."""
    users = {path.name for path in PACKAGE.rglob("*.py") if "stories.receivers import" in path.read_text("utf-8")}
    assert users == {"announcer.py", "doctor.py"}


PATH = '''
import asyncio
import json
import sys
import threading
from pathlib import Path


class PathOfAnItem:
    """Writes down by which calls of the package an item comes from the pipeline to the guards of two texts."""

    def __init__(self):
        self.loop = None
        threading.setprofile(self.look)
        sys.setprofile(self.look)

    @classmethod
    def from_crawler(cls, crawler):
        return cls()

    def look(self, frame, event, argument):
        if event != "call":
            return
        if frame.f_code.co_name == "process_item" and frame.f_code.co_filename.endswith("/pipeline.py"):
            self.loop = asyncio.get_running_loop()
        if frame.f_code.co_name == "little_in_common" and self.loop and not Path("path.json").exists():
            waiting = [self.calls(self.awaited(task)) for task in asyncio.all_tasks(self.loop)]
            pipeline = min(each for each in waiting if ("pipeline.py", "process_item") in each)
            calls = [*pipeline, *max(waiting, key=len), *reversed(self.calls(self.callers(frame)))]
            Path("path.json").write_text(json.dumps(calls))

    def calls(self, codes):
        """Return the calls of the package, each with its file."""
        named = [(*code.co_filename.partition("/scrapy_neardup/")[1:], code.co_name) for code in codes]
        return [(file, name) for package, file, name in named if package and name.isidentifier()]

    def callers(self, frame):
        while frame is not None:
            yield frame.f_code
            frame = frame.f_back

    def awaited(self, task):
        """Yield the coroutines of a task that wait for each other: the most in the task that waits for the store."""
        coroutine = task.get_coro()
        while hasattr(coroutine, "cr_code"):
            yield coroutine.cr_code
            coroutine = coroutine.cr_await
'''
ALIKE = """
class News(scrapy.Spider):
    name = "news"
    start_urls = ["data:,"]

    def parse(self, response):
        words = "the ferry ran aground in fog near the old lighthouse and its crew was brought ashore safe by two tugs"
        for number, end in enumerate(["", " on Monday morning"]):
            yield {"url": f"https://paper{number}.example/ferry", "text": words + end}
"""


def rows_of_the_reading_path() -> list[tuple[str, int, str]]:
    """Return file, lines, and the other cells of each row of the page."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    path = page.partition("## The reading path")[2].partition("\n## ")[0]
    return [
        (file, int(lines), cells)
        for file, lines, cells in re.findall(r"^\| `(\S+)` \| (\d+) \| (.*) \|$", path, re.MULTILINE)
    ]


def test_the_reading_path_has_the_lines_of_what_it_names() -> None:
    draw_rooms = runpy.run_path(str(ROOT / "benchmarks/draw_rooms.py"))
    for file, lines, cells in rows_of_the_reading_path():
        found = draw_rooms["lines_to_read"](file, cells)
        assert abs(found - lines) <= 0.1 * found, f"{file}: run: python benchmarks/draw_rooms.py --write"
        tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
        there = {getattr(each, "name", getattr(each, "id", "")) for each in ast.walk(tree)}
        assert {*re.findall("`(\\w+)`", cells)} <= there, file


def test_the_reading_path_is_the_one_that_an_item_takes(project: Project) -> None:
    project.write("news/path.py", PATH)
    project.crawl(ALIKE, EXTENSIONS={"news.path.PathOfAnItem": 0})
    taken = Counter[str]()
    for file, name in json.loads((project.folder / "path.json").read_text("utf-8")):
        taken[f"{file} {name}"] += 1
    calls = ((file, re.findall("`(\\w+)`", cells.split("|")[0])) for file, _, cells in rows_of_the_reading_path())
    shown = [f"{file} {name}" for file, names in calls for name in names]
    assert shown == list(taken)
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert f"These {taken.total()} calls" in page
