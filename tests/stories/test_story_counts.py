"""Every store: what is counted of a story, in bounded space, and the same by all stores."""

import asyncio
from dataclasses import replace

import pytest
from conftest import OpenIndex
from documents import (
    DAY,
    FIRST,
    HOUR,
    MINUTE,
    START,
    Article,
    beginning,
    changed,
    check,
    decision_on,
    join,
    joined,
    joining,
    member,
    members_in,
)

from scrapy_neardup.detector import select
from scrapy_neardup.index import Index
from scrapy_neardup.records.stories import owner_hash
from scrapy_neardup.rules.membership import MOST_ITEM_TIMES, MOST_MEMBERS_KEPT, MOST_SOURCES
from scrapy_neardup.stories.report import languages_of
from scrapy_neardup.story import Claim, Extent, Join, Member


def speaking(name: str, language: str) -> Join:
    return Join(FIRST, replace(member(name, 60, f"{name}.example"), language=language))


async def test_members_come_back_whole_and_in_the_order_they_joined(index: Index) -> None:
    late = Join(FIRST, Member(member("late", 10).id, "https://b.example/x", "Später", "b.example", "b", "update",
                              changes=("dead: 4 -> 12", "hurt: 1 -> 2")))  # fmt: skip
    await joined(index, join("copy", 60, "copy.example", kind="exact"))
    await joined(index, late)
    members = await members_in(index, FIRST.id)
    assert [each.number for each in members] == [1, 2, 3]
    assert [each.title for each in members] == ["first", "copy", "Später"]
    assert [each.seen_at - START for each in members] == [0, 60, 10]
    assert members[1].kind == "exact"
    assert (members[2].owner, members[2].changes) == ("b", ("dead: 4 -> 12", "hurt: 1 -> 2"))


@pytest.mark.in_memory
async def test_sources_of_one_owner_count_once_and_no_source_never(index: Index) -> None:
    await joined(index, join("a", 60, "a.example", owner="press"))
    await joined(index, join("b", 70, "b.example", owner="press"))
    story = await joined(index, join("c", 80))
    assert story.items == 4
    assert story.sources == (START, START + 60)


@pytest.mark.in_memory
async def test_a_late_document_moves_its_source_to_its_earlier_time(index: Index) -> None:
    await joined(index, join("a", 600, "a.example"))
    story = await joined(index, join("b", 60, "a.example"))
    assert story.sources == (START, START + 60)
    assert story.times == (START, START + 60, START + 600)


@pytest.mark.in_memory
async def test_a_flood_is_counted_in_bounded_space(index: Index) -> None:
    joins = [join(f"item {n}", n, f"{n % 600}.example") for n in range(900)]
    stories = await asyncio.gather(*(joined(index, each) for each in joins))
    story = max(stories, key=lambda each: each.items)
    assert (story.items, story.copies) == (901, 900)
    assert len(story.times) == MOST_ITEM_TIMES
    assert story.times[-1] == START + 899
    assert len(story.sources) == MOST_SOURCES
    assert len(await members_in(index, FIRST.id)) <= MOST_MEMBERS_KEPT + MOST_SOURCES


@pytest.mark.in_memory
async def test_who_changes_a_state_is_kept_for_the_report(index: Index) -> None:
    for number in range(MOST_MEMBERS_KEPT + 10):
        await joined(index, join(f"copy {number}", 60, f"{number % 2}.example"))
    await joined(index, changed("news", "0.example", 12))
    tips = changed("more", "1.example", 12, 70)
    await joined(index, tips)
    await joined(index, changed("again", "1.example", 12, 80))
    assert [each.id for each in await members_in(index, FIRST.id)][MOST_MEMBERS_KEPT:] == [tips.member.id]


@pytest.mark.in_memory
async def test_members_that_count_are_counted_by_language(index: Index) -> None:
    for number, language in enumerate(["de", "en", "", "en", "eng", "en"]):
        await joined(index, speaking(f"copy {number}", language))
    await joined(index, replace(speaking("page again", "de"), is_coverage=False))
    found = languages_of(await members_in(index, FIRST.id))
    assert list(found.items()) == [("en", 3), ("de", 1), ("eng", 1)]


