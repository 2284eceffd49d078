"""Compare what checks and joins cost a Redis, and the processes that ask it, in two checkouts, on real texts.

usage: python benchmarks/redis_checks.py --before CHECKOUT [--documents 4000] [--rounds 2] [--delay MS] FEED.jsonl ...

A feed is an input of ``scrapy neardup replay`` with texts. For each feed and checkout, in turn: one process judges all
documents one by one, then 64 at a time, and then four processes judge a quarter each, on servers started for it. The
processor time of the server is all that ``INFO cpu`` counts, which includes its network. ``--delay`` puts that many
milliseconds before each answer and each question, as a network does. Fingerprints are made before anything is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import redis
from news_server import redis_server

TOGETHER = 64
PROCESSES = 4
SHOWN = {
    "server": "server, us a document",
    "client": "client, us a document",
    "median": "one by one, median us",
    "p99": "one by one, p99 us",
    "rate": "documents a second, 64 together",
    "rate4": "documents a second, four processes",
}


def main() -> None:
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure(*sys.argv[2:])))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("feeds", nargs="+", type=Path)
    parser.add_argument("--before", required=True, type=Path)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--delay", type=float, default=0.0)
    options = parser.parse_args()
    checkouts = {"before": options.before, "after": Path(__file__).resolve().parents[1]}
    for feed in options.feeds:
        found: dict[str, list[dict[str, float]]] = {name: [] for name in checkouts}
        for _ in range(options.rounds):
            for name, checkout in checkouts.items():
                arguments = "measure", str(feed.resolve()), str(options.documents), str(options.delay)
                environment = {**os.environ, "PYTHONPATH": f"{checkout.resolve()}{os.pathsep}{Path(__file__).parent}"}
                out = subprocess.run(
                    [sys.executable, __file__, *arguments], env=environment, check=True, stdout=subprocess.PIPE
                )
                found[name].append(json.loads(out.stdout))
        print(f"\n{feed.name}\n\n| | before | after | ratio |\n|---|---|---|---|")
        for key, text in SHOWN.items():
            before, after = (statistics.median(each[key] for each in found[name]) for name in checkouts)
            print(f"| {text} | {before:,.0f} | {after:,.0f} | {after / before:.2f} |", flush=True)


def measure(feed: str, documents: str, delay: str) -> dict[str, float]:
    judged = fingerprints(feed, int(documents))
    with tempfile.TemporaryDirectory() as folder, redis_server(folder) as url:
        times, _ = asyncio.run(work(url, judged, 1, float(delay)))
        client = redis.Redis.from_url(url)
        client.flushall()
        busy, server = time.process_time(), server_seconds(client)
        _, took = asyncio.run(work(url, judged, TOGETHER, float(delay)))
        busy = time.process_time() - busy
        server = server_seconds(client) - server
        client.flushall()
        with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
            shares = [(url, judged[number::PROCESSES], TOGETHER, float(delay)) for number in range(PROCESSES)]
            slowest = max(took for _, took in pool.starmap(work_alone, shares))
    count = len(judged)
    return {
        "server": server / count * 1e6,
        "client": busy / count * 1e6,
        "median": statistics.median(times) * 1e6,
        "p99": sorted(times)[int(0.99 * count)] * 1e6,
        "rate": count / took,
        "rate4": count / slowest,
    }


def server_seconds(client: redis.Redis) -> float:
    info = client.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def fingerprints(feed: str, most: int) -> list:
    from scrapy_neardup.detector import NearDupDetector
    from scrapy_neardup.settings import NearDupSettings

    detector = NearDupDetector(NearDupSettings(store="memory://"), run="")
    judged = []
    with open(feed, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            if len(judged) == most:
                break
            document = detector.document(
                row["text"], url=row.get("url") or "", title=row.get("title") or "", seen_at=1.7e9 + number
            )
            judged.append((detector.sketcher.fingerprint(document), document))
            detector.sketcher.learn(document)
    return judged


def work_alone(url: str, judged: list, together: int, delay: float) -> tuple[list[float], float]:
    return asyncio.run(work(url, judged, together, delay))


async def work(url: str, judged: list, together: int, delay: float) -> tuple[list[float], float]:
    """Seconds of each check and join, and of all."""
    from scrapy_neardup.index import index_from_url
    from scrapy_neardup.settings import NearDupSettings

    address, close = (await delayed(url, delay)) if delay else (url, lambda: None)
    index = index_from_url(address, namespace="bench", config="00000000", policy=NearDupSettings().policy(), timeout=30)
    await index.open()
    times, start = [], time.perf_counter()
    for first in range(0, len(judged), together):
        began = time.perf_counter()
        await asyncio.gather(*(check_and_join(index, *each) for each in judged[first : first + together]))
        times.append(time.perf_counter() - began)
    took = time.perf_counter() - start
    await index.close()
    close()
    return times, took


async def check_and_join(index, fingerprint, document) -> None:
    from scrapy_neardup.document import Join, Member, Verdict

    def join_of(match) -> Join:
        first = Member(match.story, match.url, match.title, "", "", "original")
        status = ("related", None) if match.related else ("duplicate", "near")
        return Join(first, Member(document.id, document.url, document.title, document.source, document.source, *status))

    if not hasattr(index, "join"):
        from scrapy_neardup.contracts import Judged

        verdict = Verdict("original")
        await index.check(fingerprint, document, lambda _, match: Judged(verdict, match and join_of(match)))
        return
    _, match = await index.check(fingerprint, document)  # as it was before a check and a join were one commit
    if match is not None:
        await index.join(join_of(match))


async def delayed(url: str, milliseconds: float):
    """A port that passes everything on to the server, late in both directions."""
    port = int(url.rsplit(":", 1)[1].split("/")[0])

    async def copy(reader, writer) -> None:
        loop = asyncio.get_running_loop()
        while data := await reader.read(1 << 16):
            loop.call_later(milliseconds / 1000, writer.write, data)
        loop.call_later(2 * milliseconds / 1000, writer.close)

    async def serve(reader, writer) -> None:
        there = await asyncio.open_connection("127.0.0.1", port)
        with suppress(asyncio.CancelledError):  # the event loop ends while clients are still connected
            await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

    server = await asyncio.start_server(serve, "127.0.0.1")
    return f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0", server.close


if __name__ == "__main__":
    main()
