"""What becomes ready together goes on one by one, and verdicts come in the order of the responses."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from news_site import Answer, NewsSite, article, page
from projects import Project
from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response
from scrapy.utils.test import get_crawler

from scrapy_neardup.crawl.component import MOST_IN_BACKLOG
from scrapy_neardup.crawl.item_context import Place
from scrapy_neardup.middleware import NearDupDownloaderMiddleware, NearDupSpiderMiddleware
from scrapy_neardup.pipeline import NearDupPipeline


async def rounds_of(waited_for: Iterable[Awaitable[object]]) -> list[tuple[int, int]]:
    """Who went on in which round of the event loop."""
    loop, now, seen = asyncio.get_running_loop(), 0, []

    def tick() -> None:
        nonlocal now, handle
        now += 1
        handle = loop.call_soon(tick)

    handle = loop.call_soon(tick)

    async def one(number: int, turn: Awaitable[object]) -> None:
        await turn
        seen.append((number, now))

    await asyncio.gather(*(one(*each) for each in enumerate(waited_for)))
    handle.cancel()
    return seen


async def test_items_whose_verdicts_come_together_go_on_in_rounds_of_their_own_and_in_order() -> None:
    crawler = get_crawler(Spider, {"NEARDUP_STORE": "memory://"})
    crawler.spider = Spider("news")
    pipeline = NearDupPipeline.from_crawler(crawler)
    await pipeline.open_spider()
    await pipeline.process_item({"text": article(100)})  # it is prepared now
    items = [asyncio.create_task(pipeline.process_item({"text": article(number)})) for number in range(30)]
    await asyncio.sleep(0)
    for lost in items.pop(20), items.pop(5):
        lost.cancel()
    rounds = await rounds_of(items)
    assert [number for number, _ in rounds] == list(range(28))
    assert len({at for _, at in rounds}) == 28
    await pipeline.close_spider()
    await pipeline._close_detector()


async def test_each_response_reaches_the_spider_in_a_round_of_its_own() -> None:
    request, response = Request("http://a.example/"), Response("http://a.example/")
    middleware = NearDupDownloaderMiddleware.from_crawler(get_crawler())
    seen = await rounds_of(middleware.process_response(request, response) for _ in range(30))
    assert len({at for _, at in seen}) == 30


async def test_responses_are_held_back_while_many_items_with_texts_of_their_own_wait_for_verdicts(
    tmp_path: Path,
) -> None:
    """Small responses come faster than the store answers: another process is writing to its file."""
    request, response = Request("http://a.example/"), Response("http://a.example/")
    crawler = get_crawler(Spider, {"NEARDUP_STORE": f"sqlite:///{tmp_path}/window.sqlite"})
    crawler.spider = Spider("news")
    middleware = NearDupDownloaderMiddleware.from_crawler(crawler)
    pipeline = NearDupPipeline.from_crawler(crawler)
    await pipeline.open_spider()
    pipeline._prepared = asyncio.create_task(pipeline._prepare())
    await pipeline._prepared
    with closing(sqlite3.connect(tmp_path / "window.sqlite", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        items = [pipeline.process_item({"text": article(number)}) for number in range(MOST_IN_BACKLOG)]
        judged = asyncio.gather(*items)
        held = asyncio.create_task(middleware.process_response(request, response))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not held.done()
    assert await held is response
    assert {item["neardup_status"] for item in await judged} == {"original"}
    await pipeline.close_spider()
    await pipeline._close_detector()


async def test_responses_that_were_held_back_do_not_all_pass_when_one_page_is_done() -> None:
    request, response = Request("http://a.example/"), Response("http://a.example/")
    middleware = NearDupDownloaderMiddleware.from_crawler(get_crawler())
    extracting, passed = middleware.shared, list[Response]()

    async def pass_and_extract(pages: ExitStack) -> None:
        passed.append(await middleware.process_response(request, response))
        pages.enter_context(extracting.in_backlog())

    with ExitStack() as pages, ExitStack() as last:
        for _ in range(MOST_IN_BACKLOG - 1):
            pages.enter_context(extracting.in_backlog())
        last.enter_context(extracting.in_backlog())
        held = [asyncio.create_task(pass_and_extract(pages)) for _ in range(10)]
        await asyncio.sleep(0)
        last.close()
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(passed) == 1
        pages.close()
        await asyncio.gather(*held)


async def test_no_output_of_a_spider_waits_for_its_page() -> None:
    """Scrapy has ``CONCURRENT_ITEMS`` tasks for a response, which all wait for its next output."""

    async def output() -> AsyncIterator[dict[str, int]]:
        for number in range(3):
            yield {"number": number}

    middleware = NearDupSpiderMiddleware.from_crawler(get_crawler())
    response = HtmlResponse("http://a.example/", body=b"<p>" * 100_000, request=Request("http://a.example/"))
    passing = middleware.process_spider_output(response, output())
    for number in range(3):
        with pytest.raises(StopIteration) as passed:
            passing.__anext__().send(None)  # the first step, which is the last one if nothing is waited for
        assert passed.value.value == {"number": number}


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


def noted(folder: Path) -> tuple[list[str], list[str]]:
    """Pages in the order of their responses, and in the order of their verdicts."""
    lines = [line.split() for line in (folder / "order.txt").read_text().splitlines()]
    return tuple([name for what, name in lines if what == kind] for kind in ("received", "checked"))  # type: ignore[return-value]


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
    settings = {"ITEM_PIPELINES": {"news.delaying.Delaying": 100}, "NEARDUP_EXTRACT_TIMEOUT": 60}
    crawl = project.crawl(MIXED, urls=urls, NEARDUP_EXTRACT_WORKERS=2, **settings)
    received, checked = noted(project.folder)
    assert len(received) == 40
    assert checked == received
    assert crawl.neardup["original"] == 16
    first = {item["page"] for item in crawl.items if item["neardup_status"] == "original"}
    pairs = [(received.index(f"page-{number}"), received.index(f"again-{number}"), number) for number in range(8)]
    assert {f"{site.url}/{'page' if page < again else 'again'}-{number}" for page, again, number in pairs} < first


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


async def respond(place: Place) -> None:
    """Let two items of a response have their turns."""
    items = [place.add_item() for _ in range(2)]
    place.leave()
    for item in items:
        await item.wait_for_turn()
        item.leave()


@pytest.mark.parametrize("opens", [True, False], ids=["a silent spider", "a lost item"])
async def test_the_first_place_is_passed_over_when_patience_ends(opens: bool) -> None:
    silent = Place(None, 0)
    other = Place(silent.gone, 0)
    if not opens:
        silent.add_item()
        silent.leave()
    await asyncio.wait_for(respond(other), 60)
    if opens:  # what it yields now waits for nobody
        await asyncio.wait_for(respond(silent), 60)
