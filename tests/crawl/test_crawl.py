"""The main job, end to end: one line in settings.py, and a crawl tags or drops what it has seen."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator

import pytest
from news_site import Answer, NewsSite, article, page
from projects import HAS_REACTORLESS, ITEM_A_PAGE, Crawl, Project

from scrapy_neardup.document import TAGS

pytestmark = pytest.mark.versions

REACTORS = [
    pytest.param({}, id="reactor"),
    pytest.param(
        {"TWISTED_REACTOR_ENABLED": False},
        id="reactorless",
        marks=pytest.mark.skipif(not HAS_REACTORLESS, reason="Scrapy has TWISTED_REACTOR_ENABLED from 2.15 on"),
    ),
]


def copies(site: NewsSite) -> list[str]:
    """Urls of an article, of its copy on another template, and of another article."""
    return [
        site.publish("/first", page(article("wire"))),
        site.publish("/second", page(article("wire"), title="News from our agency", foot="All rights reserved.")),
        site.publish("/other", page(article("other"))),
    ]


@pytest.mark.parametrize("reactor", REACTORS)
def test_one_line_in_the_settings_tags_every_item(project: Project, site: NewsSite, reactor: dict[str, bool]) -> None:
    as_it_comes = {"EXTENSIONS": {}, **reactor}
    crawl = project.crawl(ITEM_A_PAGE, "-O", "items.csv", urls=copies(site), **as_it_comes)

    assert crawl.status == 0
    assert not crawl.lines(" ERROR: ")
    assert crawl.statuses == {"original": 2, "duplicate": 1}
    assert crawl.item(page=f"{site.url}/other")["neardup_status"] == "original"
    pair = {item["neardup_status"]: item for item in crawl.items if item["page"] != f"{site.url}/other"}
    assert pair["duplicate"] == {
        "page": pair["duplicate"]["page"],
        "neardup_status": "duplicate",
        "neardup_kind": "exact",
        "neardup_original": pair["original"]["page"],
        "neardup_match": pair["duplicate"]["neardup_match"],
        "neardup_similarity": 1.0,
        "neardup_containment": 1.0,
        "neardup_share": pair["duplicate"]["neardup_share"],
        "neardup_would_drop": True,
        "neardup_story": pair["original"]["neardup_story"],
        "neardup_changes": None,
        "neardup_news": None,
        "neardup_event": None,
        "neardup_reason": None,
    }
    # A CSV feed takes its columns from its first item, so an original has them all too.
    assert tuple(crawl.rows[0]) == ("page", *TAGS)
    assert sorted(row["neardup_status"] for row in crawl.rows) == ["duplicate", "original", "original"]


def test_drop_drops_duplicates_and_says_of_what(project: Project, site: NewsSite) -> None:
    crawl = project.crawl(ITEM_A_PAGE, urls=copies(site), NEARDUP_ACTION="drop")
    assert crawl.statuses == {"original": 2}
    kept = {item["page"] for item in crawl.items} - {f"{site.url}/other"}
    (dropped,) = {f"{site.url}/first", f"{site.url}/second"} - kept
    (line,) = crawl.lines("Dropped: ")
    assert "DEBUG" in line
    assert f"{dropped} is a duplicate (exact) of {kept.pop()}: similarity 1.0, containment 1.0" in line
    assert crawl.neardup["dropped"] == 1
    assert crawl.stats["item_dropped_reasons_count/NearDuplicate"] == 1


def test_a_dry_run_drops_nothing_and_leaves_the_live_window_as_it_is(project: Project, site: NewsSite) -> None:
    urls = copies(site)
    rehearsal = project.crawl(ITEM_A_PAGE, urls=urls, NEARDUP_ACTION="dry-run")
    assert rehearsal.statuses == {"original": 2, "duplicate": 1}
    assert (rehearsal.neardup["would_drop"], rehearsal.neardup.get("dropped")) == (1, None)
    live = project.crawl(ITEM_A_PAGE, urls=urls, NEARDUP_ACTION="drop")
    assert live.statuses == {"original": 2}
    assert live.neardup["dropped"] == 1


LISTENER = """
import asyncio
from scrapy import signals
from scrapy_neardup.signals import document_checked


class Listener:
    def __init__(self, crawler):
        crawler.signals.connect(self.checked, document_checked)
        crawler.signals.connect(self.scraped, signals.item_scraped)
        crawler.signals.connect(self.dropped, signals.item_dropped)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def checked(self, item, verdict, spider):
        await asyncio.sleep(0.05)
        self.note("checked", item, verdict.status, spider.name, verdict.original_url, "neardup_status" in item)

    def scraped(self, item):
        self.note("scraped", item, item["neardup_status"])

    def dropped(self, item):
        self.note("dropped", item)

    def note(self, what, item, *more):
        with open("heard.txt", "a") as file:
            print(item["page"].rpartition("/")[2], what, *more, file=file)
