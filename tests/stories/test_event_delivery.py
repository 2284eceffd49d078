"""Delivery of events: no receiver and no death of a process silences the events that follow."""

import asyncio
import contextlib
import json
import logging
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from newsdesk import MINUTE, Newsroom, opened
from receivers import (
    ENDS,
    PATIENCE,
    BadReceiver,
    Behaviour,
    Receiver,
    deliver,
    drip_body,
    drip_headers,
    drip_interim_answers,
    flood,
    flood_chunks,
    report,
    skip,
)
from receivers import say_nothing as never_answer
from scrapy_processes import fast_python

from scrapy_neardup.stories import event as event_module
from scrapy_neardup.stories.event import Refused, Sender, StoryEvent
from scrapy_neardup.stories.receivers import DeliveryFailed, Webhook
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.story import LEVELS, Level, Story

SOON = 0.01, 0.02  # seconds between two tries


Deliver = Callable[[dict[str, Any]], Awaitable[None]]


class Sending:
    """A sender, what it says of each event, and the tries of its receiver."""

    def __init__(self, deliver: Deliver, pauses: tuple[float, float] = SOON) -> None:
        self.name, self.key, self._deliver = "webhook", b"hook", deliver
        self.tries: list[str] = []
        self.over: list[str] = []
        self.sender = Sender(self, special_report, self._note, pauses)

    async def deliver(self, report: dict[str, Any]) -> None:
        self.tries.append(report["id"])
        await self._deliver(report)

    def _note(self, entry: tuple[str, bytes]) -> None:
        self.over.append(entry[0])

    async def prepare(self) -> None:
        """Do nothing: there is nothing to load."""

    async def close(self) -> None:
        """Keep the connection: the fixture closes it."""

    def put(self, *events: StoryEvent) -> None:
        for each in events:
            self.sender.put(each.id, each)


def event(number: int, level: Level = "breaking") -> StoryEvent:
    return StoryEvent(level, number, "sources", Story(f"{number:016x}", 1, 1, 0, (), ()), ())


IDS = [event(number).id for number in range(50)]


async def away(_: dict[str, Any]) -> None:
    raise ConnectionError


@pytest.fixture
async def hook(receiver: Receiver) -> AsyncIterator[Webhook]:
    webhook = Webhook(receiver.url)
    yield webhook
    await webhook.close()


async def until(condition: Any) -> None:
    async def poll() -> None:
        while not condition():  # noqa: ASYNC110  of files and threads
            await asyncio.sleep(0.01)

    await asyncio.wait_for(poll(), PATIENCE)


