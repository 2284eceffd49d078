"""Stories: what every store counts of them, and to whom it grants a level."""

from __future__ import annotations

import asyncio
import random
import struct
from dataclasses import replace

import pytest
from conftest import USUAL, OpenIndex
from documents import DAY, HOUR, MINUTE, START, Article, check, digest
from redis import Redis

from scrapy_neardup.document import Claim, Extent, Join, Kind, Member, Neighbour, Status, Story
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index import Index, Policy, Selection
from scrapy_neardup.index.membership import (
    MOST_ITEM_TIMES,
    MOST_LANGUAGES,
    MOST_MEMBERS_KEPT,
    MOST_NEIGHBOURS,
    MOST_SOURCES,
    MOST_VALUES,
)
from scrapy_neardup.records.members import pack_member, unpack_member
from scrapy_neardup.records.neighbours import pack_neighbour, unpack_neighbours


def member(
    name: str, at: float = 0, source: str = "", owner: str = "", status: Status = "duplicate", kind: Kind | None = None
) -> Member:
    key = struct.pack(">I", int(START + at)) + digest(name, 4)
    return Member(key.hex(), f"https://{source}/{name}", name, source, owner or source, status, kind)


FIRST = member("first", source="wire.example", status="original")


def join(name: str, at: float = 0, source: str = "", **more: str) -> Join:
    return Join(FIRST, member(name, at, source, **more))  # type: ignore[arg-type]


def changed(name: str, source: str, *values: str, before: str = "4", also: str = "") -> Join:
    """A text in which figures changed from one value to others; it says those, and what it says beside them."""
    lines = tuple(f"dead: {before} -> {value}" for value in values)
    return Join(
        FIRST,
        replace(member(name, 60, source, status="update"), changes=lines),
        figures_before=said(before) * len(values),
        figures_after=b"".join(map(said, values)),
        figures=b"".join(map(said, values)) + said(also),
    )


def copying(name: str, source: str, *values: str) -> Join:
    """A text that says so, and differs in no figure from what it is a copy of."""
    return replace(join(name, 70, source), figures=b"".join(map(said, values)))


def said(value: str) -> bytes:
    return digest(value, 4)


def speaking(name: str, language: str) -> Join:
    return Join(FIRST, replace(member(name, 60, f"{name}.example"), language=language))


async def test_the_original_is_the_first_member(index: Index) -> None:
    story = await index.join(join("copy", 60, "copy.example"))

    assert story.id == FIRST.id
    assert (story.items, story.copies, story.joined) == (2, 1, 2)
    assert story.times == (START, START + 60)
    assert story.sources == (START, START + 60)
    assert story.levels == ()


@pytest.mark.every_store
async def test_members_come_back_whole_and_in_the_order_they_joined(index: Index) -> None:
    late = Join(FIRST, Member(member("late", 10).id, "https://b.example/x", "Später", "b.example", "b", "update",
                              changes=("dead: 4 -> 12", "hurt: 1 -> 2")))  # fmt: skip
    await index.join(join("copy", 60, "copy.example", kind="exact"))
    await index.join(late)

    members = await index.members(FIRST.id)

    assert [each.number for each in members] == [1, 2, 3]
    assert [each.title for each in members] == ["first", "copy", "Später"]
    assert [each.seen_at - START for each in members] == [0, 60, 10]
    assert members[1].kind == "exact"
    assert (members[2].owner, members[2].changes) == ("b", ("dead: 4 -> 12", "hurt: 1 -> 2"))


async def test_joining_again_changes_nothing(index: Index) -> None:
    once = await index.join(join("copy", 60, "copy.example"))
    again = [await index.join(join("copy", 60, "copy.example")) for _ in range(3)]

    assert again == [once] * 3
    assert len(await index.members(FIRST.id)) == 2


