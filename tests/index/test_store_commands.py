"""Every store carries out the commands of store.py alike, and a commit writes all or nothing."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pytest
from conftest import OpenIndex

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index import Index
from scrapy_neardup.index.store import Argument, Call, Client, Commit, ConflictError, Expected, Posting, run, swap

FIELDS, MEMBERS = [b"a", b"b", "c", b"\0\xff"], [b"m", b"n", b"\xf0"]


def drawn(draw: random.Random, hashed: str, ordered: str, listed: str) -> Call:
    field, number = draw.choice(FIELDS), draw.randrange(9)
    calls: list[tuple[str, str, Sequence[Argument]]] = [
        ("HSET", hashed, (field, draw.choice([b"", b"x\0", "text", 7]), draw.choice(FIELDS), 3)),
        ("HGET", hashed, (field,)),
        ("HMGET", hashed, FIELDS),
        ("HGETALL", hashed, ()),
        ("HEXISTS", hashed, (field,)),
        ("HLEN", hashed, ()),
        ("HDEL", hashed, (field, draw.choice(FIELDS))),
        ("HINCRBY", hashed, ("count", number)),
        ("ZADD", ordered, (number, draw.choice(MEMBERS))),
        ("ZADD", ordered, ("GT", number, draw.choice(MEMBERS))),
        ("ZREM", ordered, (draw.choice(MEMBERS),)),
        ("ZCARD", ordered, ()),
        ("ZRANGEBYSCORE", ordered, ("-inf", f"({number}")),
        ("ZRANGEBYSCORE", ordered, (2, "+inf", "LIMIT", 0, 2)),
        ("ZREMRANGEBYSCORE", ordered, ("-inf", f"({number - 4}")),
        ("RPUSH", listed, (draw.choice(MEMBERS), b"x")),
        ("LTRIM", listed, (-4, -1)),
        ("LRANGE", listed, (0, -1)),
        ("LREM", listed, (0, b"m")),
        ("EXPIRE", draw.choice([hashed, ordered, listed]), (60,)),
        ("UNLINK", draw.choice([hashed, ordered, listed]), ()),
    ]
    return Call(*draw.choices(calls, [9] * 20 + [1])[0])


ANSWERS = ("HGET", "HMGET", "HGETALL", "HEXISTS", "HLEN", "ZCARD", "ZRANGEBYSCORE", "LRANGE")
"""The commands whose answers count."""


@pytest.mark.every_store
@pytest.mark.parametrize("seed", range(2))
async def test_stores_answer_alike(open_index: OpenIndex, shared_url: str, seed: int) -> None:
    answers = []
    for url in ("memory://", shared_url):
        index = await open_index(url)
        draw = random.Random(seed)
        keys = [index.layout.name(kind) for kind in ("hashed", "ordered", "listed")]
        calls = [drawn(draw, *keys) for _ in range(300)]
        found = await index.store.ask(lambda client, calls=calls: client.run(calls))
        answers.append([each for call, each in zip(calls, found, strict=True) if call.name in ANSWERS])
    assert answers[0] == answers[1]
    assert len(answers[0]) > 80


async def test_a_commit_writes_all_or_nothing(index: Index) -> None:
    key, other = index.layout.name("one"), index.layout.name("other")

    async def steps(client: Client) -> list[object]:
        first = Commit(
            [Expected(Call("HGET", key, ("f",)))], [Call("HSET", key, ("f", b"1")), Call("HSET", other, ("g", 2))]
        )
        late = Commit([Expected(Call("HGET", key, ("f",)))], [Call("HSET", other, ("g", 3))])
        return [*await run(client, [first, late]), *await run(client, [Call("HGET", other, ("g",))])]

    assert await index.store.ask(steps) == [1, b"1", b"2"]
    with pytest.raises(ConflictError):
        await index.store.ask(lambda client: swap(client, [Expected(Call("HGET", key, ("f",)))], []))


async def test_a_document_is_posted_unless_others_were_faster(index: Index) -> None:
    """Also if it replaces the oldest posting of a crowded key."""
    key = index.layout.bands(1)

    def posting(version: bytes, seen: bytes, posted: bytes, gone: bytes = b"") -> Posting:
        hashes = [(key, 16, seen, b"")]
        return Posting(b"\0\1\0\2", b"\1", 1, 8, version, b"\0\1\0", b"\1", b"\0\2" + posted, gone, hashes)

    async def steps(client: Client) -> list[object]:
        first, second = b"\0\0aaaa", b"\0\1bbbb"
        calls = [
            Commit([], [], posting(b"v1", b"", first)),
            Commit([], [], posting(b"v2", b"old", second)),
            Commit([], [], posting(b"v2", b"v1", second, b"\0\1\0\2" + first)),
        ]
        posted = Call("HMGET", key, ("bits", "version", b"\0\1\0"))
        return [*await run(client, calls), *await run(client, [posted])]

    assert await index.store.ask(steps) == [1, 0, 1, [b"16", b"v2", b"\0\2" + b"\0\1bbbb"]]


async def test_keys_expire_and_are_made_anew(
    open_index: OpenIndex, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = await open_index(sqlite_url)
    key = index.layout.name("one")
    write, read = Call("HSET", key, ("f", b"1")), Call("HGETALL", key)
    await index.store.ask(lambda client: run(client, [write, Call("EXPIRE", key, (60,))]))

    now = time.time
    monkeypatch.setattr("time.time", lambda: now() + 61)
    assert await index.store.ask(lambda client: run(client, [read]), reads=True) == [{}]
    again = Call("HSET", key, ("g", b"2"))
    assert (await index.store.ask(lambda client: run(client, [again, read])))[1] == {b"g": b"2"}


async def test_a_step_that_fails_leaves_nothing_in_a_file(open_index: OpenIndex, sqlite_url: str) -> None:
    index = await open_index(sqlite_url)
    key = index.layout.name("one")

    async def steps(client: Client) -> None:
        await run(client, [Call("HSET", key, ("f", b"1"))])
        raise StoreError("on purpose")

    with pytest.raises(StoreError, match="on purpose"):
        await index.store.ask(steps)
    assert await index.store.ask(lambda client: run(client, [Call("HLEN", key)])) == [0]
