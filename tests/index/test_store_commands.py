"""Every store carries out the commands of store.py alike, and a commit writes all or nothing."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pytest
from conftest import OpenIndex

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.store import (
    Argument,
    Call,
    Client,
    answers,
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