async def test_a_page_that_changed_is_no_further_item(index: Index) -> None:
    changed = Join(FIRST, member("changed", 60, "wire.example", status="update"), counted=False)

    story = await index.join(changed)
    again = await index.join(changed)

    assert story == again
    assert (story.items, story.joined, len(story.sources)) == (1, 2, 1)
    assert [each.status for each in await index.members(FIRST.id)] == ["original", "update"]


async def test_sources_of_one_owner_count_once_and_no_source_never(index: Index) -> None:
    await index.join(join("a", 60, "a.example", owner="press"))
    await index.join(join("b", 70, "b.example", owner="press"))
    story = await index.join(join("c", 80))

    assert story.items == 4
    assert story.sources == (START, START + 60)


async def test_a_late_document_moves_its_source_to_its_earlier_time(index: Index) -> None:
    await index.join(join("a", 600, "a.example"))
    story = await index.join(join("b", 60, "a.example"))

    assert story.sources == (START, START + 60)
    assert story.times == (START, START + 60, START + 600)


async def test_a_flood_is_counted_in_bounded_space(index: Index) -> None:
    joins = [join(f"item {n}", n, f"{n % 600}.example") for n in range(900)]

    story = (await asyncio.gather(*map(index.join, joins)))[-1]

    assert (story.items, story.copies) == (901, 900)
    assert len(story.times) == MOST_ITEM_TIMES
    assert story.times[-1] == START + 899
    assert len(story.sources) == MOST_SOURCES
    assert len(await index.members(FIRST.id)) <= MOST_MEMBERS_KEPT + MOST_SOURCES


@pytest.mark.every_store
async def test_joins_at_once_are_each_counted_once(open_index: OpenIndex, shared_url: str) -> None:
    indexes = [await open_index(shared_url) for _ in range(3)]
    joins = [join(f"item {n}", n, f"{n}.example") for n in range(100)]

    await asyncio.gather(*(index.join(each) for index in indexes for each in joins))
    story = await indexes[0].join(joins[0])

    assert (story.items, len(story.sources)) == (101, 101)


@pytest.mark.every_store
@pytest.mark.parametrize("level", ["watch", "breaking", "ended"])
async def test_a_level_is_granted_to_one_claim(open_index: OpenIndex, shared_url: str, level: str) -> None:
    indexes = [await open_index(shared_url) for _ in range(3)]
    await indexes[0].join(join("copy", 60, "copy.example"))
    if level == "ended":
        assert await indexes[0].claim(Claim(FIRST.id, "watch"))
    claim = Claim(FIRST.id, level, last_source=START + 60)  # type: ignore[arg-type]

    answers = await asyncio.gather(*(index.claim(claim) for index in indexes * 20))

    granted = [answer for answer in answers if answer is not None]
    assert len(granted) == 1
    assert [each.title for each in granted[0].members] == ["first", "copy"]
    assert level in (await indexes[1].join(join("copy", 60, "copy.example"))).levels


async def test_levels_come_in_their_order(index: Index) -> None:
    await index.join(join("copy", 60, "copy.example"))

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


@pytest.mark.every_store
async def test_an_update_is_granted_once_each_time_an_event_doubles(open_index: OpenIndex, shared_url: str) -> None:
    indexes = [await open_index(shared_url) for _ in range(3)]

    async def granted(sources: int) -> int:
        claim = Claim(FIRST.id, "update", extent=Extent(items=sources, sources=sources))
        answers = await asyncio.gather(*(index.claim(claim) for index in indexes * 5))
        return sum(answer is not None for answer in answers)

    story = await indexes[0].join(join("copy", 60, "copy.example"))
    assert await granted(9) == 0  # of what is no event
    await indexes[0].claim(Claim(FIRST.id, "watch", extent=Extent(5, 5)))
    assert [await granted(sources) for sources in (9, 10, 11, 19, 20)] == [0, 1, 0, 0, 1]
    assert (await indexes[1].join(join("copy", 60, "copy.example"))).signalled == (20, 20, 0)

    await indexes[2].claim(Claim(FIRST.id, "ended", last_source=story.sources[-1]))
    assert await granted(400) == 0


