"""Scrapy projects as users have them: made by ``scrapy startproject``, crawled in a process of their own."""

import csv
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import Any

import scrapy
from json_lines import read_lines
from scrapy_processes import run_scrapy, start_scrapy

Item = dict[str, Any]

ADDON = {"scrapy_neardup.Addon": 500}
HAS_REACTORLESS = tuple(int(part) for part in scrapy.__version__.split(".")[:2]) >= (2, 15)

_LOOPBACK = {
    "ROBOTSTXT_OBEY": False,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
}

_PAGES = '''
import scrapy


class Pages(scrapy.Spider):
    """Requests every url of its argument ``urls``; what it does with the pages is left to the spiders of the tests."""

    name = "news"

    async def start(self):
        for url in self.urls.split():
            yield self.request(url)

    def request(self, url):
        return scrapy.Request(url)
'''

ITEM_A_PAGE = """
class News(Pages):
    def parse(self, response):
        yield {"page": response.url}
"""
"""A spider that yields a dict for each page."""

FERRY = """
class News(scrapy.Spider):
    name = "news"

    start_urls = ["data:,"]

    def parse(self, response):
        words = "the ferry ran aground in fog near the old lighthouse and its crew was brought ashore safe by two tugs"
        for number in range(7):
            yield {"url": f"https://paper{number}.example/ferry", "text": words}
"""
"""A spider that asks no server and yields seven copies of one text: enough sources for a breaking event."""

_STATS_FILE = '''
import json
from pathlib import Path

from scrapy import signals
from scrapy_neardup.crawl.component import states


class StatsFile:
    """Leaves the stats of a crawl, and how many item contexts are still waiting, in a file."""

    def __init__(self, crawler):
        self.crawler = crawler
        crawler.signals.connect(self.write, signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def write(self):
        state = states.get(self.crawler)
        stats = {**self.crawler.stats.get_stats(), "waiting_contexts": len(state.contexts._contexts) if state else 0}
        Path("stats.json").write_text(json.dumps(stats, default=str))
'''


@dataclass(frozen=True)
class Crawl:
    """How a crawl went."""

    folder: Path
    status: int
    log: str

    @property
    def items(self) -> list[Item]:
        return read_lines(self.folder / "items.jsonl")

    @property
    def rows(self) -> list[dict[str, str]]:
        with (self.folder / "items.csv").open(encoding="utf-8", newline="") as feed:
            return list(csv.DictReader(feed))

    @property
    def stats(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.folder / "stats.json").read_text("utf-8"))
        return loaded

    @property
    def neardup(self) -> dict[str, Any]:
        """The stats of this package that are counts of items and events, without their prefix."""
        prefix = "neardup/"
        ours = {name.removeprefix(prefix): value for name, value in self.stats.items() if name.startswith(prefix)}
        others = re.compile("run/|hints/|.*/ms_").match
        return {name: value for name, value in ours.items() if not others(name)}

    @property
    def hints(self) -> dict[str, int]:
        """How many items each hint at the end of the crawl is about."""
        prefix = "neardup/hints/"
        return {name.removeprefix(prefix): value for name, value in self.stats.items() if name.startswith(prefix)}

    @property
    def statuses(self) -> Counter[str]:
        return Counter(item["neardup_status"] for item in self.items)

    def item(self, **values: object) -> Item:
        """The one item that has these values."""
        (found,) = [item for item in self.items if values.items() <= item.items()]
        return found

    def lines(self, *parts: str) -> list[str]:
        """Lines of the log that have all of ``parts`` in them."""
        return [line for line in self.log.splitlines() if all(part in line for part in parts)]


class Project:
    """A fresh project in ``folder``. Its settings are what ``startproject`` writes, then what a test asks for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in _template().items():
            self.write(name, text)
        self.write("news/pages.py", _PAGES)
        self.write("news/stats_file.py", _STATS_FILE)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")

    def prepare(self, spider: str, settings: dict[str, Any]) -> None:
        """Put the spider's module and the settings in place. The module may use ``scrapy`` and ``Pages``."""
        (self.folder / "stats.json").unlink(missing_ok=True)
        self.write("news/spiders/news.py", "import scrapy\n\nfrom news.pages import Pages\n\n" + dedent(spider))
        everything = {**_LOOPBACK, "EXTENSIONS": {"news.stats_file.StatsFile": 0}, "ADDONS": ADDON, **settings}
        lines = (f"{name} = {value!r}" for name, value in everything.items())
        self.write("news/settings.py", _template()["news/settings.py"] + "\n" + "\n".join(lines) + "\n")

    def start(self, *arguments: str, fresh: bool = False) -> subprocess.Popen[str]:
        """Start any scrapy command in the project. A fresh interpreter is a process whose children can be seen."""
        return start_scrapy(self.folder, *arguments, stderr=subprocess.STDOUT, fresh=fresh)

    def run(self, *arguments: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """Run any scrapy command to its end, with its errors in its output."""
        return run_scrapy(self.folder, *arguments, one_output=True, timeout=timeout)

    def crawl(
        self, spider: str, *arguments: str, urls: Iterable[str] = (), timeout: float = 300, **settings: Any
    ) -> Crawl:
        """Crawl to the end with these settings. ``spider`` is a module's text; its spider is called news."""
        self.prepare(spider, settings)
        command = ("crawl", "news", "-a", f"urls={' '.join(urls)}", "-O", "items.jsonl", *arguments)
        done = self.run(*command, timeout=timeout)
        return Crawl(self.folder, done.returncode, done.stdout)


@cache
def _template() -> dict[str, str]:
    with TemporaryDirectory() as folder:
        run_scrapy(Path(folder), "startproject", "news", folder).check_returncode()
        return {
            str(path.relative_to(folder)): path.read_text("utf-8") for path in Path(folder).rglob("*") if path.is_file()
        }


NOTING_EXTRACTOR = """
import re
import threading

lock = threading.Lock()

def extract(html, url):
    with lock, open("extracted.txt", "a") as file:
        print(url, file=file)
    return "\\n".join(re.findall("<p>(.*?)</p>", html))
"""

NOTING = {"NEARDUP_EXTRACTOR": "news.noting.extract"}


def extracted(project: Project) -> Counter[str]:
    notes = project.folder / "extracted.txt"
    return Counter(url.rpartition("/")[2] for url in notes.read_text().splitlines()) if notes.exists() else Counter()
