"""Every store: two stories that turn out to be one are united, and nothing of them is lost or counted twice."""

import pytest
from documents import HOUR, MINUTE, START, beginning, changed, joined, joining, members_in

from scrapy_neardup.detector import select
from scrapy_neardup.index import Index
from scrapy_neardup.rules.membership import MOST_UNITED
from scrapy_neardup.story import CRAWL, Claim, Extent, Member, Story

EARLY, LATE = beginning("early", language="en"), beginning("late", MINUTE, language="de")
"""Of two stories the one with the earlier first document stays."""


async def begin_both(index: Index) -> None:
    """Two stories of three documents each, one of whose sources has a document in both."""
    for each in (
        joining(EARLY, "a", 10 * MINUTE, "a.example"),
        joining(EARLY, "b", 20 * MINUTE, "b.example", status="related"),
        joining(LATE, "c", 30 * MINUTE, "c.example"),
        joining(LATE, "d", 5 * MINUTE, "a.example"),
    ):
        await joined(index, each)


async def unite_both(index: Index) -> Story:
    await begin_both(index)
    return await index.stories.unite(LATE.id, EARLY)


@pytest.mark.in_memory
@pytest.mark.parametrize("asks", ["the earlier", "the later"])
async def test_a_united_story_has_the_counters_of_both(index: Index, asks: str) -> None:
    await begin_both(index)
    story = await (
        index.stories.unite(EARLY.id, LATE) if asks == "the earlier" else index.stories.unite(LATE.id, EARLY)
    )
    assert (story.id, story.united) == (EARLY.id, (LATE.id,))
    assert (story.joined, story.items, story.copies) == (6, 6, 3)
    assert [(each - START) // MINUTE for each in story.times] == [0, 1, 5, 10, 20, 30]
    assert [(each - START) // MINUTE for each in story.sources] == [0, 1, 5, 20, 30]  # the first time of each source


async def test_its_members_are_those_of_both_and_further_ones_are_numbered_behind_them(index: Index) -> None:
    await unite_both(index)
    await joined(index, joining(EARLY, "e", 40 * MINUTE))
    await joined(index, joining(LATE, "f", 41 * MINUTE))
    members = await members_in(index, EARLY.id)
    assert [each.title for each in members] == ["early", "a", "b", "late", "c", "d", "e", "f"]
    assert [each.number for each in members] == [*range(1, 9)]
    assert members[2].status == "related"


async def test_documents_of_the_story_that_moved_join_the_one_that_stays(index: Index) -> None:
    once = await unite_both(index)
    again = await joined(index, joining(LATE, "c", 30 * MINUTE, "c.example"))
    more = await joined(index, joining(LATE, "e", 40 * MINUTE))
    assert again == once
    assert (more.id, more.items, more.joined) == (EARLY.id, 7, 7)
    assert more == await joined(index, joining(EARLY, "e", 40 * MINUTE))


@pytest.mark.in_memory
@pytest.mark.parametrize("raised_by", [EARLY, LATE], ids=["the earlier", "the later"])
async def test_a_level_that_one_of_them_raised_is_not_raised_again(index: Index, raised_by: Member) -> None:
    await begin_both(index)
    await index.events.claim(Claim(raised_by.id, "watch", extent=Extent(4, 3)))
    story = await index.stories.unite(EARLY.id, LATE)
    assert (story.levels, story.signalled) == (("watch",), Extent(4, 3))
    assert await index.events.claim(Claim(EARLY.id, "watch")) is None
    assert await index.events.claim(Claim(EARLY.id, "update", extent=Extent(7, 5))) is None  # it has not doubled
    assert await index.events.claim(Claim(EARLY.id, "update", extent=Extent(9, 6))) is not None
    assert await index.events.claim(Claim(EARLY.id, "breaking")) is not None


@pytest.mark.parametrize("running", ["the earlier", "the later", "both"])
async def test_an_event_that_runs_in_one_of_them_goes_on(index: Index, running: str) -> None:
    await begin_both(index)
    for story in (EARLY, LATE):
        await index.events.claim(Claim(story.id, "breaking"))
        if running not in ("both", "the earlier" if story is EARLY else "the later"):
            assert await index.events.claim(Claim(story.id, "ended", START + HOUR)) is not None
    await index.stories.unite(EARLY.id, LATE)
    (opened,) = await index.events.running()
    assert (opened.id, opened.levels, opened.items) == (EARLY.id, ("watch", "breaking"), 6)
    assert await index.events.quiet(START + 29 * MINUTE) == []
    assert await index.events.quiet(START + 30 * MINUTE) == [opened]
    assert await index.events.claim(Claim(LATE.id, "ended", START + HOUR)) is None
    assert await index.events.claim(Claim(EARLY.id, "ended", START + HOUR)) is not None


async def test_a_grant_of_the_story_that_moved_is_confirmed_once_and_for_all(index: Index) -> None:
    await begin_both(index)
    claim = Claim(LATE.id, "watch", token="0123456789abcdef", item="2a" * 8)
    await index.events.claim(claim)
    await index.stories.unite(EARLY.id, LATE)
    again = await index.events.claim(claim)
    (untold,) = await index.events.take_over(0)
    assert {each.title for each in again.members} == {"early", "a", "b", "late", "c", "d"}
    assert (untold.claim.token, untold.claim.item, untold.story.id) == (claim.token, claim.item, EARLY.id)
    assert [each.title for each in untold.members] == ["early", "a", "b", "late", "c", "d"]
    await index.events.confirm([(claim.token, CRAWL)])
    assert await index.events.take_over(0) == []


async def test_a_chain_of_unions_is_followed_to_its_end(index: Index) -> None:
    """From the last one on, so that each step makes the chain longer."""
    firsts = [beginning(f"first {number}", number) for number in range(14)]
    await joined(index, joining(firsts[-1], "joins the last one", HOUR))
    for one, other in zip(firsts[-2::-1], firsts[:0:-1], strict=True):
        await index.stories.unite(other.id, one)
    others = [each.id for each in firsts[1:]]
    assert await index.stories.final_stories([each.id for each in firsts]) == dict.fromkeys(others, firsts[0].id)
    assert await index.stories.final_stories([beginning("another").id]) == {}
    story = await joined(index, joining(firsts[-1], "joins the last one too", HOUR))
    assert (story.id, story.items, set(story.united)) == (firsts[0].id, 16, set(others))
    assert len(await members_in(index, firsts[0].id)) == 16


@pytest.mark.in_memory
async def test_a_story_takes_in_a_bounded_number_of_others(index: Index) -> None:
    await joined(index, joining(EARLY, "a", HOUR))
    others = [beginning(f"other {number}", MINUTE + number) for number in range(MOST_UNITED + 1)]
    for each in others:
        story = await index.stories.unite(EARLY.id, each)
    assert (story.id, len(story.united), story.items) == (EARLY.id, MOST_UNITED, MOST_UNITED + 2)
    assert others[-1].id not in await index.stories.final_stories([each.id for each in others])
    assert (await joined(index, joining(others[-1], "b", HOUR))).id == others[-1].id
    assert (await joined(index, joining(others[0], "b", HOUR))).id == EARLY.id


async def test_a_purge_after_a_union_removes_the_members_of_both(index: Index) -> None:
    await begin_both(index)
    await joined(index, joining(LATE, "e", HOUR))
    await index.stories.unite(EARLY.id, LATE)
    for source in ("a.example", "late.example"):
        await index.purge(select(source))
    assert [each.title for each in await members_in(index, EARLY.id)] == ["early", "b", "c", "e"]
    story = await joined(index, joining(LATE, "f", 2 * HOUR))
    assert (story.id, story.items) == (EARLY.id, 8)


@pytest.mark.in_memory
async def test_the_figures_of_both_stories_are_in_one_ledger(index: Index) -> None:
    """A source of one story and one of the other make a state together."""
    await joined(index, changed("one", "a.example", 12, first=EARLY))
    await joined(index, changed("two", "b.example", 31, 70, first=LATE))
    await joined(index, changed("three", "c.example", 31, 80, first=LATE))
    story = await index.stories.unite(EARLY.id, LATE)
    assert [each.words for each in story.ledger.states] == ["31"]
    assert await index.stories.unite(EARLY.id, LATE) == story
    story = await joined(index, changed("four", "d.example", 12, 90, first=LATE))
    assert [each.words for each in story.ledger.states] == ["31"], "a toll falls only if the majority prints it"
    assert len(story.ledger.printed) == 4
