"""Every store: each level and each update of an event is granted once."""

from __future__ import annotations

import asyncio

import pytest
from conftest import OpenIndex
from documents import DAY, START
from joins import FIRST, beginning, join, joined, joining, member

from scrapy_neardup.document import Claim, Extent, Member
from scrapy_neardup.index import Index
from scrapy_neardup.records.stories import owner_hash


@pytest.mark.every_store
@pytest.mark.parametrize("level", ["watch", "breaking", "ended"])
async def test_a_level_is_granted_to_one_claim(open_index: OpenIndex, shared_url: str, level: str) -> None:
    indexes = [await open_index(shared_url) for _ in range(3)]
    await joined(indexes[0], join("copy", 60, "copy.example"))
    if level == "ended":
        assert await indexes[0].claim(Claim(FIRST.id, "watch"))
    claim = Claim(FIRST.id, level, last_source=START + 60)  # type: ignore[arg-type]

    answers = await asyncio.gather(*(index.claim(claim) for index in indexes * 20))

    granted = [answer for answer in answers if answer is not None]
    assert len(granted) == 1
    assert [each.title for each in granted[0].members] == ["first", "copy"]
    assert level in (await joined(indexes[1], join("copy", 60, "copy.example"))).levels


async def test_levels_come_in_their_order(index: Index) -> None:
    await joined(index, join("copy", 60, "copy.example"))

    async def claims(level: str) -> bool:
        return await index.claim(Claim(FIRST.id, level, last_source=START + 60)) is not None  # type: ignore[arg-type]

    assert not await claims("ended")
    assert await claims("watch")
    assert await claims("ended")
    assert not await claims("watch")
    assert await claims("breaking")
    assert not await claims("watch")
    assert await claims("ended")
    assert not await claims("ended")
    assert not await claims("breaking")


async def test_an_update_is_granted_once_each_time_an_event_doubles(open_index: OpenIndex, shared_url: str) -> None:
    indexes = [await open_index(shared_url) for _ in range(3)]

    async def granted(sources: int) -> int:
        claim = Claim(FIRST.id, "update", extent=Extent(items=sources, sources=sources))
        answers = await asyncio.gather(*(index.claim(claim) for index in indexes * 5))
        return sum(answer is not None for answer in answers)

    story = await joined(indexes[0], join("copy", 60, "copy.example"))
    assert await granted(9) == 0  # of what is no event
    await indexes[0].claim(Claim(FIRST.id, "watch", extent=Extent(5, 5)))
    assert [await granted(sources) for sources in (9, 10, 11, 19, 20)] == [0, 1, 0, 0, 1]
    assert (await joined(indexes[1], join("copy", 60, "copy.example"))).signalled == (20, 20, 0)

    await indexes[2].claim(Claim(FIRST.id, "ended", last_source=story.sources[-1]))
    assert await granted(400) == 0


async def test_an_event_does_not_end_while_a_newer_source_has_joined(index: Index) -> None:
    await joined(index, join("copy", 60, "copy.example"))
    await index.claim(Claim(FIRST.id, "breaking"))
    await joined(index, join("new", 120, "new.example"))

    assert await index.claim(Claim(FIRST.id, "ended", last_source=START + 60)) is None
    assert await index.claim(Claim(FIRST.id, "ended", last_source=START + 120)) is not None


async def test_open_events_are_listed_until_they_end(index: Index) -> None:
    await joined(index, join("copy", 60, "copy.example"))
    assert await index.open_events() == []

    await index.claim(Claim(FIRST.id, "watch"))
    story = await joined(index, join("new", 120, "new.example"))

    assert await index.open_events() == [story]
    assert await index.open_events(START + 119) == []
    assert await index.open_events(START + 120) == [story]

    await index.claim(Claim(FIRST.id, "ended", last_source=START + 120))
    assert await index.open_events() == []


async def test_the_sources_of_ended_events_are_kept_for_days(index: Index) -> None:
    async def end(first: Member, at: int) -> None:
        await joined(index, joining(first, f"copy {at}", at, "copy.example"))
        await index.claim(Claim(first.id, "breaking"))
        await index.claim(Claim(first.id, "ended", last_source=START + at))

    sources = ((START, owner_hash(FIRST)), (START + 60, owner_hash(member("any", source="copy.example"))))
    await end(FIRST, 60)
    assert await index.ended_events(START + 60) == [sources]
    assert await index.ended_events(START + 61) == []

    await end(beginning("second", 7 * DAY), 7 * DAY + 1)
    assert len(await index.ended_events(START)) == 2
    await end(beginning("third", 9 * DAY), 9 * DAY + 1)
    assert len(await index.ended_events(START)) == 2


async def test_what_was_signalled_never_shrinks(index: Index) -> None:
    await joined(index, join("copy", 60, "copy.example"))
    await index.claim(Claim(FIRST.id, "watch", extent=Extent(20, 20, 2)))
    await index.claim(Claim(FIRST.id, "breaking", extent=Extent(18, 18, 3)))

    granted = await index.claim(Claim(FIRST.id, "update", extent=Extent(50, 50, 3)))
    assert granted is not None
    assert granted.claim.signalled == (20, 20, 3)
    assert (await joined(index, join("copy", 60, "copy.example"))).signalled == (50, 50, 3)
