"""The Redis index against datasketch's own Redis LSH: time a check, bytes a document, checks a second.

usage: python benchmarks/redis_index.py [--documents 100000] [--baseline 20000] [--processes 4]

Everything is measured in one run on servers started for it, and printed as one table with the promised values and the
ratios. Documents are random signatures (256 lanes, 38 bands of 3, 12 sample keys) with topics of 48 terms, 12 of them
keys, spread evenly over 24 hours and 500 sources. Some terms are as common as in an hour of the web. 30 % of the
documents are near-duplicates with 5 % of their lanes changed. 10 % are reports in other words, which share half of
their terms with an earlier document. Both join their stories. Every second url has an article number. The learned
boilerplate of each source is as large as it may become. datasketch gets one LSH for each hour, as people build a window
with it, and all 25 are queried. It is also measured once without a window. Besides the elapsed time, the processor time
of the server is shown, because other work on the same machine does not lengthen it.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
import redis
import xxhash
from news_server import redis_server

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.evidence.topic import KEYS, MOST_TOPIC_TERMS, TITLE_BIT
from scrapy_neardup.index.index import Index
from scrapy_neardup.index.redis.store import RedisStore
from scrapy_neardup.records.learned import MOST_SOURCE_DOCUMENTS, KnownBoilerplate
from scrapy_neardup.rules.decision import Judge
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.sketch.signatures import band_keys, signature

LANES, BANDS, ROWS, SAMPLES = 256, 38, 3, 12
DAY = 24 * 3600
NOON = 1_700_000_000
DUPLICATES, RELATED = 0.3, 0.1
SLOTS, IN_TITLE = 1 << 16, 8
SKEW = 1.5  # some terms are in many topics; the commonest key has as many documents as in an hour of the web
SOURCES = 500
TITLE = "A title of the length that titles in the news have"
TEXT_WORDS, SENTENCE = 600, 15
LETTERS = str.maketrans("0123456789", "ghijklmnop")
TEXTS = 500  # a near-duplicate has the text of the other one, with another last sentence


class Drawn(NamedTuple):
    """The numbers of one document: its lanes, the slots of its terms, the heaviest first, and its text."""

    lanes: np.ndarray
    slots: np.ndarray
    text: int


def drawn(count: int, seed: int) -> Iterator[Drawn]:
    """Draw documents.

    ``DUPLICATES`` of them are near-duplicates of a recent one, and ``RELATED`` of them have half of its terms.
    """
    generator, words = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    recent: list[Drawn] = []
    for number in range(count):
        if recent and generator.random() < DUPLICATES:
            other = recent[generator.integers(len(recent))]
            minima = other.lanes.copy()
            changed = generator.integers(0, LANES, LANES // 20)
            minima[changed] = generator.integers(0, 1 << 32, len(changed), dtype=np.uint32)
            yield Drawn(minima, other.slots, other.text)
        else:
            slots = (SLOTS * words.random(MOST_TOPIC_TERMS) ** SKEW).astype(np.uint16)
            if recent and words.random() < RELATED / (1 - DUPLICATES):
                slots[::2] = recent[words.integers(len(recent))].slots[::2]
            document = Drawn(generator.integers(0, 1 << 32, LANES, dtype=np.uint32), slots, number % TEXTS)
            recent = [*recent[-999:], document]
            yield document


def topic_of(slots: np.ndarray) -> tuple[bytes, tuple[int, ...]]:
    """Return the topic of a document and its keys, as a sketcher makes them."""
    terms = slots % TITLE_BIT
    terms[:IN_TITLE] += TITLE_BIT
    topic = terms.astype(">u2").tobytes()
    return topic, tuple(xxhash.xxh32_intdigest(slot.tobytes(), 77) for slot in slots[:KEYS])


@cache
def text_of(number: int) -> str:
    """Return one of ``TEXTS`` texts that each take as many bytes as one of the news, 1.25 kB packed."""
    words = [word_of(place) for place in (np.random.default_rng(number).zipf(1.4, TEXT_WORDS) % 20_000).tolist()]
    return " ".join(f"{' '.join(words[at : at + SENTENCE]).capitalize()}." for at in range(0, TEXT_WORDS, SENTENCE))


def word_of(number: int) -> str:
    """Return a word of letters: digits would be figures, which are compared in another way."""
    return f"{number * 2_654_435_761 % 0xFFFFFFF:x}".translate(LETTERS)


def documents(count: int, seed: int = 1, end: int = NOON) -> Iterator[tuple[Fingerprint, Document]]:
    generator = random.Random(seed)
    for number, (lanes, slots, text) in enumerate(drawn(count, seed)):
        seen_at = end - DAY + DAY * number / count
        origin = generator.randrange(SOURCES)
        url = f"https://www.source-{origin}.example/news/2023/11/14/some-story-{number}.html"
        identity_keys = tuple(generator.getrandbits(32) for _ in range(2 + number % 2))
        packed = lanes.astype(">u4").tobytes()
        # A near-duplicate keeps most of its shingles, so most of its samples: they follow the lanes.
        samples = tuple(xxhash.xxh32_intdigest(packed[8 * lane : 8 * lane + 8], 99) for lane in range(SAMPLES))
        topic, topic_keys = topic_of(slots)
        key = int(seen_at).to_bytes(4, "big") + generator.randbytes(4)
        yield (
            Fingerprint(
                signature=signature(lanes),
                size=generator.randrange(200, 900),
                text_hash=generator.randbytes(8),
                url_hash=generator.randbytes(8),
                source_hash=origin.to_bytes(4, "big"),
                identity_keys=identity_keys,
                band_keys=band_keys(lanes[None], BANDS, ROWS)[0],
                sample_keys=samples,
                topic=topic,
                topic_keys=topic_keys,
                titles=generator.randbytes(2 * generator.randrange(4, 11)),
                article_hash=generator.randbytes(4) if number % 2 else bytes(4),
                content_hash=generator.randbytes(8),
                language=b"en",
            ),
            Document(key.hex(), url, "", TITLE, f"{text_of(text)} It is {word_of(number)} here.", seen_at),
        )


def learned() -> Iterator[tuple[bytes, KnownBoilerplate]]:
    """Of each source as many documents as are remembered, with 20 lines each, and 10 lines that are boilerplate."""
    generator = random.Random(3)
    for origin in range(SOURCES):
        printed = tuple(generator.randbytes(10 + 2 * 7 + 4 * 20) for _ in range(MOST_SOURCE_DOCUMENTS))
        yield origin.to_bytes(4, "big"), KnownBoilerplate(tuple(generator.randbytes(4) for _ in range(10)), printed)


def used_memory(url: str) -> int:
    return int(redis.Redis.from_url(url).info("memory")["used_memory"])


def source(url: str) -> str:
    return url.split("/")[2].removeprefix("www.")


JUDGE = Judge(Policy(), source_of=source)


async def fill(url: str, namespace: str, count: int) -> float:
    """Register a day of documents and their stories, 64 travelling together; returns bytes a document."""
    index = Index(RedisStore(url, timeout=30), namespace, "bench", JUDGE)
    await index.open()
    before = used_memory(url)
    batch = []
    for entry in documents(count):
        batch.append(entry)
        if len(batch) == 64:
            await index.documents.check(batch)
            batch.clear()
    await index.documents.check(batch)
    await index.learned.exchange_boilerplate(dict(learned()))
    await index.close()
    return (used_memory(url) - before) / count


def arriving_now(count: int, seed: int) -> list[tuple[Fingerprint, Document]]:
    """Documents of the window's last second; made before anything is timed."""
    entries = []
    for fingerprint, document in documents(count, seed=seed):
        key = NOON.to_bytes(4, "big") + bytes.fromhex(document.id)[4:]
        entries.append((fingerprint, replace(document, id=key.hex(), seen_at=NOON)))
    return entries