async def test_a_story_of_one_source_doubles_by_its_items(index: Index) -> None:
    await index.join(join("copy", 60, "wire.example"))
    await index.claim(Claim(FIRST.id, "breaking", extent=Extent(16, 1)))

    assert await index.claim(Claim(FIRST.id, "update", extent=Extent(31, 1))) is None
    assert await index.claim(Claim(FIRST.id, "update", extent=Extent(32, 1))) is not None


async def test_what_was_signalled_never_shrinks(index: Index) -> None:
    await index.join(join("copy", 60, "copy.example"))
    await index.claim(Claim(FIRST.id, "watch", extent=Extent(20, 20, 2)))
    await index.claim(Claim(FIRST.id, "breaking", extent=Extent(18, 18, 3)))

    granted = await index.claim(Claim(FIRST.id, "update", extent=Extent(50, 50, 3)))
    assert granted is not None
    assert granted.signalled == (20, 20, 3)
    assert (await index.join(join("copy", 60, "copy.example"))).signalled == (50, 50, 3)


async def changes_after(index: Index, each: Join) -> list[tuple[str, int]]:
    return list((await index.join(each)).changes)


@pytest.mark.every_store
async def test_a_figure_has_changed_when_a_second_source_prints_the_change(index: Index) -> None:
    bearer = changed("news", "a.example", "12")

    assert await changes_after(index, bearer) == []
    assert await changes_after(index, copying("own copy", "a.example", "12")) == []
    assert await changes_after(index, copying("no source", "", "12")) == []
    assert await changes_after(index, copying("old copy", "b.example", "4")) == []
    assert await changes_after(index, copying("copy", "c.example", "7", "12")) == [(bearer.member.id, 0)]
    assert await changes_after(index, copying("third", "d.example", "12")) == [(bearer.member.id, 0)]


async def test_a_copy_with_another_value_confirms_nothing(index: Index) -> None:
    assert await changes_after(index, changed("one", "a.example", "12")) == []
    assert await changes_after(index, changed("other", "b.example", "15", before="12")) == []


async def test_each_of_several_changes_is_confirmed_by_itself(index: Index) -> None:
    bearer = changed("news", "a.example", "12", "30", "31")

    await index.join(bearer)
    assert await changes_after(index, copying("one", "b.example", "31")) == [(bearer.member.id, 2)]
    assert await changes_after(index, copying("both", "c.example", "12", "31")) == [
        (bearer.member.id, 2),
        (bearer.member.id, 0),
    ]


async def test_a_change_that_nobody_owns_needs_two_sources(index: Index) -> None:
    bearer = changed("news", "", "12")

    assert await changes_after(index, bearer) == []
    assert await changes_after(index, copying("one", "b.example", "12")) == []
    assert await changes_after(index, copying("same", "b.example", "12")) == []
    assert await changes_after(index, copying("two", "c.example", "12")) == [(bearer.member.id, 0)]


async def test_what_was_said_before_a_change_is_no_news(index: Index) -> None:
    await index.join(changed("news", "a.example", "12"))
    await index.join(changed("late", "b.example", "4", before="12"))

    confirmed = await changes_after(index, copying("copy", "c.example", "4"))

    assert confirmed == []


async def test_a_digest_says_no_one_thing(index: Index) -> None:
    digests = {"figures_before": bytes(4), "figures_after": bytes(4), "figures": bytes(4)}

    for source in ("a.example", "b.example", "c.example"):
        assert await changes_after(index, replace(changed(source, source, "1"), **digests)) == []


async def test_a_table_of_figures_takes_bounded_space(index: Index) -> None:
    for number in range(20):
        await index.join(changed(f"a{number}", "a.example", *(f"{number} {row}" for row in range(16))))

    within, beyond = f"{MOST_VALUES // 16 - 1} 3", f"{MOST_VALUES // 16 + 1} 3"
    assert len(await changes_after(index, copying("within", "b.example", within))) == 1
    assert len(await changes_after(index, copying("beyond", "b.example", beyond))) == 1


