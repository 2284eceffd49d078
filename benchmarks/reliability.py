"""Break things, and count what is lost: the table of docs/reliability.md.

usage: python benchmarks/reliability.py [part ...] [--times 50] [--minutes 60]

Parts: kills, stores, receivers, soak; all but soak unless some are named. ``--times`` is how often a crawl is
killed for each store; each special way to crawl gets a fifth of that number. Needs the packages that tox.ini names for
the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import psutil
from faults import FAULTS, Network
from kills import INTERRUPTED, WAYS, draw_moment, kill_and_rerun
from news_site import NewsSite
from newsdesk import text
from receivers import (
    ENDS,
    BadReceiver,
    drip_body,
    drip_headers,
    drip_interim_answers,
    flood,
    flood_chunks,
    say_nothing,
)
from servers import RedisServer

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.settings import NearDupSettings


@dataclass
class Row:
    """One line of the table."""

    fault: str
    times: int = 0
    lost: int = 0
    false_duplicates: int = 0
    seconds: str = "-"

    def __str__(self) -> str:
        cells = self.fault, f"{self.times:,}", self.lost, self.false_duplicates, self.seconds
        return f"| {' | '.join(map(str, cells))} |"


def print_head() -> None:
    print("| fault | times | items lost | false duplicates | seconds to recover |\n|---|---|---|---|---|")


@contextmanager
def redis_in(folder: str) -> Iterator[RedisServer]:
    server = RedisServer(Path(folder)).start()
    try:
        yield server
    finally:
        server.stop()


def kills(options: argparse.Namespace) -> Iterator[Row]:
    with TemporaryDirectory() as folder, redis_in(f"{folder}/redis") as server, NewsSite() as site:
        stores = {"SQLite": "sqlite:///window.sqlite", "Redis": server.url}
        for name in [name for name in stores if options.store in ("", name)]:
            for way in WAYS:
                yield _kill_often(Path(folder), site, stores[name], name, way, options.times)


def _kill_often(folder: Path, site: NewsSite, store: str, name: str, way: str, times: int) -> Row:
    row, draw = Row(f"crawl killed, {name}, {way}"), random.Random(f"{name} {way}")
    for number in range(times if way == "one crawl" else max(2, times // 5)):
        moment, seed = draw_moment(draw), f"{name} {way} {number}"
        outcome = kill_and_rerun(folder / seed.replace(" ", "-"), site, store, moment, seed, way)
        row.times += outcome.was_killed or way == INTERRUPTED  # a second Ctrl-C ends a crawl with status 0
        row.lost += len(outcome.lost)
        row.false_duplicates += len(outcome.false_duplicates)
        if not outcome.is_good:
            print(f"{row.fault}: {moment}, seed {seed!r}: {outcome}", file=sys.stderr)
    return row


def stores(options: argparse.Namespace) -> Iterator[Row]:
    """Lose a Redis in each way of tests/index/redis/test_redis_faults.py while documents are judged without a pause."""
    for name, (lose, restore, _) in FAULTS.items():
        with TemporaryDirectory() as folder, redis_in(folder) as server:
            network = Network(server.port)
            try:
                yield asyncio.run(
                    _lose(name, network.url, partial(lose, server, network), partial(restore, server, network))
                )
            finally:
                network.flow()
                network.cut()


async def _lose(name: str, url: str, lose: Callable[[], object], restore: Callable[[], object]) -> Row:
    row = Row(f"Redis {name}", times=1)
    detector = NearDupDetector(NearDupSettings(store=url, store_timeout=0.5), delivers_later=True)
    await detector.open()

    async def judge(number: int) -> str:
        try:
            verdict = await detector.check(detector.document(text(number, 60)))
        except Exception:
            row.lost += 1
            return "lost"
        row.false_duplicates += verdict.status == "duplicate"
        return verdict.status

    for number in range(100):
        await judge(number)
    lose()
    for number in range(100, 300):
        await judge(number)
        await asyncio.sleep(0.01)
    restore()
    began, number = time.monotonic(), 300
    while await judge(number) == "unchecked" and time.monotonic() < began + 120:
        number += 1
        await asyncio.sleep(0.01)
    row.seconds = f"{time.monotonic() - began:.1f}"
    await detector.close()
    return row


def receivers(options: argparse.Namespace) -> Iterator[Row]:
    """Measure how long a process lives after it has closed its webhook, by what the receiver does."""
    for behave in (say_nothing, drip_headers, drip_interim_answers, drip_body, flood("503 Busy"), flood_chunks):
        name = behave.__qualname__.partition(".")[0]
        with BadReceiver(behave) as receiver:
            command = [sys.executable, "-c", ENDS, receiver.url]
            began = time.monotonic()
            subprocess.run(command, check=True, timeout=120, stdout=subprocess.DEVNULL)
            yield Row(f"webhook whose receiver does this: {name}", 1, seconds=f"{time.monotonic() - began:.1f} to exit")


def soak(options: argparse.Namespace) -> Iterator[Row]:
    """Judge documents for so long, a third of them copies, and print memory and descriptors."""
    with TemporaryDirectory() as folder:
        yield asyncio.run(_soak(f"sqlite:///{folder}/window.sqlite", options.minutes))


async def _soak(store: str, minutes: float) -> Row:
    process, now = psutil.Process(), time.time()
    detector = NearDupDetector(NearDupSettings(store=store), clock=lambda: now, delivers_later=True)
    await detector.open()
    assert detector.delivery is not None
    row, ends, at, first = Row(f"detector, {minutes:g} minutes"), time.monotonic() + 60 * minutes, 0.0, (0.0, 0)
    draw = random.Random(0)
    while time.monotonic() < ends:
        row.times += 1
        now += 20  # a window is full after 4,320 documents
        number = row.times if draw.random() < 0.7 else max(0, row.times - draw.randrange(1, 500))
        document = detector.document(text(number, 60), url=f"https://paper{number % 50}.example/{row.times}")
        row.lost += (await detector.check(document)).reason == "store-unavailable"
        detector.delivery.deliver([document.id])
        if time.monotonic() > at:
            at = time.monotonic() + max(5, 60 * minutes / 12)
            found = process.memory_info().rss / 1e6, process.num_fds()
            if row.times > 8640 and not first[1]:
                first = found
            print(f"{row.times:,} documents: {found[0]:.0f} MB, {found[1]} descriptors", file=sys.stderr)
    grown = process.memory_info().rss / 1e6 - first[0], process.num_fds() - first[1]
    row.seconds = f"grown by {grown[0]:+.0f} MB, {grown[1]:+d} descriptors"
    await detector.close()
    return row


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "kills": kills,
    "stores": stores,
    "receivers": receivers,
    "soak": soak,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Break things, and count what is lost.")
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--times", type=int, default=50, help="kills a store")
    parser.add_argument("--store", default="", help="SQLite or Redis: kill crawls over this store only")
    parser.add_argument("--minutes", type=float, default=60, help="of soak")
    options = parser.parse_args()
    print_head()
    for part in options.parts or [each for each in PARTS if each != "soak"]:
        for row in PARTS[part](options):
            print(row, flush=True)


if __name__ == "__main__":
    main()
