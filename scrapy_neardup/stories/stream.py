"""A Redis stream of events, capped."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redis.asyncio import Redis

MOST_ENTRIES = 10_000
DEFAULT_STREAM = "neardup:events"
_TIMEOUT = 5.0  # seconds


class RedisStream:
    """One entry an event: ``id``, ``level``, ``story``, ``headline`` and ``report`` (JSON)."""

    def __init__(self, url: str, stream: str, connect: Callable[[str, float], Redis]) -> None:
        """``connect`` makes the client of a url, with a time in seconds that no answer may exceed."""
        self._url = url
        self._connect = connect
        self._stream = stream
        self._client: Redis | None = None

    async def deliver(self, report: dict[str, Any]) -> None:
        """Raises redis.RedisError or OSError where the server does not take it."""
        if self._client is None:
            self._client = self._connect(self._url, _TIMEOUT)
        fields = {name: str(report[name]) for name in ("id", "level", "story", "headline")}
        entry = {**fields, "report": json.dumps(report, ensure_ascii=False)}
        await self._client.xadd(self._stream, dict(entry.items()), maxlen=MOST_ENTRIES, approximate=True)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()


def stream_of(value: str, store: str) -> tuple[str, str]:
    """Server and stream of ``NEARDUP_EVENTS_STREAM``: a name in the store's own server, or ``redis://…#name``."""
    if "://" not in value:
        return store, value
    url, _, name = value.partition("#")
    return url, name or DEFAULT_STREAM
