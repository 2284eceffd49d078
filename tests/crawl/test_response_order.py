"""Verdicts come in the order of the responses, and nothing that is lost on the way holds up the others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from news_site import Answer, NewsSite, article, page
from projects import Project

from scrapy_neardup.crawl.response_order import ItemPlace, ResponseOrder, ResponsePlace

# A crawl

NOTED = """
import scrapy
from news.pages import Pages
from scrapy_neardup.signals import document_checked


class Noted(Pages):
    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.checked, document_checked)
        crawler.signals.connect(spider.received, scrapy.signals.response_received)
        return spider

    def received(self, response):
        self.note("received", response.url)

    def checked(self, item, verdict):
        self.note("checked", item["page"])

    def note(self, what, url):
        with open("order.txt", "a") as file:
            print(what, url.rpartition("/")[2], file=file)
"""


@pytest.fixture
def project(project: Project) -> Project:
    """A project with a spider that notes the order of its responses and verdicts."""
    project.write("news/noted.py", NOTED)
    return project


PAGES = """
from news.noted import Noted


class News(Noted):
    def parse(self, response):
        yield {"page": response.url}
"""


def noted(folder: Path) -> tuple[list[str], list[str]]:
    """Pages in the order of their responses, and in the order of their verdicts."""
    lines = [line.split() for line in (folder / "order.txt").read_text().splitlines()]
    return tuple([name for what, name in lines if what == kind] for kind in ("received", "checked"))  # type: ignore[return-value]


FIRST_FIGURES = "Police said that 4 people were found dead in the harbour tunnel on Monday."
"""Stands in the first version of a story; the second one says 12."""


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_version_of_a_story_is_the_original(project: Project, site: NewsSite, workers: int) -> None:
    """Also if it is the first page of all, while the first worker starts, and the second version is found sooner."""
    text = f"{FIRST_FIGURES}\n{article('harbour')}"
    urls = [
        site.publish("/first", page(text)),
        site.publish("/second", page(text.replace(" 4 ", " 12 "))),
        *(site.publish(f"/{number}", page(article(number))) for number in range(10)),
    ]
    crawl = project.crawl(PAGES, urls=urls, NEARDUP_EXTRACT_WORKERS=workers, NEARDUP_EXTRACT_TIMEOUT=60)
    received, checked = noted(project.folder)
    assert checked == received
    earlier, later = [name for name in received if name in ("first", "second")]
    assert crawl.item(page=f"{site.url}/{earlier}")["neardup_status"] == "original"
    assert crawl.item(page=f"{site.url}/{later}")["neardup_status"] == "update"
    assert crawl.item(page=f"{site.url}/{later}")["neardup_original"] == f"{site.url}/{earlier}"


MIXED = """
from news.noted import Noted


class News(Noted):
    def parse(self, response):
        item = {"page": response.url}
        if "text" in response.url:
            item["text"] = " ".join(response.css("p::text").getall())
        yield item
"""

DELAYING = """
import asyncio
import random


class Delaying:
    async def process_item(self, item):
        await asyncio.sleep(random.random() / 20)
        return item
"""


def test_the_order_is_kept_whatever_each_response_takes(project: Project, site: NewsSite) -> None:
    """Texts of the items' own, pages met before and pages without a text need no worker; pipelines take their time."""
    project.write("news/delaying.py", DELAYING)
    urls = []
    for number in range(8):
        urls += [
            site.publish(f"/page-{number}", page(article(number))),
            site.publish(f"/text-{number}", page(article(f"text {number}"))),
            site.publish(f"/again-{number}", page(article(number))),
            site.publish(f"/image-{number}", Answer(b"\x89PNG\r\n\x1a\n" * 100, "image/png")),
            site.publish(f"/large-{number}", page("x" * 5_000_000)),
        ]
    crawl = project.crawl(MIXED, urls=urls, ITEM_PIPELINES={"news.delaying.Delaying": 100}, NEARDUP_EXTRACT_TIMEOUT=60)
    received, checked = noted(project.folder)
    assert len(received) == 40
    assert checked == received
    assert crawl.neardup["original"] == 16


FEEDS = """
from news.noted import Noted


class News(Noted):
    def parse(self, response):
        for number, text in enumerate(response.css("p::text").getall()):
            yield {"page": f"{response.url}-{number}", "text": text}
"""


def test_all_entries_of_a_feed_come_before_those_of_the_next(project: Project, site: NewsSite) -> None:
    """More of them than Scrapy takes on at once: the last of the first feed is no copy of the first of the second."""
    urls = [
        site.publish(f"/{name}", page("\n".join(article(number, 40).replace("\n", " ") for number in numbers)))
        for name, numbers in (("feed", range(80)), ("copy", reversed(range(80))))
    ]
    project.crawl(FEEDS, urls=urls, CONCURRENT_REQUESTS=1, NEARDUP_EXTRACT_TIMEOUT=60)
    _, checked = noted(project.folder)
    assert checked == [f"{name}-{number}" for name in ("feed", "copy") for number in range(80)]


