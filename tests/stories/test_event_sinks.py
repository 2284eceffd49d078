"""Where events go: nothing is lost, nobody waits, and a receiver that is away stops no crawl."""

from __future__ import annotations

import hashlib
import hmac
import json
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import feedparser
import pytest
from json_lines import read_lines
from news_site import NewsSite, article, page
from projects import HAS_REACTORLESS, Project
from receivers import Receiver, deliver, report
from scrapy_processes import neardup

from scrapy_neardup.stories.receivers import SIGNATURE, Webhook

pytestmark = pytest.mark.versions


@pytest.fixture
async def hook(receiver: Receiver) -> AsyncIterator[Webhook]:
    webhook = Webhook(receiver.url, "secret")
    yield webhook
    await webhook.close()


# The webhook


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


# A crawl

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
    url = site.publish("/fire", page(article("fire")))
    crawl = Project(tmp_path).crawl(
        COVERAGE,
        urls=[url],
        NEARDUP_EVENTS_FEED="events-%(name)s.jsonl",
        NEARDUP_EVENTS_WEBHOOK=receiver.url,
        **({"TWISTED_REACTOR_ENABLED": False} if reactorless else {}),
    )

    assert crawl.status == 0
    assert not crawl.lines(" ERROR: ")
    assert crawl.neardup["events/breaking"] == 1
    # An item that raises an event waits for the store, so others may come before it.
    tipped = {item["url"]: item["neardup_event"] for item in crawl.items if item["neardup_event"]}
    assert tipped == {"https://www.s3.example/fire": "watch", "https://www.s4.example/fire": "breaking"}
    assert len(crawl.lines("EVENT breaking 5 True")) == 1
    _, written = read_lines(tmp_path / "events-news.jsonl")
    bodies = [json.loads(body) for _, body in receiver.requests]
    assert len(bodies) == 2
    assert written in bodies
    assert len(written["members"]) == 5
    assert stat.S_IMODE((tmp_path / "events-news.jsonl").stat().st_mode) == 0o600
    assert written["languages"] == [{"language": "en", "items": 5}]

    listed = neardup(tmp_path, "watch", "--events", "--json")
    (running,) = [json.loads(line) for line in listed.stdout.splitlines()]
    assert (running["level"], running["items"], running["story"]) == ("breaking", 8, written["story"])


@pytest.mark.slow
def test_receivers_get_the_levels_that_are_named(tmp_path: Path, site: NewsSite, receiver: Receiver) -> None:
    url = site.publish("/fire", page(article("fire")))
    with Receiver() as chat:
        crawl = Project(tmp_path).crawl(
            COVERAGE,
            urls=[url],
            NEARDUP_EVENTS_WEBHOOK=receiver.url,
            NEARDUP_EVENTS_NOTIFY=[chat.url.replace("http", "json")],
            NEARDUP_EVENTS_FEED="events.jsonl",
            NEARDUP_EVENTS_ATOM="events.xml",
            NEARDUP_EVENTS_LEVELS=["breaking"],
        )
    assert crawl.neardup["events/watch"] == crawl.neardup["events/breaking"] == 1
    assert [json.loads(body)["level"] for _, body in receiver.requests] == ["breaking"]
    ((_, body),) = chat.requests
    assert json.loads(body)["title"] == "Breaking: 5 sources within an hour"
    assert len((tmp_path / "events.jsonl").read_text("utf-8").splitlines()) == 2
    (entry,) = feedparser.parse((tmp_path / "events.xml").read_bytes()).entries
    assert entry.title.startswith("Breaking: 5 sources within an hour – Fire, says ")
    assert entry.summary