async def test_who_brings_a_new_value_is_kept_for_the_report(index: Index) -> None:
    for number in range(MOST_MEMBERS_KEPT + 10):
        await index.join(join(f"copy {number}", 60, "a.example"))
    bearer = changed("news", "a.example", "12")
    await index.join(bearer)
    await index.join(changed("again", "a.example", "12"))

    assert [each.id for each in await index.members(FIRST.id)][MOST_MEMBERS_KEPT:] == [bearer.member.id]


@pytest.mark.every_store
async def test_items_are_counted_by_language(index: Index) -> None:
    for number, language in enumerate(["de", "en", "", "en", "eng", "en"]):
        await index.join(speaking(f"copy {number}", language))
    story = await index.join(replace(speaking("page again", "de"), counted=False))

    assert story.languages == (("en", 3), ("de", 1), ("eng", 1))
    assert [each.language for each in await index.members(FIRST.id)] == ["", "de", "en", "", "en", "eng", "en", "de"]


async def test_languages_take_bounded_space(index: Index) -> None:
    codes = [f"{a}{b}" for a in "abcd" for b in "wxyz1"]
    for number, code in enumerate(codes * 2):
        story = await index.join(speaking(f"copy {number}", code))

    assert dict(story.languages) == dict.fromkeys(codes[:MOST_LANGUAGES], 2)


@pytest.mark.every_store
async def test_other_stories_are_noted_once_each_and_never_the_story_itself(index: Index) -> None:
    fire = Neighbour(member("fire").id, "https://a.example/Straße", "Feuer")
    others = [Neighbour(member(f"other {number}").id, "", "") for number in range(MOST_NEIGHBOURS)]
    itself = Neighbour(FIRST.id, "https://wire.example/first", "first")

    for number, each in enumerate([fire, itself, fire, *others, others[0]]):
        story = await index.join(replace(join(f"copy {number}", 60, "copy.example"), neighbour=each))

    assert story.neighbours == (fire, *others[:-1])
    assert (await index.join(join("last", 60, "copy.example"))).neighbours == story.neighbours


@pytest.mark.every_store
async def test_a_purged_source_or_page_is_no_neighbour(index: Index) -> None:
    urls = ("https://www.fire.example/a", "https://notfire.example/a", "https://flood.example/b", "http://[cut")
    for url in urls:
        each = Neighbour(member(url).id, url, "")
        await index.join(replace(join(f"of {url}", 60, "copy.example"), neighbour=each))

    await index.purge(Selection("fire.example", digest("fire.example", 4)))
    await index.purge(Selection(url_hash=digest("flood.example"), is_page=urls[2].__eq__))

    story = await index.join(join("last", 60, "copy.example"))
    assert [each.url for each in story.neighbours] == [urls[1], urls[3]]


def test_damaged_neighbours_are_an_error() -> None:
    packed = pack_neighbour(Neighbour(FIRST.id, "https://a.example/", "A title"))

    assert len(unpack_neighbours(packed * 2)) == 2
    for wrong in (packed[:-1], packed + b"x", packed[:5]):
        with pytest.raises(StoreError):
            unpack_neighbours(wrong)


async def test_a_story_nobody_joined_grants_nothing(index: Index) -> None:
    assert await index.claim(Claim(FIRST.id, "watch")) is None
    assert await index.members(FIRST.id) == ()


async def test_an_event_does_not_end_while_a_newer_source_has_joined(index: Index) -> None:
    await index.join(join("copy", 60, "copy.example"))
    await index.claim(Claim(FIRST.id, "breaking"))
    await index.join(join("new", 120, "new.example"))

    assert await index.claim(Claim(FIRST.id, "ended", last_source=START + 60)) is None
    assert await index.claim(Claim(FIRST.id, "ended", last_source=START + 120)) is not None


