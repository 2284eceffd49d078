"""Check everything around a crawl before it starts: files, store, extractor, receivers of events."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from scrapy.settings import BaseSettings

from scrapy_neardup.commands.wiring import ENTRY, LINE, has_asyncio, loading_errors, missing_parts
from scrapy_neardup.content import ExtractionProcesses, start_extraction
from scrapy_neardup.crawl.file_locations import can_be_written, in_data_dir
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import counted, without_password
from scrapy_neardup.exceptions import ExtractionError, NearDupError
from scrapy_neardup.index import is_redis
from scrapy_neardup.index.redis.connection import connect
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.stories.stream import RedisStream, stream_of
from scrapy_neardup.stories.webhook import Webhook

State = Literal["ok", "warning", "failed"]

_PATIENCE = 10.0  # seconds for one check
_LITTLE_SPACE = 500_000_000  # bytes
_SLOW = 0.02  # seconds for one answer of the store
_CLOCK_OFF = 2.0  # seconds
_SENTENCE = "The ferry had left the harbour of the island at noon, and the fog came down before it reached the strait. "
_PAGE = (
    f"<html><body><nav>Home News Sport</nav><article><h1>A ferry in fog</h1>{f'<p>{_SENTENCE * 3}</p>' * 4}</article>"
)
_MEND_DISK = "set NEARDUP_DATA_DIR to a directory that this user may write to, or check the disk"
_TITLE = "TEST, not a real event: sent by scrapy neardup doctor, please ignore"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. ``mend`` says what to do if it is not ok."""

    check: str
    state: State
    found: str
    mend: str = ""


def left_out() -> Finding:
    """Name the checks of ``check_up``, which are not made if a setting is wrong."""
    what = "data directory, store, extractor, events and their receivers were not checked"
    return Finding("all others", "warning", what, "correct the setting that failed, and run this command again")


async def check_up(settings: NearDupSettings, *, send_events: bool = True) -> list[Finding]:
    """Check all at the same time. ``settings`` come from ``locate_files``. With ``send_events`` send a test event."""
    checks: dict[str, Callable[[NearDupSettings], Awaitable[Sequence[Finding]]]] = {
        "files": _check_files,
        "store": _check_store,
        "alarms": _check_alarms,
        "extractor": _check_extractor,
    }
    if send_events and settings.events_webhook:
        checks["webhook"] = _check_webhook
    if send_events and settings.events_stream:
        checks["stream"] = _check_stream
    found = await asyncio.gather(*(_checked(name, check(settings)) for name, check in checks.items()))
    return [finding for findings in found for finding in findings]


def check_add_on(settings: BaseSettings, *, in_project: bool, enabled: bool = True) -> Finding:
    """Decide whether crawls with these settings of Scrapy judge items."""
    for found, mend in loading_errors(settings):
        return Finding("add-on", "failed", found, mend)
    if not enabled:
        mend = "remove NEARDUP_ENABLED from the settings, or set it to True"
        return Finding("add-on", "warning", "NEARDUP_ENABLED = False: no item is judged", mend)
    missing = missing_parts(settings)
    if missing == ["the add-on"]:
        if not in_project:
            return Finding("add-on", "ok", f"not looked for, as there is no project here; in a script, set {LINE}")
        given = settings.getdict("ADDONS")
        others = any(order is not None and not str(name).startswith("scrapy_neardup.") for name, order in given.items())
        mend = f"add {ENTRY} to ADDONS in settings.py" if others else f"write {LINE} into settings.py"
        return Finding("add-on", "failed", f"ADDONS = {given!r}: the plugin is off, and no item is judged", mend)
    if missing:
        mend = f'add it (docs/settings.md, "Wiring by hand"), or write {LINE} instead'
        return Finding("add-on", "failed", f"wired by hand, without {' and '.join(missing)}", mend)
    if not has_asyncio(settings):
        found = f"TWISTED_REACTOR = {settings.get('TWISTED_REACTOR')!r}: no item is judged"
        return Finding("add-on", "failed", found, "remove TWISTED_REACTOR: the plugin needs asyncio, Scrapy's default")
    return Finding("add-on", "ok", "these settings turn the plugin on")


async def _checked(name: str, check: Awaitable[Sequence[Finding]]) -> Sequence[Finding]:
    try:
        return await asyncio.wait_for(check, _PATIENCE)
    except asyncio.TimeoutError:
        return [Finding(name, "failed", f"no answer within {_PATIENCE:g} s", "check address, firewall and load")]
    except OSError as error:
        return [Finding(name, "failed", f"{error.filename or name}: {error.strerror or error}", _MEND_DISK)]
    except Exception as error:
        return [Finding(name, "failed", f"{type(error).__name__}: {error}", "this is unexpected: please report it")]


