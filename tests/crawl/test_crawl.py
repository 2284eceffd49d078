"""The main job, end to end: one line in settings.py, a crawl tags or drops what it has seen, and says what it did."""

import re
from collections import Counter

import pytest
from news_site import Answer, NewsSite, article, page
from projects import FERRY, HAS_REACTORLESS, ITEM_A_PAGE, Project

from scrapy_neardup import NearDupSettings, Verdict
from scrapy_neardup.crawl.announcer import RunSummary
from scrapy_neardup.document import TAGS


def copies(site: NewsSite) -> list[str]:
    """Urls of an article, of its copy on another template, and of another article."""
    return [
        site.publish("/first", page(article("wire"))),
        site.publish("/second", page(article("wire"), title="News from our agency", foot="All rights reserved.")),
        site.publish("/other", page(article("other"))),
    ]


@pytest.mark.versions
@pytest.mark.parametrize("reactorless", [False, True] if HAS_REACTORLESS else [False])
def test_one_line_in_the_settings_tags_every_item(project: Project, site: NewsSite, reactorless: bool) -> None:
    as_it_comes = {"EXTENSIONS": {}, **({"TWISTED_REACTOR_ENABLED": False} if reactorless else {})}
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


@pytest.mark.versions
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


@pytest.mark.versions
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
    (line,) = crawl.lines("DEBUG", "Dropped: ", f"{second['copy']} is a duplicate (exact) of {first['wire']}")
    assert "similarity 1.0, containment 1.0" in line
    assert crawl.stats["item_dropped_reasons_count/NearDuplicate"] == 3
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


BLOCK = re.compile(r"INFO: (scrapy-neardup: .*\n(?:(?!\d{4}-).*\n)*)")


def block(log: str) -> str:
    (found,) = BLOCK.findall(log)
    return str(found)


WITH_FIELDS = """
class News(Pages):
    def parse(self, response):
        for item in {items!r}:
            yield dict(item)
"""


def test_the_block_counts_items_by_verdict_and_names_the_largest_stories(project: Project, site: NewsSite) -> None:
    wire = article("wire")
    texts = {"First": wire, "Second": wire, "Third": wire, "Other": article("other"), "Short": "Only a short caption."}
    urls = [site.publish(f"/{name}", page(text, "Fog in the harbour")) for name, text in texts.items()]
    crawl = project.crawl(ITEM_A_PAGE, urls=urls, NEARDUP_ACTION="drop", CONCURRENT_REQUESTS=1)
    said = block(crawl.log)
    assert "scrapy-neardup: 5 items judged, 3 kept, 2 dropped\n" in said
    assert "  original        2\n" in said
    assert "  duplicate       2   exact 2\n" in said
    assert "  unchecked       1   too-short 1\n" in said
    assert f"      3 items, 1 source     Fog in the harbour\n    {site.url}/First\n" in said
    assert "would be dropped" not in said
    run = {name: value for name, value in crawl.stats.items() if name.startswith("neardup/run/")}
    assert run == {"neardup/run/kept": 3}


VALIDATED = """
from scrapy.exceptions import DropItem


class Validator:
    def process_item(self, item):
        if item["page"].endswith(("/1", "/2")):
            raise DropItem("refused", log_level="DEBUG") if item["page"].endswith("1") else ValueError("broken")
        return item


class News(Pages):
    custom_settings = {"ITEM_PIPELINES": {Validator: 800}}

    def parse(self, response):
        yield {"page": response.url}
"""


def test_the_block_says_what_a_later_pipeline_has_taken(project: Project, site: NewsSite) -> None:
    urls = [site.publish(f"/{number}", page(article(number % 3))) for number in range(6)]
    settings = {"NEARDUP_ACTION": "drop", "CONCURRENT_REQUESTS": 1, "NEARDUP_DELIVERED": "scraped"}
    crawl = project.crawl(VALIDATED, "-O", "items.csv", urls=urls, **settings)
    kept, dropped = crawl.stats["neardup/run/kept"], crawl.stats["neardup/dropped"]
    assert kept + dropped == 6
    assert crawl.stats["neardup/run/lost"] == 2 == kept - len(crawl.items)
    said = block(crawl.log)
    assert (
        f" {kept} kept, {dropped} dropped\n  2 of those kept were dropped by later pipelines, or failed in them" in said
    )


def test_events_are_listed_and_the_block_is_the_last_thing_and_names_the_next_command(project: Project) -> None:
    log = project.crawl(FERRY).log
    said = block(log)
    assert "Events: 1 watch, 1 breaking\n" in said
    assert "Dumping Scrapy stats" in log
    assert BLOCK.split(log)[-1] == "", "nothing follows"
    assert log.index("Dumping Scrapy stats") < log.index("scrapy-neardup: 7 items judged")
    assert said.endswith(
        "scrapy neardup report items.jsonl, after a crawl with -O items.jsonl\n      scrapy neardup watch --events\n"
    )


