"""Every store: what is counted of a story, in bounded space, and the same by all stores."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from conftest import OpenIndex
from documents import HOUR, MINUTE, START, Article, check
from joins import FIRST, changed, copying, join, joined, member, speaking

from scrapy_neardup.detector import select
from scrapy_neardup.document import Claim, Join, Member, Neighbour
from scrapy_neardup.index import Index
from scrapy_neardup.rules.membership import (
    MOST_ITEM_TIMES,
    MOST_MEMBERS_KEPT,
    MOST_NEIGHBOURS,
    MOST_SOURCES,
    MOST_VALUES,
)


async def test_members_come_back_whole_and_in_the_order_they_joined(index: Index) -> None:
    late = Join(FIRST, Member(member("late", 10).id, "https://b.example/x", "Später", "b.example", "b", "update",
                              changes=("dead: 4 -> 12", "hurt: 1 -> 2")))  # fmt: skip
    await joined(index, join("copy", 60, "copy.example", kind="exact"))
    await joined(index, late)

    members = await index.members(FIRST.id)

    assert [each.number for each in members] == [1, 2, 3]
    assert [each.title for each in members] == ["first", "copy", "Später"]
    assert [each.seen_at - START for each in members] == [0, 60, 10]
    assert members[1].kind == "exact"
    assert (members[2].owner, members[2].changes) == ("b", ("dead: 4 -> 12", "hurt: 1 -> 2"))


async def test_joining_again_changes_nothing(index: Index) -> None:
    once = await joined(index, join("copy", 60, "copy.example"))
    again = [await joined(index, join("copy", 60, "copy.example")) for _ in range(3)]

    assert again == [once] * 3
    assert len(await index.members(FIRST.id)) == 2


async def test_sources_of_one_owner_count_once_and_no_source_never(index: Index) -> None:
    await joined(index, join("a", 60, "a.example", owner="press"))
    await joined(index, join("b", 70, "b.example", owner="press"))
    story = await joined(index, join("c", 80))

    assert story.items == 4
    assert story.sources == (START, START + 60)


async def test_a_late_document_moves_its_source_to_its_earlier_time(index: Index) -> None:
    await joined(index, join("a", 600, "a.example"))
    story = await joined(index, join("b", 60, "a.example"))

    assert story.sources == (START, START + 60)
    assert story.times == (START, START + 60, START + 600)


async def test_a_flood_is_counted_in_bounded_space(index: Index) -> None:
    joins = [join(f"item {n}", n, f"{n % 600}.example") for n in range(900)]

    story = (await asyncio.gather(*(joined(index, each) for each in joins)))[-1]

    assert (story.items, story.copies) == (901, 900)
    assert len(story.times) == MOST_ITEM_TIMES
    assert story.times[-1] == START + 899
    assert len(story.sources) == MOST_SOURCES
    assert len(await index.members(FIRST.id)) <= MOST_MEMBERS_KEPT + MOST_SOURCES


@pytest.mark.every_store
async def test_joins_at_once_are_each_counted_once(open_index: OpenIndex, shared_url: str) -> None:
    indexes = [await open_index(shared_url) for _ in range(3)]
    joins = [join(f"item {n}", n, f"{n}.example") for n in range(100)]

    await asyncio.gather(*(joined(index, each) for index in indexes for each in joins))
    story = await joined(indexes[0], joins[0])

    assert (story.items, len(story.sources)) == (101, 101)


async def test_who_brings_a_new_value_is_kept_for_the_report(index: Index) -> None:
    for number in range(MOST_MEMBERS_KEPT + 10):
        await joined(index, join(f"copy {number}", 60, "a.example"))
    bearer = changed("news", "a.example", "12")
    await joined(index, bearer)
    await joined(index, changed("again", "a.example", "12"))

    assert [each.id for each in await index.members(FIRST.id)][MOST_MEMBERS_KEPT:] == [bearer.member.id]


async def test_items_are_counted_by_language(index: Index) -> None:
    for number, language in enumerate(["de", "en", "", "en", "eng", "en"]):
        await joined(index, speaking(f"copy {number}", language))
    story = await joined(index, replace(speaking("page again", "de"), is_coverage=False))

    assert story.languages == (("en", 3), ("de", 1), ("eng", 1))
    assert [each.language for each in await index.members(FIRST.id)] == ["", "de", "en", "", "en", "eng", "en", "de"]


async def test_other_stories_are_noted_once_each_and_never_the_story_itself(index: Index) -> None:
    fire = Neighbour(member("fire").id, "https://a.example/Straße", "Feuer")
    others = [Neighbour(member(f"other {number}").id, "", "") for number in range(MOST_NEIGHBOURS)]
    itself = Neighbour(FIRST.id, "https://wire.example/first", "first")

    for number, each in enumerate([fire, itself, fire, *others, others[0]]):
        story = await joined(index, replace(join(f"copy {number}", 60, "copy.example"), neighbour=each))

    assert story.neighbours == (fire, *others[:-1])
    assert (await joined(index, join("last", 60, "copy.example"))).neighbours == story.neighbours


async def test_a_purged_source_or_page_is_no_neighbour(index: Index) -> None:
    urls = ("https://www.fire.example/a", "https://notfire.example/a", "https://flood.example/b", "http://[cut")
    for url in urls:
        each = Neighbour(member(url).id, url, "")
        await joined(index, replace(join(f"of {url}", 60, "copy.example"), neighbour=each))

    await index.purge(select("fire.example"))
    await index.purge(select(url=urls[2]))

    story = await joined(index, join("last", 60, "copy.example"))
    assert [each.url for each in story.neighbours] == [urls[1], urls[3]]


async def test_a_document_counts_at_the_time_that_its_join_gives(index: Index) -> None:
    late = replace(join("late", -5 * HOUR, "late.example"), counted_at=START + 60)

    story = await joined(index, late)

    assert story.times == story.sources == (START, START + 60)
    assert await joined(index, replace(late, counted_at=START + 90)) == story
    await index.claim(Claim(FIRST.id, "watch"))
    assert await index.open_events(START + 59) == []


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


# Changed figures, which are confirmed when enough sources print them


async def changes_after(index: Index, each: Join) -> list[tuple[str, int]]:
    return list((await joined(index, each)).changes)


async def test_in_a_small_story_a_second_source_confirms_a_change(index: Index) -> None:
    bearer = changed("news", "a.example", "12")

    assert await changes_after(index, bearer) == []
    assert await changes_after(index, copying("own copy", "a.example", "12")) == []
    assert await changes_after(index, copying("no source", "", "12")) == []
    assert await changes_after(index, copying("old copy", "b.example", "4")) == []
    assert await changes_after(index, copying("copy", "c.example", "7", "12")) == [(bearer.member.id, 0)]
    assert await changes_after(index, copying("third", "d.example", "12")) == [(bearer.member.id, 0)]


@pytest.mark.parametrize(("papers", "needed"), [(4, 2), (5, 3), (7, 4), (11, 6), (40, 6)])
async def test_a_third_of_the_sources_confirms_a_change_and_six_always_do(
    index: Index, papers: int, needed: int
) -> None:
    """Of all sources of the story, those that print the change too. ``papers`` are the others."""
    for number in range(papers - 1):
        await joined(index, join(f"{number}", number, f"{number}.example"))
    bearer = changed("news", "a0.example", "12")
    await joined(index, bearer)
    for number in range(1, needed - 1):
        for name in ("copy", "again"):
            assert await changes_after(index, copying(f"{name} {number}", f"a{number}.example", "12")) == []

    assert await changes_after(index, copying("last", "last.example", "12")) == [(bearer.member.id, 0)]


async def test_each_of_several_changes_is_confirmed_by_itself(index: Index) -> None:
    bearer = changed("news", "a.example", "12", "30", "31")

    await joined(index, bearer)
    assert await changes_after(index, copying("one", "b.example", "31")) == [(bearer.member.id, 2)]
    assert await changes_after(index, copying("both", "c.example", "12", "31")) == [
        (bearer.member.id, 2),
        (bearer.member.id, 0),
    ]


async def test_what_was_said_before_a_change_is_no_news(index: Index) -> None:
    await joined(index, changed("news", "a.example", "12"))
    await joined(index, changed("late", "b.example", "4", before="12"))

    confirmed = await changes_after(index, copying("copy", "c.example", "4"))

    assert confirmed == []


async def test_a_table_of_figures_takes_bounded_space(index: Index) -> None:
    for number in range(20):
        await joined(index, changed(f"a{number}", "a.example", *(f"{number} {row}" for row in range(16))))

    within, beyond = f"{MOST_VALUES // 16 - 1} 3", f"{MOST_VALUES // 16 + 1} 3"
    assert len(await changes_after(index, copying("within", "b.example", within))) == 1
    assert len(await changes_after(index, copying("beyond", "b.example", beyond))) == 1
