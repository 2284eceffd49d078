"""``scrapy neardup doctor``: check everything around a crawl before it starts, and say how to mend it."""

from __future__ import annotations

import argparse
import asyncio
import glob
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from scrapy.utils.project import inside_project

from scrapy_neardup.addon import checked_settings
from scrapy_neardup.commands.inputs import add_json, add_store, located_settings, with_store
from scrapy_neardup.commands.terminal import print_json, print_wrapped, working
from scrapy_neardup.commands.wiring import Finding, State, check_add_on
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

_MARKS = {"ok": "ok", "warning": "WARNING", "failed": "FAILED"}
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    parser.add_argument("--no-events", action="store_true", help="send no test event to the webhook and the stream")
    add_json(parser, "one JSON object a check")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    findings = _find(options, settings)
    if options.json:
        for finding in findings:
            print_json({**finding._asdict(), "mend": "" if finding.state == "ok" else finding.mend})
    else:
        _print(findings)
    return 1 if any(finding.state == "failed" for finding in findings) else 0


def _print(findings: Sequence[Finding]) -> None:
    """Print each finding, and below it how to mend it. Lines break between words, so that a path stays whole."""
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        print_wrapped(f"{_MARKS[finding.state]:<7}  {finding.check:<{width}}  {finding.found}", indent=width + 11)
        if finding.state != "ok":
            print_wrapped(f"{'':<{width + 11}}-> {finding.mend}", indent=width + 11)


def _find(options: argparse.Namespace, values: dict[str, Any]) -> list[Finding]:
    scrapy_settings = Settings(with_store(options, values))
    try:
        settings = checked_settings(scrapy_settings)
    except UsageError as error:
        what = "data directory, store, extractor, events and their receivers were not checked"
        again = "correct the setting that failed, and run this command again"
        return [
            Finding("settings", "failed", str(error), "change this setting"),
            check_add_on(scrapy_settings, in_project=inside_project()),
            Finding("all others", "warning", what, again),
        ]
    chosen = f"preset {settings.preset}, action {settings.action}, namespace {settings.namespace}"
    first = [
        Finding("settings", "ok", chosen),
        check_add_on(scrapy_settings, in_project=inside_project(), enabled=settings.enabled),
    ]
    with working("checking"):
        return first + asyncio.run(_check_all(located_settings(options, values), send_events=not options.no_events))


async def _check_all(settings: NearDupSettings, *, send_events: bool) -> list[Finding]:
    checks: dict[str, AsyncIterator[Finding]] = {
        "data directory": _check_data_dir(settings),
        "events": _check_waiting_events(settings),
        "store": _check_store(settings),
        "extractor": _check_extractor(settings),
    }
    if send_events and settings.events_webhook:
        checks["webhook"] = _check_webhook(settings, settings.events_webhook)
    if send_events and settings.events_stream:
        checks["stream"] = _check_stream(settings, settings.events_stream)
    found = await asyncio.gather(*(_collect(name, check) for name, check in checks.items()))
    return [finding for findings in found for finding in findings]


async def _collect(name: str, check: AsyncIterator[Finding]) -> list[Finding]:
    """Return what a check found until it ended or failed."""
    findings: list[Finding] = []

    async def collect() -> None:
        async for finding in check:
            findings.append(finding)  # noqa: PERF401  an error leaves what came before it

    try:
        await asyncio.wait_for(collect(), _PATIENCE)
    except asyncio.TimeoutError:
        findings.append(Finding(name, "failed", f"no answer within {_PATIENCE:g} s", "check address and load"))
    except OSError as error:
        findings.append(Finding(name, "failed", f"{error.filename or name}: {error.strerror or error}", _MEND_DISK))
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        findings.append(Finding(name, "failed", what, "this is unexpected: please report it"))
    return findings