LOSING = """
import asyncio
from news.noted import Noted


class News(Noted):
    def request(self, url):
        callback = self.returns if url.endswith("returns") else self.parse
        return scrapy.Request(url, meta={"neardup": not url.endswith("out")}, callback=callback)

    def returns(self, response):
        raise ValueError("before anything is returned")

    async def parse(self, response):
        name = response.url.rpartition("/")[2]
        if name == "raises":
            raise ValueError("before the first item")
        if name == "nothing":
            return
        yield {"page": response.url}
        if name == "late":
            raise ValueError("after the first item")
"""

SIEVE = """
from scrapy.exceptions import DropItem


class Sieve:
    def process_item(self, item):
        if item["page"].endswith(self.drops):
            raise DropItem("not wanted")
        if item["page"].endswith(self.fails):
            raise RuntimeError("cannot be cleaned")
        return item


class Early(Sieve):
    drops, fails = "early-drop", "early-error"


class Late(Sieve):
    drops, fails = "drop", "error"
"""


def test_what_is_lost_on_the_way_holds_up_nobody(project: Project, site: NewsSite) -> None:
    """Nobody would be passed over in an hour: a place that is not left stops this crawl for good."""
    project.write("news/sieve.py", SIEVE)
    lost = ("raises", "returns", "nothing", "early-drop", "early-error", "drop", "error", "out")
    names = [name for number, each in enumerate((*lost, "late")) for name in (each, f"good-{number}")]
    urls = [site.publish(f"/{name}", page(article(name))) for name in names]
    crawl = project.crawl(
        LOSING, urls=urls, ITEM_PIPELINES={"news.sieve.Early": 0, "news.sieve.Late": 100}, NEARDUP_EXTRACT_TIMEOUT=3600
    )
    received, checked = noted(project.folder)
    assert checked == [name for name in received if name not in lost]
    assert len(checked) == 10
    assert crawl.stats["waiting_contexts"] == 0


# The order by itself


async def go(item: ItemPlace, seen: list[tuple[int, int]], name: tuple[int, int], rounds: int) -> None:
    """An item that takes so many rounds of the event loop before it asks for its turn."""
    try:
        for _ in range(rounds):
            await asyncio.sleep(0)
        await item.wait_for_turn()
        seen.append(name)
    finally:
        item.let_next_ask()


async def respond(
    place: ResponsePlace, seen: list[tuple[int, int]], number: int, items: list[int]
) -> list[asyncio.Task[None]]:
    tasks = []
    for serial, rounds in enumerate(items):
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(go(place.add_item(), seen, (number, serial), rounds)))
    place.close()
    return tasks


RESPONSES = st.lists(st.lists(st.integers(0, 5), max_size=5), max_size=6)


@given(RESPONSES, st.sets(st.tuples(st.integers(0, 5), st.integers(0, 4))))
def test_items_that_are_cancelled_are_left_out(responses: list[list[int]], lost: set[tuple[int, int]]) -> None:
    async def run() -> None:
        order, seen = ResponseOrder(3600), list[tuple[int, int]]()
        places = [order.take_place() for _ in responses]
        started = [await respond(*each) for each in zip(places, [seen] * 6, range(6), responses, strict=False)]
        await asyncio.sleep(0)  # they have begun
        for number, tasks in enumerate(started):
            for serial, task in enumerate(tasks):
                if (number, serial) in lost:
                    task.cancel()
        await asyncio.gather(*(task for tasks in started for task in tasks), return_exceptions=True)
        kept = [(number, serial) for number, items in enumerate(responses) for serial in range(len(items))]
        assert [name for name in seen if name not in lost] == [name for name in kept if name not in lost]
        await order.take_place().add_item().wait_for_turn()  # nothing is left before it

    asyncio.run(run())


@pytest.mark.parametrize("opens", [True, False], ids=["a silent spider", "a lost item"])
async def test_the_first_place_is_passed_over_when_patience_ends(opens: bool) -> None:
    order, seen = ResponseOrder(0), list[tuple[int, int]]()
    silent, other = order.take_place(), order.take_place()
    if not opens:
        silent.add_item()
        silent.close()
    await asyncio.gather(*await respond(other, seen, 1, [0, 0]))
    assert seen == [(1, 0), (1, 1)]
    if opens:  # what it yields now waits for nobody
        await asyncio.gather(*await respond(silent, seen, 0, [0, 0]))
        assert seen[2:] == [(0, 0), (0, 1)]
