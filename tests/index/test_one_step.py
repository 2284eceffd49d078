"""A document and its place in a story are written in one step: no crash leaves a document without its story."""

from __future__ import annotations

import pytest
from faults import Network
from newsdesk import MINUTE, opened
from servers import RedisServer


@pytest.mark.parametrize("answers", range(10))
async def test_a_copy_is_registered_with_its_story_or_not_at_all(
    redis_server: RedisServer, namespace: str, answers: int
) -> None:
    """The store goes away after so many answers to the crawler that judges the copy."""
    network = Network(redis_server.port)
    async with opened(store=redis_server.url, namespace=namespace) as room:
        original = await room.publish("fire", "wire", 0)
        async with opened(store=network.url, namespace=namespace) as other:
            network.lose_answers(99, after=answers)
            await other.publish("fire", "copier", MINUTE)
            network.lose_answers(0)
        registered = len(await room.detector.index.records()) == 2
        members = await room.detector.index.members(original.story or "")

    assert [each.source for each in members] == (["wire.example", "copier.example"] if registered else [])
