"""The files of a crawl have a place wherever it runs: in a project, in a script, under scrapyd, in a container."""

import gzip
import json
import os
import signal
import stat
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from json_lines import read_lines
from news_site import NewsSite, article, page
from projects import FERRY, ITEM_A_PAGE, NOTING, Item, Project
from scrapy_processes import run_python

from scrapy_neardup import NearDupSettings
from scrapy_neardup.crawl.component import can_be_written, locate_files

NOBODY = "http://127.0.0.1:9/"  # nothing listens there
KILLED = """
import os
import signal
from scrapy.signals import item_dropped
from scrapy_neardup.signals import story_event

class Killed(News):
    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.note, story_event)
        crawler.signals.connect(spider.die, item_dropped)
        spider.has_event = False
        return spider

    def note(self):
        self.has_event = True

    def die(self):
        if self.has_event:
            os.kill(os.getpid(), signal.SIGKILL)
"""
"""It dies when everything is open: the window and the feeds."""

SETTINGS = {
    "ADDONS": {"scrapy_neardup.Addon": 500},
    "NEARDUP_ACTION": "drop",
    "NEARDUP_EVENTS_WEBHOOK": NOBODY,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
}


def script(process: str = "AsyncCrawlerProcess", **settings: Any) -> str:
    """A script as people write it who have no project."""
    given = {**SETTINGS, "FEEDS": {"items.jsonl": {"format": "jsonlines"}}, **settings}
    run = f"process = {process}({given!r})\nprocess.crawl(News)\nprocess.start()\n"
    return f"import scrapy\nfrom scrapy.crawler import {process}\n{FERRY}\n{run}"


@pytest.fixture(autouse=True)
def _no_places_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("SCRAPY_", "XDG_"))]:
        monkeypatch.delenv(name)


