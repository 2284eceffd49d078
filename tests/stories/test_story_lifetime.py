"""Every store: a story lives a window longer than its last member."""

from __future__ import annotations

import pytest
from documents import HOUR, MINUTE, Article, check
from joins import FIRST, join, joined

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
