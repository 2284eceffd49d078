"""Crawls that are killed at a given moment and run again, and the stories that are lost over both."""

import json
import random
import subprocess
import uuid
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from news_site import NewsSite, article, page
from projects import Item, Project

SPIDER = """
class News(Pages):
    def request(self, url):
        return scrapy.Request(url, meta={"proxy": self.settings["SITE"]})

    def parse(self, response):
        yield {"page": response.url, "report": response.css("meta[name=report]::attr(content)").get()}
"""

_MOMENTS = '''
import os
import signal
from pathlib import Path

from scrapy import signals

from scrapy_neardup.signals import document_checked

NAMED = {**vars(signals), "document_checked": document_checked}


class Moments:
    """Kills the crawl when a signal is sent for the n-th time, and notes which feeds were stored before."""

    def __init__(self, crawler):
        self.notes = Path(crawler.settings["STORED_NOTES"])
        crawler.signals.connect(self.stored, signals.feed_slot_closed)
        name, self.left = crawler.settings["KILL_AT"] or (None, 0)
        if name is not None:
            crawler.signals.connect(self.kill, NAMED[name])

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def stored(self, slot):
        with self.notes.open("a") as notes:
            print(slot.uri, file=notes)

    def kill(self):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
'''

PROSE = """
import re

def prose(html, url):
    return "\\n".join(re.findall("<p>(.*?)</p>", html))
"""

_TITLES = "Ferry aground", "Council budget", "Painter honoured", "Glacier melting", "Railway strike", "School fire"
_WHILE_PAGES_COME = "bytes_received", "item_scraped", "document_checked", "item_dropped"
_AT_THE_END = "spider_idle", "feed_slot_closed", "spider_closed", "feed_exporter_closed", "engine_stopped"


Moment = tuple[str, int]
"""When a crawl is killed: the n-th time that this signal of Scrapy or of this package is sent."""


def draw_moment(draw: random.Random) -> Moment:
    """Draw a moment: most of them while pages come, the others when the crawl closes."""
    if draw.random() < 0.15:
        return draw.choice(_AT_THE_END), 1
    name = draw.choice(_WHILE_PAGES_COME)
    return name, draw.randrange(1, 8 if name == "item_dropped" else 24)


class World:
    """Pages of five papers. Each names the report that it prints: those of one story with one figure print the same."""

    def __init__(self, seed: object, stories: int = 24) -> None:
        draw = random.Random(repr(seed))
        self._seed = seed
        self.pages: dict[str, str] = {}
        self.printed: dict[str, list[str]] = defaultdict(list)  # the reports of each page, the newest at the end
        self._later: list[tuple[str, int, int]] = []
        for story in range(stories):
            dead = draw.randrange(3, 30)
            for paper in draw.sample(range(5), draw.choice((1, 2, 3, 5))):
                url = f"http://paper{paper}.example/news/{story}-{draw.randrange(1000)}"
                more = draw.choice((0, 0, 0, 7)) if story % 3 == 0 else 0
                self._print(url, story, dead + more, draw.choice(("", "", f"\n{article(paper, 15)}")))
                if story % 6 == 0 and draw.random() < 0.5:
                    self._later.append((url, story, dead + 20))

    def _print(self, url: str, story: int, dead: int, end: str = "") -> None:
        # One sentence under several titles of a paper would be its boilerplate.
        place = article((self._seed, story, 3), 2).rstrip(".")
        body = f"{dead} people died in the storm at {place}, it was said.\n{article((self._seed, story, 2), 60)}"
        title = f"{_TITLES[story % 6]} {'north south east west'.split()[story // 6 % 4]}"
        self.printed[url].append(f"{story}/{dead}")
        html = page(f"{article((self._seed, story))}\n{body}{end}", title)
        self.pages[url] = html.replace("<head>", f"<head><meta name=report content='{story}/{dead}'>")

    def age(self) -> None:
        """Change the figures of some pages."""
        for later in self._later:
            self._print(*later)


class Crawls:
    """Crawls of one project over one store. The site is their proxy: it knows its pages by whole urls."""

    def __init__(self, folder: Path, site: NewsSite, store: str) -> None:
        self.project = Project(folder)
        self.project.write("news/moments.py", _MOMENTS)
        self.project.write("news/prose.py", PROSE)
        self.settings = {
            "SITE": site.url,
            "NEARDUP_STORE": store,
            "NEARDUP_NAMESPACE": f"kill-{uuid.uuid4().hex}",
            "NEARDUP_ACTION": "drop",
            "NEARDUP_EXTRACTOR": "news.prose.prose",
            "KILL_AT": None,
            "EXTENSIONS": {"news.moments.Moments": 0, "news.stats_file.StatsFile": 0},
        }
        self.errors: list[str] = []

    def start(self, urls: Iterable[str], name: str, **settings: Any) -> subprocess.Popen[str]:
        """Start a crawl with feeds named ``<name>-<batch>.jsonl``; dropped items go to ``<name>-dropped.jsonl``."""
        feeds = {
            "STORED_NOTES": f"{name}-stored.txt",
            "FEEDS": {f"{name}-%(batch_id)d.jsonl": {"format": "jsonlines"}},
            "NEARDUP_DROPPED_FEED": f"{name}-dropped.jsonl",
        }
        self.project.prepare(SPIDER, {**feeds, **self.settings, **settings})
        return self.project.start("crawl", "news", "-a", f"urls={' '.join(urls)}")

    def finish(self, process: subprocess.Popen[str]) -> int:
        """Wait until a crawl is over and return its exit status."""
        try:
            log, _ = process.communicate(timeout=600)
        finally:
            process.kill()
        self.errors += [line for line in log.splitlines() if " ERROR: " in line or "Traceback" in line]
        return process.returncode

    def stored(self, name: str) -> list[Item]:
        """The items in the feeds that a crawl stored."""
        notes = self.project.folder / f"{name}-stored.txt"
        feeds = notes.read_text().splitlines() if notes.exists() else []
        return [item for feed in feeds for item in _lines(self.project.folder / feed)]

    def dropped(self, name: str) -> list[Item]:
        return _lines(self.project.folder / f"{name}-dropped.jsonl")


def _lines(path: Path) -> list[Item]:
    """The complete lines of a feed."""
    lines = path.read_text("utf-8").split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def kill_and_rerun(folder: Path, site: NewsSite, store: str, moment: Moment, seed: object) -> None:
    """Kill a crawl at a moment and crawl again to the end: no story is lost, and no copy is one of another story."""
    world = World(seed)
    site.pages.update(world.pages)
    crawls = Crawls(folder, site, store)
    urls = list(world.pages)
    random.Random(repr(seed)).shuffle(urls)
    assert crawls.finish(crawls.start(urls, "killed", KILL_AT=moment)) != 0
    world.age()
    site.pages.update(world.pages)
    assert crawls.finish(crawls.start(urls, "rerun")) == 0
    assert crawls.errors == []

    names = ("killed", "rerun")
    kept = [item for name in names for item in crawls.stored(name)]
    copies = [item for item in kept if item["neardup_status"] == "duplicate"]
    copies += [item for name in names for item in crawls.dropped(name) if item["neardup_status"] == "duplicate"]
    assert [str(item) for item in copies if item["report"] not in world.printed[item["neardup_match"]]] == []
    assert {reports[-1] for reports in world.printed.values()} <= {item["report"] for item in kept}