@pytest.mark.versions
async def test_one_refused_event_does_not_silence_the_others(
    hook: Webhook, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.statuses = [400, 204, 422]
    sending = Sending(hook.deliver)
    sending.put(*map(event, range(4)))
    await until(lambda: len(sending.over) == 4)
    await sending.sender.close()
    assert receiver.ids == sending.over == IDS[:4]
    for number, status in ((0, 400), (2, 422)):
        assert f"The webhook refuses event {IDS[number]}: 127.0.0.1 answers {status}" in caplog.text


async def test_one_event_that_always_fails_does_not_silence_the_others() -> None:
    async def deliver(report: dict[str, Any]) -> None:
        if report["id"] == IDS[0]:
            raise ConnectionError

    sending = Sending(deliver)
    sending.put(*map(event, range(4)))
    await until(lambda: len(sending.over) == 3 and sending.tries.count(IDS[0]) > 3)
    sending.put(event(4))
    await until(lambda: sending.over == IDS[1:5])
    await sending.sender.close()


async def test_events_of_one_second_are_sent_in_the_order_of_their_levels(hook: Webhook, receiver: Receiver) -> None:
    sending = Sending(hook.deliver)
    sending.put(event(1, "breaking"), event(1, "watch"))
    await sending.sender.close()
    assert receiver.ids == [event(1, "watch").id, event(1, "breaking").id]


@pytest.mark.versions
async def test_a_busy_receiver_is_asked_again_while_the_crawl_runs(hook: Webhook, receiver: Receiver) -> None:
    """Without another event, and without the end of the crawl."""
    receiver.statuses = [503, 429, 500, 404, 302]
    sending = Sending(hook.deliver)
    sending.put(event(1))
    await until(lambda: sending.over)
    assert receiver.ids == [IDS[1]] * 6
    await sending.sender.close()


async def test_a_receiver_that_is_away_is_not_asked_once_for_every_event() -> None:
    sending = Sending(away, pauses=(3600, 3600))
    sending.put(*map(event, range(50)))
    await until(lambda: sending.tries)
    await sending.sender.close()
    assert len(sending.tries) <= 6
    assert sending.over == []


async def test_at_the_end_all_events_are_sent_if_none_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine each may take seconds. But the crawl ends within a minute."""

    async def deliver(_: dict[str, Any]) -> None:
        skip(monkeypatch, 4)
        await asyncio.sleep(0)

    for number, sent in ((10, {10}), (50, range(14, 25))):
        sending = Sending(deliver)
        sending.put(*map(event, range(number)))
        await sending.sender.close()
        assert len(sending.over) in sent


async def test_an_event_that_is_forgotten_while_it_is_sent_stops_nobody() -> None:
    is_sent, may_fail = asyncio.Event(), asyncio.Event()

    async def deliver(report: dict[str, Any]) -> None:
        if report["id"] == IDS[0]:
            is_sent.set()
            await may_fail.wait()
            raise ConnectionError

    sending = Sending(deliver)
    sending.put(event(0))
    await asyncio.wait_for(is_sent.wait(), PATIENCE)
    sending.sender.forget(IDS[0])
    sending.put(event(1))
    may_fail.set()
    await until(lambda: sending.over == [IDS[1]])
    assert sending.tries.count(IDS[0]) == 1
    await sending.sender.close()


async def test_a_lone_surrogate_is_delivered(hook: Webhook, receiver: Receiver) -> None:
    await hook.deliver({**report(1), "headline": "Feuer \ud800"})
    ((_, body),) = receiver.requests
    assert json.loads(body)["headline"] == "Feuer \ud800"


@asynccontextmanager
async def crawl(store: str, namespace: str, *urls: str) -> AsyncIterator[Newsroom]:
    """A crawl that sends to webhooks. At its end it confirms what they have."""
    async with opened(store=store, namespace=namespace, delivers_later=True) as room:
        outbox = room.detector.stories.outbox
        hooks = [Webhook(url) for url in urls]
        outbox.send_to({each.key: Sender(each, special_report, outbox.note_result, SOON) for each in hooks}, LEVELS)
        yield room
        await outbox.close()


@pytest.mark.in_memory
async def test_a_receiver_gets_the_events_of_the_sections_that_are_named(
    store_url: str, namespace: str, receiver: Receiver
) -> None:
    async with opened(store=store_url, namespace=namespace) as room:
        outbox = room.detector.stories.outbox
        hook = Webhook(receiver.url)
        outbox.send_to({hook.key: Sender(hook, special_report, outbox.note_result, SOON)}, LEVELS, ("politics",))
        for section in ("sport", "politics", "2019"):
            for n in range(6):
                await room.publish(
                    section, f"s{n}", n * MINUTE, url=f"https://www.s{n}.example/{section}/{n}/{section}"
                )
        for n in range(6):
            await room.publish("flood", f"s{n}", n * MINUTE, url=f"https://www.s{n}.example/{'sport' * (not n)}/1")
        await outbox.close()
    assert [special_report(event)["section"] for event in room.events] == ["sport", "politics", "", ""]
    told = [json.loads(body)["section"] for _, body in receiver.requests]
    assert sorted(told) == ["", "", "politics"]


async def waiting(room: Newsroom) -> int:
    return (await room.detector.index.summary()).waiting


async def test_the_next_crawl_sends_what_a_receiver_missed(shared_url: str, namespace: str, receiver: Receiver) -> None:
    """Only to that receiver, and only a crawl that has it. Everybody else has the event already."""
    with Receiver(*[503] * 1000) as busy:
        async with crawl(shared_url, namespace, busy.url, receiver.url) as room:
            await room.spread("fire", range(6))
        (breaking,) = {*busy.ids}
        busy.requests.clear()
        async with crawl(shared_url, namespace, receiver.url) as other:
            await other.publish("other", "a", 30 * MINUTE)
            assert await waiting(other) == 1
        assert busy.requests == []
        busy.statuses.clear()
        async with crawl(shared_url, namespace, busy.url, receiver.url) as next_room:
            await next_room.publish("more", "b", 31 * MINUTE)
            await until(lambda: busy.ids == [breaking])
            while await waiting(next_room):  # until the answer of the receiver is read
                await next_room.detector.confirm_events()
                await asyncio.sleep(0.01)
        assert (room.levels, other.levels, next_room.levels) == (["breaking"], [], [])
    assert receiver.ids == [breaking]


async def test_more_events_than_a_process_remembers_are_sent_too(
    shared_url: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_module, "MOST_IN_HAND", 2)
    with Receiver(*[503] * 1000) as busy:
        async with crawl(shared_url, namespace, busy.url) as room:
            for n in range(6):
                for fire in "abcd":
                    await room.publish(fire, f"s{n}", n * MINUTE)
                    await room.detector.confirm_events()
            assert (await waiting(room), len(room.detector.stories.outbox._in_hand)) == (4, 2)
            busy.statuses.clear()

            async def finish() -> None:
                while await waiting(room):
                    await room.detector.finish()
                    await room.detector.confirm_events()
                    await asyncio.sleep(0.01)

            await asyncio.wait_for(finish(), PATIENCE)
    assert {*busy.ids} >= {each.id for each in room.events}
    assert len(room.events) == 4


@pytest.mark.slow
async def test_an_event_of_a_killed_crawl_reaches_its_receiver(
    tmp_path: Path, namespace: str, receiver: Receiver
) -> None:
    store = f"sqlite:///{tmp_path}/window.sqlite"
    with BadReceiver(never_answer) as silent, Receiver() as same:
        command = [fast_python(), "-c", DIES.format(folders=sys.path), store, namespace, silent.url, receiver.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220
            assert process.stdout.readline() == "raised\n"
            async with crawl(store, namespace, receiver.url, same.url) as other:
                await other.publish("other", "a", 30 * MINUTE)
                assert other.levels == []  # it lives, and has its event in hand
            process.kill()
        receiver.requests.clear()
        async with crawl(store, namespace, receiver.url, same.url) as room:
            await room.publish("more", "b", 31 * MINUTE)
            await until(lambda: receiver.ids)
    assert room.levels == ["breaking"]
    assert receiver.ids == [room.events[0].id]
    assert same.ids == []  # it was none of the receivers


DIES = """
import asyncio, sys
sys.path[:0] = {folders!r}
from newsdesk import MINUTE, opened
from scrapy_neardup.story import LEVELS
from scrapy_neardup.stories.receivers import Webhook
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.stories.event import Sender

async def main():
    store, namespace, *urls = sys.argv[1:]
    async with opened(store=store, namespace=namespace, delivers_later=True) as room:
        outbox, hooks = room.detector.stories.outbox, [Webhook(url) for url in urls]
        outbox.send_to({{each.key: Sender(each, special_report, outbox.note_result) for each in hooks}}, LEVELS)
        for n in range(6):
            await room.detector.check(room.article("fire", f"s{{n}}", n * MINUTE))
        print("raised", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.versions
@pytest.mark.parametrize("behaviour", [never_answer, drip_headers, drip_interim_answers])
async def test_the_whole_answer_has_a_deadline(behaviour: Behaviour) -> None:
    with BadReceiver(behaviour) as receiver:
        webhook = Webhook(receiver.url, deadline=0.3)
        with pytest.raises(DeliveryFailed, match=r"did not answer within 0.3 s"):
            await webhook.deliver(report(1))
        assert await asyncio.to_thread(receiver.cut.acquire, timeout=PATIENCE)
        await webhook.close()


async def test_an_answer_counts_from_its_headers_on() -> None:
    with BadReceiver(drip_body) as receiver:
        await deliver(Webhook(receiver.url), report(1))
        assert await asyncio.to_thread(receiver.cut.acquire, timeout=PATIENCE)


@pytest.mark.versions
@pytest.mark.parametrize("behaviour", [flood("200 OK"), flood("503 Busy"), flood("400 No"), flood_chunks])
async def test_a_flood_is_not_read(behaviour: Behaviour) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with BadReceiver(behaviour) as receiver:
        with contextlib.suppress(DeliveryFailed, Refused):
            await deliver(Webhook(receiver.url), report(1))
        assert await asyncio.to_thread(receiver.cut.acquire, timeout=PATIENCE)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 50_000  # kilobytes


def test_the_process_ends_whatever_the_receiver_does() -> None:
    """All of them at the same time; that it is a matter of seconds is measured, see docs/events.md."""
    behaviours: list[Behaviour] = [never_answer, drip_headers, drip_interim_answers, drip_body, flood("503 Busy")]
    with contextlib.ExitStack() as stack:
        urls = [stack.enter_context(BadReceiver(each)).url for each in behaviours]
        command = [fast_python(), "-c", ENDS, *urls]
        assert subprocess.check_output(command, text=True, timeout=PATIENCE) == "closed\n"


@pytest.mark.versions
async def test_the_url_of_a_webhook_is_no_part_of_logs_or_errors(
    caplog: pytest.LogCaptureFixture, receiver: Receiver
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("urllib3").setLevel(logging.DEBUG)
    with Receiver() as gone:
        pass
    receiver.statuses = [500, 400, 302, 200]
    for url in (receiver.url, gone.url, "http://no.such.host.invalid/events", "http://[::1/events"):
        secret = url.replace("http://", "http://anna:sEcReT@") + "/sEcReT?token=sEcReT"
        webhook = Webhook(secret, "sEcReT")
        sender = Sender(webhook, special_report, lambda *_: None, SOON)
        sender.put("1", event(1))
        sender.put("2", event(2))
        await sender.close()
        assert "sEcReT" not in f"{webhook!r} {vars(sender)}"

    assert len(receiver.requests) >= 2
    assert "takes no events" in caplog.text
    assert "sEcReT" not in caplog.text
    assert "anna" not in caplog.text
