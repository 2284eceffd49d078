"""Where events go, the Atom file included: nothing is lost, and a receiver that is away stops no crawl."""

import asyncio
import hashlib
import hmac
import json
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import feedparser
import pytest
from json_lines import read_lines
from news_site import NewsSite, article, page
from projects import HAS_REACTORLESS, Project
from receivers import Receiver, deliver, report
from scrapy_processes import neardup

from scrapy_neardup.stories.receivers import MOST_ENTRIES, SIGNATURE, AtomFile, Webhook

pytestmark = pytest.mark.versions


@pytest.fixture
async def hook(receiver: Receiver) -> AsyncIterator[Webhook]:
    webhook = Webhook(receiver.url, "secret")
    yield webhook
    await webhook.close()


async def test_a_webhook_gets_signed_json(hook: Webhook, receiver: Receiver) -> None:
    await hook.deliver(report(1))
    ((headers, body),) = receiver.requests
    assert json.loads(body) == report(1)
    assert headers["Content-Type"] == "application/json"
    assert (headers["X-Neardup-Id"], headers["X-Neardup-Event"]) == ("story-1", "breaking")
    assert headers[SIGNATURE] == "sha256=" + hmac.new(b"secret", body, hashlib.sha256).hexdigest()


@pytest.mark.parametrize(("own", "sent"), [("", None), ("anna:s%20cret@", "Basic YW5uYTpzIGNyZXQ=")])
@pytest.mark.parametrize("by_proxy", [False, True])
async def test_a_password_comes_from_the_url_and_never_from_a_netrc(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, own: str, sent: str | None, by_proxy: bool
) -> None:
    (tmp_path / "netrc").write_text("default login bert password other")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    url = receiver.url
    if by_proxy:
        monkeypatch.setenv("http_proxy", url)
        url = "http://hooks.example/events"
    await deliver(Webhook(url.replace("://", f"://{own}")), report(1))
    ((headers, _),) = receiver.requests
    assert headers.get("Authorization") == sent
    assert headers["Host"] == ("hooks.example" if by_proxy else receiver.url.split("/")[2])


def test_another_url_or_secret_is_another_receiver() -> None:
    """So a crawl leaves alone what waits for the receiver of another one."""
    hooks = [Webhook("https://a.example/", key) for key in (None, "key", "other")] + [Webhook("https://b.example/")]
    assert len({each.key for each in hooks}) == 4
    assert not any(b"key" in each.key or b"example" in each.key for each in hooks)
    assert Webhook("https://a.example/", "key").key == hooks[1].key


COVERAGE = """
from scrapy_neardup import signals


class News(Pages):
    levels = []

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.on_event, signals.story_event)
        return spider

    async def on_event(self, event, report, spider):
        self.logger.info("EVENT %s %s %s", event.level, report["items"], spider is self)

    def parse(self, response):
        for n in range(8):
            yield {"url": f"https://www.s{n}.example/fire", "text": response.text, "title": f"Fire, says {n}",
                   "language": "fr-FR" if n % 2 else None}
"""


@pytest.mark.parametrize("reactorless", [False, True] if HAS_REACTORLESS else [False])
def test_a_crawl_tags_signals_counts_and_sends_an_event(
    tmp_path: Path, site: NewsSite, receiver: Receiver, reactorless: bool
) -> None:
    """Feed and signals have all levels, and receivers those that are named."""
    url = site.publish("/fire", page(article("fire")))
    with Receiver() as chat:
        crawl = Project(tmp_path).crawl(
            COVERAGE,
            urls=[url],
            NEARDUP_EVENTS_FEED="events-%(name)s.jsonl",
            NEARDUP_EVENTS_WEBHOOK=receiver.url,
            NEARDUP_EVENTS_NOTIFY=[chat.url.replace("http", "json")],
            NEARDUP_EVENTS_ATOM="events.xml",
            NEARDUP_EVENTS_LEVELS=["breaking"],
            **({"TWISTED_REACTOR_ENABLED": False} if reactorless else {}),
        )

    assert crawl.status == 0
    assert not crawl.lines(" ERROR: ")
    assert crawl.neardup["events/watch"] == crawl.neardup["events/breaking"] == 1
    # An item that raises an event waits for the store, so others may come before it.
    tipped = {item["url"]: item["neardup_event"] for item in crawl.items if item["neardup_event"]}
    assert tipped == {"https://www.s3.example/fire": "watch", "https://www.s4.example/fire": "breaking"}
    assert len(crawl.lines("EVENT breaking 5 True")) == 1
    watch, written = read_lines(tmp_path / "events-news.jsonl")
    assert (watch["level"], len(written["members"])) == ("watch", 5)
    assert [json.loads(body) for _, body in receiver.requests] == [written]
    ((_, body),) = chat.requests
    assert json.loads(body)["title"] == "Breaking: 5 sources within an hour"
    (entry,) = feedparser.parse((tmp_path / "events.xml").read_bytes()).entries
    assert entry.title.startswith("Breaking: 5 sources within an hour – Fire, says ")
    assert entry.summary
    assert stat.S_IMODE((tmp_path / "events-news.jsonl").stat().st_mode) == 0o600
    assert written["languages"] == [{"language": "en", "items": 5}]

    listed = neardup(tmp_path, "watch", "--events", "--json")
    (running,) = [json.loads(line) for line in listed.stdout.splitlines()]
    assert (running["level"], running["items"], running["story"]) == ("breaking", 8, written["story"])


