"""Compare two checkouts: do they give the same fingerprints and verdicts, to the bit?

    python benchmarks/same_results.py --before CHECKOUT FEED.jsonl ...

A feed is an input of ``scrapy neardup replay``. Each feed is replayed in both checkouts, with the preset ``news`` over
memory, SQLite and Redis (``--redis URL``), and with the other presets over memory; the lines of output are compared.
Fingerprints are compared for the texts in the feeds, with every preset, by the digest of all their fields. Pages are
extracted with resiliparse, which is fast; extraction itself is not compared. Exits with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PRESETS = ("news", "nrc", "cedar", "ddd", "simhash", "multiref")
FINGERPRINTS = """
import hashlib, json, sys
from dataclasses import fields
from scrapy_neardup.document import Document
from scrapy_neardup.sketch import PRESETS, Sketcher
for name, preset in PRESETS.items():
    sketcher, digest, count = Sketcher(preset), hashlib.sha256(), 0
    for path in sys.argv[1:]:
        for line in open(path, encoding="utf-8"):
            row = json.loads(line)
            if row.get("text"):
                url, title = row.get("url") or "", row.get("title") or ""
                document = Document("00" * 8, url, "a.example", title, row["text"], 0.0, url)
                found = sketcher.fingerprint(document)
                digest.update(repr([getattr(found, field.name) for field in fields(found) if field.compare]).encode())
                count += 1
    print(name, count, digest.hexdigest())
"""


def run(checkout: Path, *command: str) -> str:
    """Return what a command prints that imports the package from a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, env=environment, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{checkout}: {' '.join(command[:6])} ...\n{done.stderr[-2000:]}")
    return done.stdout


def replayed(checkout: Path, feed: Path, preset: str, store: str, folder: Path) -> list[str]:
    """Return the lines that a replay writes, and the stories that had an event.

    Documents are judged several at a time, so of two neighbours either may be the one that raises an event.
    """
    verdicts, events = folder / "verdicts.jsonl", folder / "events.jsonl"
    options = ["-O", str(verdicts), "--events", str(events), "--preset", preset]
    if store:
        options += ["--store", store]
    command = "import sys; from scrapy.cmdline import execute; execute(sys.argv)"
    run(
        checkout, sys.executable, "-c", command, "neardup", "replay", str(feed.resolve()), *options,
        "-s", "NEARDUP_EXTRACTOR=resiliparse",
    )  # fmt: skip
    rows = [json.loads(line) for line in verdicts.read_text(encoding="utf-8").splitlines()]
    raised = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
    lines = [json.dumps({name: value for name, value in row.items() if name != "event"}) for row in rows]
    return lines + sorted({f"{event['story']} {event['level']}" for event in raised if event["level"] != "update"})


def with_times(feed: Path, folder: Path) -> Path:
    """Copy a feed, each document without a time a minute after the one before; paths of pages become absolute."""
    copy = folder / feed.name
    with feed.open(encoding="utf-8") as lines, copy.open("w", encoding="utf-8") as output:
        for number, line in enumerate(lines):
            row = {"time": 1_700_000_000 + 60 * number, **json.loads(line)}
            if "file" in row:
                row["file"] = str(feed.resolve().parent / row["file"])
            print(json.dumps(row), file=output)
    return copy


def compare(what: str, before: list[str], after: list[str]) -> bool:
    differing = [number for number, pair in enumerate(zip(before, after, strict=False), 1) if pair[0] != pair[1]]
    is_same = not differing and len(before) == len(after)
    print(f"{what}: {'the same' if is_same else 'DIFFERENT'} ({len(before):,} lines)", flush=True)
    for number in differing[:3]:
        print(f"  line {number}\n    {before[number - 1]:.300}\n    {after[number - 1]:.300}")
    return is_same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="another checkout")
    parser.add_argument("--after", type=Path, default=Path(__file__).parents[1], help="default: this one")
    parser.add_argument("--redis", metavar="URL", default="", help="also over this Redis")
    parser.add_argument("--preset", choices=PRESETS, help="only this preset")
    parser.add_argument("feeds", nargs="+", type=Path)
    options = parser.parse_args()
    checkouts = options.before.resolve(), options.after.resolve()
    feeds = [str(feed.resolve()) for feed in options.feeds]
    prints = [run(each, sys.executable, "-c", FINGERPRINTS, *feeds).splitlines() for each in checkouts]
    is_same = compare("fingerprints", *prints)
    with TemporaryDirectory() as folder:
        timed = [with_times(feed, Path(folder)) for feed in options.feeds]
        is_same &= compare_replays(timed, options, checkouts)
    return 0 if is_same else 1


def compare_replays(feeds: list[Path], options: argparse.Namespace, checkouts: tuple[Path, Path]) -> bool:
    is_same = True
    for feed in feeds:
        for preset in [options.preset] if options.preset else PRESETS:
            for store in ("memory", "sqlite", "redis") if preset == "news" else ("memory",):
                if store == "redis" and not options.redis:
                    continue
                found = []
                for number, checkout in enumerate(checkouts):
                    with TemporaryDirectory() as name:
                        folder = Path(name)
                        url = {"sqlite": f"sqlite:///{folder}/window.sqlite", "redis": f"{options.redis}/{number}"}
                        found.append(replayed(checkout, feed, preset, url.get(store, ""), folder))
                is_same &= compare(f"{feed.name}, {preset}, {store}", *found)
    return is_same


if __name__ == "__main__":
    sys.exit(main())
