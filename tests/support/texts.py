"""Texts made of random words, detectors of any preset, and the command as a process: for the tests of the presets."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.tools.lab.replay import opened as running

START = 1_700_000_000.0


_LETTERS = "eeeetttaaaooiinnsshhrrdlucmfwypvbgk"


@lru_cache(maxsize=2000)
def _words(seed: object, count: int) -> tuple[str, ...]:
    """Words of three to eight letters, the same for the same seed; each seed has a vocabulary of its own."""
    rng = random.Random(repr(seed))
    vocabulary = ["".join(rng.choices(_LETTERS, k=rng.randint(3, 8))) for _ in range(150)]
    return tuple(rng.choice(vocabulary) for _ in range(count))


def article(seed: object, count: int = 300) -> str:
    words = _words(seed, count)
    return "\n".join(" ".join(words[start : start + 20]).capitalize() + "." for start in range(0, count, 20))


def noisy(text: str, share: float, seed: int = 0) -> str:
    """The text with so many of its words replaced by others."""
    rng = random.Random(seed)
    lines = [line.split() for line in text.splitlines()]
    return "\n".join(
        " ".join(rng.choice(_words((seed, "noise"), 200)) if rng.random() < share else word for word in line)
        for line in lines
    )


@asynccontextmanager
async def opened(
    preset: str, store: str, namespace: str, run: str | None = None, **values: object
) -> AsyncIterator[NearDupDetector]:
    given = {"NEARDUP_PRESET": preset, "NEARDUP_STORE": store, "NEARDUP_NAMESPACE": namespace, **values}
    settings = NearDupSettings.from_mapping({"NEARDUP_STORE_TIMEOUT": 20, **given})
    async with running(NearDupDetector(settings, run=run)) as detector:
        yield detector