HOSTILE = 'Fire <script>alert("x")</script> & \x1b[2J\ud800\ufffe ]]> says'


def told(number: int, **others: Any) -> dict[str, Any]:
    return {**report(number), "lead": f"Fire number {number}.", "url": "https://a.example/ü?x=1&y=<2>", **others}


async def entries_of(path: Path, *reports: dict[str, Any]) -> feedparser.FeedParserDict:
    await asyncio.gather(*(AtomFile(str(path)).deliver(each) for each in reports))  # as many crawls do
    feed = feedparser.parse(str(path))
    assert (feed.bozo, feed.version) == (False, "atom10")
    return feed


async def test_a_reader_sees_the_newest_events_first_each_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "events.xml"
    first = await entries_of(path, *(told(number) for number in (2, 3, 1)))
    path.chmod(0o640)
    tested = await entries_of(path, told(5, test=True))
    again = await entries_of(path, told(3), told(4, headline=HOSTILE, lead=HOSTILE, url="javascript:alert(1)//x"))

    assert [entry.summary for entry in first.entries] == [f"Fire number {number}." for number in (3, 2, 1)]
    assert first.feed.updated == first.entries[0].updated == "2023-11-14T22:03:00Z"
    assert [entry.id for entry in again.entries[1:]] == [entry.id for entry in tested.entries[1:]]
    assert [entry.id for entry in again.entries[1:]] == [entry.id for entry in first.entries], "the test has left"
    assert again.feed.id == first.feed.id
    assert [feed.entries[0].title for feed in (tested, again)] == [
        "Test: no event, only a message – Feuer über der Stadt",
        'Breaking: 0 sources within an hour – Fire <script>alert("x")</script> & \ufffd[2J\ufffd\ufffd ]]> says',
    ]
    assert tested.entries[0].link == "https://a.example/%C3%BC?x=1&y=%3C2%3E"
    assert "<script" not in again.entries[0].content[0].value
    assert b"javascript:" not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o640


async def test_the_file_is_bounded_and_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.xml"
    await entries_of(path, told(0))
    with path.open("rb") as reader:
        beginning = reader.read(99)
        feed = await entries_of(
            path, *(told(1, id=f"other-{n}", time=f"2024-01-01T00:00:{n % 60:02}Z") for n in range(99))
        )
        assert len(feed.entries) == MOST_ENTRIES
        feed = await entries_of(path, told(7, time="2024-01-02T00:00:00Z"))
        assert len(feed.entries) == MOST_ENTRIES
        assert feed.entries[-1].updated.startswith("2024")
        assert len(feedparser.parse(beginning + reader.read()).entries) == 1
    assert set(os.listdir(tmp_path)) == {"events.xml", ".events.xml.lock"}


async def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "index.html"
    path.write_text("<p>My page", encoding="utf-8")
    with pytest.raises(OSError, match=r"is no Atom feed.*NEARDUP_EVENTS_ATOM"):
        await AtomFile(str(path)).deliver(told(1))
    assert path.read_text(encoding="utf-8") == "<p>My page"