@pytest.mark.in_memory
async def test_each_source_has_the_language_of_its_first_item_also_in_a_united_story(index: Index) -> None:
    await joined(index, speaking("a", "ru"))
    moves = beginning("other", 300)
    await joined(index, Join(moves, replace(member("b", 400, "b.example"), language="el")))
    story = await index.stories.unite(FIRST.id, moves)
    assert list(zip(story.sources, story.source_languages, strict=True)) == [
        (START, ""), (START + 60, "RU"), (START + 300, ""), (START + 400, "EL"),
    ]  # fmt: skip


async def test_a_document_counts_at_the_time_that_its_join_gives(index: Index) -> None:
    late = replace(join("late", -5 * HOUR, "late.example"), counted_at=START + 60)
    story = await joined(index, late)
    assert story.times == story.sources == (START, START + 60)
    assert await joined(index, replace(late, counted_at=START + 90)) == story
    await index.events.claim(Claim(FIRST.id, "watch"))
    assert await index.events.quiet(START + 59) == []


@pytest.mark.in_memory
async def test_a_story_lives_as_long_as_documents_join(index: Index) -> None:
    await joined(index, join("copy", 60, "copy.example"))
    for hour in range(1, 30):
        await check(index, Article(f"other {hour}", at=hour * HOUR))
        await check(index, Article(f"another {hour}", at=hour * HOUR + MINUTE))
        story = await joined(index, join(f"copy {hour}", hour * HOUR, "copy.example"))
    assert story.items == 31


# The ledger, whose rules are in tests/rules/test_ledger.py


@pytest.mark.in_memory
async def test_a_story_has_the_states_that_enough_of_its_sources_print(index: Index) -> None:
    assert (await joined(index, changed("news", "a.example", 12))).ledger.states == []
    assert (await joined(index, changed("own", "a.example", 12))).ledger.states == []
    assert (await joined(index, changed("no source", "", 12))).ledger.states == []
    assert (await joined(index, changed("old", "b.example", 4))).ledger.states == []
    story = await joined(index, changed("copy", "c.example", 12))
    assert [each.words for each in story.ledger.states] == ["12"]
    assert story.extent.states == 1
    assert len(story.ledger.printed) == 3


@pytest.mark.in_memory
async def test_a_text_that_resembles_only_a_related_one_and_a_text_without_a_source_say_nothing(index: Index) -> None:
    related = changed("far", "a.example", 12)
    related = replace(related, member=replace(related.member, status="related"), is_coverage=False)
    await joined(index, related)
    story = await joined(index, changed("nobody", "", 12))
    assert story.ledger.printed == []


@pytest.mark.every_store
async def test_documents_at_once_are_counted_once_and_lose_no_figure(open_index: OpenIndex, shared_url: str) -> None:
    indexes = [await open_index(shared_url) for _ in range(3)]
    joins = [changed(f"item {n}", f"{n}.example", n % 3 + 1, at=n) for n in range(60)]
    await asyncio.gather(*(joined(index, each) for index in indexes for each in joins))
    story = await joined(indexes[0], joins[0])
    assert (story.items, len(story.sources)) == (61, 61)
    assert sorted(each.low for each in story.ledger.printed) == sorted(float(n % 3 + 1) for n in range(60))


async def test_a_purge_forgets_what_a_source_printed(index: Index) -> None:
    for source in "abc":
        await joined(index, changed(source, f"{source}.example", 12))
    await index.purge(select("a.example"))
    story = await joined(index, changed("d", "d.example", 4))
    assert len(story.ledger.printed) == 3
    assert {each.owner for each in story.ledger.printed} == {
        owner_hash(member("any", source=f"{source}.example").owner) for source in "bcd"
    }


@pytest.mark.every_store
@pytest.mark.parametrize("level", ["watch", "breaking", "ended"])
async def test_a_level_is_granted_to_one_claim(open_index: OpenIndex, shared_url: str, level: str) -> None:
    indexes = [await open_index(shared_url) for _ in range(3)]
    await joined(indexes[0], join("copy", 60, "copy.example"))
    if level == "ended":
        assert await indexes[0].events.claim(Claim(FIRST.id, "watch"))
    claim = Claim(FIRST.id, level, last_source=START + 60)  # type: ignore[arg-type]
    answers = await asyncio.gather(*(index.events.claim(claim) for index in indexes * 20))
    granted = [answer for answer in answers if answer is not None]
    assert len(granted) == 1
    assert [each.title for each in granted[0].members] == ["first", "copy"]
    assert level in (await joined(indexes[1], join("copy", 60, "copy.example"))).levels


