"""Delivery of events: no receiver, file or death of a process silences the events that follow."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from receivers import (
    ENDS,
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
)
from receivers import say_nothing as never_answer

from scrapy_neardup.stories import outbox as outbox_module
from scrapy_neardup.stories.outbox import Outbox, Refused, count_events, open_events
from scrapy_neardup.stories.receivers import DeliveryFailed, Webhook

pytestmark = pytest.mark.versions

SOON = 0.01, 0.02  # seconds between two tries
PATIENCE = 60  # seconds that a slow machine may take


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outbox.sqlite"


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


# Events are independent of each other


async def test_one_refused_event_does_not_silence_the_others(
    path: Path, hook: Webhook, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.statuses = [400, 204, 422]
    outbox = Outbox("webhook", path, hook.deliver, pauses=SOON)
    await outbox.open()
    for number in range(4):
        outbox.put(report(number))
    await until(lambda: count_events(path)[0] == 0)  # closing waits only for seconds
    await outbox.close()

    assert receiver.ids == [f"story-{number}" for number in range(4)]
    with contextlib.closing(open_events(path)) as sql:
        rows = sql.execute("SELECT name, refused FROM events ORDER BY name").fetchall()
    assert [(name.partition("-story-")[2], reason) for name, reason in rows] == [
        ("0", "127.0.0.1 answers 400"),
        ("2", "127.0.0.1 answers 422"),
    ]
    assert caplog.text.count("refuses an event") == 1
    assert "The webhook refused 2 events; they are set aside" in caplog.text


async def test_events_of_one_second_that_were_left_are_sent_in_the_order_of_their_levels(
    path: Path, hook: Webhook, receiver: Receiver
) -> None:
    async def away(_: dict[str, Any]) -> None:
        raise ConnectionError

    left = Outbox("webhook", path, away, pauses=(3600, 3600))
    await left.open()
    for level in ("breaking", "watch"):
        left.put({**report(1), "id": level, "level": level})
    await left.close()
    outbox = Outbox("webhook", path, hook.deliver, pauses=SOON)
    await outbox.open()
    await until(lambda: count_events(path) == (0, 0))
    await outbox.close()
    assert receiver.ids == ["watch", "breaking"]


async def test_a_busy_receiver_is_asked_again_while_the_crawl_runs(
    path: Path, hook: Webhook, receiver: Receiver
) -> None:
    """Without another event, and without the end of the crawl."""
    receiver.statuses = [503, 429, 500, 404, 302]
    outbox = Outbox("webhook", path, hook.deliver, pauses=SOON)
    await outbox.open()
    outbox.put(report(1))

    await until(lambda: count_events(path) == (0, 0))

    assert receiver.ids == ["story-1"] * 6
    await outbox.close()


async def test_a_receiver_that_is_away_is_not_asked_once_for_every_event(path: Path) -> None:
    tries = []

    async def deliver(each: dict[str, Any]) -> None:
        tries.append(each["id"])
        raise ConnectionError

    outbox = Outbox("webhook", path, deliver, pauses=(3600, 3600))
    await outbox.open()
    for number in range(50):
        outbox.put(report(number))
    await until(lambda: len(tries) >= 3)
    await outbox.close()

    assert len(tries) <= 6
    assert count_events(path) == (50, 0)


# The file


async def test_the_outbox_is_bounded(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The oldest events go first, and before them those that were refused."""

    async def away(each: dict[str, Any]) -> None:
        raise Refused("no") if each["id"] == "story-2" else ConnectionError

    outbox = Outbox("webhook", path, away, pauses=SOON, most_events=3)
    await outbox.open()
    for number in (1, 2):
        outbox.put(report(number))
    await until(lambda: count_events(path) == (1, 1))
    for number in range(3, 6):
        outbox.put(report(number))
        assert sum(count_events(path)) <= 3
    await outbox.close()

    with contextlib.closing(open_events(path)) as sql:
        names = [name for (name,) in sql.execute("SELECT name FROM events ORDER BY name")]
    assert [name.partition("story-")[2] for name in names] == ["3", "4", "5"]
    assert caplog.text.count("is full") == 1


async def test_an_event_that_is_removed_while_it_is_sent_stops_nobody(path: Path) -> None:
    is_sent, may_fail, delivered = asyncio.Event(), asyncio.Event(), []

    async def deliver(each: dict[str, Any]) -> None:
        if each["id"] == "story-0":
            is_sent.set()
            await may_fail.wait()
            raise ConnectionError
        delivered.append(each["id"])

    outbox = Outbox("webhook", path, deliver, pauses=SOON, most_events=3)
    await outbox.open()
    outbox.put(report(0))
    await asyncio.wait_for(is_sent.wait(), PATIENCE)
    for number in range(1, 4):
        outbox.put(report(number))
    may_fail.set()

    await until(lambda: "story-3" in delivered)
    assert "story-0" not in delivered
    await outbox.close()