"""


def test_hourly_crawls_share_a_window(project: Project, site: NewsSite) -> None:
    """All that the second of two crawls can say of a page, with stats and signals."""
    wire, plan = article("wire"), article("plan")
    first = {path: site.publish(f"/{path}", page(article(path))) for path in ("same", "changed")}
    first |= {path: site.publish(f"/{path}", page(text)) for path, text in (("wire", wire), ("plan", plan))}
    before = project.crawl(ITEM_A_PAGE, urls=first.values())
    assert before.neardup == {"checked": 4, "original": 4}
    assert (project.folder / ".scrapy/neardup.sqlite").is_file()

    site.publish("/changed", page(article("rewritten")))
    second = {
        "same": first["same"],
        "changed": first["changed"],
        "copy": site.publish("/copy", page(wire)),
        "light": site.publish("/light", page(wire.replace(wire.split()[90], "elsewhere", 1))),
        "abridged": site.publish("/abridged", page("\n".join(wire.splitlines()[:2]))),
        "background": site.publish("/background", page(" ".join(plan.split()[:75]) + "\n" + article("context", 100))),
        "new": site.publish("/new", page(article("new"))),
        "short": site.publish("/short", page("Nothing but a caption below a photograph.")),
        "photo": site.publish("/photo", Answer(b"\x89PNG\r\n\x1a\n" + bytes(500), "image/png")),
        "huge": site.publish("/huge", page("x" * 5_000_000)),
    }
    project.write("news/listener.py", LISTENER)
    extensions = {"news.stats_file.StatsFile": 0, "news.listener.Listener": 0}
    crawl = project.crawl(ITEM_A_PAGE, urls=second.values(), EXTENSIONS=extensions, NEARDUP_ACTION="drop")

    assert {item["page"].rpartition("/")[2]: item["neardup_status"] for item in crawl.items} == {
        "changed": "update",
        "light": "duplicate",  # a word in the place of another one
        "background": "original",
        "new": "original",
        "short": "unchecked",
        "photo": "unchecked",
        "huge": "unchecked",
    }
    assert crawl.neardup == {
        "checked": 10,
        "original": 2,
        "update": 1,
        "duplicate": 4,
        "duplicate/revisit": 1,
        "duplicate/exact": 1,
        "duplicate/near": 1,
        "duplicate/abridged": 1,
        "dropped": 3,
        "unchecked": 3,
        "unchecked/too-short": 1,
        "unchecked/no-text": 1,
        "unchecked/extraction-failed": 1,
    }
    for step in ("extract", "check"):
        total, mean = (crawl.stats[f"neardup/{step}/ms_{name}"] for name in ("total", "mean"))
        assert 0 < mean <= total

    # Handlers are awaited: each has heard of the verdict before the item is tagged and goes on.
    heard = (project.folder / "heard.txt").read_text().splitlines()
    told = {name: [line.partition(" ")[2] for line in heard if line.startswith(f"{name} ")] for name in second}
    assert told["new"] == ["checked original news None False", "scraped original"]
    assert told["changed"] == [f"checked update news {first['changed']} False", "scraped update"]
    assert told["photo"] == ["checked unchecked news None False", "scraped unchecked"]
    assert told["same"] == [f"checked duplicate news {first['same']} False", "dropped"]
    for copy, fate in (("light", "scraped duplicate"), ("abridged", "dropped")):
        assert told[copy] == [f"checked duplicate news {first['wire']} False", fate]


def test_fields_rename_the_tags(project: Project, site: NewsSite) -> None:
    fields = {"neardup_status": "verdict", "neardup_original": "copy_of"}
    crawl = project.crawl(ITEM_A_PAGE, urls=copies(site), NEARDUP_FIELDS=fields)
    assert {tuple(item) for item in crawl.items} == {("page", "verdict", "copy_of")}
    assert sorted(item["verdict"] for item in crawl.items) == ["duplicate", "original", "original"]


SLOW_EXTRACTOR = """
import time

def extract(html, url):
    time.sleep(0.05)
    return html
"""


def slow(text: str) -> Answer:
    """A page that takes half a second. Scrapy's own delay goes by the wall clock, which may be set back meanwhile."""

    def stream() -> Iterator[bytes]:
        time.sleep(0.5)
        yield text.encode("utf-8")

    return Answer(stream=stream)


@pytest.mark.slow
def test_one_interrupt_ends_the_crawl_cleanly(project: Project, site: NewsSite) -> None:
    urls = [site.publish(f"/{number}", slow(page(article(number)))) for number in range(1500)]
    project.write("news/slow.py", SLOW_EXTRACTOR)
    # Fetching all of them would take minutes: the interrupt comes while most are not yet asked for, even if the first
    # item waits long for what is imported, as it does on a busy machine.
    # Scrapy logs the signal from within its handler, and Python loses a line, with the rest of the handler, that is
    # written in the middle of another one. So nothing is logged at the time of the interrupt.
    settings = {
        "NEARDUP_EXTRACTOR": "news.slow.extract",
        "CONCURRENT_REQUESTS": 4,
        "LOG_LEVEL": "INFO",
        "LOGSTATS_INTERVAL": 0,
    }
    project.prepare(ITEM_A_PAGE, settings)
    process = project.start("crawl", "news", "-a", f"urls={' '.join(urls)}", "-O", "items.jsonl")
    watchdog = threading.Timer(150, process.kill)
    watchdog.start()
    assert process.stdout is not None
    while len(site.requested) < 24 and process.poll() is None:  # until items are under way
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    log = process.stdout.read()
    status = process.wait()
    watchdog.cancel()
    crawl = Crawl(project.folder, status, log)

    assert crawl.status == 0, crawl.log[-3000:]
    assert crawl.stats["finish_reason"] == "shutdown"
    assert crawl.stats["waiting_contexts"] == 0
    assert 0 < len(crawl.items) == crawl.neardup["checked"] < 1500
    assert not crawl.lines("Traceback")
