"""The Redis index against datasketch's own Redis LSH: time a check, bytes a document, growth, checks a second.

usage: python benchmarks/redis_index.py [--documents 100000] [--grow] [--processes 4]

Everything is measured in one run on one server started for it, and printed as a table with ratios. Documents are random
signatures (128 lanes, 42 bands of 3), spread evenly over 24 hours; 12 % are near-duplicates with 5 % of their lanes
changed. datasketch keeps its LSH one an hour, as people do who need a window, and queries all 25 of them; and once
without any window.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import redis

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.index.base import Policy
from scrapy_neardup.index.redis import RedisIndex
from scrapy_neardup.sketch.fingerprint import band_keys

LANES, BANDS, ROWS = 128, 42, 3
DAY = 24 * 3600
NOON = 1_700_000_000
DUPLICATES = 0.12


@contextmanager
def server() -> Iterator[str]:
    """A redis-server of its own on a free port of loopback."""
    binary = shutil.which("redis-server")
    if binary is None:
        sys.exit("redis-server is not on PATH")
    with tempfile.TemporaryDirectory() as folder:
        port = random.SystemRandom().randrange(20000, 40000)
        arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        process = subprocess.Popen([binary, *arguments], stdout=subprocess.DEVNULL)
        client = redis.Redis(port=port)
        for _ in range(200):
            try:
                client.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.02)
        try:
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.kill()
            process.wait()


def signatures(count: int, seed: int) -> Iterator[np.ndarray]:
    """Random signatures; every eighth or so is a near-duplicate of a recent one."""
    generator = np.random.default_rng(seed)
    recent: list[np.ndarray] = []
    for _ in range(count):
        if recent and generator.random() < DUPLICATES:
            signature = recent[generator.integers(len(recent))].copy()
            changed = generator.integers(0, LANES, LANES // 20)
            signature[changed] = generator.integers(0, 1 << 32, len(changed), dtype=np.uint32)
        else:
            signature = generator.integers(0, 1 << 32, LANES, dtype=np.uint32)
            recent = [*recent[-999:], signature]
        yield signature


def documents(count: int, seed: int = 1, end: int = NOON) -> Iterator[tuple[Fingerprint, Document]]:
    generator = random.Random(seed)
    for number, lanes in enumerate(signatures(count, seed)):
        seen_at = end - DAY + DAY * number / count
        url = f"https://www.source-{generator.randrange(500)}.example/news/2023/11/14/some-story-{number}.html"
        signature = (lanes & 0xFFFF).astype(">u2").tobytes()
        key = int(seen_at).to_bytes(4, "big") + generator.randbytes(4)
        yield (
            Fingerprint(
                signature=signature,
                size=generator.randrange(200, 900),
                text_hash=generator.randbytes(8),
                url_hash=generator.randbytes(8),
                source_hash=generator.randbytes(4),
                identity_keys=(generator.getrandbits(32), generator.getrandbits(32)),
                band_keys=band_keys(signature, BANDS, ROWS),
                figures=generator.randbytes(generator.randrange(60, 140)),
            ),
            Document(key.hex(), url, "", "A title of the length that titles in the news have", "", seen_at),
        )


def used_memory(url: str) -> int:
    return int(redis.Redis.from_url(url).info("memory")["used_memory"])


async def fill(url: str, namespace: str, count: int) -> float:
    """Register a day of documents, 64 travelling together; returns bytes a document."""
    index = RedisIndex(url, namespace, "bench", Policy(), timeout=30)
    await index.open()
    before = used_memory(url)
    batch = []
    for entry in documents(count):
        batch.append(entry)
        if len(batch) == 64:
            await asyncio.gather(*(index.check(*each) for each in batch))
            batch.clear()
    await asyncio.gather(*(index.check(*each) for each in batch))
    await index.close()
    return (used_memory(url) - before) / count


async def latency(url: str, namespace: str, checks: int) -> list[float]:
    """Milliseconds of single checks, one after the other."""
    index = RedisIndex(url, namespace, "bench", Policy(), timeout=30)
    await index.open()
    times = []
    for fingerprint, document in documents(checks, seed=2, end=NOON + DAY):
        late = Document(document.id, document.url, "", document.title, "", NOON)
        key = NOON.to_bytes(4, "big") + bytes.fromhex(document.id)[4:]
        late = Document(key.hex(), document.url, "", document.title, "", NOON)
        start = time.perf_counter()
        await index.check(fingerprint, late)
        times.append((time.perf_counter() - start) * 1000)
    await index.close()
    return times


async def _work(url: str, namespace: str, seed: int, seconds: float) -> int:
    index = RedisIndex(url, namespace, "bench", Policy(), timeout=30)
    await index.open()
    entries = []
    for fingerprint, document in documents(4000, seed=seed):
        key = NOON.to_bytes(4, "big") + bytes.fromhex(document.id)[4:]
        entries.append((fingerprint, Document(key.hex(), document.url, "", document.title, "", NOON)))
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds and done < len(entries):
        await asyncio.gather(*(index.check(*each) for each in entries[done : done + 64]))
        done += 64
    took = time.perf_counter() - start
    await index.close()
    return round(done / took)


def work(url: str, namespace: str, seed: int, seconds: float) -> int:
    return asyncio.run(_work(url, namespace, seed, seconds))


def server_seconds(url: str) -> float:
    info = redis.Redis.from_url(url).info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def datasketch_times(url: str, count: int, checks: int, hourly: bool) -> tuple[list[float], float]:
    """Milliseconds of query and insert, and bytes a document, with ``count`` documents registered."""
    from datasketch import MinHash, MinHashLSH

    port = int(url.rsplit(":", 1)[1].split("/")[0])
    empty = MinHash(num_perm=LANES, scheme="affine32")

    def lsh(name: str) -> MinHashLSH:
        storage = {"type": "redis", "basename": name.encode(), "redis": {"host": "127.0.0.1", "port": port}}
        return MinHashLSH(num_perm=LANES, params=(BANDS, ROWS), storage_config=storage)

    def minhash(lanes: np.ndarray) -> MinHash:
        return MinHash(num_perm=LANES, scheme="affine32", hashvalues=lanes, permutations=empty.permutations)

    before = used_memory(url)
    hours = [lsh(f"{'hour' if hourly else 'all'}-{hour}") for hour in range(25 if hourly else 1)]
    for hour, index in enumerate(hours):
        with index.insertion_session() as session:
            for number, lanes in enumerate(signatures(count // len(hours), seed=hour + 10)):
                session.insert(f"{hour}-{number}", minhash(lanes), check_duplication=False)
    size = (used_memory(url) - before) / count
    times = []
    for number, lanes in enumerate(signatures(checks, seed=99)):
        document = minhash(lanes)
        start = time.perf_counter()
        for index in hours:
            index.query(document)
        hours[-1].insert(f"new-{number}", document, check_duplication=False)
        times.append((time.perf_counter() - start) * 1000)
    return times, size


def quantiles(times: list[float]) -> str:
    ordered = sorted(times)
    return f"{statistics.median(ordered):.3f} / {ordered[int(len(ordered) * 0.99)]:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--baseline", type=int, default=20_000, help="documents of datasketch's LSH (its cost is flat)")
    parser.add_argument("--checks", type=int, default=3000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--grow", action="store_true", help="also 10,000 and 1,000,000 documents")
    options = parser.parse_args()
    with server() as url:
        size = asyncio.run(fill(url, "main", options.documents))
        times = asyncio.run(latency(url, "main", options.checks))
        with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
            rates = pool.starmap(work, [(url, "main", seed, 8.0) for seed in range(20, 20 + options.processes)])
        print(f"scrapy-neardup, {options.documents} documents: p50 / p99 ms {quantiles(times)}; {size:.0f} bytes each")
        print(f"  {options.processes} processes: {sum(rates)} checks a second")
        if options.baseline:
            for hourly in (True, False):
                theirs, their_size = datasketch_times(url, options.baseline, 200, hourly)
                name = "one an hour" if hourly else "one without window"
                ratio = statistics.median(theirs) / statistics.median(times)
                print(
                    f"datasketch LSH on Redis, {name}: p50 / p99 ms {quantiles(theirs)} ({ratio:.0f} times); "
                    f"{their_size:.0f} bytes a document ({their_size / size:.1f} times)"
                )
    if options.grow:
        for count in (10_000, 100_000, 1_000_000):
            with server() as url:
                size = asyncio.run(fill(url, "grow", count))
                times = asyncio.run(latency(url, "grow", options.checks))
                print(f"{count} documents: p50 / p99 ms {quantiles(times)}; {size:.0f} bytes a document")


if __name__ == "__main__":
    main()
