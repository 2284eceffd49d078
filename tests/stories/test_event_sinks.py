"""Where events go: nothing is lost, nobody waits, and a receiver that is away stops no crawl."""

from __future__ import annotations

import hashlib
import hmac
import json
import stat
from collections.abc import AsyncIterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from json_lines import read_lines
from news_site import NewsSite, article, page
from projects import HAS_REACTORLESS, Project
from receivers import Receiver, deliver, report
from scrapy_processes import neardup

from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.settings import NearDupSettings
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


@pytest.mark.parametrize(("name", "value"), [("WEBHOOK", "ftp://x"), ("WEBHOOK", 7), ("FEED", 7)])
def test_wrong_sinks_stop_the_start(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=f"NEARDUP_EVENTS_{name}"):
        NearDupSettings.from_mapping({f"NEARDUP_EVENTS_{name}": value})


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
    assert tipped == {"https://www.s3.example/fire": "watch", "https://www.s5.example/fire": "breaking"}
    assert len(crawl.lines("EVENT breaking 6 True")) == 1
    _, written = read_lines(tmp_path / "events-news.jsonl")
    bodies = [json.loads(body) for _, body in receiver.requests]
    assert len(bodies) == 2
    assert written in bodies
    assert len(written["members"]) == 6
    assert stat.S_IMODE((tmp_path / "events-news.jsonl").stat().st_mode) == 0o600
    assert written["languages"] == [{"language": "fr", "items": 3}]

    listed = neardup(tmp_path, "events", "--json")
    (running,) = [json.loads(line) for line in listed.stdout.splitlines()]
    assert (running["level"], running["items"], running["story"]) == ("breaking", 8, written["story"])


@pytest.mark.parametrize(
    ("hours", "quiet"),
    [("22:00-07:00", {22, 23, 0, 6}), ("07:00-22:00", {7, 12, 21}), ("06:00-06:00", set()), (None, set())],
)
def test_quiet_hours_are_in_the_zone_of_the_reader(hours: str | None, quiet: set[int]) -> None:
    given = {"NEARDUP_EVENTS_QUIET": hours, "NEARDUP_EVENTS_TIMEZONE": "Asia/Tokyo"}
    settings = NearDupSettings.from_mapping(given)
    tokyo = timezone(timedelta(hours=9))
    times = {hour: datetime(2026, 1, 1, hour, tzinfo=tokyo).timestamp() for hour in (22, 23, 0, 6, 7, 12, 21)}
    assert {hour for hour, second in times.items() if settings.is_quiet(second)} == quiet


@pytest.mark.parametrize("wrong", ["22-7", "22:00", "24:00-07:00", "night"])
def test_wrong_quiet_hours_stop_the_start(wrong: str) -> None:
    with pytest.raises(SettingsError, match="must be hours such as '22:00-07:00'"):
        NearDupSettings.from_mapping({"NEARDUP_EVENTS_QUIET": wrong})


def test_in_quiet_hours_the_webhook_gets_only_what_breaks(tmp_path: Path, site: NewsSite, receiver: Receiver) -> None:
    given = {"NEARDUP_EVENTS_WEBHOOK": receiver.url, "NEARDUP_EVENTS_FEED": "events.jsonl"}
    now, hour = datetime.now(timezone.utc), timedelta(hours=1)
    quiet = f"{now - hour:%H:%M}-{now + hour:%H:%M}"
    url = site.publish("/fire", page(article("fire")))
    crawl = Project(tmp_path).crawl(COVERAGE, urls=[url], NEARDUP_EVENTS_QUIET=quiet, **given)
    assert crawl.neardup["events/watch"] == crawl.neardup["events/breaking"] == 1
    assert [json.loads(body)["level"] for _, body in receiver.requests] == ["breaking"]
    assert len((tmp_path / "events.jsonl").read_text("utf-8").splitlines()) == 2


def test_an_event_waits_for_its_own_receiver(tmp_path: Path, site: NewsSite, receiver: Receiver) -> None:
    project = Project(tmp_path)
    url = site.publish("/fire", page(article("fire")))
    with Receiver(*[503] * 100) as away:
        project.crawl(COVERAGE, urls=[url], NEARDUP_EVENTS_WEBHOOK=away.url)
        sent = set(away.ids)
        assert sent
        for other in ({"": receiver.url}, {"": away.url, "_SECRET": "key"}, {"": away.url, "_FORMAT": "slack"}):
            away.requests.clear()
            given = {f"NEARDUP_EVENTS_WEBHOOK{name}": value for name, value in other.items()}
            project.crawl(COVERAGE, urls=[], **given)
            assert receiver.requests == away.requests == []
        away.statuses = []
        project.crawl(COVERAGE, urls=[], NEARDUP_EVENTS_WEBHOOK=away.url)
        assert set(away.ids) == sent
    assert not [path for path in tmp_path.rglob("*") if "key" in path.name]
