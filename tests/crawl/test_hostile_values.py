"""No item is lost for a value: whatever JSON, a page or its headers can carry, each item passes and is answered."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from long_form import tries
from news_site import article
from projects import HAS_REACTORLESS
from pydantic import AnyUrl
from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response
from scrapy.utils.test import get_crawler

from scrapy_neardup import NearDupDetector
from scrapy_neardup.document import STATUSES, TAGS, Verdict
from scrapy_neardup.middleware import NearDupSpiderMiddleware
from scrapy_neardup.pipeline import CapturePipeline, NearDuplicate, NearDupPipeline
from scrapy_neardup.settings.values import url_of

PROSE = (
    "The ferry left the harbour at noon with 212 people on board, and 14 of them were hurt when it met a crane. " * 6
)
FIELDS = ("url", "title", "text", "time", "language")


def examples(count: int) -> settings:
    """However slow a machine is, that is no failure."""
    return settings(max_examples=tries(count), suppress_health_check=list(HealthCheck))


HUGE = 10**5000  # Python refuses to print it
HARD: list[object] = [
    *(10**400, -(10**400), float("nan"), float("inf"), -float("inf"), 1e308, -1, 0, True, None),
    *(b"bytes", [], {}, [["deep"], "flat", 3], {"a": {"b": None}}, ("a", "b"), date.max, datetime.min),
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-23))),
    *("\ud800", "\udfff" * 100, "a\0b", "\u202e\u2066", "9" * 5000, "9" * 1_000_000, "x" * 1_000_000, " " * 100_000),
    *("http://\ud800.com/", "http://a.com/\udc80?\ud83d=\ude00", "http://[", "http://[::1", "http://a.com:port/", "//"),
    *("http://", "http://" + "a." * 2000, "http://a.com/?" + "a&" * 500_000, "http://a.com/" + "é" * 3000),
    *("http://é" * 9, "javascript:0", "data:,x", "HTTP://A.COM/\t\n", "http://xn--.com/", "http://xn--é.de/"),
    "http://a.com/#!" + "x" * 9000,
    *("1e400", "nan", "infinity", "-0", "2020-02-30", "2020-01-01T00:00:00+99:99", "0001-01-01", "9999-12-31T24:00-12"),
    *("١٢٣", "en-" * 1000, "ﷺ" * 3000, "\u0316\u0301" * 20_000, "&#" + "9" * 5000 + ";", PROSE, PROSE + "\ud800"),
]
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
VALUES = st.sampled_from(HARD) | JSON | ANY_TEXT.map("http://a.com/".__add__) | ANY_TEXT.map(PROSE.__add__)
ITEMS = st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, VALUES))
_CHARSETS = (
    "utf-8 utf-7 utf-16 utf-32 idna punycode undefined rot13 hex zlib bz2 uu unicode_escape gb18030 hz mbcs \xff ,"
)
CHARSETS = st.sampled_from([*_CHARSETS.split(), "", "x" * 9000])
HEADS = st.sampled_from(
    [
        *(b"", b"<title>&#" + b"9" * 4900 + b";</title>", b"<html lang='\xff'>"),
        b'<link rel=canonical href="http://[">',
        b'<link rel=canonical href="/&#' + b"9" * 900 + b';">',
        b'<meta property=og:title content="&#xd800;\0">',
        b"<link rel=canonical href=/%ff\xff><meta charset=punycode>",
    ]
)
BODIES = HEADS.flatmap(
    lambda head: st.sampled_from([b"", PROSE.encode(), b"\xff\xfe" * 50, b"\xed\xa0\x80" * 9, b"\0" * 50])
    .map(lambda text: b"<html>" + head + b"<body><p>" + text)
)  # fmt: skip


@dataclass
class Crawling:
    """The middleware and the pipelines of one crawler, in a loop of their own."""

    loop: asyncio.AbstractEventLoop
    middleware: NearDupSpiderMiddleware
    pipelines: tuple[CapturePipeline, NearDupPipeline]

    @property
    def stats(self) -> dict[str, Any]:
        return self.middleware.crawler.stats.get_stats()

    def items(self, response: Response, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What comes out of the pipelines for the items of a response."""
        return self.loop.run_until_complete(self._items(response, items))

    async def _items(self, response: Response, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        async def callback() -> AsyncIterator[Any]:
            for item in items:
                yield item

        passed = []
        async for item in self.middleware.process_spider_output(response, callback()):
            # As Scrapy has it, each item has a context of its own.
            passed.append(copy_context().run(asyncio.create_task, self._piped(item)))  # noqa: PERF401
        return await asyncio.gather(*passed)

    async def _piped(self, item: Any) -> Any:
        for pipeline in self.pipelines:
            item = pipeline.process_item(item)
            item = await item if asyncio.iscoroutine(item) else item
        return item


@pytest.fixture
def crawling(tmp_path: Path) -> Iterator[Crawling]:
    loop = asyncio.new_event_loop()

    async def start() -> Crawling:
        settings = {"NEARDUP_ITEM_FIELDS": {"time": "time"}, "NEARDUP_DROPPED_FEED": None}
        crawler = get_crawler(Spider, {"NEARDUP_STORE": f"sqlite:///{tmp_path}/window.sqlite", **settings})
        crawler.spider = crawler._create_spider("news")
        pipelines = CapturePipeline.from_crawler(crawler), NearDupPipeline.from_crawler(crawler)
        await pipelines[1].open_spider()
        return Crawling(loop, NearDupSpiderMiddleware.from_crawler(crawler), pipelines)

    started = loop.run_until_complete(start())
    yield started
    started.middleware.shared.extraction.close()
    loop.run_until_complete(started.pipelines[1].close_spider())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def response_of(body: bytes = b"", charset: str = "utf-8", url: str = "http://a.com/page") -> Response:
    headers = {"Content-Type": f"text/html; charset={charset}".encode("latin-1")}
    return HtmlResponse(url, body=body, headers=headers, request=Request("http://a.com/page"))


needs_no_reactor = pytest.mark.skipif(not HAS_REACTORLESS, reason="this Scrapy needs a reactor for its signals")


@needs_no_reactor
def test_an_item_passes_with_any_values(crawling: Crawling) -> None:
    @examples(300)
    @given(st.lists(ITEMS, min_size=1, max_size=4), BODIES, CHARSETS)
    @example([{"text": PROSE + each, "url": f"http://[{each}"} for each in ("one", "two")], b"", "utf-8")
    def passes(items: list[dict[str, Any]], body: bytes, charset: str) -> None:
        passed = crawling.items(response_of(body, charset), [dict(item) for item in items])
        assert len(passed) == len(items)
        for item, given_item in zip(passed, items, strict=True):
            assert item["neardup_status"] in STATUSES
            assert list(item)[: len(given_item)] == list(given_item)
            assert item["neardup_reason"] not in ("internal-error", "store-unavailable")
        assert "neardup/errors" not in crawling.stats

    passes()


@needs_no_reactor
@pytest.mark.parametrize("field", FIELDS)
def test_an_item_passes_with_each_hard_value(crawling: Crawling, field: str) -> None:
    items = [{"text": PROSE, field: value} for value in [*HARD, HUGE]]
    passed = crawling.items(response_of(PROSE.encode()), items)
    assert [item["neardup_status"] in STATUSES for item in passed] == [True] * len(items)
    assert "neardup/errors" not in crawling.stats
    assert "neardup/store/errors" not in crawling.stats


@dataclass
class Unset:
    url: str
    title: str = field(init=False)


@needs_no_reactor
def test_an_item_is_asked_only_for_fields_that_it_has(crawling: Crawling) -> None:
    made, unset = crawling.items(response_of(PROSE.encode()), [defaultdict(list, link="x"), Unset("http://a.com/page")])
    assert {*made} - {*TAGS} == {"link"}
    assert not hasattr(unset, "title")
    assert "neardup/errors" not in crawling.stats


@needs_no_reactor
def test_entries_that_link_to_places_of_their_page_are_no_versions_of_it(crawling: Crawling) -> None:
    visits = [
        [{"url": f"http://a.com/page#{name}", "title": name, "text": article(name)} for name in names]
        for names in ("ab", "cab")
    ]
    told = [[each["neardup_status"] for each in crawling.items(response_of(), items)] for items in visits]
    assert told == [["original"] * 2, ["original", "duplicate", "duplicate"]]


def test_a_url_may_be_bytes_or_an_object_with_a_host() -> None:
    given = [b"http://a.com/1", AnyUrl("http://a.com/1"), "http://a.com/1", 1]
    assert [url_of({"url": each}, "url") for each in given] == ["http://a.com/1"] * 3 + [""]


@needs_no_reactor
def test_a_bug_of_ours_costs_no_item_and_is_logged_once(
    crawling: Crawling, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: object, **values: object) -> Any:
        raise ZeroDivisionError("a bug")

    response = response_of(b"<title>A title</title><p>" + PROSE.encode())
    of_detector = [(NearDupDetector, name) for name in ("check_in_order", "document")]
    for module, name in (*of_detector, (NearDupSpiderMiddleware, "_read")):
        with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
            patch.setattr(module, name, fail)
            before = crawling.stats.get("neardup/errors", 0)
            own = {"text": PROSE, "url": "http://a.com/\x1b[2J\u2028"}
            items = [{"number": number, **({} if number % 2 else own)} for number in range(6)]
            passed = crawling.items(response, items)
        assert [item["number"] for item in passed] == list(range(6))
        assert passed[1]["neardup_reason"] == "internal-error"
        assert crawling.stats["neardup/errors"] > before
        (told,) = [record for record in caplog.records if record.exc_info]
        assert told.exc_info[0] is ZeroDivisionError
        assert "a bug in scrapy-neardup" in told.message
        assert told.message.isprintable()
        caplog.clear()


def test_the_message_of_a_dropped_item_is_one_line_of_the_log() -> None:
    url = "https://a.example/\n2026-01-01 [root] ERROR: \x1b[2J\u202e"
    dropped = NearDuplicate(url, Verdict("duplicate", "exact", original="0" * 16, original_url=url))
    assert dropped.url == url
    assert str(dropped).isprintable()
    assert str(dropped).count("https://a.example/ 2026-01-01 [root]") == 2
