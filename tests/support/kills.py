"""Crawls that are killed at a given moment and run again, and the stories that are lost over both."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from news_site import NewsSite, article, page
from projects import Item, Project
from servers import wait_until

SPIDER = """
class News(Pages):
    def request(self, url):
        return scrapy.Request(url, meta={"proxy": self.settings["SITE"]})

    def parse(self, response):
        yield {"page": response.url, "text_of": response.css("article ::text").getall()[-1][:30]}
"""

_MOMENTS = '''
import json
import os
import signal as system
from pathlib import Path

from scrapy import signals

from scrapy_neardup.signals import document_checked

NAMED = {**vars(signals), "document_checked": document_checked}


class Own:
    """Stores items itself: each is on the disk when it has passed."""

    def __init__(self, crawler):
        self.file = open(crawler.settings["STORED_NOTES"].replace("-stored.txt", "-own.jsonl"), "a", buffering=1)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def process_item(self, item):
        print(json.dumps(item), file=self.file)
        return item


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
            os.kill(os.getpid(), system.SIGKILL)
'''

PROSE = """
import re

def prose(html, url):
    return "\\n".join(re.findall("<p>(.*?)</p>", html))
"""

SERVED = "served"
"""The moment when the site has answered so many requests; any other moment is a signal of Scrapy or of this package."""

_TITLES = "Ferry aground", "Council budget", "Painter honoured", "Glacier melting", "Railway strike", "School fire"


KILLED, INTERRUPTED = "SIGKILL", "Ctrl-C twice"


@dataclass(frozen=True)
class Moment:
    """When a crawl is killed: the n-th time that a signal is sent, or that the site serves a page."""

    name: str
    count: int = 1
    by: str = KILLED

    @classmethod
    def drawn(cls, draw: random.Random) -> Moment:
        """Draw a moment: most of them while pages come, the others when the crawl closes."""
        name = draw.choice(
            (SERVED, SERVED, "item_scraped", "item_scraped", "document_checked", "item_dropped", "close")
        )
        if name != "close":
            return cls(name, draw.randrange(1, 24 if name != "item_dropped" else 8))
        return cls(
            draw.choice(("spider_idle", "feed_slot_closed", "spider_closed", "feed_exporter_closed", "engine_stopped"))
        )

    def __str__(self) -> str:
        return f"{self.by} at {self.name} {self.count}"


class KillingSite(NewsSite):
    """A site that kills its reader once it has served so many pages. It is a proxy: a path is a whole url."""

    def __init__(self) -> None:
        super().__init__()
        self._victim: subprocess.Popen[str] | None = None
        self._moment = Moment(SERVED)
        self._left = 0

    def kill(self, victim: subprocess.Popen[str], moment: Moment) -> None:
        """Kill this process at a moment; it has not read anything yet."""
        self._victim, self._moment, self._left = victim, moment, moment.count

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        super().answer(request)
        self._left -= 1
        if self._left != 0 or self._victim is None:
            return
        if self._moment.by == KILLED:
            self._victim.kill()
            return
        self._victim.send_signal(signal.SIGINT)
        time.sleep(0.05)  # two signals at once are one
        self._victim.send_signal(signal.SIGINT)


@dataclass
class World:
    """Pages of several papers: ``report_of`` says which report a page prints. A story has a report for each figure."""

    pages: dict[str, str] = field(default_factory=dict)
    report_of: dict[str, str] = field(default_factory=dict)
    later: dict[str, str] = field(default_factory=dict)  # pages that print another report by the time of the next crawl

    @classmethod
    def of(cls, seed: object, stories: int = 24, papers: int = 5) -> World:
        draw, world = random.Random(repr(seed)), cls()
        for story in range(stories):
            title = f"{_TITLES[story % len(_TITLES)]} {draw.choice('north south east west'.split())}"
            dead = draw.randrange(3, 30)
            for paper in draw.sample(range(papers), draw.choice((1, 2, 3, 5))):
                url = f"http://paper{paper}.example/news/{story}-{draw.randrange(1000)}"
                more = draw.choice((0, 0, 0, 7)) if story % 3 == 0 else 0
                world._print(url, title, (seed, story), dead + more, draw.choice(("exact", "exact", "near")), paper)
                if story % 6 == 0 and draw.random() < 0.5:
                    world.later[url] = f"{story}/{dead + 20}"
        return world

    def _print(self, url: str, title: str, seed: object, dead: int, how: str, paper: int) -> None:
        self.pages[url] = page(_report(seed, dead) + (f"\n{article(paper, 15)}" if how == "near" else ""), title=title)
        self.report_of[url] = f"{seed[1]}/{dead}"  # type: ignore[index]

    def papers(self, *numbers: int) -> list[str]:
        return [url for url in self.pages if int(url[len("http://paper")]) in numbers]

    def age(self, seed: object) -> None:
        """Publish the later reports."""
        for url, report in self.later.items():
            story, dead = map(int, report.split("/"))
            title = re.findall("<title>(.*?)</title>", self.pages[url])[0]
            self._print(url, title, (seed, story), dead, "exact", 0)
        self.later = {}


def _report(seed: object, dead: int) -> str:
    return f"{article(seed)}\n{dead} people died in the storm, the governor said on Monday.\n{article((seed, 2), 60)}"


class Crawls:
    """Crawls of one project over one store."""

    def __init__(self, folder: Path, site: KillingSite, store: str, **settings: Any) -> None:
        self.project = Project(folder)
        self.site = site
        self.project.write("news/moments.py", _MOMENTS)
        self.project.write("news/prose.py", PROSE)
        self.settings = {
            "NEARDUP_STORE": store,
            "NEARDUP_NAMESPACE": f"kill-{uuid.uuid4().hex}",
            "NEARDUP_ACTION": "drop",
            "NEARDUP_EXTRACTOR": "news.prose.prose",
            **settings,
        }
        self.logs: list[str] = []

    def start(
        self, urls: Iterable[str], name: str, moment: Moment | None = None, **settings: Any
    ) -> subprocess.Popen[str]:
        """Start a crawl with feeds named ``<name>-<batch>.jsonl``; dropped items go to ``<name>-dropped.jsonl``."""
        at_signal = moment if moment is not None and moment.name != SERVED else None
        at_page = moment if moment is not at_signal else None
        self.project.prepare(
            SPIDER,
            {
                "SITE": self.site.url,
                "STORED_NOTES": f"{name}-stored.txt",
                "KILL_AT": (at_signal.name, at_signal.count) if at_signal is not None else None,
                "FEEDS": {f"{name}-%(batch_id)d.jsonl": {"format": "jsonlines"}},
                "NEARDUP_DROPPED_FEED": f"{name}-dropped.jsonl",
                **self.settings,
                **settings,
                "EXTENSIONS": {"news.moments.Moments": 0, "news.stats_file.StatsFile": 0},
            },
        )
        process = self.project.start("crawl", "news", "-a", f"urls={' '.join(urls)}")
        if at_page is not None:
            self.site.kill(process, at_page)
        return process

    def finish(self, process: subprocess.Popen[str], seconds: float = 600) -> int:
        """Wait until a crawl is over and return its exit status."""
        try:
            log, _ = process.communicate(timeout=seconds)
        finally:
            process.kill()
        self.logs.append(log)
        return process.returncode

    def stored(self, name: str) -> list[Item]:
        """The items in the feeds that a crawl stored."""
        notes = self.project.folder / f"{name}-stored.txt"
        feeds = notes.read_text().splitlines() if notes.exists() else []
        own = self.project.folder / f"{name}-own.jsonl"
        return [item for feed in [*feeds, own] for item in _lines(self.project.folder / feed)]

    def dropped(self, name: str) -> list[Item]:
        return _lines(self.project.folder / f"{name}-dropped.jsonl")


def _lines(path: Path) -> list[Item]:
    """The complete lines of a feed."""
    lines = path.read_text("utf-8").split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


@dataclass
class Outcome:
    """What a kill and the crawl after it came to."""

    lost: set[str]
    false_duplicates: list[str]
    twice: int = 0  # reports that are in two stored feeds
    was_killed: bool = True
    errors: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.false_duplicates or self.errors)


def judge(crawls: Crawls, names: Collection[str], reports: Mapping[str, Mapping[str, str]], due: set[str]) -> Outcome:
    """Compare the reports that are due with the stored feeds. ``reports`` has the report of each page by crawl."""
    stored: list[str] = []
    false = []
    everywhere: dict[str, set[str]] = {}
    for by_page in reports.values():
        for url, report in by_page.items():
            everywhere.setdefault(url, set()).add(report)
    for name in names:
        kept = crawls.stored(name)
        stored += {reports[name][item["page"]] for item in kept}
        for item in kept + crawls.dropped(name):
            if item.get("neardup_status") != "duplicate":
                continue
            own, match = reports[name][item["page"]], item["neardup_match"]
            if own not in everywhere.get(match, ()):
                false.append(f"{name}: {item['page']} ({own}) is said to be a copy of {match}")
    errors = [line for log in crawls.logs for line in log.splitlines() if " ERROR: " in line or "Traceback" in line]
    return Outcome(due - set(stored), false, len(stored) - len(set(stored)), errors=errors)


def kill_and_rerun(
    folder: Path, site: KillingSite, store: str, moment: Moment, seed: object, way: str = "one crawl"
) -> Outcome:
    """Kill a crawl at a moment, crawl again to the end, and compare the feeds. ``way`` is one of ``WAYS``."""
    world = World.of(seed)
    site.pages.update(world.pages)
    crawls = Crawls(folder, site, store, **WAYS[way])
    if way == INTERRUPTED:
        moment = Moment(SERVED, moment.count, INTERRUPTED)
    draw = random.Random(repr(seed))
    urls = world.papers(0, 1, 2) if way == "two crawls" else list(world.pages)
    draw.shuffle(urls)
    beside = None
    if way == "two crawls":
        served = len(site.requested)
        beside = crawls.start(world.papers(3, 4), "beside", DOWNLOAD_DELAY=0.1, CONCURRENT_REQUESTS_PER_DOMAIN=1)
        wait_until("the crawl beside reads pages", lambda: len(site.requested) > served + 2, seconds=60)
    reports = {"killed": dict(world.report_of), "beside": dict(world.report_of), "resumed": dict(world.report_of)}
    job = {"JOBDIR": "job"} if way == "JOBDIR" else {}
    status = crawls.finish(crawls.start(urls, "killed", moment, **job))
    ended = {}
    if beside is not None:
        ended["beside"] = crawls.finish(beside)
    if job:
        forget_emptied_queues(folder / "job")
        ended["resumed"] = crawls.finish(crawls.start(urls, "resumed", **job))
    if beside is None:  # nobody reads its pages again
        world.age(seed)
    site.pages.update(world.pages)
    reports["rerun"] = dict(world.report_of)
    with _other_machine(folder) if way == "another machine" else nullcontext():
        ended["rerun"] = crawls.finish(crawls.start(urls, "rerun"))
    due = {world.report_of[url] for url in urls} | {world.report_of[url] for url in world.papers(3, 4) if beside}
    outcome = judge(crawls, reports, reports, due)
    outcome.was_killed = status != 0
    outcome.errors += [f"{name} ended with {each}" for name, each in ended.items() if each]
    return outcome


def forget_emptied_queues(job: Path) -> None:
    """Do what docs/delivery.md says to do before a killed crawl is resumed with its ``JOBDIR``."""
    for info in job.glob("requests.queue/**/info.json"):
        if json.loads(info.read_text())["size"] == 0:
            info.unlink()


WAYS: dict[str, dict[str, Any]] = {
    "one crawl": {},
    "batches": {"FEED_EXPORT_BATCH_ITEM_COUNT": 5},
    "own storage": {"NEARDUP_DELIVERED": "scraped", "FEEDS": {}, "ITEM_PIPELINES": {"news.moments.Own": 900}},
    "JOBDIR": {},
    INTERRUPTED: {},
    "two crawls": {},
    "another machine": {},
}
"""Ways to crawl, with their settings. On another machine the second crawl does not find the locks of the first."""


@contextmanager
def _other_machine(folder: Path) -> Iterator[None]:
    before = os.environ.get("TMPDIR")
    (folder / "tmp").mkdir()
    os.environ["TMPDIR"] = str(folder / "tmp")
    try:
        yield
    finally:
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before
