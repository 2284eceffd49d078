"""The Redis index against datasketch's own Redis LSH: time a check, bytes a document, checks a second.

usage: python benchmarks/redis_index.py [--documents 100000] [--baseline 20000] [--processes 4]

Everything is measured in one run on servers started for it. Documents are random signatures (256 lanes, 38 bands of 3,
12 sample keys) with topics of 48 terms, 12 of them keys, spread evenly over 24 hours and 500 sources. Some terms are as
common as in an hour of the web. 30 % of the documents are near-duplicates with 5 % of their lanes changed. 10 % are
reports in other words, which share half of their terms with an earlier document. Both join their stories. Every second
url has an article number. The learned boilerplate of each source is as large as it may become. datasketch gets one LSH
for each hour, as people build a window with it, and all 25 are queried. It is also measured once without a window.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import NamedTuple

import numpy as np
import xxhash
from news_server import RedisServer, redis_server
from shared import print_table

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.evidence.topic import KEYS, MOST_TOPIC_TERMS, TITLE_BIT
from scrapy_neardup.index import Index
from scrapy_neardup.index.redis.store import RedisStore
from scrapy_neardup.records.learned import MOST_SOURCE_DOCUMENTS, LearnedEntries
from scrapy_neardup.rules.decision import Judge
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.settings.presets import PRESETS
from scrapy_neardup.sketch.signatures import band_keys

Entry = tuple[Fingerprint, Document]
NEWS = PRESETS["news"]
LANES = NEWS.num_perm
SAMPLES = 12
TOGETHER = 64
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


@cache
def text_of(number: int) -> str:
    """Return one of ``TEXTS`` texts that each take as many bytes as one of the news, 1.25 kB packed."""
    words = [word_of(place) for place in (np.random.default_rng(number).zipf(1.4, TEXT_WORDS) % 20_000).tolist()]
    return " ".join(f"{' '.join(words[at : at + SENTENCE]).capitalize()}." for at in range(0, TEXT_WORDS, SENTENCE))


def word_of(number: int) -> str:
    """Return a word of letters: digits would be figures, which are compared in another way."""
    return f"{number * 2_654_435_761 % 0xFFFFFFF:x}".translate(LETTERS)


def documents(count: int, seed: int = 1) -> Iterator[Entry]:
    generator = random.Random(seed)
    for number, (lanes, slots, text) in enumerate(drawn(count, seed)):
        seen_at = NOON - DAY + DAY * number / count
        origin = generator.randrange(SOURCES)
        url = f"https://www.source-{origin}.example/news/2023/11/14/some-story-{number}.html"
        identity_keys = tuple(generator.getrandbits(32) for _ in range(2 + number % 2))
        packed = lanes.astype(">u4").tobytes()
        # A near-duplicate keeps most of its shingles, so most of its samples: they follow the lanes.
        samples = tuple(xxhash.xxh32_intdigest(packed[8 * lane : 8 * lane + 8], 99) for lane in range(SAMPLES))
        terms = slots % TITLE_BIT
        terms[:IN_TITLE] += TITLE_BIT
        key = int(seen_at).to_bytes(4, "big") + generator.randbytes(4)
        yield (
            Fingerprint(
                signature=lanes.astype(np.uint8).tobytes(),
                size=generator.randrange(200, 900),
                text_hash=generator.randbytes(8),
                url_hash=generator.randbytes(8),
                source_hash=origin.to_bytes(4, "big"),
                identity_keys=identity_keys,
                band_keys=band_keys(lanes[None], NEWS.bands, NEWS.rows)[0],
                sample_keys=samples,
                topic=terms.astype(">u2").tobytes(),
                topic_keys=tuple(xxhash.xxh32_intdigest(slot.tobytes(), 77) for slot in slots[:KEYS]),
                titles=generator.randbytes(2 * generator.randrange(4, 11)),
                article_hash=generator.randbytes(4) if number % 2 else bytes(4),
                content_hash=generator.randbytes(8),
                language=b"en",
            ),
            Document(key.hex(), url, "", TITLE, f"{text_of(text)} It is {word_of(number)} here.", seen_at),
        )


def learned() -> Iterator[tuple[bytes, LearnedEntries]]:
    """Of each source as many documents as are remembered, with 20 lines each, and 10 lines that are boilerplate."""
    generator = random.Random(3)
    for origin in range(SOURCES):
        printed = tuple(generator.randbytes(10 + 2 * 7 + 4 * 20) for _ in range(MOST_SOURCE_DOCUMENTS))
        yield origin.to_bytes(4, "big"), LearnedEntries(tuple(generator.randbytes(4) for _ in range(10)), printed)


JUDGE = Judge(Policy(), source_of=lambda url: url.split("/")[2].removeprefix("www."))


@asynccontextmanager
async def opened_index(url: str) -> AsyncIterator[Index]:
    index = Index(RedisStore(url, timeout=30), "main", "bench", JUDGE)
    await index.open()
    yield index
    await index.close()


def batches(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Yield documents that travel together."""
    iterator = iter(entries)
    while batch := list(islice(iterator, TOGETHER)):
        yield batch


async def fill(url: str, count: int) -> None:
    """Register a day of documents and their stories."""
    async with opened_index(url) as index:
        for batch in batches(documents(count)):
            await index.documents.check(batch)
        await index.learned.exchange_boilerplate(dict(learned()))


