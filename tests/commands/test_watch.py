"""``scrapy neardup watch``: what the workers of a window do, read from the store."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import signal
import time

import pytest
from documents import START
from joins import end_event
from news_site import NewsSite, article, page
from projects import FERRY, ITEM_A_PAGE, Project
from rich.console import Console
from scrapy_processes import neardup, start_scrapy

from scrapy_neardup.commands.watch import _drawn
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import STATUSES
from scrapy_neardup.settings import NearDupSettings

STORE = "sqlite:///.scrapy/neardup.sqlite"


@pytest.mark.slow
def test_two_crawls_are_seen_together(project: Project, site: NewsSite) -> None:
    wire = [site.publish(f"/{name}", page(article("wire"))) for name in range(4)]
    other = site.publish("/other", page(article("other")))
    teaser = site.publish("/photo", page(""))
    for urls in ([*wire[:2], other], [*wire[2:], teaser]):
        project.crawl(ITEM_A_PAGE, urls=urls)

    done = neardup(project.folder, "watch", "--once", "--json", "--store", STORE)
    assert done.returncode == 0, done.stderr
    view = json.loads(done.stdout)
    hour = {name: counts["hour"] for name, counts in view["verdicts"].items()}
    assert hour == {
        "original": 2,
        "duplicate": 3,
        "duplicate/exact": 3,
        "would_drop": 3,
        "unchecked": 1,
        "unchecked/too-short": 1,
    }
    (story,) = view["stories"]
    assert (story["hour"], story["headline"]) == (3, "News of the day")
    assert view["events"] == []


def test_a_threshold_of_breaking_that_has_jumped_is_a_warning(project: Project) -> None:
    async def run_events() -> None:
        detector = NearDupDetector(NearDupSettings(store=f"sqlite:///{project.folder}/window.sqlite"))
        await detector.open()
        now = time.time() - START
        await end_event(detector.index, "yesterday", now - 25 * 3600, sources=160)
        for number in range(2):
            await end_event(detector.index, f"today{number}", now - 60, sources=9)
        await detector.close()

    asyncio.run(run_events())
    given = ("--store", "sqlite:///window.sqlite", "-s", "NEARDUP_EVENTS_PER_DAY=1")

    watched = neardup(project.folder, "watch", "--once", *given)
    view = json.loads(neardup(project.folder, "watch", "--once", "--json", *given).stdout)
    checked = neardup(project.folder, "doctor", "--json", *given, "-s", "NEARDUP_EXTRACT_WORKERS=0")

    warning = "only with more than 8 new sources within an hour; a day before, it was 5."
    (found,) = (each for each in map(json.loads, checked.stdout.splitlines()) if each["check"] == "alarms")
    assert warning in " ".join(watched.stdout.split())
    assert (view["breaking_over"], warning in view["warning"]) == (8, True)
    assert (found["state"], warning in found["mend"]) == ("warning", True)


def test_the_live_view_ends_with_ctrl_c(project: Project) -> None:
    project.crawl(FERRY)
    master, terminal = pty.openpty()
    command = "neardup", "watch", "--interval", "0.5", "--store", STORE
    environment = {"COLUMNS": "80", "LINES": "40", "TERM": "xterm"}
    process = start_scrapy(project.folder, *command, environment=environment, stdin=terminal, stdout=terminal)
    shown = b""
    deadline = time.monotonic() + 60
    while shown.count(b"running events") < 2 and time.monotonic() < deadline:
        if select.select([master], [], [], 1)[0]:
            shown += os.read(master, 65536)
    process.send_signal(signal.SIGINT)
    while process.poll() is None or select.select([master], [], [], 0)[0]:
        if select.select([master], [], [], 0.2)[0]:
            shown += os.read(master, 65536)
    assert process.stderr is not None
    said = process.stderr.read()
    assert process.returncode == 130
    assert "Traceback" not in said
    live, _, left = shown.rpartition(b"\x1b[?1049l")
    assert live.count(b"running events") >= 2, "it is drawn again and again"
    assert b"running events" in left, "the state of now stays on the screen"


@pytest.mark.parametrize("events", [0, 1, 9, 40])
@pytest.mark.parametrize("height", [24, 40])
def test_running_events_come_first_and_fit_into_the_terminal(events: int, height: int) -> None:
    headline = "A headline that is far too long for the last column of a terminal with eighty columns"
    view = {
        "time": "2026-11-25T10:00:00",
        "namespace": "default",
        "store": "sqlite:///neardup.sqlite",
        "verdicts": {status: {"minute": 1, "10 minutes": 20, "hour": 300} for status in STATUSES},
        "stories": [{"story": str(n), "headline": headline, "10 minutes": 1, "hour": 9} for n in range(8)],
        "events": [{"level": "breaking", "sources": 50 - n, "items": 99, "headline": headline} for n in range(events)],
        "warning": "",
    }
    console = Console(width=80, height=height)
    with console.capture() as capture:
        console.print(_drawn(view, NearDupDetector(NearDupSettings(store="memory://")), height))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("breaking" in line for line in lines[:height]) == min(events, height - 6)
    if events:
        assert "running events" in lines[1]
    if events > height - 6:
        assert f", {height - 6} of {events}" in lines[1]
    if events < 9:
        assert any(line.startswith("items") for line in lines[:height])
