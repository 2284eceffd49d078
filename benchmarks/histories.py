"""Draw histories of crawls at random, and check after each what must hold whatever happened.

usage: python benchmarks/histories.py [--minutes 60] [--seed 0]

In a history several crawls run over one store, some side by side. They read pages that print the same stories. At
random, pages are refused by a pipeline behind the plugin, pipelines and stores are slow, feeds come in batches, and
crawls are killed. A first crawl delivers without pause while Redis takes its time between what a check reads and what
it writes. At last two crawls read all pages to the end. Prints the number of each history that breaks a law. Needs the
packages that tox.ini names for the tests.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from news_site import article
from projects import Project
from servers import RedisServer, wait_until

SPIDER = """
import asyncio

class News(scrapy.Spider):
    name = "news"
    start_urls = ["data:,"]

    async def parse(self, response):
        for page in self.settings["PAGES"]:
            await asyncio.sleep(self.settings["PAUSE"])
            yield dict(page)
"""

MODULE = '''
import asyncio
import json
import os
import random
from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy_neardup.index import run
from scrapy_neardup.index.redis.store import RedisClient, RedisStore
from scrapy_neardup.index.sqlite import SQLiteStore
from scrapy_neardup.index.store import Commit
from scrapy_neardup.signals import story_event

def delayed(call, slowest, is_slow=lambda *_, **__: True):
    async def calls(*arguments, **named):
        longest = slowest if is_slow(*arguments, **named) else 0
        await asyncio.sleep(random.uniform(0, longest))
        answer = await call(*arguments, **named)
        await asyncio.sleep(random.uniform(0, longest))
        return answer

    return calls

class World:
    """Refuses pages, in tag mode also duplicates. Delays the store, notes feeds and events, and kills the crawl."""
    def __init__(self, crawler):
        self.crawler, self.settings, self.left = crawler, crawler.settings, crawler.settings["KILL_AT"]
        for store in (RedisStore, SQLiteStore):
            store.ask = delayed(store.ask, self.settings["SLOWEST_STORE"])
        run.BEAT_SECONDS = self.settings["BEAT_SECONDS"]
        writes = lambda _, calls: any(isinstance(call, Commit) for call in calls)
        RedisClient.send = delayed(RedisClient.send, self.settings["SLOWEST_COMMIT"], writes)
        for name in ("item_scraped", "feed_slot_closed", "engine_stopped"):
            crawler.signals.connect(getattr(self, name), getattr(signals, name))
        crawler.signals.connect(self.event, story_event)
        self.note(begun=True)

    from_crawler = classmethod(lambda cls, crawler: cls(crawler))

    async def process_item(self, item):
        await asyncio.sleep(random.uniform(0, self.settings["SLOWEST_PIPELINE"]))
        is_known = self.settings["NEARDUP_ACTION"] == "tag" and item["neardup_status"] == "duplicate"
        if item["refused"] or is_known:
            raise DropItem("not wanted")
        return item

    def note(self, **values):
        print(json.dumps(values, default=str), file=open(self.settings["NOTES"], "a"), flush=True)

    def item_scraped(self):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), 9)

    def feed_slot_closed(self, slot):
        self.note(feed=slot.uri)

    def event(self, event):
        self.note(event=event.id, story=event.story, level=event.level)

    def engine_stopped(self):
        self.note(stats=self.crawler.stats.get_stats())
'''

STATUSES = "original", "related", "update", "duplicate", "unchecked"


class History:
    """Crawls over one store, and what they left."""

    def __init__(self, folder: Path, store: str, seed: str) -> None:
        self.project = Project(folder)
        self.project.write("news/world.py", MODULE)
        self.draw = random.Random(seed)
        self.action = self.draw.choice(("drop", "drop", "tag"))
        self.has_batches, self.has_kills = self.draw.random() < 0.5, self.draw.random() < 0.3
        self.settings = {
            "NEARDUP_STORE": store,
            "NEARDUP_NAMESPACE": seed.replace(" ", "-"),
            "NEARDUP_ACTION": self.action,
            "NEARDUP_STORE_TIMEOUT": 30,
            "LOG_LEVEL": "ERROR",  # nobody reads the log before the crawl is over: a full pipe would stop the crawl
            "ITEM_PIPELINES": {"news.world.World": 900},
            "PAUSE": self.draw.choice((0, 0.1)),
            "SLOWEST_PIPELINE": self.draw.choice((0, 0, 0.2)),
            "SLOWEST_STORE": self.draw.choice((0, 0.05, 0.4)),
            "SLOWEST_COMMIT": self.draw.choice((0, 0, 0.4)),
            "BEAT_SECONDS": 2,
        }
        self.stories = [list(self._pages_of(story, seed)) for story in range(12)]
        self.notes: dict[str, list[dict[str, Any]]] = {}

    def _pages_of(self, story: int, seed: str) -> Iterator[dict[str, Any]]:
        # A store reads 16 copies of a text: one story of some histories has more.
        papers = 40 if story == 0 and self.action == "tag" else self.draw.choice((1, 2, 3, 6))
        # Whoever drops by the tags and refuses pages too may drop all copies of a page.
        refused = self.draw.sample(range(papers), self.draw.randrange(papers)) if self.action == "drop" else ()
        for paper in range(papers):
            url = f"https://paper{paper}.example/{story}"
            yield {"url": url, "story": story, "text": article((seed, story)), "refused": paper in refused}

    def run(self) -> None:
        turns = [range(self.draw.choice((1, 2, 3))) for _ in range(self.draw.choice((1, 2)))]
        names = [[f"crawl-{turn}-{number}" for number in numbers] for turn, numbers in enumerate(turns)]
        for together in (["alone"], *names, ["all"], ["again"]):
            for crawl in [self._start(name) for name in together]:
                crawl.communicate(timeout=300)
        for path in sorted(self.project.folder.glob("*.notes")):
            self.notes[path.stem] = [json.loads(line) for line in path.read_text().splitlines()]

    def _start(self, name: str) -> Any:
        """Start a crawl of some stories, or of all."""
        is_last, is_alone = name in ("all", "again"), name == "alone"
        pages = [page for story in self.draw.sample(self.stories, 12 if is_last else 8) for page in story]
        pages = self.draw.choice((pages, self.draw.sample(pages, len(pages))))
        settings = {
            "PAGES": pages,
            "FEEDS": {f"{name}-%(batch_id)d.jsonl": {"format": "jsonlines", "batch_item_count": 3 * self.has_batches}},
            "NOTES": f"{name}.notes",
            "KILL_AT": self.draw.randrange(1, 12) if self.has_kills and not is_last and self.draw.random() < 0.5 else 0,
        }
        if is_alone:
            settings |= {"KILL_AT": 0, "PAUSE": 0.1, "SLOWEST_COMMIT": 0.4, "BEAT_SECONDS": 0.1}
            settings |= {"NEARDUP_DELIVERED": "scraped", "SLOWEST_STORE": 0, "SLOWEST_PIPELINE": 0}
        self.project.prepare(SPIDER, {**self.settings, **settings})
        crawl = self.project.start("crawl", "news")
        begun = self.project.folder / f"{name}.notes"
        wait_until("the settings are read", lambda: crawl.poll() is not None or begun.exists(), 60)
        return crawl

    def noted(self, kind: str, *, ended: bool = False) -> list[dict[str, Any]]:
        """Return the notes of a kind, on request only those of crawls that ended by themselves."""
        crawls = self.notes.values()
        return [each for notes in crawls if not ended or "stats" in notes[-1] for each in notes if kind in each]

    def items(self, feeds: list[dict[str, Any]]) -> list[dict[str, Any]]:
        paths = [self.project.folder / feed["feed"] for feed in feeds]
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]

    def broken_laws(self) -> Iterator[str]:
        due = {number for number, pages in enumerate(self.stories) if not all(page["refused"] for page in pages)}
        if lost := due - {item["story"] for item in self.items(self.noted("feed"))}:
            yield f"stories in no feed: {sorted(lost)}"
        kept = self.items(self.noted("feed", ended=True))
        originals = Counter(item["story"] for item in kept if item["neardup_status"] == "original")
        if several := [story for story, count in originals.items() if count > 1]:
            yield f"stories with several originals: {several}"
        again = self.items([each for each in self.notes["again"] if "feed" in each])
        if new := [item["url"] for item in again if item["neardup_status"] == "original"]:
            yield f"known stories come again: {new}"
        raised = {(*each.values(),) for each in self.noted("event") if each["level"] != "update"}
        levels = Counter((story, level) for _, story, level in raised)
        if twice := [level for level, count in levels.items() if count > 1]:
            yield f"levels raised twice: {twice}"
        for stats in (each["stats"] for each in self.noted("stats")):
            counts = [stats.get(f"neardup/{name}", 0) for name in ("checked", *STATUSES)]
            if counts[0] != sum(counts[1:]):
                yield f"counts do not add up: {counts}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0, help="of the first history")
    options = parser.parse_args()
    ends, number, broken = time.monotonic() + 60 * options.minutes, options.seed, Counter[str]()
    with TemporaryDirectory() as folder:
        (Path(folder) / "redis").mkdir()
        server = RedisServer(Path(folder) / "redis").start()
        while time.monotonic() < ends:
            store = server.url if number % 2 else "sqlite:///window.sqlite"
            history = History(Path(folder) / str(number), store, f"history {number}")
            history.run()
            for law in history.broken_laws():
                broken[law.partition(":")[0]] += 1
                print(f"history {number}, {store.partition(':')[0]}, {history.action}: {law}", flush=True)
            number += 1
        server.stop()
    print(f"| histories | {number - options.seed} |")
    for law, count in broken.items():
        print(f"| {law} | {count} |")


if __name__ == "__main__":
    main()