def arriving_now(count: int, seed: int) -> list[Entry]:
    """Documents of the window's last second; made before anything is timed."""
    entries = []
    for fingerprint, document in documents(count, seed=seed):
        key = NOON.to_bytes(4, "big") + bytes.fromhex(document.id)[4:]
        entries.append((fingerprint, replace(document, id=key.hex(), seen_at=NOON)))
    return entries


async def latency(url: str, checks: int) -> list[float]:
    """Return the milliseconds of single checks, one after the other."""
    entries, times = arriving_now(checks, 2), []
    async with opened_index(url) as index:
        for entry in entries:
            start = time.perf_counter()
            await index.documents.check([entry])
            times.append((time.perf_counter() - start) * 1000)
    return times


def work(url: str, seed: int, checks: int) -> float:
    """Return the seconds that so many checks took one process."""

    async def check_all() -> float:
        entries = arriving_now(checks, seed)
        async with opened_index(url) as index:
            start = time.perf_counter()
            for batch in batches(entries):
                await index.documents.check(batch)
            return time.perf_counter() - start

    return asyncio.run(check_all())


class Measured(NamedTuple):
    """Of one way to keep a window."""

    documents: int
    times: list[float]  # milliseconds of checks
    cpu: float  # milliseconds of the server's processor a check
    size: float  # bytes a document

    @property
    def median(self) -> float:
        return statistics.median(self.times)


def server_seconds(server: RedisServer) -> float:
    info = server.client().info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def measure(server: RedisServer, count: int, fill: Callable[[], None], check: Callable[[], list[float]]) -> Measured:
    used = [server.client().info("memory")["used_memory"]]
    fill()
    used.append(server.client().info("memory")["used_memory"])
    cpu = server_seconds(server)
    times = check()
    cpu = server_seconds(server) - cpu
    return Measured(count, times, 1000 * cpu / len(times), (used[1] - used[0]) / count)


def measure_ours(count: int, checks: int, processes: int) -> tuple[Measured, str]:
    """Return also the checks a second of several processes, and those one processor of the server would serve."""
    with redis_server() as server:
        url = server.url
        ours = measure(server, count, lambda: asyncio.run(fill(url, count)), lambda: asyncio.run(latency(url, checks)))
        cpu = server_seconds(server)
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            took = pool.starmap(work, [(url, seed, checks) for seed in range(20, 20 + processes)])
        done = processes * checks
        return ours, f"{done / max(took):,.0f}; {done / (server_seconds(server) - cpu):,.0f}"


def measure_datasketch(count: int, hours: int) -> Measured:
    """Measure LSHs of so many hours."""
    from datasketch import MinHash, MinHashLSH

    empty = MinHash(num_perm=LANES, scheme="affine32")

    def minhash(lanes: np.ndarray) -> MinHash:
        return MinHash(num_perm=LANES, scheme="affine32", hashvalues=lanes, permutations=empty.permutations)

    with redis_server() as server:
        redis = {"host": "127.0.0.1", "port": server.port}
        indexes = [
            MinHashLSH(
                num_perm=LANES,
                params=(NEWS.bands, NEWS.rows),
                storage_config={"type": "redis", "basename": b"hour-%d" % hour, "redis": redis},
            )
            for hour in range(hours)
        ]

        def fill() -> None:
            for hour, index in enumerate(indexes):
                with index.insertion_session() as session:
                    for number, (lanes, *_) in enumerate(drawn(count // hours, seed=hour + 10)):
                        session.insert(f"{hour}-{number}", minhash(lanes), check_duplication=False)

        def check() -> list[float]:
            times = []
            for number, (lanes, *_) in enumerate(drawn(200, seed=99)):
                document = minhash(lanes)
                start = time.perf_counter()
                for index in indexes:
                    index.query(document)
                indexes[-1].insert(f"new-{number}", document, check_duplication=False)
                times.append((time.perf_counter() - start) * 1000)
            return times

        return measure(server, count, fill, check)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--baseline", type=int, default=20_000, help="documents of datasketch's LSH")
    parser.add_argument("--checks", type=int, default=3000)
    parser.add_argument("--processes", type=int, default=4)
    options = parser.parse_args()
    ours, rates = measure_ours(options.documents, options.checks, options.processes)
    found = [ours, *(measure_datasketch(options.baseline, hours) for hours in (25, 1))]
    rows: dict[str, Iterable[str]] = {
        "documents": (f"{each.documents:,}" for each in found),
        "check p50, ms": (f"{each.median:.3f}" for each in found),
        "check p99, ms": (f"{sorted(each.times)[len(each.times) * 99 // 100]:.3f}" for each in found),
        "check p50 against ours": (f"{each.median / ours.median:.0f} times" for each in found),
        "server's processor a check, ms": (f"{each.cpu:.3f}" for each in found),
        "bytes a document": (f"{each.size:,.0f}" for each in found),
        "bytes a document against ours": (f"{each.size / ours.size:.1f} times" for each in found),
        "checks a second of several processes; one processor would serve": (rates, "", ""),
    }
    head = ("", "scrapy-neardup", "datasketch, one LSH an hour", "datasketch, one LSH")
    print_table("The Redis index", head, [(name, *cells) for name, cells in rows.items()])


if __name__ == "__main__":
    main()
