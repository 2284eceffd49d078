"""Damage to a story in Redis stays with this story."""

from __future__ import annotations

import pytest
from conftest import OpenIndex
from documents import HOUR, MINUTE
from joins import beginning, joined, joining
from redis import Redis

from scrapy_neardup.document import Claim
from scrapy_neardup.exceptions import StoreError


@pytest.mark.parametrize("field", ["moved", "united"])
@pytest.mark.parametrize("value", [b"x", b"\xff" * 8, b"\xff" * 7, b"own key", b"\0" * 400])
async def test_damage_to_a_story_stops_no_other(
    open_index: OpenIndex, redis_url: str, namespace: str, field: str, value: bytes
) -> None:
    """A damaged story may be an error; it never hangs, and other stories stay as they are."""
    index = await open_index(redis_url)
    damaged, other = beginning("damaged", 10), beginning("other", 20)
    for first in (damaged, other):
        await joined(index, joining(first, f"of {first.title}", MINUTE))
    await index.claim(Claim(damaged.id, "watch", token="0123456789abcdef"))
    with Redis.from_url(redis_url) as client:
        (name,) = client.scan_iter(match=f"{{neardup:{namespace}*:story:{damaged.id}")
        client.hset(name, field, bytes.fromhex(damaged.id) if value == b"own key" else value)

    for step in (
        joined(index, joining(damaged, "new", HOUR)),
        index.unite(damaged.id, other),
        index.unite(other.id, damaged),
        index.claim(Claim(damaged.id, "breaking")),
    ):
        try:
            await step
        except StoreError as error:  # noqa: PERF203
            assert damaged.id in str(error)  # noqa: PT017
    for question in (index.open_events(), index.take_over(0), index.members(damaged.id), index.summary()):
        await question
    final = await index.final_stories([damaged.id, other.id, "00" * 8])
    assert set(final) <= {damaged.id, other.id}
    last = beginning("last", 30)
    assert (await joined(index, joining(last, "x", HOUR))).items == 2
    if field == "moved":
        assert (await joined(index, joining(other, "new", HOUR))).items == 3
        assert (await index.unite(other.id, last)).items == 5
