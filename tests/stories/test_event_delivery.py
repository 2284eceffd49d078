"""Delivery of events: no receiver, file or death of a process silences the events that follow."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import os
import resource
import subprocess
import sys
from collections.abc import AsyncIterator
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

from scrapy_neardup.commands.doctor import _check_waiting_events
from scrapy_neardup.records.private_files import is_locked, lock_file, unlock_file
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories import outbox as outbox_module
from scrapy_neardup.stories.outbox import MOST_IN_MEMORY, Outbox, OutboxFiles, Refused, name_of
from scrapy_neardup.stories.receivers import DeliveryFailed, Webhook

pytestmark = pytest.mark.versions

SOON = 0.01, 0.02  # seconds between two tries
PATIENCE = 60  # seconds that a slow machine may take


def files(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


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
    tmp_path: Path, hook: Webhook, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.statuses = [400, 204, 422]
    outbox = Outbox("webhook", tmp_path, hook.deliver, pauses=SOON)
    await outbox.open()
    for number in range(4):
        outbox.put(report(number))
    await until(lambda: not any(name.endswith(".json") for name in files(tmp_path)))  # closing waits only for seconds
    await outbox.close()

    assert receiver.ids == [f"story-{number}" for number in range(4)]
    aside = sorted(name for name in files(tmp_path) if name.endswith(".refused"))
    assert [name.partition("-story-")[2] for name in aside] == ["0.json.refused", "2.json.refused"]
    assert len(files(tmp_path)) == 2
    assert caplog.text.count("refuses an event") == 1
    assert "2 events for the webhook are set aside" in caplog.text


async def test_events_of_one_second_that_were_left_are_sent_in_the_order_of_their_levels(
    tmp_path: Path, hook: Webhook, receiver: Receiver
) -> None:
    left = OutboxFiles(tmp_path)
    for level in ("breaking", "watch"):
        left.write({**report(1), "id": level, "level": level})
    outbox = Outbox("webhook", tmp_path, hook.deliver, pauses=SOON)
    await outbox.open()
    await until(lambda: not files(tmp_path))
    await outbox.close()
    assert receiver.ids == ["watch", "breaking"]


async def test_a_busy_receiver_is_asked_again_while_the_crawl_runs(
    tmp_path: Path, hook: Webhook, receiver: Receiver
) -> None:
    """Without another event, and without the end of the crawl."""
    receiver.statuses = [503, 429, 500, 404, 302]
    outbox = Outbox("webhook", tmp_path, hook.deliver, pauses=SOON)
    await outbox.open()
    outbox.put(report(1))

    await until(lambda: not any(".json" in name for name in files(tmp_path)))

    assert receiver.ids == ["story-1"] * 6
    await outbox.close()


async def test_a_receiver_that_is_away_is_not_asked_once_for_every_event(tmp_path: Path) -> None:
    tries = []

    async def deliver(each: dict[str, Any]) -> None:
        tries.append(each["id"])
        raise ConnectionError

    outbox = Outbox("webhook", tmp_path, deliver, pauses=(3600, 3600))
    await outbox.open()
    for number in range(50):
        outbox.put(report(number))
    await until(lambda: len(tries) >= 3)
    await outbox.close()

    assert len(tries) <= 6
    assert len(files(tmp_path)) == 50


# Files


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b'"text"', b"\xff\xfe", b"", b"{}", b'{"id": 7}', b"[" * 100_000], ids=range(8)
)
async def test_a_damaged_or_foreign_file_silences_nobody(
    tmp_path: Path, hook: Webhook, receiver: Receiver, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    (tmp_path / "0000.json").write_bytes(content)
    (tmp_path / "1111.json").mkdir()
    (tmp_path / "notes.txt").write_text("not ours")
    for number in range(2):
        outbox = Outbox("webhook", tmp_path, hook.deliver, pauses=SOON)
        await outbox.open()
        outbox.put(report(number))
        await outbox.close()

    assert receiver.ids == ["story-0", "story-1"]
    assert sorted(files(tmp_path)) == ["0000.json.unreadable", "1111.json", "notes.txt"]
    assert caplog.text.count("holds no event") == 1


@pytest.mark.parametrize("limits", [{"most_events": 20}, {"most_bytes": 3000}])
async def test_the_outbox_is_bounded(tmp_path: Path, caplog: pytest.LogCaptureFixture, limits: dict[str, int]) -> None:
    async def away(each: dict[str, Any]) -> None:
        raise ConnectionError

    (tmp_path / "0000.json.refused").write_text("x" * 100)
    outbox = Outbox("webhook", tmp_path, away, **limits)  # type: ignore[arg-type]
    await outbox.open()
    for number in range(100):
        outbox.put(report(number))
        kept = [path for path in tmp_path.iterdir() if ".json" in path.name]  # noqa: ASYNC240
        assert len(kept) <= limits.get("most_events", 100)
        assert sum(path.stat().st_size for path in kept) <= limits.get("most_bytes", 1 << 30)
    await outbox.close()

    names = sorted(files(tmp_path))
    assert names[-1].endswith("story-99.json")
    assert "0000.json.refused" not in names
    assert caplog.text.count("is full") == 1


@pytest.mark.parametrize("most", [3, MOST_IN_MEMORY])
async def test_an_event_that_is_removed_while_it_is_sent_stops_nobody(tmp_path: Path, most: int) -> None:
    """The outbox is full, in its folder or in memory, and the event that is being sent is the oldest one."""
    folder = tmp_path / "outbox"
    if most == MOST_IN_MEMORY:
        folder.write_text("not a folder")
    is_sent, may_fail, delivered = asyncio.Event(), asyncio.Event(), []

    async def deliver(each: dict[str, Any]) -> None:
        if each["id"] == "story-0":
            is_sent.set()
            await may_fail.wait()
            raise ConnectionError
        delivered.append(each["id"])

    outbox = Outbox("webhook", folder, deliver, pauses=SOON, most_events=most)
    await outbox.open()
    outbox.put(report(0))
    await asyncio.wait_for(is_sent.wait(), PATIENCE)
    for number in range(1, most + 1):
        outbox.put(report(number))
    may_fail.set()

    await until(lambda: f"story-{most}" in delivered)
    assert "story-0" not in delivered
    await outbox.close()


async def test_a_lone_surrogate_is_delivered(tmp_path: Path, hook: Webhook, receiver: Receiver) -> None:
    outbox = Outbox("webhook", tmp_path, hook.deliver)
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


async def test_what_a_killed_process_left_is_taken_over_at_once(
    tmp_path: Path, receiver: Receiver, hook: Webhook
) -> None:
    command = [sys.executable, "-c", DIES, str(tmp_path), json.dumps(report(1))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220
        assert process.stdout is not None
        assert process.stdout.readline() == "under way\n"
        while_alive = Outbox("webhook", tmp_path, hook.deliver)
        await while_alive.open()
        await while_alive.close()
        assert receiver.ids == []  # it lives, and has its event in hand
        process.kill()

    outbox = Outbox("webhook", tmp_path, hook.deliver)
    await outbox.open()
    await outbox.close()

    assert receiver.ids == ["story-1"]
    assert files(tmp_path) == []


async def test_an_event_whose_file_stays_is_sent_once(
    tmp_path: Path, receiver: Receiver, hook: Webhook, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a disk that became read-only."""

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    receiver.statuses = [204, 422]
    monkeypatch.setattr(outbox_module, "_LOOK", 0.01)
    outbox = Outbox("webhook", tmp_path, hook.deliver, pauses=SOON)
    await outbox.open()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        patch.setattr(Path, "replace", lambda path, to: os.rename(path, to) if to.suffix == ".json" else refuse(path))
        for number in range(3):
            outbox.put(report(number))
        await until(lambda: len(receiver.ids) >= 3)
        await asyncio.sleep(0.5)  # several looks
        await outbox.close()

    assert receiver.ids == ["story-0", "story-1", "story-2"]
    assert caplog.text.count("cannot be removed") == 1


