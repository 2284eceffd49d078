"""The message about an event: what is new comes first, nothing of a headline is markup, and services get plain text."""

import asyncio
import html
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from newsdesk import MINUTE, opened, text, toll
from receivers import PATIENCE, BadReceiver, Receiver, drip_headers, skip
from services import Services

from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories import event as event_module
from scrapy_neardup.stories.event import Refused, Sender, StoryEvent
from scrapy_neardup.stories.receivers import DeliveryFailed, Service, receivers_of
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.stories.summary import message_of
from scrapy_neardup.story import Member, Story

HOSTILE = "<!channel> [free](http://evil.example) *big* @everyone\u202e\x1b[2J <script>alert(1)</script> `code` |a|"


@pytest.fixture
async def reports() -> AsyncIterator[list[dict[str, Any]]]:
    """The reports of one event: breaking, an update of its figure, its end."""
    async with opened(store="memory://") as room:
        for n in range(12):
            await room.publish("fire", f"s{n}", n * MINUTE, text=toll(4 if n < 8 else 12))
        await room.detector.finish(all_over=True)
        yield [special_report(event) for event in room.events + room.detector.take_events()]


def said(report: dict[str, Any]) -> str:
    """Return everything that a message says, as a chat shows it."""
    return "\n".join(message_of(report)).replace("\u200b", "")


async def test_what_is_new_comes_first(reports: list[dict[str, Any]]) -> None:
    breaking, update, ended = map(said, reports)
    assert breaking.startswith("Breaking: 4 dead\n")
    assert update.startswith("Update: 12 dead, was 4\n")
    assert ended.startswith("Ended: no new source for two hours\n")
    assert "Four sources say so, s8.example at 22:21, s9.example at 22:22, s10.example at 22:23 UTC and 1" in update
    assert "12 papers; 10 reprint the same text" in ended
    assert "Also: 12 dead, was 4" in ended, "it was told before"
    assert all(told.count("12 dead") <= 1 for told in (breaking, update, ended)), "no fact twice"


async def test_a_message_leads_with_a_toll_that_only_one_source_prints_and_says_so() -> None:
    async with opened(store="memory://", event_rule="sources", events_min_sources=5) as room:
        for n, dead in enumerate((4, 5, 7)):
            await room.publish("fire", f"s{n}", n * MINUTE, text=toll(dead))
    told = said(special_report(room.events[0]))
    assert told.startswith("Breaking: at least 4 dead, unconfirmed\n"), "two sources print more"
    assert "One source says so, s0.example at 22:13 UTC." in told


async def test_a_message_has_the_first_sentence_and_the_local_time() -> None:
    async with opened(store="memory://") as room:
        for n in range(6):
            body = f"The great bridge over the river fell on Monday morning. Nobody knows why.\n{text('bridge', 200)}"
            await room.publish("bridge", f"s{n}", n * MINUTE, text=body)
    told = said(special_report(room.events[0], zone=ZoneInfo("Asia/Kolkata")))
    assert "The great bridge over the river fell on Monday morning." in told
    assert "Nobody knows why" not in told
    assert "15 Nov 2023, 03:48 IST" in told
    assert "\n0001-01-01T00:00:00Z" in said({"time": "0001-01-01T00:00:00Z", "timezone": "America/New_York"})


def report_of(title: str, url: str) -> dict[str, Any]:
    member = Member("6553f10017b128e9", url, title, "a.example", "a.example", "original", number=1)
    return special_report(StoryEvent("breaking", 1, "sources", Story("00" * 8, 1, 0, 0, (), ()), (member,)))


def test_a_death_without_a_number_leads_before_the_injured() -> None:
    report = {"level": "breaking", "facts": [{"words": "5 injured", "is_new": True}]}
    told = message_of({**report, "headline": "Girl dies as the bridge falls"})
    assert (told.title, told.body.split("\n")[-1]) == ("Breaking: 0 sources within an hour", "Also: 5 injured")
    figures = [f"{number} people of the port city" for number in range(100, 107)]
    told = message_of({"level": "update", "facts": [{"words": each, "is_new": True} for each in figures]})
    assert f"{told.title}; {told.body.rpartition('Also: ')[2]}" == f"Update: {'; '.join(figures)}"
    assert message_of({**report, "headline": "Two dead as bridge falls"}).title == "Breaking: 0 sources within an hour"
    assert message_of({**report, "headline": "The bridge falls"}).title == "Breaking: 5 injured"


def test_a_headline_is_never_markup() -> None:
    told = "\n".join(message_of(report_of(HOSTILE, "https://a.example/1|<!here>)[x](http://evil.example")))
    assert not re.search("[<>\u202e\x1b]|@everyone", told)
    assert "://" not in told, "a url that could leave its place is left out"


