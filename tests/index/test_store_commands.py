"""Every store carries out the commands of store.py alike, and a commit writes all or nothing."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pytest
from conftest import OpenIndex

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index import Index
from scrapy_neardup.index.store import (
    Argument,
    Call,
    Client,
    Commit,
    ConflictError,
    Expected,
    NewPostings,
    answers,
    swap,
)

FIELDS = [b"a", b"b", "c", b"\0\xff"]


def drawn(draw: random.Random, key: str) -> Call:
    field = draw.choice(FIELDS)
    calls: list[tuple[str, str, Sequence[Argument]]] = [
        ("HSET", key, (field, draw.choice([b"", b"x\0", "text", 7]), draw.choice(FIELDS), 3)),
        ("HGET", key, (field,)),
        ("HMGET", key, FIELDS),
        ("HGETALL", key, ()),
        ("HEXISTS", key, (field,)),
        ("HLEN", key, ()),
        ("HDEL", key, (field, draw.choice(FIELDS))),
        ("EXPIRE", key, (60,)),
        ("UNLINK", key, ()),
    ]
    return Call(*draw.choices(calls, [9] * 8 + [1])[0])


ANSWERS = ("HGET", "HMGET", "HGETALL", "HEXISTS", "HLEN")
"""The commands whose answers count."""


@pytest.mark.every_store
@pytest.mark.parametrize("seed", range(2))
async def test_stores_answer_alike(open_index: OpenIndex, shared_url: str, seed: int) -> None:
    answers = []
    for url in ("memory://", shared_url):
        index = await open_index(url)
        draw = random.Random(seed)
        calls = [drawn(draw, index.layout.name("one")) for _ in range(300)]
        found = await index.store.ask(lambda client, calls=calls: client.send(calls))
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
        return [*await answers(client, [first, late]), *await answers(client, [Call("HGET", other, ("g",))])]

    assert await index.store.ask(steps) == [1, b"1", b"2"]
    with pytest.raises(ConflictError):
        await index.store.ask(lambda client: swap(client, {key: b"old"}, []))


async def test_a_document_is_posted_unless_others_were_faster(index: Index) -> None:
    """Also if it replaces the oldest posting of a crowded key."""
    key = index.layout.bands(1)

    def posting(version: bytes, seen: bytes, posted: bytes, gone: bytes = b"") -> NewPostings:
        hashes = [(key, 16, seen, b"")]
        return NewPostings(
            keys=b"\0\1\0\2",
            weights=b"\1",
            least=1,
            size=8,
            version=version,
            added=[(b"\0\1\0", b"\0\2" + posted)],
            gone=[(b"\0\1\0", b"\0\2" + gone)] if gone else [],
            hashes=hashes,
        )

    async def steps(client: Client) -> list[object]:
        first, second = b"\0\0aaaa", b"\0\1bbbb"
        calls = [
            Commit([], [], posting(b"v1", b"", first)),
            Commit([], [], posting(b"v2", b"old", second)),
            Commit([], [], posting(b"v2", b"v1", second, first)),
        ]
        posted = Call("HMGET", key, ("bits", "version", b"\0\1\0"))
        return [*await answers(client, calls), *await answers(client, [posted])]

    assert await index.store.ask(steps) == [1, 0, 1, [b"16", b"v2", b"\0\2" + b"\0\1bbbb"]]


async def test_keys_expire_and_are_made_anew(
    open_index: OpenIndex, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = await open_index(sqlite_url)
    key = index.layout.name("one")
    write, read = Call("HSET", key, ("f", b"1")), Call("HGETALL", key)
    await index.store.ask(lambda client: answers(client, [write, Call("EXPIRE", key, (60,))]))

    now = time.time
    monkeypatch.setattr("time.time", lambda: now() + 61)
    assert await index.store.ask(lambda client: answers(client, [read]), reads=True) == [{}]
    again = Call("HSET", key, ("g", b"2"))
    assert (await index.store.ask(lambda client: answers(client, [again, read])))[1] == {b"g": b"2"}


async def test_a_step_that_fails_leaves_nothing_in_a_file(open_index: OpenIndex, sqlite_url: str) -> None:
    index = await open_index(sqlite_url)
    key = index.layout.name("one")

    async def steps(client: Client) -> None:
        await answers(client, [Call("HSET", key, ("f", b"1"))])
        raise StoreError("on purpose")

    with pytest.raises(StoreError, match="on purpose"):
        await index.store.ask(steps)
    assert await index.store.ask(lambda client: answers(client, [Call("HLEN", key)])) == [0]
