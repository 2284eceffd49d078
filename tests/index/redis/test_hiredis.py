"""With the extra ``[hiredis]`` the answers of Redis are read by hiredis."""

from __future__ import annotations

import pytest

from scrapy_neardup.index.redis.connection import connect

hiredis = pytest.importorskip("hiredis")


async def test_answers_are_read_by_hiredis(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []

    class NotingReader(hiredis.Reader):  # type: ignore[misc, name-defined]
        def feed(self, *arguments: bytes) -> None:
            read.append(bytes(arguments[0]))
            super().feed(*arguments)

    monkeypatch.setattr(hiredis, "Reader", NotingReader)
    client = connect(redis_url, timeout=5)
    assert await client.echo("the answer") == b"the answer"
    await client.aclose()
    assert b"the answer" in b"".join(read)