@pytest.mark.parametrize("name", ["ENOSYS", "ENOLCK", "EOPNOTSUPP", "EINVAL", "EIO"])
async def test_an_event_is_sent_where_no_file_can_be_locked(
    tmp_path: Path, receiver: Receiver, hook: Webhook, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: object) -> None:
        raise OSError(getattr(errno, name), name)

    monkeypatch.setattr(fcntl, "flock", refuse)
    outbox = Outbox("webhook", tmp_path, hook.deliver, pauses=SOON)
    await outbox.open()
    outbox.put(report(1))
    await outbox.close()

    assert receiver.ids == ["story-1"]
    assert files(tmp_path) == []


async def test_the_outbox_looks_again_after_a_look_that_failed(
    tmp_path: Path, receiver: Receiver, hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "_LOOK", 0.01)
    folder = tmp_path / "outbox"
    folder.write_text("in the way")
    outbox = Outbox("webhook", folder, hook.deliver, pauses=SOON)
    await outbox.open()
    folder.unlink()
    other = OutboxFiles(folder)
    other.open()
    other.write(report(1))
    await until(lambda: receiver.ids)
    await outbox.close()

    assert receiver.ids == ["story-1"]


async def test_a_lock_without_its_event_is_removed_and_not_counted(tmp_path: Path) -> None:
    folder = tmp_path / "neardup-events" / "webhook"
    folder.mkdir(parents=True)
    (folder / "dead.json.lock").touch()
    live = lock_file(folder / "live.json.lock")
    (found,) = await _check_waiting_events(NearDupSettings(data_dir=str(tmp_path)))
    assert found.found == "no event waits"

    assert OutboxFiles(folder).open() == []

    assert files(folder) == ["live.json.lock"]
    assert live is not None
    unlock_file(folder / "live.json.lock", live)


def test_a_lock_that_another_process_takes_over_stays(tmp_path: Path) -> None:
    path = tmp_path / "event.json.lock"
    taken = []

    class Watched:
        def release(self) -> None:
            lock.release()
            if not taken:
                taken.append(lock_file(path))

    lock = lock_file(path)
    unlock_file(path, Watched())  # type: ignore[arg-type]

    assert is_locked(path)
    taken[0].release()


def test_a_full_outbox_keeps_the_file_that_is_being_written(tmp_path: Path) -> None:
    unfinished = tmp_path / f"{name_of(report(0))}.unreadable"
    old = tmp_path / f"{name_of(report(1))}.unreadable"
    for path in (unfinished, old):
        path.touch()
    os.utime(old, (0, 0))
    outbox = OutboxFiles(tmp_path, most_events=2)
    outbox.write(report(2))
    outbox.write(report(3))

    assert sorted(files(tmp_path)) == [unfinished.name, name_of(report(3))]


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
    tmp_path: Path, caplog: pytest.LogCaptureFixture, receiver: Receiver
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("urllib3").setLevel(logging.DEBUG)
    with Receiver() as gone:
        pass
    receiver.statuses = [500, 400, 302, 200]
    for url in (receiver.url, gone.url, "http://no.such.host.invalid/events", "http://[::1/events"):
        secret = url.replace("http://", "http://anna:sEcReT@") + "/sEcReT?token=sEcReT"
        webhook = Webhook(secret, "sEcReT")
        outbox = Outbox("webhook", tmp_path, webhook.deliver, pauses=SOON)
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