async def _check_files(settings: NearDupSettings) -> Sequence[Finding]:
    checks = _check_data_dir, _check_waiting_events
    return [await asyncio.to_thread(check, settings) for check in checks]


def _check_data_dir(settings: NearDupSettings) -> Finding:
    folder = Path(in_data_dir(settings, ""))
    if not can_be_written(folder):
        mend = "set NEARDUP_DATA_DIR to a directory that this user may write to"
        return Finding("data directory", "failed", f"no file can be made in {folder}", mend)
    nearest = _nearest(folder)
    try:
        with tempfile.NamedTemporaryFile(dir=nearest):
            free = shutil.disk_usage(nearest).free
    except OSError as error:
        return Finding("data directory", "failed", f"{nearest}: {error.strerror}", _MEND_DISK)
    found = f"{folder}{'' if folder.exists() else ' (the first crawl makes it)'}, {free / 1e9:,.1f} GB free"
    if free < _LITTLE_SPACE:
        return Finding("data directory", "warning", found, "make room: the window and dropped items need it")
    return Finding("data directory", "ok", found)


async def _check_store(settings: NearDupSettings) -> Sequence[Finding]:
    scheme, _, path = settings.store.partition(":///")
    try:
        if is_redis(settings.store):
            return await _check_redis(settings)
        if scheme == "sqlite":
            return await _check_file(settings, Path(path))
    except NearDupError as error:
        mend = (
            "move this file away, or name another file in NEARDUP_STORE"
            if scheme == "sqlite"
            else "check NEARDUP_STORE; is the server running?"
        )
        return [Finding("store", "failed", str(error), mend)]
    mend = "use a file or a Redis, so that the next crawl knows what this one has seen"
    return [Finding("store", "warning", "memory://: the window ends with its process", mend)]


async def _check_file(settings: NearDupSettings, path: Path) -> Sequence[Finding]:
    if not await asyncio.to_thread(_has_bytes, path):
        if not can_be_written(path.parent):
            return [Finding("store", "failed", f"no file can be made in {path.parent}", _MEND_DISK)]
        # Try the file system with a file beside the place of the window.
        with tempfile.TemporaryDirectory(dir=_nearest(path.parent)) as folder:
            seconds = await _seconds_to_open(replace(settings, store=f"sqlite:///{folder}/probe.sqlite"))
        return [Finding("store", "ok", f"{path} (the first crawl makes it), SQLite works there in {_shown(seconds)}")]
    if not (can_be_written(path.parent) and os.access(path, os.W_OK)):
        mend = "give this user the right to write the file and its folder"
        return [Finding("store", "failed", f"{path} cannot be written", mend)]
    seconds = await _seconds_to_open(settings, reads_only=True)
    size = (await asyncio.to_thread(path.stat)).st_size / 1e6
    return [Finding("store", "ok", f"{path}, {size:,.1f} MB, opened in {_shown(seconds)}")]


async def _seconds_to_open(settings: NearDupSettings, *, reads_only: bool = False) -> float:
    start = time.perf_counter()
    index = NearDupDetector(settings, reads_only=reads_only).index
    await index.open()
    await index.close()
    return time.perf_counter() - start


async def _check_redis(settings: NearDupSettings) -> Sequence[Finding]:
    from scrapy_neardup.index.redis.probe import FOR_PEOPLE, probe

    probed = await probe(settings.store, settings.window_namespace, settings.store_timeout)
    server = ", ".join(filter(None, (probed.facts.get("server"), probed.facts.get("mode"))))
    where = f"{without_password(settings.store)}{f' ({server})' if server else ''}"
    findings = [Finding("store", "ok", where)]
    is_slow = probed.seconds > _SLOW
    mend = "each check waits for an answer: bring the server nearer to the crawl"
    findings.append(
        Finding("latency", "warning" if is_slow else "ok", f"{_shown(probed.seconds)} for one answer", mend)
    )
    findings.append(_rights(probed.missing_rights, FOR_PEOPLE))
    policy = f"maxmemory-policy {probed.facts.get('maxmemory-policy', 'unknown')}, {probed.facts.get('memory', '')}"
    findings += [Finding("eviction", "warning", policy, each) for each in probed.warnings]
    if not probed.warnings:
        findings.append(Finding("eviction", "ok", policy))
    if abs(probed.clock_ahead) > _CLOCK_OFF:
        found = f"the server's clock is {probed.clock_ahead:+.1f} s from this machine's"
        findings.append(Finding("server clock", "warning", found, "synchronise both clocks (NTP)"))
    return findings


