"""Every store: a story lives a window longer than its last member."""

from __future__ import annotations

import pytest
from conftest import OpenIndex
from documents import HOUR, MINUTE, Article, check
from joins import FIRST, join, joined
from redis import Redis

from scrapy_neardup.document import Claim
from scrapy_neardup.index import Index


@pytest.mark.every_store
async def test_a_story_is_gone_a_window_after_its_last_member(index: Index) -> None:
    await joined(index, join("copy", 60, "copy.example"))

    for hour in range(30):  # two documents an hour: they agree on the time
        await check(index, Article(f"other {hour}", at=hour * HOUR))
        await check(index, Article(f"another {hour}", at=hour * HOUR + MINUTE))

    assert await index.members(FIRST.id) == ()
    assert (await joined(index, join("new", 30 * HOUR, "new.example"))).items == 2


async def test_a_story_lives_as_long_as_documents_join(index: Index) -> None:
    await joined(index, join("copy", 60, "copy.example"))
    for hour in range(1, 30):
        await check(index, Article(f"other {hour}", at=hour * HOUR))
        await check(index, Article(f"another {hour}", at=hour * HOUR + MINUTE))
        story = await joined(index, join(f"copy {hour}", hour * HOUR, "copy.example"))

    assert story.items == 31


async def test_all_keys_of_a_script_are_declared(redis_url: str, open_index: OpenIndex, namespace: str) -> None:
    """As a user who may touch no other key: a cluster and an ACL see them."""
    with Redis.from_url(redis_url) as admin:
        admin.acl_setuser(namespace, enabled=True, passwords=["+secret"], keys=[f"{{neardup:{namespace}*"],
                          categories=["+@all"])  # fmt: skip
        try:
            scheme, _, rest = redis_url.partition("://")
            index = await open_index(f"{scheme}://{namespace}:secret@{rest.rpartition('@')[2]}")
            assert (await joined(index, join("copy", 60, "copy.example"))).items == 2
            assert await index.claim(Claim(FIRST.id, "watch"))
        finally:
            admin.acl_deluser(namespace)