@pytest.mark.every_store
async def test_open_events_are_listed_until_they_end(index: Index) -> None:
    await index.join(join("copy", 60, "copy.example"))
    assert await index.open_events() == []

    await index.claim(Claim(FIRST.id, "watch"))
    story = await index.join(join("new", 120, "new.example"))

    assert await index.open_events() == [story]
    assert await index.open_events(START + 119) == []
    assert await index.open_events(START + 120) == [story]

    await index.claim(Claim(FIRST.id, "ended", last_source=START + 120, peak=7))
    assert await index.open_events() == []


@pytest.mark.every_store
async def test_peaks_of_ended_events_are_kept_for_days(index: Index) -> None:
    await index.join(join("copy", 60, "copy.example"))
    await index.claim(Claim(FIRST.id, "watch"))
    await index.claim(Claim(FIRST.id, "ended", last_source=START + 60, peak=7))

    assert await index.peaks(START) == {FIRST.id: 7}
    assert await index.peaks(START + 1) == {}
    assert await index.peaks(START) == {}


async def test_levels_survive_a_restart(open_index: OpenIndex, shared_url: str) -> None:
    before = await open_index(shared_url)
    await before.join(join("copy", 60, "copy.example"))
    await before.claim(Claim(FIRST.id, "breaking"))
    await before.close()

    after = await open_index(shared_url)

    assert await after.claim(Claim(FIRST.id, "breaking")) is None
    assert [story.id for story in await after.open_events()] == [FIRST.id]


@pytest.mark.every_store
async def test_a_story_is_gone_a_window_after_its_last_member(index: Index) -> None:
    await index.join(join("copy", 60, "copy.example"))

    for hour in range(30):  # two documents an hour: they agree on the time
        await check(index, Article(f"other {hour}", at=hour * HOUR))
        await check(index, Article(f"another {hour}", at=hour * HOUR + MINUTE))

    assert await index.members(FIRST.id) == ()
    assert (await index.join(join("new", 30 * HOUR, "new.example"))).items == 2


async def test_a_story_lives_as_long_as_documents_join(index: Index) -> None:
    await index.join(join("copy", 60, "copy.example"))
    for hour in range(1, 30):
        await check(index, Article(f"other {hour}", at=hour * HOUR))
        await check(index, Article(f"another {hour}", at=hour * HOUR + MINUTE))
        story = await index.join(join(f"copy {hour}", hour * HOUR, "copy.example"))

    assert story.items == 31


async def test_every_story_key_expires_with_the_window(open_index: OpenIndex, redis_url: str, namespace: str) -> None:
    index = await open_index(redis_url)
    await index.join(join("ahead", DAY, "ahead.example"))
    await index.join(join("copy", 60, "copy.example"))
    await index.claim(Claim(FIRST.id, "watch"))
    await index.join(join("new", 120, "new.example"))
    await index.claim(Claim(FIRST.id, "ended", last_source=START + DAY, peak=7))
    await index.claim(Claim(FIRST.id, "breaking"))

    with Redis.from_url(redis_url) as client:
        lives = {name.decode(): client.ttl(name) for name in client.scan_iter(match=f"{{neardup:{namespace}*")}

    assert {name.rpartition("}:")[2].partition(":")[0] for name in lives} == {"story", "stories", "events", "peaks"}
    assert all(0 < seconds <= 8 * DAY for seconds in lives.values())
    assert all(0 < seconds <= 2 * DAY for name, seconds in lives.items() if "peaks" not in name)


async def test_all_keys_of_a_script_are_declared(redis_url: str, open_index: OpenIndex, namespace: str) -> None:
    """As a user who may touch no other key: a cluster and an ACL see them."""
    with Redis.from_url(redis_url) as admin:
        admin.acl_setuser(namespace, enabled=True, passwords=["+secret"], keys=[f"{{neardup:{namespace}*"],
                          categories=["+@all"])  # fmt: skip
        try:
            scheme, _, rest = redis_url.partition("://")
            index = await open_index(f"{scheme}://{namespace}:secret@{rest.rpartition('@')[2]}")
            assert (await index.join(join("copy", 60, "copy.example"))).items == 2
            assert await index.claim(Claim(FIRST.id, "watch"))
        finally:
            admin.acl_deluser(namespace)


