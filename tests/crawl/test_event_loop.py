"""What becomes ready together goes on one by one, and what holds up the event loop is kept off it."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from news_site import article
from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response
from scrapy.utils.test import get_crawler

from scrapy_neardup.crawl.component import MOST_IN_BACKLOG
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
    extracting, passed = middleware.shared.backlog, list[Response]()

    async def pass_and_extract(pages: ExitStack) -> None:
        passed.append(await middleware.process_response(request, response))
        pages.enter_context(extracting.counted())

    with ExitStack() as pages, ExitStack() as last:
        for _ in range(MOST_IN_BACKLOG - 1):
            pages.enter_context(extracting.counted())
        last.enter_context(extracting.counted())
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


def test_a_prepared_detector_imports_nothing_for_its_first_document() -> None:
    code = """
import asyncio, sys
from scrapy_neardup import NearDupDetector, NearDupSettings

async def main():
    detector = NearDupDetector(NearDupSettings(store="memory://"))
    await detector.open()
    await detector.prepare()
    before = set(sys.modules)
    text = "A ferry with 210 people on board ran aground off Skerrow on Tuesday evening after its steering failed " * 2
    verdict = await detector.check(detector.document(text, url="https://www.northwire.example/aground"))
    assert verdict.status == "original"
    await detector.close()
    print(sorted(set(sys.modules) - before))

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
