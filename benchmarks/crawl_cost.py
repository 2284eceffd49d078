"""Compare what the plugin costs a crawl with what it cost at another commit. Takes less than a minute.

usage: python benchmarks/crawl_cost.py [--against COMMIT] [--data DIR] [--pages 500] [--pairs 4] [--most 1.1]

COMMIT is the last release, or, before the first release, the commit whose figures are in docs/benchmarks.md. The
crawls take turns: without the plugin, with the plugin of the other commit, and with the plugin of this folder. All use
resiliparse in one worker process, and Redis. The figures are medians of CPU milliseconds a page, which other programs
on the machine change least, and the median of the ratios within each pair. The exit status is 1 if the plugin of this
folder takes over ``--most`` times the CPU time of the other one. Without DIR the pages are invented.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from crawl import COSTS, PLAIN, measured, median
from news_server import redis_server, site

ROOT = Path(__file__).resolve().parents[1]
PLUGIN = "plugin: resiliparse, a process, redis"
HERE, OTHER = "with the plugin of this folder", "with the plugin of"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--against", metavar="COMMIT", default=None)
    parser.add_argument("--data", type=Path, default=os.environ.get("NEARDUP_DATA"))
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--most", type=float, default=1.1)
    parser.add_argument("--requests", type=int, default=32, help="at a time")
    options = parser.parse_args()
    commit = options.against or last_release() or measured_commit()
    found: dict[str, list[dict[str, float]]] = {PLAIN: [], f"{OTHER} {commit}": [], HERE: []}
    with (
        tempfile.TemporaryDirectory() as folder,
        redis_server(folder) as redis,
        site(options.data, options.pages) as url,
    ):
        before = unpack(commit, Path(folder) / "before")
        crawls = [(PLAIN, ROOT), (f"{OTHER} {commit}", before), (HERE, ROOT)]
        for number in range(options.pairs):
            for name, package in crawls if number % 2 else crawls[::-1]:
                variant = PLAIN if name == PLAIN else PLUGIN
                found[name].append(measured(variant, folder, redis, url, options, package=package))
    plain, other, here = found.values()
    print("| crawl | CPU ms a page | loop | threads | workers | Redis | pages/s | x without | lag p99 ms |")
    print("|---" * 9 + "|")
    for name, rounds in found.items():
        each = median(rounds)
        share = statistics.median(one["rate"] / base["rate"] for one, base in zip(rounds, plain, strict=True))
        costs = " | ".join(f"{each[key]:.2f}" for key in COSTS)
        print(f"| {name} | {costs} | {each['rate']:.0f} | {share:.2f} | {each['lag_p99']:.0f} |")
    ratio = statistics.median(own(*each) for each in zip(here, other, plain, strict=True))
    print(f"\nThe plugin itself takes {ratio:.2f} times the CPU time of {commit}.")
    return int(ratio > options.most)


def own(here: dict[str, float], other: dict[str, float], plain: dict[str, float]) -> float:
    """Return the ratio of CPU times, Redis included, without those of the plain crawl."""
    base = plain["cpu"] + plain["redis"]
    return (here["cpu"] + here["redis"] - base) / (other["cpu"] + other["redis"] - base)


def last_release() -> str:
    tags = git("tag", "--list", "v*", "--sort=-version:refname").decode().split()
    return tags[0] if tags else ""


def measured_commit() -> str:
    """Return the commit that docs/benchmarks.md names for the figures of crawls."""
    page = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    (commit,) = re.findall(r"^Measured at commit `([0-9a-f]+)`", page, re.MULTILINE)
    return str(commit)


def unpack(commit: str, folder: Path) -> Path:
    """Copy the package of a commit into a folder."""
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", str(folder)], input=git("archive", commit, "scrapy_neardup"), check=True)
    return folder


def git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)
    if done.returncode:
        sys.exit(f"git {' '.join(arguments)}: {done.stderr.decode().strip()}. This needs a clone with its history")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
