"""Compare what the plugin costs a crawl with what it cost at another commit. Takes about a minute on two idle cores.

usage: python benchmarks/crawl_cost.py [--against COMMIT] [--data DIR] [--pages 500] [--pairs 4] [--most 1.15]

COMMIT is the last release, and has to be named before the first one. The crawls take turns: without the plugin, with
the plugin of the other commit, and with the plugin of this folder. All use resiliparse in one worker process, and
Redis. The figures are CPU milliseconds a page, the lowest of all rounds: other programs on the machine only add to
them. Redis is not a part of the first sum. Without DIR the pages are invented. The exit status is 1 if the plugin of
this folder takes over ``--most`` times the CPU time of the other one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from crawl import COSTS, PLAIN, measured
from news_server import redis_server, site

ROOT = Path(__file__).resolve().parents[1]
PLUGIN = "plugin: resiliparse, a process, redis"
HERE = "with the plugin of this folder"
"""How README.md and docs/benchmarks.md name the commit of their figures of crawls."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--data", type=Path, default=os.environ.get("NEARDUP_DATA"))
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--most", type=float, default=1.15)
    parser.add_argument("--requests", type=int, default=32, help="at a time")
    options = parser.parse_args()
    commit = options.against or last_release() or sys.exit("there is no release yet: give --against COMMIT")
    other = f"with the plugin of {commit}"
    found: dict[str, list[dict[str, float]]] = {PLAIN: [], other: [], HERE: []}
    with tempfile.TemporaryDirectory() as folder, redis_server() as redis, site(options.data, options.pages) as url:
        packages = {PLAIN: ROOT, other: unpack(commit, Path(folder) / "other"), HERE: ROOT}
        for number in range(options.pairs):
            for name in list(found)[:: 1 if number % 2 else -1]:
                variant = PLAIN if name == PLAIN else PLUGIN
                found[name].append(measured(variant, folder, redis, url, options, package=packages[name]))
    costs = {name: {key: min(each[key] for each in rounds) for key in COSTS} for name, rounds in found.items()}
    print("| crawl | CPU ms a page | loop | threads | workers | Redis | pages/s | x without |\n|---" + "|---" * 7 + "|")
    for name, rounds in found.items():
        rate = statistics.median(each["rate"] for each in rounds)
        share = statistics.median(one["rate"] / base["rate"] for one, base in zip(rounds, found[PLAIN], strict=True))
        print(f"| {name} | {' | '.join(f'{costs[name][key]:.2f}' for key in COSTS)} | {rate:.0f} | {share:.2f} |")
    own = {name: each["cpu"] + each["redis"] - costs[PLAIN]["cpu"] for name, each in costs.items()}
    print(f"\nThe plugin with Redis: {own[HERE]:.2f} ms a page, {own[HERE] / own[other]:.2f} times that of {commit}.")
    return int(own[HERE] > options.most * own[other])


def last_release() -> str:
    """Return the newest tag of a release, "" if there is none."""
    tags = git("tag", "--list", "v*", "--merged", "HEAD~", "--sort=-version:refname").decode().split()
    return tags[0] if tags else ""


def unpack(commit: str, folder: Path) -> Path:
    """Copy the package of a commit into a new folder."""
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