def _rights(missing: Sequence[str], for_people: Collection[str]) -> Finding:
    if not missing:
        return Finding("rights", "ok", "this user may call every command that is needed")
    needed = " ".join(f"+{each}" for each in missing)
    mend = f"ACL SETUSER <user> {needed}, see docs/redis.md"
    if set(missing) <= set(for_people):
        return Finding("rights", "warning", f"{needed} missing: status, similar and purge do not work", mend)
    return Finding("rights", "failed", f"{needed} missing: crawls cannot use the store", mend)


async def _check_alarms(settings: NearDupSettings) -> Sequence[Finding]:
    """Look at the threshold of ``breaking``. Find nothing if there is no window yet, or if it cannot be read."""
    detector = NearDupDetector(settings, reads_only=True)
    try:
        await detector.index.open()
        threshold = await detector.stories.threshold(int(time.time()))
    except NearDupError:
        return ()
    finally:
        await detector.index.close()
    found = f"breaking events have more than {threshold.now} new sources within an hour"
    return [Finding("alarms", "warning" if threshold.warning else "ok", found, threshold.warning)]


async def _check_extractor(settings: NearDupSettings) -> Sequence[Finding]:
    extraction = start_extraction(
        settings.extractor,
        workers=settings.extract_workers,
        timeout=settings.extract_timeout,
        most_characters=settings.max_html_bytes,
        memory=settings.extract_memory,
        sketching=settings.sketching(),
    )
    kind = "worker process" if isinstance(extraction, ExtractionProcesses) else "thread"
    start = time.perf_counter()
    try:
        extracted = await extraction.extract(_PAGE, "https://www.neardup-doctor.example/ferry")
    except ExtractionError as error:
        mend = "try NEARDUP_EXTRACT_WORKERS = 0, or a larger NEARDUP_EXTRACT_MEMORY"
        return [Finding("extractor", "failed", f"{settings.extractor} in a {kind}: {error}", mend)]
    finally:
        extraction.close()
    found = f"{settings.extractor} in a {kind}, started in {_shown(time.perf_counter() - start)}"
    if _SENTENCE.strip() not in extracted.text:
        mend = "a test page gave no article: check NEARDUP_EXTRACTOR, unless it is for pages of another kind"
        return [Finding("extractor", "warning", found, mend)]
    return [Finding("extractor", "ok", found)]


def _check_waiting_events(settings: NearDupSettings) -> Finding:
    folder = Path(in_data_dir(settings, "neardup-events"))
    names = [path.name for path in folder.glob("*/*.json*")]
    aside = sum(name.endswith((".refused", ".unreadable")) for name in names)
    if aside:
        mend = "look at these files: the receiver refused them for good; delete them when the cause is mended"
        return Finding("events", "warning", f"{counted(aside, 'event')} set aside in {folder}", mend)
    return Finding(
        "events", "ok", f"waiting for a receiver: {counted(len(names), 'event')}" if names else "no event waits"
    )


async def _check_webhook(settings: NearDupSettings) -> Sequence[Finding]:
    assert settings.events_webhook is not None
    secret, form = settings.events_webhook_secret, settings.events_webhook_format
    webhook = Webhook(settings.events_webhook, secret, deadline=_PATIENCE - 1, form=form)
    mend = f"check NEARDUP_EVENTS_WEBHOOK, NEARDUP_EVENTS_WEBHOOK_FORMAT = {form!r}, and the receiver's log"
    return await _check_receiver("webhook", webhook.deliver, mend)


async def _check_stream(settings: NearDupSettings) -> Sequence[Finding]:
    assert settings.events_stream is not None
    stream = RedisStream(*stream_of(settings.events_stream, settings.store), connect)
    try:
        mend = "check NEARDUP_EVENTS_STREAM, and the rights of its user (+xadd)"
        return await _check_receiver("stream", stream.deliver, mend)
    finally:
        await stream.close()


async def _check_receiver(
    name: str, deliver: Callable[[dict[str, Any]], Awaitable[None]], mend: str
) -> Sequence[Finding]:
    report = await make_test_report()
    start = time.perf_counter()
    try:
        await deliver(report)
    except Exception as error:  # of requests, redis, or the system
        return [Finding(name, "failed", f"the test event was not taken: {error}", mend)]
    return [Finding(name, "ok", f"took the test event {report['id']} in {_shown(time.perf_counter() - start)}")]


async def make_test_report() -> dict[str, Any]:
    """Return the report of an event that never was. Its headline says so, and for machines the key ``test``."""
    detector = NearDupDetector(NearDupSettings(store="memory://"))
    await detector.open()
    try:
        for number in range(7):
            url = f"https://paper{number}.example/neardup-doctor"
            await detector.check(detector.document(_SENTENCE * 4, url=url, title=_TITLE))
        return {**special_report(detector.take_events()[0]), "test": True}
    finally:
        await detector.close()


def _has_bytes(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _nearest(folder: Path) -> Path:
    """Return the folder, or its nearest parent that exists."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())


def _shown(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