async def _check_data_dir(settings: NearDupSettings) -> AsyncIterator[Finding]:
    folder = Path(in_data_dir(settings, ""))
    if not can_be_written(folder):
        mend = "set NEARDUP_DATA_DIR to a directory that this user may write to"
        yield Finding("data directory", "failed", f"no file can be made in {folder}", mend)
        return
    nearest = _nearest(folder)
    with tempfile.NamedTemporaryFile(dir=nearest):
        free = shutil.disk_usage(nearest).free
    is_new = " (the first crawl makes it)" if nearest != folder else ""
    state: State = "warning" if free < _LITTLE_SPACE else "ok"
    mend = "make room: the window and dropped items need it"
    yield Finding("data directory", state, f"{folder}{is_new}, {free / 1e9:,.1f} GB free", mend)


async def _check_store(settings: NearDupSettings) -> AsyncIterator[Finding]:
    scheme, _, path = settings.store.partition(":///")
    if settings.store == "memory://":
        mend = "use a file or a Redis, so that the next crawl knows what this one has seen"
        yield Finding("store", "warning", "memory://: the window ends with its process", mend)
        return
    try:
        async for finding in _check_redis(settings) if is_redis(settings.store) else _check_file(settings, Path(path)):
            yield finding
    except NearDupError as error:
        mend = "check NEARDUP_STORE; is the server running?"
        if scheme == "sqlite":
            mend = "move this file away, or name another file in NEARDUP_STORE"
        yield Finding("store", "failed", str(error), mend)


async def _check_file(settings: NearDupSettings, path: Path) -> AsyncIterator[Finding]:
    size = path.stat().st_size if path.exists() else 0  # noqa: ASYNC240  nothing else runs here
    if not can_be_written(path.parent):
        yield Finding("store", "failed", f"no file can be made in {path.parent}", _MEND_DISK)
    elif not size:
        # Try the file system with a file beside the place of the window.
        with tempfile.TemporaryDirectory(dir=_nearest(path.parent)) as folder:
            seconds = await _seconds_to_open(replace(settings, store=f"sqlite:///{folder}/probe.sqlite"))
        yield Finding("store", "ok", f"{path} (the first crawl makes it), SQLite works there in {_shown(seconds)}")
    elif not os.access(path, os.W_OK):
        yield Finding("store", "failed", f"{path} cannot be written", "give this user the right to write the file")
    else:
        seconds = await _seconds_to_open(settings, reads_only=True)
        yield Finding("store", "ok", f"{path}, {size / 1e6:,.1f} MB, opened in {_shown(seconds)}")


async def _seconds_to_open(settings: NearDupSettings, *, reads_only: bool = False) -> float:
    start = time.perf_counter()
    index = NearDupDetector(settings, reads_only=reads_only).index
    await index.open()
    await index.close()
    return time.perf_counter() - start


async def _check_redis(settings: NearDupSettings) -> AsyncIterator[Finding]:
    from scrapy_neardup.index.redis.probe import FOR_PEOPLE, probe

    probed = await probe(settings.store, settings.window_namespace, settings.store_timeout)
    server = ", ".join(filter(None, (probed.facts.get("server"), probed.facts.get("mode"))))
    yield Finding("store", "ok", f"{without_password(settings.store)}{f' ({server})' if server else ''}")
    mend = "each check waits for an answer: bring the server nearer to the crawl"
    state: State = "warning" if probed.seconds > _SLOW else "ok"
    yield Finding("latency", state, f"{_shown(probed.seconds)} for one answer", mend)
    needed = " ".join(f"+{each}" for each in probed.missing_rights)
    mend = f"ACL SETUSER <user> {needed}, see docs/redis.md"
    if not needed:
        yield Finding("rights", "ok", "this user may call every command that is needed")
    elif FOR_PEOPLE.issuperset(probed.missing_rights):
        yield Finding("rights", "warning", f"{needed} missing: status, similar and purge do not work", mend)
    else:
        yield Finding("rights", "failed", f"{needed} missing: crawls cannot use the store", mend)
    policy = f"maxmemory-policy {probed.facts.get('maxmemory-policy', 'unknown')}, {probed.facts.get('memory', '')}"
    if not probed.warnings:
        yield Finding("eviction", "ok", policy)
    for warning in probed.warnings:
        yield Finding("eviction", "warning", policy, warning)
    if abs(probed.clock_ahead) > _CLOCK_OFF:
        found = f"the server's clock is {probed.clock_ahead:+.1f} s from this machine's"
        yield Finding("server clock", "warning", found, "synchronise both clocks (NTP)")


