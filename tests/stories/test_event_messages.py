"""Events as chats take them: what is new comes first, and nothing of a headline is markup."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from newsdesk import MINUTE, opened, text, toll
from receivers import Receiver, deliver

from scrapy_neardup.document import Member, Story
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.messages import message
from scrapy_neardup.stories.outbox import Refused
from scrapy_neardup.stories.receivers import Webhook
from scrapy_neardup.stories.report import special_report

CHATS = ["slack", "discord", "teams"]
HOSTILE = "<!channel> [free](http://evil.example) *big* @everyone\u202e\x1b[2J <script>alert(1)</script> `code` |a|"


@pytest.fixture
async def reports() -> AsyncIterator[list[dict[str, Any]]]:
    """The reports of one event: breaking, an update of its figure, its end."""
    async with opened(store="memory://") as room:
        for n in range(12):
            await room.publish("fire", f"s{n}", n * MINUTE, text=toll(4 if n < 8 else 12))
        await room.detector.finish(all_over=True)
        yield [special_report(event) for event in room.events + room.detector.take_events()]


def shown(text: str) -> str:
    """Return a text as a chat shows it: without escapes and zero-width spaces."""
    return re.sub(r"[\\\u200b]", "", text)


def said(sent: Any) -> str:
    """Return everything that a message says, as a chat shows it."""
    return shown("\n".join(text for _, text in _texts(sent)))


def links(sent: Any) -> list[str]:
    return re.findall(r"https?://www[^\s|)\"\\]+", json.dumps(sent))


@pytest.mark.parametrize("form", CHATS)
async def test_what_is_new_comes_first(reports: list[dict[str, Any]], form: Any) -> None:
    breaking, update, ended = (said(message(report, form)) for report in reports)
    assert re.search(r"Breaking\**: 6 sources within an hour", breaking)
    assert re.search(r"Update\**: 12 dead, was 4\n", update)
    assert re.search(r"Ended\**: no new source for two hours", ended)
    assert "At least two sources say so, first s8.example at 22:21 UTC." in update
    assert "12 independent sources, 11 of them print copies only; 12 items" in ended
    assert "Also: 12 dead, was 4" in ended, "it was told before"
    for told in (breaking, update, ended):
        body = told.partition("News of fire")[2] if form == "slack" else told  # Slack shows the rest in a notification
        assert body.count("12 dead") <= 1, "no fact twice"


@pytest.mark.parametrize("form", CHATS)
async def test_a_message_has_the_first_sentence_and_the_local_time(form: Any) -> None:
    async with opened(store="memory://") as room:
        for n in range(6):
            body = f"The great bridge over the river fell on Monday morning. Nobody knows why.\n{text('bridge', 200)}"
            await room.publish("bridge", f"s{n}", n * MINUTE, text=body)
    told = said(message(special_report(room.events[0], zone=ZoneInfo("Asia/Kolkata")), form))
    assert "The great bridge over the river fell on Monday morning." in told
    assert "Nobody knows why" not in told
    assert "15 Nov 2023, 03:48 IST" in told


def test_a_format_string_makes_a_text() -> None:
    report = report_of(HOSTILE, "https://a.example/1")
    assert message(report, "{level}: {news}\n{newest} {original}") == {
        "text": "breaking: 0 sources within an hour\n https://a.example/1"
    }
    told = message(report, "{headline}")
    assert told is not None
    assert not re.search("[<>]|@everyone|://", told["text"])


@pytest.mark.parametrize("form", ["{no_such_field}", "{", "{0}", "{level.x}", "slak", ""])
def test_a_wrong_format_stops_the_start(form: str) -> None:
    with pytest.raises(SettingsError, match="NEARDUP_EVENTS_WEBHOOK_FORMAT"):
        NearDupSettings.from_mapping({"NEARDUP_EVENTS_WEBHOOK_FORMAT": form})


def only_breaking(report: Mapping[str, Any]) -> str | None:
    return f"!!! {report['headline']}" if report["level"] == "breaking" else None


async def test_a_function_makes_the_message_or_sends_nothing(reports: list[dict[str, Any]], receiver: Receiver) -> None:
    webhook = Webhook(receiver.url, form=f"{__name__}.only_breaking")
    for report in reports:
        await webhook.deliver(report)
    ((_, body),) = receiver.requests
    assert json.loads(body) == {"text": "!!! News of fire"}


def fails(report: Mapping[str, Any]) -> str:
    raise KeyError("news")


async def test_an_event_whose_message_cannot_be_made_is_refused(
    reports: list[dict[str, Any]], receiver: Receiver
) -> None:
    with pytest.raises(Refused, match="NEARDUP_EVENTS_WEBHOOK_FORMAT failed: KeyError"):
        await deliver(Webhook(receiver.url, form=f"{__name__}.fails"), reports[0])


@pytest.mark.parametrize("form", ["plain", *CHATS])
async def test_a_webhook_sends_its_format(reports: list[dict[str, Any]], form: Any, receiver: Receiver) -> None:
    await deliver(Webhook(receiver.url, form=form), reports[0])
    ((headers, body),) = receiver.requests
    assert json.loads(body) == json.loads(json.dumps(message(reports[0], form)))
    assert headers["X-Neardup-Id"] == reports[0]["id"]
    keys = {"slack": {"text", "blocks"}, "discord": {"content", "embeds", "allowed_mentions"}}
    assert form in ("plain", "teams") or set(json.loads(body)) == keys[form]


def report_of(title: str, url: str) -> dict[str, Any]:
    member = Member("6553f10017b128e9", url, title, "a.example", "a.example", "original", number=1)
    return special_report(StoryEvent("breaking", 1, "sources", Story("00" * 8, 1, 0, 0, (), ()), (member,)))


@pytest.mark.parametrize("form", CHATS)
def test_a_headline_is_never_markup(form: Any) -> None:
    url = "https://a.example/1|<!here>)[x](http://evil.example"
    sent = dict(message(report_of(HOSTILE, url), form))
    text = json.dumps(sent, ensure_ascii=False)
    assert "\u202e" not in text
    assert "\\u001b" not in text
    assert links(sent) == [], "a url that could leave its place is left out"
    if form == "slack":
        mrkdwn = [sent["text"], *(each["text"] for each in _values(sent, "mrkdwn"))]
        assert not any(re.search(r"<(?!https?://)", each) for each in mrkdwn)
    else:
        told = sent["embeds"][0]["title"] if form == "discord" else sent["attachments"][0]["content"]["body"][1]["text"]
        assert not re.search(r"(?<!\\)[\[\]<>`]", told)
    if form == "discord":
        assert sent["allowed_mentions"] == {"parse": []}


def _values(value: Any, kind: str) -> list[dict[str, str]]:
    """All objects of this type in a message."""
    if isinstance(value, dict):
        own = [value] if value.get("type") == kind else []
        return own + [found for each in value.values() for found in _values(each, kind)]
    return [found for each in value for found in _values(each, kind)] if isinstance(value, list) else []


BARE = "https://evil.example/a?b=c HTTP://1.2.3.4 www.evil.example //e.example mailto:me@e.example bücher.онлайн 💩.la"
# How chats find links in a text: two slashes, a name with a domain at its end, or a name of a mailbox.
FOUND_AS_LINK = re.compile(r"//|[^\s.]\.[^\W\d_]|\w@")


@pytest.mark.parametrize("form", CHATS)
@pytest.mark.parametrize("field", ["headline", "url", "lead", "figure"])
def test_an_address_in_a_text_is_no_link(form: Any, field: str) -> None:
    report = report_of("Fog", "https://a.example/1") | {"lead": "4.5 % more"}
    if field == "figure":
        report["facts"] = [{"words": f"dead.example: {BARE}", "is_new": False}]
    else:
        report |= {"headline": "", field: BARE}
    sent: Any = message(report, form)
    others = ("url", "$schema", "contentType", "type")
    # Texts without the link to the first report, as each chat has it.
    label = r"Original: a\.example"
    link = re.compile(rf"<https://a.example/1\|{label}>|\[{label}\]\(https://a.example/1\)|^{label}$")
    told = [link.sub("", text) for name, text in _texts(sent) if name not in others]
    assert not [text for text in told if FOUND_AS_LINK.search(text)]
    assert BARE in shown("\n".join(told)), "and everything can be read"
    assert "4.5 % more" in "\n".join(told) or field == "lead", "numbers are as they were"


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield all texts of a message with the names of their fields."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else ((name, each) for each in value):
            yield from _texts(each, key)


@pytest.mark.parametrize("form", CHATS)
@given(title=st.text(max_size=3000), url=st.text(max_size=50) | st.just("https://a.example/" + "x" * 5000))
def test_no_title_or_url_is_over_the_limits_of_a_chat(form: Any, title: str, url: str) -> None:
    sent: Any = message(report_of(title, url), form)
    assert len(json.dumps(sent).encode("utf-8", "surrogatepass")) < 25_000, "Teams takes 28 kB"
    json.dumps(sent, ensure_ascii=False).encode("utf-8")  # no lone surrogate
    if form == "slack":
        assert 0 < len(sent["blocks"][0]["text"]["text"]) <= 150
        assert all(len(each["text"]["text"]) <= 3000 for each in sent["blocks"][1:2])
    elif form == "discord":
        assert 0 < len(sent["content"]) <= 2000
        assert 0 < len(sent["embeds"][0]["title"]) <= 256


def test_the_rule_count_counts_items() -> None:
    report = report_of("Fog over the harbour", "https://a.example/1")
    story = Story("00" * 8, 16, 16, 0, tuple(range(16)), ())
    report |= special_report(replace(StoryEvent("breaking", 15, "count", story, ())))
    assert "16 items within four hours" in said(message(report, "slack"))
