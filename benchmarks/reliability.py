"""Break things, and count what is lost: the table of docs/reliability.md.

usage: python benchmarks/reliability.py [part ...] [--times 50] [--cases 1000000] [--minutes 60]

Parts: kills, stores, receivers, fuzz, soak; all but soak unless some are named. ``--times`` is how often a crawl is
killed for each store; ways to crawl other than the plain one get a fifth of it each. Needs the packages that tox.ini
names for the tests.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from kills import WAYS, KillingSite, Moment, kill_and_rerun
from servers import RedisServer


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
    with TemporaryDirectory() as folder, redis_in(f"{folder}/redis") as server, KillingSite() as site:
        stores = {"SQLite": "sqlite:///window.sqlite", "Redis": server.url}
        for name in [name for name in stores if options.store in ("", name)]:
            for way in WAYS:
                if way == "another machine" and name == "SQLite":
                    continue
                yield _kill_often(Path(folder), site, stores[name], name, way, options.times)


def _kill_often(folder: Path, site: KillingSite, store: str, name: str, way: str, times: int) -> Row:
    row, draw = Row(f"crawl killed, {name}, {way}"), random.Random(f"{name} {way}")
    for number in range(times if way == "one crawl" else max(2, times // 5)):
        moment, seed = Moment.drawn(draw), f"{name} {way} {number}"
        outcome = kill_and_rerun(folder / seed.replace(" ", "-"), site, store, moment, seed, way)
        row.times += outcome.was_killed
        row.lost += len(outcome.lost)
        row.false_duplicates += len(outcome.false_duplicates)
        if not outcome.is_good:
            print(f"{row.fault}: {moment}, seed {seed!r}: {outcome}", file=sys.stderr)
    row.seconds = "0"
    return row


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {"kills": kills}


def main() -> None:
    parser = argparse.ArgumentParser(description="Break things, and count what is lost.")
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--times", type=int, default=50, help="kills a store")
    parser.add_argument("--store", default="", help="SQLite or Redis: kill crawls over this store only")
    parser.add_argument("--cases", type=int, default=1_000_000, help="of fuzz")
    parser.add_argument("--minutes", type=float, default=60, help="of soak")
    options = parser.parse_args()
    print_head()
    for part in options.parts or [each for each in PARTS if each != "soak"]:
        for row in PARTS[part](options):
            print(row, flush=True)


if __name__ == "__main__":
    main()