async def _check_extractor(settings: NearDupSettings) -> AsyncIterator[Finding]:
    extraction = start_extraction(
        settings.extractor,
        workers=settings.extract_workers,
        timeout=settings.extract_timeout,
        most_characters=settings.max_html_bytes,
        memory=settings.extract_memory,
        sketching=settings.sketching(),
    )
    where = f"{settings.extractor} in a {'worker process' if isinstance(extraction, ExtractionProcesses) else 'thread'}"
    start = time.perf_counter()
    try:
        extracted = await extraction.extract(_PAGE, "https://www.neardup-doctor.example/ferry")
    except ExtractionError as error:
        mend = "try NEARDUP_EXTRACT_WORKERS = 0, or a larger NEARDUP_EXTRACT_MEMORY"
        yield Finding("extractor", "failed", f"{where}: {error}", mend)
        return
    finally:
        extraction.close()
    state: State = "ok" if _SENTENCE.strip() in extracted.text else "warning"
    mend = "a test page gave no article: check NEARDUP_EXTRACTOR, unless it is for pages of another kind"
    yield Finding("extractor", state, f"{where}, started in {_shown(time.perf_counter() - start)}", mend)


async def _check_waiting_events(settings: NearDupSettings) -> AsyncIterator[Finding]:
    folder = in_data_dir(settings, "neardup-events")
    names = glob.glob("*/*.json*", root_dir=folder)
    aside = sum(name.endswith((".refused", ".unreadable")) for name in names)
    if aside:
        mend = "look at these files: the receiver refused them for good; delete them when the cause is mended"
        yield Finding("events", "warning", f"{counted(aside, 'event')} set aside in {folder}", mend)
    else:
        found = f"waiting for a receiver: {counted(len(names), 'event')}" if names else "no event waits"
        yield Finding("events", "ok", found)


async def _check_webhook(settings: NearDupSettings, url: str) -> AsyncIterator[Finding]:
    form = settings.events_webhook_format
    webhook = Webhook(url, settings.events_webhook_secret, deadline=_PATIENCE - 1, form=form)
    mend = f"check NEARDUP_EVENTS_WEBHOOK, NEARDUP_EVENTS_WEBHOOK_FORMAT = {form!r}, and the receiver's log"
    try:
        yield await _check_receiver("webhook", webhook.deliver, mend)
    finally:
        await webhook.close()


async def _check_stream(settings: NearDupSettings, name: str) -> AsyncIterator[Finding]:
    stream = RedisStream(*stream_of(name, settings.store), connect)
    try:
        mend = "check NEARDUP_EVENTS_STREAM, and the rights of its user (+xadd)"
        yield await _check_receiver("stream", stream.deliver, mend)
    finally:
        await stream.close()


async def _check_receiver(name: str, deliver: Callable[[dict[str, Any]], Awaitable[None]], mend: str) -> Finding:
    report = await _make_test_report()
    start = time.perf_counter()
    try:
        await deliver(report)
    except Exception as error:  # of aiohttp, redis, or the system
        return Finding(name, "failed", f"the test event was not taken: {error}", mend)
    return Finding(name, "ok", f"took the test event {report['id']} in {_shown(time.perf_counter() - start)}")


async def _make_test_report() -> dict[str, Any]:
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


def _nearest(folder: Path) -> Path:
    """Return the folder, or its nearest parent that exists."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())


def _shown(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