@pytest.mark.parametrize("begins_well", [True, False])
async def test_events_wait_in_memory_where_no_file_can_be_written(
    path: Path, hook: Webhook, receiver: Receiver, caplog: pytest.LogCaptureFixture, begins_well: bool
) -> None:
    """Neither a file of something else, nor one that is overwritten while the crawl runs, stops the events."""
    damage = partial(path.write_bytes, b"not a database" * 100)
    if not begins_well:
        damage()
    outbox = Outbox("webhook", path, hook.deliver, pauses=SOON)
    await outbox.open()
    if begins_well:
        damage()
    for number in range(2):
        outbox.put(report(number))
    await outbox.close()

    assert receiver.ids == ["story-0", "story-1"]
    assert caplog.text.count("they wait in memory and are lost if this process ends") == 1


async def test_an_event_that_comes_after_the_end_waits_for_the_next_process(
    path: Path, hook: Webhook, receiver: Receiver
) -> None:
    outbox = Outbox("webhook", path, hook.deliver, pauses=SOON)
    await outbox.open()
    await outbox.close()
    outbox.put(report(1))

    assert (receiver.ids, count_events(path)) == ([], (1, 0))


async def test_a_lone_surrogate_is_delivered(path: Path, hook: Webhook, receiver: Receiver) -> None:
    outbox = Outbox("webhook", path, hook.deliver)
    await outbox.open()
    outbox.put({**report(1), "headline": "Feuer \ud800"})
    await outbox.close()

    ((_, body),) = receiver.requests
    assert json.loads(body)["headline"] == "Feuer \ud800"


DIES = """
import asyncio, json, os, sys
from pathlib import Path
from scrapy_neardup.stories.outbox import Outbox

async def main():
    async def never(report):
        print("under way", flush=True)
        await asyncio.Event().wait()
    outbox = Outbox("webhook", Path(sys.argv[1]), never)
    await outbox.open()
    outbox.put(json.loads(sys.argv[2]))
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_what_a_killed_process_left_is_taken_over(
    path: Path, receiver: Receiver, hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [sys.executable, "-c", DIES, str(path), json.dumps(report(1))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220
        assert process.stdout is not None
        assert process.stdout.readline() == "under way\n"
        while_alive = Outbox("webhook", path, hook.deliver)
        await while_alive.open()
        await while_alive.close()
        assert receiver.ids == []  # it lives, and has its event in hand
        process.kill()

    later = time.time() + outbox_module.HELD_SECONDS
    monkeypatch.setattr(time, "time", lambda: later)
    outbox = Outbox("webhook", path, hook.deliver)
    await outbox.open()
    await outbox.close()

    assert receiver.ids == ["story-1"]
    assert count_events(path) == (0, 0)


# Receivers that behave badly


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


@pytest.mark.parametrize("behaviour", [flood("200 OK"), flood("503 Busy"), flood("400 No"), flood_chunks])
async def test_a_flood_is_not_read(behaviour: Behaviour) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with BadReceiver(behaviour) as receiver:
        with contextlib.suppress(DeliveryFailed, Refused):
            await deliver(Webhook(receiver.url), report(1))
        assert await asyncio.to_thread(receiver.cut.acquire, timeout=PATIENCE)

    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 50_000  # kilobytes


@pytest.mark.slow
def test_the_process_ends_whatever_the_receiver_does(tmp_path: Path) -> None:
    """All of them at the same time; that it is a matter of seconds is measured, see docs/events.md."""
    behaviours: list[Behaviour] = [never_answer, drip_headers, drip_interim_answers, drip_body, flood("503 Busy")]
    receivers = [BadReceiver(each).__enter__() for each in behaviours]
    processes = []
    for number, receiver in enumerate(receivers):
        command = [sys.executable, "-c", ENDS, str(tmp_path / str(number)), receiver.url, json.dumps(report(1))]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    try:
        for process in processes:
            assert process.communicate(timeout=PATIENCE)[0] == "closed\n"
            assert process.returncode == 0
    finally:
        for process in processes:
            process.kill()
        for receiver in receivers:
            receiver.__exit__()


# Secrets


async def test_the_url_of_a_webhook_is_no_part_of_logs_or_errors(
    path: Path, caplog: pytest.LogCaptureFixture, receiver: Receiver
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("urllib3").setLevel(logging.DEBUG)
    with Receiver() as gone:
        pass
    receiver.statuses = [500, 400, 302, 200]
    for url in (receiver.url, gone.url, "http://no.such.host.invalid/events", "http://[::1/events"):
        secret = url.replace("http://", "http://anna:sEcReT@") + "/sEcReT?token=sEcReT"
        webhook = Webhook(secret, "sEcReT")
        outbox = Outbox("webhook", path, webhook.deliver, pauses=SOON)
        await outbox.open()
        outbox.put(report(1))
        outbox.put(report(2))
        await outbox.close()
        await webhook.close()
        assert "sEcReT" not in f"{webhook!r} {vars(outbox)}"

    assert len(receiver.requests) >= 2
    assert "takes no events" in caplog.text
    assert "sEcReT" not in caplog.text
    assert "anna" not in caplog.text
