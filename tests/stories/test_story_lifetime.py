"""Every store: a story lives a window longer than its last member."""

from __future__ import annotations

import pytest
from conftest import OpenIndex
from documents import DAY, HOUR, MINUTE, START, Article, check
from joins import FIRST, join, joined
from redis import Redis

from scrapy_neardup.document import Claim
from scrapy_neardup.index import Index, Policy


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


async def test_every_story_key_expires_with_the_window(open_index: OpenIndex, redis_url: str, namespace: str) -> None:
    index = await open_index(redis_url)
    await joined(index, join("ahead", DAY, "ahead.example"))
    await joined(index, join("copy", 60, "copy.example"))
    await index.claim(Claim(FIRST.id, "watch"))
    await joined(index, join("new", 120, "new.example"))
    await index.claim(Claim(FIRST.id, "ended", last_source=START + DAY))
    await index.claim(Claim(FIRST.id, "breaking"))

    with Redis.from_url(redis_url) as client:
        lives = {name.decode(): client.ttl(name) for name in client.scan_iter(match=f"{{neardup:{namespace}*")}

    kinds = {name.rpartition("}:")[2].partition(":")[0] for name in lives}
    assert kinds == {"records", "bands", "story", "stories", "events", "ended"}
    assert all(0 < seconds <= 8 * DAY for seconds in lives.values())
    assert all(0 < seconds <= 2 * DAY for name, seconds in lives.items() if ":ended" not in name)


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


async def test_idle_stories_vanish_with_their_namespace(open_index: OpenIndex, tmp_path: object) -> None:
    import sqlite3
    from contextlib import closing

    url = f"sqlite:///{tmp_path}/window.sqlite"
    index = await open_index(url)
    await joined(index, join("copy", 60, "copy.example"))
    await index.close()
    with closing(sqlite3.connect(f"{tmp_path}/window.sqlite", isolation_level=None)) as sql:
        sql.execute("UPDATE spaces SET expires = expires - ?, idle_since = expires - ?", (2 * DAY, 3 * DAY))

    await open_index(url, namespace="other")

    with closing(sqlite3.connect(f"{tmp_path}/window.sqlite")) as sql:
        tables = [name for (name,) in sql.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert len([name for name in tables if name.startswith(("stories", "members", "ended"))]) == 3


async def test_a_window_of_two_hours_has_stories_too(open_index: OpenIndex, store_url: str) -> None:
    index = await open_index(store_url, Policy(window=2 * HOUR))

    assert (await joined(index, join("copy", 60, "copy.example"))).items == 2