@pytest.mark.in_memory
async def test_levels_come_in_their_order(index: Index) -> None:
    await joined(index, join("copy", 60, "copy.example"))

    async def claims(level: str) -> bool:
        return await index.events.claim(Claim(FIRST.id, level, last_source=START + 60)) is not None  # type: ignore[arg-type]

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
        answers = await asyncio.gather(*(index.events.claim(claim) for index in indexes * 5))
        return sum(answer is not None for answer in answers)

    story = await joined(indexes[0], join("copy", 60, "copy.example"))
    assert await granted(9) == 0  # of what is no event
    await indexes[0].events.claim(Claim(FIRST.id, "watch", extent=Extent(5, 5)))
    assert [await granted(sources) for sources in (9, 10, 11, 19, 20)] == [0, 1, 0, 0, 1]
    assert (await joined(indexes[1], join("copy", 60, "copy.example"))).signalled == Extent(20, 20)
    await indexes[2].events.claim(Claim(FIRST.id, "ended", last_source=story.sources[-1]))
    assert await granted(400) == 0


async def test_open_events_are_listed_until_they_end(index: Index) -> None:
    await joined(index, join("copy", 60, "copy.example"))
    assert await index.events.running() == []
    await index.events.claim(Claim(FIRST.id, "watch"))
    story = await joined(index, join("new", 120, "new.example"))
    assert await index.events.running() == [story]
    assert await index.events.quiet(START + 119) == []
    assert await index.events.quiet(START + 120) == [story]
    assert await index.events.claim(Claim(FIRST.id, "ended", last_source=START + 60)) is None, "a newer one has joined"
    assert await index.events.claim(Claim(FIRST.id, "ended", last_source=START + 120)) is not None
    assert await index.events.running() == []


async def test_the_sources_of_ended_events_are_kept_for_days(index: Index) -> None:
    async def end(first: Member, at: int) -> None:
        await joined(index, joining(first, f"copy {at}", at, "copy.example"))
        await index.events.claim(Claim(first.id, "breaking"))
        await index.events.claim(Claim(first.id, "ended", last_source=START + at))

    sources = (
        (START, owner_hash(FIRST.owner), ""),
        (START + 60, owner_hash(member("any", source="copy.example").owner), ""),
    )
    await end(FIRST, 60)
    assert await index.events.ended(START + 60) == [sources]
    assert await index.events.ended(START + 61) == []
    await end(beginning("second", 7 * DAY), 7 * DAY + 1)
    assert len(await index.events.ended(START)) == 2
    await end(beginning("third", 9 * DAY), 9 * DAY + 1)
    assert len(await index.events.ended(START)) == 2


@pytest.mark.in_memory
async def test_what_was_signalled_never_shrinks(index: Index) -> None:
    await joined(index, join("copy", 60, "copy.example"))
    await index.events.claim(Claim(FIRST.id, "watch", extent=Extent(20, 20, 2)))
    await index.events.claim(Claim(FIRST.id, "breaking", extent=Extent(18, 18, 3)))
    granted = await index.events.claim(Claim(FIRST.id, "update", extent=Extent(50, 50, 3)))
    assert granted.claim.signalled == Extent(20, 20, 3)
    assert (await joined(index, join("copy", 60, "copy.example"))).signalled == Extent(50, 50, 3)


@pytest.mark.in_memory
@pytest.mark.parametrize(("topic", "joins"), [("ABCDEfgh", True), ("VWXYZfgh", False)])
async def test_a_text_like_a_rewrite_joins_if_it_is_still_about_the_first(
    index: Index, topic: str, joins: bool
) -> None:
    first = Article("first", like="rewrite", equal=30, source="a.example", topic="ABCDEijk")
    rewrite = Article("rewrite", source="b.example", topic="ABCDEVWXYZ")
    third = Article("third", like="rewrite", equal=36, source="c.example", topic=topic)
    decisions = [await decision_on(index, each) for each in (first, rewrite, third)]
    assert [(each.verdict.status, each.verdict.match) for each in decisions[1:]] == [
        ("related", first.id),
        ("related", rewrite.id) if joins else ("original", None),
    ]
    assert [each.verdict.story for each in decisions] == [first.id, first.id, first.id if joins else third.id]
    assert [each.join is not None and each.join.is_coverage for each in decisions] == [False, True, joins]