async def latency(url: str, namespace: str, checks: int) -> tuple[list[float], float]:
    """Milliseconds of single checks, one after the other, and of the server's processor a check."""
    index = Index(RedisStore(url, timeout=30), namespace, "bench", JUDGE)
    await index.open()
    entries, times = arriving_now(checks, 2), []
    cpu = server_seconds(url)
    for fingerprint, document in entries:
        start = time.perf_counter()
        await index.documents.check([(fingerprint, document)])
        times.append((time.perf_counter() - start) * 1000)
    cpu = server_seconds(url) - cpu
    await index.close()
    return times, cpu / checks * 1000


async def _work(url: str, namespace: str, seed: int, checks: int) -> float:
    index = Index(RedisStore(url, timeout=30), namespace, "bench", JUDGE)
    await index.open()
    entries = arriving_now(checks, seed)
    start = time.perf_counter()
    for done in range(0, checks, 64):
        await index.documents.check(entries[done : done + 64])
    took = time.perf_counter() - start
    await index.close()
    return took


def work(url: str, namespace: str, seed: int, checks: int) -> float:
    """Seconds that so many checks took one process, 64 of them travelling together."""
    return asyncio.run(_work(url, namespace, seed, checks))


def server_seconds(url: str) -> float:
    info = redis.Redis.from_url(url).info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def datasketch_times(url: str, count: int, checks: int, hourly: bool) -> tuple[list[float], float, float]:
    """Milliseconds of query and insert, bytes a document, and milliseconds of the server's processor a check."""
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
            for number, (lanes, *_) in enumerate(drawn(count // len(hours), seed=hour + 10)):
                session.insert(f"{hour}-{number}", minhash(lanes), check_duplication=False)
    size = (used_memory(url) - before) / count
    times = []
    cpu = server_seconds(url)
    for number, (lanes, *_) in enumerate(drawn(checks, seed=99)):
        document = minhash(lanes)
        start = time.perf_counter()
        for index in hours:
            index.query(document)
        hours[-1].insert(f"new-{number}", document, check_duplication=False)
        times.append((time.perf_counter() - start) * 1000)
    return times, size, (server_seconds(url) - cpu) / checks * 1000


def several_processes(url: str, processes: int, checks: int) -> tuple[float, float]:
    """Checks a second of all processes together, and those one processor of the server would serve."""
    cpu = server_seconds(url)
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        took = pool.starmap(work, [(url, "main", seed, checks) for seed in range(20, 20 + processes)])
    return processes * checks / max(took), processes * checks / (server_seconds(url) - cpu)


@dataclass(frozen=True)
class Measured:
    """Of one way to keep a window."""

    documents: int
    times: list[float]  # milliseconds of checks
    cpu: float  # milliseconds of the server's processor a check
    size: float  # bytes a document

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def p99(self) -> float:
        return sorted(self.times)[int(len(self.times) * 0.99)]


def measure_ours(count: int, checks: int, processes: int) -> tuple[Measured, float, float]:
    """Beside what is measured, checks a second of several processes (see ``several_processes``); 0 of none."""
    with redis_server() as url:
        size = asyncio.run(fill(url, "main", count))
        times, cpu = asyncio.run(latency(url, "main", checks))
        rate, served = several_processes(url, processes, checks // 64 * 64) if processes else (0.0, 0.0)
    return Measured(count, times, cpu, size), rate, served


def measure_datasketch(count: int, hourly: bool) -> Measured:
    with redis_server() as url:
        times, size, cpu = datasketch_times(url, count, 200, hourly)
    return Measured(count, times, cpu, size)


def rows(ours: Measured, theirs: list[Measured], rates: str) -> Iterator[tuple[str, ...]]:
    """What is measured, what is asked of us, us, and datasketch with one LSH an hour and with one."""
    yield "documents", "", f"{ours.documents:,}", *(f"{each.documents:,}" for each in theirs)
    yield "check p50, ms", "<= 0.5", f"{ours.median:.3f}", *(f"{each.median:.1f}" for each in theirs)
    yield "check p99, ms", "<= 2", f"{ours.p99:.3f}", *(f"{each.p99:.1f}" for each in theirs)
    slower = (f"{each.median / ours.median:.0f} times" for each in theirs)
    yield "check p50 against ours", ">= 100 and >= 10 times", "1", *slower
    yield "server's processor a check, ms", "", f"{ours.cpu:.3f}", *(f"{each.cpu:.3f}" for each in theirs)
    yield ("bytes a document", "<= 3,500", f"{ours.size:,.0f}", *(f"{each.size:,.0f}" for each in theirs))
    larger = (f"{each.size / ours.size:.1f} times" for each in theirs)
    yield "bytes a document against ours", "", "1", *larger
    yield "checks a second of several processes; one processor would serve", ">= 3,000", rates, *("" for _ in theirs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--baseline", type=int, default=20_000, help="documents of datasketch's LSH; 0 leaves it out")
    parser.add_argument("--checks", type=int, default=3000)
    parser.add_argument("--processes", type=int, default=4)
    options = parser.parse_args()
    ours, rate, served = measure_ours(options.documents, options.checks, options.processes)
    theirs = [measure_datasketch(options.baseline, hourly) for hourly in (True, False)] if options.baseline else []
    rates = f"{rate:,.0f}; {served:,.0f}"
    names = ("", "asked", "scrapy-neardup", "datasketch, one LSH an hour", "datasketch, one LSH")
    print(f"| {' | '.join(names[: 3 + len(theirs)])} |\n{'|---' * (3 + len(theirs))}|")
    for row in rows(ours, theirs, rates):
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
