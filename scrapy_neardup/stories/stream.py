"""A Redis stream of events, of bounded length."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scrapy_neardup.stories.outbox_files import encode

if TYPE_CHECKING:
    from redis.asyncio import Redis

MOST_ENTRIES = 10_000
DEFAULT_STREAM = "neardup:events"
_TIMEOUT = 5.0  # seconds for each answer of the server
_DEADLINE = 10.0  # seconds for all answers about one event


class RedisStream:
    """Adds one entry for each event: ``id``, ``level``, ``story``, ``headline`` and ``report`` (JSON)."""

    def __init__(self, url: str, stream: str, connect: Callable[[str, float], Redis]) -> None:
        """``connect`` makes the client of a url, with a limit in seconds for each answer."""
        self._url = url
        self._connect = connect
        self._stream = stream
        self._client: Redis | None = None

    async def deliver(self, report: dict[str, Any]) -> None:
        """Raise redis.RedisError or OSError if the server does not take the event."""
        if self._client is None:
            self._client = self._connect(self._url, _TIMEOUT)
        fields = {name: str(report[name]) for name in ("id", "level", "story", "headline")}
        entry: dict[Any, Any] = {**fields, "report": encode(report)}
        added = self._client.xadd(self._stream, entry, maxlen=MOST_ENTRIES, approximate=True)
        try:
            await asyncio.wait_for(added, _DEADLINE)
        except asyncio.TimeoutError:
            raise TimeoutError(f"the server did not answer within {_DEADLINE:g} s") from None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()


def stream_of(value: str, store: str) -> tuple[str, str]:
    """Return server and stream of ``NEARDUP_EVENTS_STREAM``, a name in the store's server or ``redis://…#name``."""
    if "://" not in value:
        return store, value
    url, _, name = value.partition("#")
    return url, name or DEFAULT_STREAM