async def test_idle_stories_vanish_with_their_namespace(open_index: OpenIndex, tmp_path: object) -> None:
    import sqlite3
    from contextlib import closing

    url = f"sqlite:///{tmp_path}/window.sqlite"
    index = await open_index(url)
    await index.join(join("copy", 60, "copy.example"))
    await index.close()
    with closing(sqlite3.connect(f"{tmp_path}/window.sqlite", isolation_level=None)) as sql:
        sql.execute("UPDATE spaces SET expires = expires - ?, idle_since = expires - ?", (2 * DAY, 3 * DAY))

    await open_index(url, namespace="other")

    with closing(sqlite3.connect(f"{tmp_path}/window.sqlite")) as sql:
        tables = [name for (name,) in sql.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert len([name for name in tables if name.startswith(("stories", "members", "peaks"))]) == 3


async def test_stores_count_alike(open_index: OpenIndex, request: pytest.FixtureRequest) -> None:
    random_ = random.Random(7)
    joins = []
    for number in range(300):
        source = f"{random_.randrange(40)}.example" if random_.random() < 0.9 else ""
        at = random_.randrange(6 * HOUR)
        first = member("first" if random_.random() < 0.7 else "second", status="original", source="wire.example")
        status: Status = random_.choice(("duplicate", "update", "related"))
        values = [said(str(value)) for value in random_.sample(range(40), 5)]
        is_update = status == "update"
        joining = member(f"{random_.randrange(250)}", at, source, status=status)
        joins.append(
            Join(
                first,
                replace(joining, language=random_.choice(("", "en", "de"))),
                counted=random_.random() < 0.9,
                figures_before=values[0] if is_update else b"",
                figures_after=values[1] if is_update else b"",
                figures=b"".join(values[1:]),
            )
        )
        if number % 20 == 0:
            joins.append(joins[-1])

    answers: dict[str, list[object]] = {}
    for name, url in USUAL.items():
        index = await open_index(url(request), namespace=name)
        stories: list[Story] = []
        for number, each in enumerate(joins):
            stories.append(await index.join(each))
            if number % 50 == 49:
                extent = stories[-1].extent
                for level in ("watch", "update"):
                    claim = Claim(each.story, level, extent=extent)  # type: ignore[arg-type]
                    stories.append(await index.claim(claim))  # type: ignore[arg-type]
                stories.append(await index.join(each))
        opened = await index.open_events()
        quiet = await index.open_events(START + 3 * HOUR)
        answers[name] = [stories, opened, quiet, await index.members(FIRST.id)]

    assert answers["memory"] == answers["sqlite"] == answers["redis"]
    assert len(stories[-1].changes) > 5
    assert stories[-1].signalled.confirmed_changes > 1


def test_a_member_reads_back_as_packed() -> None:
    packed = struct.pack(">I", 3) + pack_member(FIRST)

    assert unpack_member(bytes.fromhex(FIRST.id), packed).url == FIRST.url
    for wrong in (packed[:-1], packed + b"x", b"", packed[:4] + b"\x09" + packed[5:]):
        with pytest.raises(StoreError):
            unpack_member(bytes.fromhex(FIRST.id), wrong)


async def test_damaged_counters_are_an_error_not_a_story(open_index: OpenIndex, redis_url: str, namespace: str) -> None:
    index = await open_index(redis_url)
    await index.join(join("copy", 60, "copy.example"))
    with Redis.from_url(redis_url) as client:
        (name,) = client.scan_iter(match=f"{{neardup:{namespace}*:story:*")
        client.hset(name, "sources", b"odd")

    with pytest.raises(StoreError, match="counters"):
        await index.join(join("other", 60, "other.example"))


async def test_a_window_of_two_hours_has_stories_too(open_index: OpenIndex, store_url: str) -> None:
    index = await open_index(store_url, Policy(window=2 * HOUR))

    assert (await index.join(join("copy", 60, "copy.example"))).items == 2
