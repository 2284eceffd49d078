"""At its end a crawl says in one block what it did, and which setting mends what went wrong; the same in its stats."""

from __future__ import annotations

import re

from news_site import NewsSite, article, page
from projects import FERRY, ITEM_A_PAGE, Project

from scrapy_neardup import NearDupSettings, Verdict
from scrapy_neardup.crawl.run_summary import RunSummary

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
    assert said.endswith("scrapy neardup report items.jsonl\n      scrapy neardup watch --events\n")


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
    assert "Next: crawl with -O items.jsonl, then " in said


def test_a_feed_of_events_that_cannot_be_written_is_counted(project: Project) -> None:
    project.write("blocked", "a file where the feed needs a folder")
    crawl = project.crawl(FERRY, NEARDUP_EVENTS_FEED="blocked/events.jsonl")
    assert crawl.neardup["events_feed/errors"] == 2


def test_a_crawl_without_items_says_where_to_look(project: Project, site: NewsSite) -> None:
    crawl = project.crawl(WITH_FIELDS.format(items=[]), urls=[site.publish("/", page("Nothing"))])
    assert block(crawl.log) == (
        "scrapy-neardup: no item came to be judged\n"
        "  If you expected some, look for errors and dropped items in the log above, at NEARDUP_ITEM_CLASSES,\n"
        "  and for requests with neardup=False in their meta.\n"
    )
    assert crawl.hints == {}


def test_a_store_that_is_away_from_the_start_is_one_message(project: Project) -> None:
    crawl = project.crawl(FERRY, NEARDUP_STORE="redis://127.0.0.1:1/0")
    assert crawl.statuses == {"unchecked": 7}
    (line,) = [*crawl.lines("WARNING"), *crawl.lines("ERROR")]
    assert "The store cannot be opened, so items pass unchecked until it can: redis://127.0.0.1:1/0" in line
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
    summary = RunSummary(NearDupSettings())
    for number in range(30):
        summary.add(Verdict("related", story="large"), title="Large", url=f"https://{number}.example/")
    for number in range(20_100):
        summary.add(Verdict("original", story=str(number)), title="", url="")
    assert len(summary._stories) <= 20_000
    assert "     30 items, 30 sources   Large\n    https://0.example/\n" in summary.text() + "\n"


def test_stories_that_became_one_are_counted_once() -> None:
    summary = RunSummary(NearDupSettings())
    for number, story in enumerate(("b", "b", "b", "a", "c")):
        summary.add(Verdict("related", story=story), title=f"Story {story}", url=f"https://{number}.example/")
    summary.unite({"b": "a", "forgotten": "a"})
    assert "      4 items, 4 sources    Story a\n" in summary.text()


def test_papers_on_ports_of_one_host_are_told_why_nothing_rings() -> None:
    summary = RunSummary(NearDupSettings())
    for port in range(8001, 8006):
        assert "hints/local-hosts" not in dict(summary.stats())
        summary.add(Verdict("original", story="s"), title="Ferry", url=f"http://127.0.0.1:{port}/ferry")
    assert dict(summary.stats())["hints/local-hosts"] == 5