BARE = "https://evil.example/a?b=c HTTP://1.2.3.4 www.evil.example //e.example mailto:me@e.example bücher.онлайн 💩.la"
# How chats find links in a text: two slashes, a name with a domain at its end, or a name of a mailbox.
FOUND_AS_LINK = re.compile(r"//|[^\s.]\.[^\W\d_]|\w@")


@pytest.mark.parametrize("field", ["headline", "url", "lead", "figure"])
def test_an_address_in_a_text_is_no_link(field: str) -> None:
    report = report_of("Fog", "https://a.example/1") | {"lead": "4.5 % more"}
    if field == "figure":
        report["facts"] = [{"words": f"dead.example: {BARE}", "is_new": False}]
    else:
        report |= {"headline": "", field: BARE}
    told = message_of(report).body.replace("Original: https://a.example/1", "")
    assert not FOUND_AS_LINK.search(told)
    assert BARE in said(report), "and everything can be read"
    assert "4.5 % more" in told or field == "lead", "numbers are as they were"


@given(title=st.text(max_size=3000), url=st.text(max_size=50) | st.just("https://a.example/" + "x" * 5000))
def test_no_title_or_url_is_over_the_limits_of_chats(title: str, url: str) -> None:
    told = message_of(report_of(title, url))
    assert 0 < len(told.title) <= 150
    assert 0 < len(told.body.encode()) < 4000, "and no lone surrogate"


def test_the_rule_count_counts_items() -> None:
    story = Story("00" * 8, 16, 16, 0, tuple(range(16)), ())
    report = special_report(replace(StoryEvent("breaking", 15, "count", story, ())))
    assert "16 items within four hours" in said(report)


@asynccontextmanager
async def service(receiver: Receiver | BadReceiver, deadline: float = PATIENCE) -> AsyncIterator[Service]:
    chat = Service(receiver.url.replace("http://", "json://anna:sEcReT@"), deadline)
    try:
        yield chat
    finally:
        await chat.close()


@pytest.mark.usefixtures("fast_workers")
async def test_a_service_gets_the_message(reports: list[dict[str, Any]], receiver: Receiver) -> None:
    async with service(receiver) as chat:
        await chat.deliver(reports[1])
    ((headers, body),) = receiver.requests
    title, text = message_of(reports[1])
    assert (json.loads(body)["title"], json.loads(body)["message"]) == (title, text)
    assert headers["Authorization"].startswith("Basic ")


