"""Count verdicts in the store, so that ``scrapy neardup watch`` sees what all workers do."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from scrapy_neardup.contracts import CountedStore
from scrapy_neardup.document import Verdict
from scrapy_neardup.exceptions import StoreError

_PAUSE = 2.0  # seconds between two writes of one process
_MOST_NAMES = 100  # between two writes


class VerdictCounter:
    """Adds what it counts to the store, at most every two seconds. If the store is away, counts are lost."""

    def __init__(self, index: CountedStore, is_away: Callable[[], bool]) -> None:
        self._index = index
        self._is_away = is_away
        self._counts: Counter[str] = Counter()
        self._waiting: asyncio.Task[None] | None = None

    def add(self, verdict: Verdict) -> None:
        names: list[str] = [verdict.status]
        if detail := verdict.kind or verdict.reason:
            names.append(f"{verdict.status}/{detail}")
        if verdict.would_drop:
            names.append("would_drop")
        if verdict.status in ("duplicate", "update", "related") and verdict.kind != "revisit":
            names.append(f"story:{verdict.story}")
        self._add(names)

    def add_event(self, level: str) -> None:
        self._add([f"event/{level}"])

    def _add(self, names: list[str]) -> None:
        self._counts.update(name for name in names if name in self._counts or len(self._counts) < _MOST_NAMES)
        if self._waiting is None or self._waiting.done():
            self._waiting = asyncio.create_task(self._write_later())

    async def close(self) -> None:
        """Write the last counts."""
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.wait([self._waiting])
        await self._write()

    async def _write_later(self) -> None:
        await asyncio.sleep(_PAUSE)
        await self._write()

    async def _write(self) -> None:
        counts, self._counts = self._counts, Counter()
        if not counts or self._is_away():
            return
        with suppress(StoreError):  # the checks themselves report a store that is away
            await self._index.count_verdicts(int(time.time()) // 60, counts)
