"""Every store: a changed figure is confirmed when enough sources print it."""

from __future__ import annotations

import pytest
from joins import changed, copying, join, joined

from scrapy_neardup.document import Join
from scrapy_neardup.index import Index
from scrapy_neardup.rules.membership import MOST_VALUES


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