@pytest.mark.usefixtures("fast_workers")
async def test_a_service_gets_no_password_of_a_netrc(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("default login bert password other")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    chat = Service(receiver.url.replace("http", "json"))
    await chat.deliver(report_of("Fog", "https://a.example/1"))
    await chat.close()
    ((headers, _),) = receiver.requests
    assert "Authorization" not in headers


class Gate:
    """Lets no process of Python begin before it is opened. Each that begins is counted."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._pipe = folder / "gate"
        os.mkfifo(self._pipe)
        (folder / "sitecustomize.py").write_text(f"open({str(self._pipe)!r}).read()", encoding="utf-8")
        monkeypatch.setenv("PYTHONPATH", str(folder))

    async def held(self) -> Callable[[], None]:
        """Wait until a process begins. Return what lets it go on."""
        writer = await asyncio.wait_for(asyncio.to_thread(self._pipe.open, "w"), PATIENCE)
        return writer.close


async def test_a_busy_machine_takes_no_time_from_a_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    gate = Gate(tmp_path, monkeypatch)
    async with service(receiver) as chat:
        sending = asyncio.create_task(chat.deliver(report_of("Fog", "https://a.example/1")))
        release = await gate.held()
        skip(monkeypatch, 2 * PATIENCE)
        await asyncio.sleep(0)
        release()
        await sending
        await chat.deliver(report_of("Mist", "https://a.example/2"))  # by the same process: no other passes the gate
    assert len(receiver.requests) == 2


@pytest.mark.parametrize("is_released", [True, False])
async def test_a_crawl_that_ends_on_a_busy_machine_sends_its_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, receiver: Receiver, is_released: bool
) -> None:
    monkeypatch.setattr(event_module, "_CLOSING", PATIENCE)
    if is_released:
        monkeypatch.setattr(event_module, "_LONGEST_CLOSING", 1000)
    gate = Gate(tmp_path, monkeypatch)
    chat = Service(receiver.url.replace("http", "json"))
    sender = Sender(chat, lambda _: report_of("Fog", "https://a.example/1"), lambda *_: None)
    sender.put("1", StoryEvent("breaking", 1, "sources", Story("00" * 8, 1, 0, 0, (), ()), ()))
    closing = asyncio.create_task(sender.close())
    release = await gate.held()
    skip(monkeypatch, 2 * PATIENCE if is_released else 60)
    if is_released:
        await asyncio.sleep(0)
        release()
    await asyncio.wait_for(closing, 1000 * PATIENCE)
    assert len(receiver.requests) == is_released, "a crawl ends within a minute"
    if not is_released:
        release()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*left, return_exceptions=True)  # the end of the process


@pytest.mark.usefixtures("fast_workers")
@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [
        (503, DeliveryFailed, "service json answers 503$"),
        (404, DeliveryFailed, "answers 404; check NEARDUP_EVENTS_NOTIFY"),
        (400, Refused, "service json answers 400$"),
    ],
)
async def test_a_service_that_does_not_take_it(status: int, error: type[Exception], reason: str) -> None:
    with Receiver(status) as receiver:
        async with service(receiver) as chat:
            with pytest.raises(error, match=reason):
                await chat.deliver(report_of("Fog", "https://a.example/1"))
        assert len(receiver.requests) == 1


async def test_a_service_that_never_answers_is_stopped() -> None:
    with BadReceiver(drip_headers) as receiver:
        async with service(receiver, deadline=0.5) as chat:
            with pytest.raises(DeliveryFailed, match=r"did not answer within 0.5 s"):
                await chat.deliver(report_of("Fog", "https://a.example/1"))


@pytest.mark.usefixtures("fast_workers")
async def test_the_url_of_a_service_is_no_part_of_logs_or_errors(
    caplog: pytest.LogCaptureFixture, receiver: Receiver, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    receiver.statuses = [500, 400, 204]
    for url in (receiver.url.replace("http", "form") + "/sEcReT?token=sEcReT", "nonsense://sEcReT", "slack://sEcReT"):
        (each,) = receivers_of(NearDupSettings(events_notify=(url,)))
        sender = Sender(each, lambda _: report_of("Fog", "https://a.example/1"), lambda *_: None, (0.01, 0.01))
        sender.put("1", StoryEvent("breaking", 1, "sources", Story("00" * 8, 1, 0, 0, (), ()), ()))
        await sender.close()
    assert "takes no events" in caplog.text
    assert "sEcReT" not in f"{caplog.text} {capfd.readouterr()}"


@pytest.mark.parametrize("given", ["mailto://a:b@c.example?to=d,e", ["mailto://a:b@c.example?to=d,e"]])
def test_a_url_may_have_commas(given: object) -> None:
    settings = NearDupSettings.from_mapping({"NEARDUP_EVENTS_NOTIFY": given})
    assert settings.events_notify == ("mailto://a:b@c.example?to=d,e",)
    assert "mailto" not in repr(settings)


HEADLINE = "# *bold* _it_ ~~gone~~ ||spoiler|| [x](https://e.example/x) `code` #tag :smile: @everyone <!channel> ```"
LEADS = ["> a quotation", "- an item", "1. an item", "[x]: https://e.example/x", "---", "=====", "/command ```"]
LINK = "https://www.north-wire.example/fire_in_port-2.html?a=b&c=d"
# What any of the services takes for markup, a link, a mention or a command.
MARKUP = re.compile(r"[*_~`<>\\]|^([#>=|-]|\d+\.|/\w)|\|\||\][(:\[]|//|@\w|#\w|:\w+:|\s/\w")

HOSTS = {
    "discord": "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV",
    "googlechat": "gchat://workspace/key/token",
    "mail": "mailto://{mail}?from=wire@a.example&to=desk@a.example",
    "matrix": "matrix://user:pass@{web}/!room",
    "mattermost": "mmost://{web}/3ccdd113474722377935511fc85d3dd4",
    "ntfy": "ntfy://{web}/topic",
    "rocketchat": "rocket://" + "a" * 24 + "%2F" + "b" * 24 + "@{web}/#general?mode=webhook",
    "slack": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
    "teams": "workflows://host.example:443/643e1da0d9f245f3bfa54b1b8ef2bce4/TIiajkdnlazkcOXrIdevi7FQ",
    "telegram": "tgram://123456789:abcdefghijklmnopqrstuvwxyz/12345",
    "zulip": "zulip://bot-name@org/" + "a" * 32 + "/stream",
}


@pytest.mark.usefixtures("fast_workers")
@pytest.mark.parametrize("service", HOSTS)
async def test_a_service_gets_plain_text_and_links(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Services(tmp_path) as services:
        for name, value in services.environment.items():
            monkeypatch.setenv(name, value)
        receiver = Service(HOSTS[service].format(web=services.web, mail=services.mail))
        for lead in LEADS:
            report = {"level": "update", "headline": HEADLINE, "lead": lead, "first": {"url": LINK}, "timezone": "UTC"}
            await receiver.deliver({**report, "facts": [{"words": "12 *dead*, was 4", "is_new": True}]})
        await receiver.close()
    texts = [
        html.unescape(re.sub("<br ?/?>|</?b>", "\n", text)).replace("\xa0", " ")
        for text in services.texts
        if "spoiler" in text
    ]
    assert len(texts) >= len(LEADS)
    for shown in texts:
        lines = [line for line in shown.splitlines() if LINK not in line]
        assert not [line for line in lines if MARKUP.search(line.removeprefix("# Update").strip("*"))]
        assert f"Original: {LINK}" in shown
        assert "everyone" in shown