def run(
    folder: Path, *command: str, home: Path | str, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder for a user whose home this is."""
    folder.mkdir(parents=True, exist_ok=True)
    return run_python(folder, *command, environment={"HOME": str(home), **(more or {})})


def items(folder: Path) -> list[Item]:
    return read_lines(folder / "items.jsonl")


def files(folder: Path) -> set[str]:
    """The kinds of files that a crawl left."""
    return {path.relative_to(folder).parts[0] for path in folder.rglob("*") if path.is_file()}


EVERYTHING = {"neardup.sqlite", "neardup-dropped"}


def test_the_files_of_a_crawl_are_there_when_it_is_killed_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    text = script(NEARDUP_DATA_DIR="~/kept", NEARDUP_EVENTS_FEED="told/events.jsonl").replace("News)", "Killed)")
    (tmp_path / "news.py").write_text(text.replace("process =", f"{KILLED}\nprocess ="))
    assert run(tmp_path, "news.py", home=tmp_path).returncode == -signal.SIGKILL
    modes = {
        str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode)
        for folder in (tmp_path / "kept", tmp_path / "told")
        for path in (folder, *folder.rglob("*"))
    }
    assert {Path(name).parts[0] for name in modes} == {"kept", "told"}
    assert {"kept/neardup.sqlite-wal", "kept/neardup.sqlite-shm", "told/events.jsonl"} < modes.keys()
    assert files(tmp_path / "kept") > EVERYTHING
    (dropped,) = (tmp_path / "kept/neardup-dropped").iterdir()
    assert {row["neardup_status"] for row in read_lines(dropped)} == {"duplicate"}
    assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}


def test_whether_files_can_be_made_is_tried(tmp_path: Path) -> None:
    """Root has every right on a file system that takes no files, such as that of the kernel."""
    (tmp_path / "file").touch()
    assert can_be_written(tmp_path / "not/yet/there")
    assert not can_be_written(tmp_path / "file/below")
    assert not can_be_written(Path("/proc/neardup"))
    assert files(tmp_path) == {"file"}


@pytest.mark.slow
def test_a_crawl_under_scrapyd_has_the_directory_of_its_project(tmp_path: Path) -> None:
    """scrapyd runs an egg in a directory of its own, without scrapy.cfg, or in that of another project."""
    project = Project(tmp_path / "source")
    project.prepare(FERRY, SETTINGS)
    egg, home = tmp_path / "news.egg", tmp_path / "home"
    with zipfile.ZipFile(egg, "w") as archive:
        for path in (project.folder / "news").rglob("*.py"):
            archive.write(path, path.relative_to(project.folder))
    (tmp_path / "other").mkdir()
    (tmp_path / "other/scrapy.cfg").write_text("[settings]\ndefault = other.settings\n")
    job = {"SCRAPY_PROJECT": "press-live", "SCRAPY_SETTINGS_MODULE": "news.settings"}
    job["PYTHONPATH"] = os.pathsep.join([str(egg), os.environ.get("PYTHONPATH", "")])
    for cwd, place in (
        (tmp_path / "scrapyd", tmp_path / "scrapyd/.scrapy/press-live"),
        (tmp_path / "other", tmp_path / "other/.scrapy/press-live"),
    ):
        done = run(cwd, "-m", "scrapy", "crawl", "news", "-o", "items.jsonl", home=home, more=job)
        assert done.returncode == 0
        assert f"INFO: The window of the last 24 hours is in {place}/neardup.sqlite\n" in done.stderr
        assert [item["neardup_status"] for item in items(cwd)] == ["original"]
        assert files(place) == EVERYTHING


def test_a_crawl_that_can_keep_no_file_says_so_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / ".scrapy").write_text("a file in the way")
    (tmp_path / "news.py").write_text(script("CrawlerProcess"))
    done = run(tmp_path, "news.py", home="/dev/null")
    assert done.returncode == 0
    (line,) = [line for line in done.stderr.splitlines() if "NEARDUP_STORE" in line]
    assert f"ERROR: The store cannot be opened, so items pass unchecked until it can: {tmp_path}/.scrapy/" in line
    assert {item["neardup_reason"] for item in items(tmp_path)} == {"store-unavailable"}
    assert len(items(tmp_path)) == 7
    assert "Traceback" not in done.stderr


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "home"


def place(settings: NearDupSettings | None = None, **scrapy_settings: str) -> str:
    return str(locate_files(settings or NearDupSettings(), scrapy_settings).data_dir)


def test_the_setting_comes_first_then_the_project_then_the_working_directory(home: Path) -> None:
    here = Path.cwd()
    assert place(BOT_NAME="a") == str(here / ".scrapy/a")
    assert place(BOT_NAME="a", PROJECT="b") == str(here / ".scrapy/b")
    assert place() == str(here / ".scrapy/scrapybot")
    (here / "scrapy.cfg").write_text("[settings]\ndefault = news.settings\n")
    assert place(BOT_NAME="a") == str(here / ".scrapy")
    assert place(BOT_NAME="a", PROJECT="b") == str(here / ".scrapy/b")
    assert place(NearDupSettings(data_dir="kept"), BOT_NAME="a") == str(here / "kept")
    assert place(NearDupSettings(data_dir="~/kept"), BOT_NAME="a") == str(home / "kept")


@pytest.mark.usefixtures("home")
def test_a_name_of_a_project_is_a_name_of_one_directory() -> None:
    parent = Path.cwd() / ".scrapy"
    for name in ("../../etc", "a/b", "..", "", "x" * 300, "\x00", "новости"):
        assert Path(place(PROJECT=name, BOT_NAME=name)).parent == parent


RECORDED = "recorded.jsonl.gz"
NOTED = {"NEARDUP_RECORD": RECORDED, **NOTING}


def recorded(path: Path) -> list[Item]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def replayed(project: Project, name: str = RECORDED, *more: str) -> list[Item]:
    done = project.run("neardup", "replay", name, "-O", "verdicts.jsonl", *more)
    assert done.returncode == 0, done.stdout
    return read_lines(project.folder / "verdicts.jsonl")


def test_a_replay_of_the_record_gives_the_verdicts_of_the_crawl(project: Project, site: NewsSite) -> None:
    wire = article("wire")
    texts = {"first": wire, "copy": wire, "other": article("other"), "cut": "\n".join(wire.splitlines()[:2])}
    urls = [site.publish(f"/{name}", page(text)) for name, text in texts.items()]
    urls.append(site.publish("/again", page("Quite another text. " * 20).replace("<head>", CANONICAL)))
    crawl = project.crawl(ITEM_A_PAGE, urls=urls, CONCURRENT_REQUESTS=1, **NOTED)

    rows = recorded(project.folder / RECORDED)
    assert [row["url"] for row in rows] == urls
    assert rows[0]["title"] == "News of the day"
    assert rows[0]["text"] == wire
    assert rows[0]["id"] == crawl.items[0]["neardup_story"]
    assert rows[-1]["canonical"] == f"{site.url}/other"
    assert crawl.lines("INFO", f"NEARDUP_RECORD: lines are written to {RECORDED}")

    verdicts = replayed(project)
    assert [row["status"] for row in verdicts] == ["original", "duplicate", "original", "duplicate", "original"]
    for item, row in zip(crawl.items, verdicts, strict=True):
        assert (row["status"], row["kind"]) == (item["neardup_status"], item["neardup_kind"])
        assert (row["similarity"], row["share"]) == (item["neardup_similarity"], item["neardup_share"])


CANONICAL = '<head><link rel="canonical" href="/other">'


def test_dropped_documents_are_recorded_too_and_runs_are_appended(project: Project, site: NewsSite) -> None:
    """A file whose name ends in ``.jsonl`` is not packed."""
    urls = [site.publish(f"/{name}", page(article("wire"))) for name in range(3)]
    for name in (RECORDED, "plain.jsonl"):
        given = {**NOTED, "NEARDUP_RECORD": name, "NEARDUP_STORE": "memory://", "NEARDUP_ACTION": "drop"}
        assert [len(project.crawl(ITEM_A_PAGE, urls=urls, **given).items) for _ in range(2)] == [1, 1]
    assert len(recorded(project.folder / RECORDED)) == len(read_lines(project.folder / "plain.jsonl")) == 6
    assert [row["status"] for row in replayed(project)] == ["original"] + ["duplicate"] * 5
    assert stat.S_IMODE((project.folder / RECORDED).stat().st_mode) == 0o600