def test_a_feed_that_cannot_be_written_is_a_hint(project: Project) -> None:
    project.write("blocked", "a file where the feed needs a folder")
    crawl = project.crawl(FERRY, "-O", "blocked/items.csv", "-O", "written.csv")
    assert crawl.hints == {"feed": 7}
    said = " ".join(block(crawl.log).split())
    assert "7 of 7 items could not be written to a feed" in said


def test_a_feed_that_cannot_be_stored_is_a_hint(project: Project) -> None:
    project.write(
        "news/storage.py",
        """
        from scrapy.extensions.feedexport import FileFeedStorage


        class Unstorable(FileFeedStorage):
            def store(self, file):
                raise OSError("the disk is full")
        """,
    )
    crawl = project.crawl(FERRY, FEED_STORAGES={"": "news.storage.Unstorable"})
    said = " ".join(block(crawl.log).split())
    assert "7 of 7 items could not be written to a feed" in said
    assert "Next: scrapy neardup report items.jsonl, after a crawl with -O" in said


def test_a_crawl_without_items_says_where_to_look(project: Project, site: NewsSite) -> None:
    crawl = project.crawl(WITH_FIELDS.format(items=[]), urls=[site.publish("/", page("Nothing"))])
    assert block(crawl.log) == (
        "scrapy-neardup: no item came to be judged\n"
        "  If you expected some, look for errors and dropped items in the log above, at NEARDUP_ITEM_CLASSES,\n"
        "  and for requests with neardup=False in their meta.\n"
    )
    assert crawl.hints == {}


def test_items_without_text_are_told_the_field_that_holds_it(project: Project, site: NewsSite) -> None:
    listing = site.publish("/list", page("Today's news"))
    teasers = [{"url": f"/{number}", "body": article(number)} for number in range(3)]
    crawl = project.crawl(WITH_FIELDS.format(items=teasers), urls=[listing])
    assert crawl.hints == {"other-page": 3}
    said = " ".join(block(crawl.log).split())
    assert "3 of 3 items had no text, because their url is not the page" in said
    assert "set NEARDUP_ITEM_FIELDS = {'text': 'body'}" in said
    mended = project.crawl(WITH_FIELDS.format(items=teasers), urls=[listing], NEARDUP_ITEM_FIELDS={"text": "body"})
    assert mended.statuses == {"original": 3}
    assert mended.hints == {}
    assert "Hints" not in block(mended.log)


def test_a_second_run_over_the_same_pages_is_told_how_to_begin_anew(project: Project, site: NewsSite) -> None:
    urls = [site.publish(f"/{number}", page(article(number))) for number in range(5)]
    assert project.crawl(ITEM_A_PAGE, urls=urls).hints == {}
    again = project.crawl(ITEM_A_PAGE, urls=urls, NEARDUP_ACTION="drop")
    assert again.hints == {"only-revisits": 5}
    assert again.lines("WARNING", "items.jsonl is overwritten (-O)", "append with -o")
    assert "empty the window with `scrapy neardup purge`, or set NEARDUP_NAMESPACE to another name" in " ".join(
        block(again.log).split()
    )
    assert "Largest stories" not in block(again.log)


def test_a_title_cannot_write_to_the_log_but_as_text(project: Project) -> None:
    title = "Fog\x1b[2J\u202eover\nthe harbour 2030-01-01 ERROR"
    items = [{"url": f"https://{name}.example/1", "text": article("wire"), "title": title} for name in ("a", "b")]
    spider = WITH_FIELDS.format(items=items) + '    async def start(self):\n        yield self.request("data:,")\n'
    said = block(project.crawl(spider).log)
    assert "Fog\ufffd[2J\ufffdover the harbour 2030-01-01 ERROR\n    https://a.example/1\n" in said


def test_memory_is_bounded_and_the_largest_story_is_kept() -> None:
    summary = RunSummary(NearDupSettings(), Counter(checked=20_130))
    for number in range(30):
        summary.add(Verdict("related", story="large"), title="Large", url=f"https://{number}.example/")
    for number in range(20_100):
        summary.add(Verdict("original", story=str(number)), title="", url="")
    assert len(summary._stories) <= 20_000
    assert "     30 items, 30 sources   Large\n    https://0.example/\n" in summary.text() + "\n"


def test_stories_that_became_one_are_counted_once() -> None:
    summary = RunSummary(NearDupSettings(), Counter(checked=5))
    for number, story in enumerate(("b", "b", "b", "a", "c")):
        summary.add(Verdict("related", story=story), title=f"Story {story}", url=f"https://{number}.example/")
    summary.unite({"b": "a", "forgotten": "a"})
    assert "      4 items, 4 sources    Story a\n" in summary.text()


def test_scrapy_parse_is_told_that_it_does_not_wait_for_verdicts(project: Project, site: NewsSite) -> None:
    project.prepare(ITEM_A_PAGE, {})
    url = site.publish("/", page(article("wire")))
    log = project.run("parse", "--spider", "news", "--pipelines", "--callback", "parse", url).stdout
    assert "WARNING: The crawl ends before its items are judged: 1 item without a verdict." in log
    assert "Traceback" not in log
