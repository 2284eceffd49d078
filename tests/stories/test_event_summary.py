"""The summary of an event: one sentence on the newest figure that several independent sources print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.stories.summary import facts_of, headline_of, read_change
from scrapy_neardup.story import Extent, Level, Member, Story


def confirmed_by(members: Sequence[Member], needed: int) -> tuple[tuple[str, int], ...]:
    """The changes that so many owners have printed, as in ``Story.changes``."""
    owners: dict[object, set[str]] = {}
    found = []
    for member in sorted(members, key=lambda member: (member.seen_at, member.number)):
        for number, change in enumerate(map(read_change, member.changes)):
            known = owners.setdefault((change.subject, change.new), set())
            if len(known) == needed - 1 and member.owner not in known:
                found.append((member.id, number))
            known.add(member.owner)
    return tuple(found)


NOON = 1_573_819_200  # 15 November 2019, 12:00 UTC
MINUTE = 60


def member(number: int, source: str, *changes: str, at: float = 0, owner: str | None = None) -> Member:
    key = (NOON + int(at)).to_bytes(4, "big").hex() + f"{number:08x}"
    owner = source if owner is None else owner
    return Member(key, "", "", source, owner, "update" if changes else "duplicate", changes=changes, number=number)


def summary(*members: Member, confirmed: Sequence[Member] | None = None) -> str:
    """Return the summary of an event in which the first changes of these members are confirmed.

    Without ``confirmed`` those changes are confirmed that two members have recorded.
    """
    changes = confirmed_by(members, 2) if confirmed is None else tuple((each.id, 0) for each in confirmed)
    story = Story("00" * 8, len(members), len(members), 0, (), (), ("breaking",), changes)
    return str(special_report(StoryEvent("breaking", NOON + 60 * MINUTE, "sources", story, members))["summary"])


def test_two_sources_that_changed_their_figure_are_named() -> None:
    found = summary(
        member(1, "wire.example"),
        member(2, "a.example", "dead: 4 -> 12", at=15 * MINUTE),
        member(3, "b.example", "dead: 4 -> 12", at=32 * MINUTE),
    )

    assert found == "12 dead, was 4: two sources say so, a.example at 12:15, b.example at 12:32 UTC."


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("dead", "12 dead"),
        ("injured", "12 injured"),
        ("$", "12 $"),
        ("%", "12 %"),
        ("people", "12 people"),
        ("magnitude", "magnitude: 12"),
        ("人", "人: 12"),
    ],
)
def test_a_figure_is_told_in_words(label: str, words: str) -> None:
    found = summary(member(1, "a.example", f"{label}: 4 -> 12"), member(2, "b.example", f"{label}: 4 -> 12"))

    assert found == f"{words}, was 4: two sources say so, a.example at 12:00, b.example at 12:00 UTC."


def test_the_figure_that_was_confirmed_last_is_told() -> None:
    members = [
        member(1, "a.example", "dead: 4 -> 12", at=0),
        member(2, "b.example", "dead: 4 -> 12", at=MINUTE),
        member(3, "a.example", "dead: 12 -> 20", at=2 * MINUTE),
        member(4, "b.example", "dead: 12 -> 20", at=3 * MINUTE),
    ]

    assert (
        summary(*members, confirmed=[members[0], members[2]])
        == summary(*members)
        == ("20 dead, was 12: two sources say so, a.example at 12:02, b.example at 12:03 UTC.")
    )


@pytest.mark.parametrize(
    "members",
    [
        [],
        [member(1, "a.example"), member(2, "b.example")],
        [member(1, "a.example", "dead: 4 -> 12")],
        [member(1, "a.example", "dead: 4 -> 12"), member(2, "a.example", "dead: 4 -> 12")],
        [
            member(1, "a.example", "dead: 4 -> 12", owner="Press"),
            member(2, "b.example", "dead: 4 -> 12", owner="Press"),
        ],
        [member(1, "a.example", "dead: 4 -> 12"), member(2, "b.example", "dead: 4 -> 11")],
        [member(1, "a.example", "dead: 4 -> 12"), member(2, "b.example", "hurt: 4 -> 12")],
        [member(1, "", "dead: 4 -> 12"), member(2, "", "dead: 4 -> 12")],
        [
            *(member(number, f"{number}.example", "dead: 4 -> 12") for number in (1, 2)),
            member(3, "1.example", "dead: 12 -> 5", at=MINUTE),
        ],
    ],
    ids=[
        "none",
        "no change",
        "one source",
        "itself",
        "one owner",
        "disagree",
        "two figures",
        "no source",
        "taken back",
    ],
)
def test_there_is_nothing_to_say(members: list[Member]) -> None:
    assert summary(*members) == ""


def test_who_has_said_something_else_since_is_not_named() -> None:
    found = summary(
        member(1, "a.example", "dead: 4 -> 12", at=0),
        member(2, "b.example", "dead: 4 -> 12", at=MINUTE),
        member(3, "c.example", "dead: 4 -> 12", at=2 * MINUTE),
        member(4, "a.example", "dead: 12 -> 13", at=3 * MINUTE),
    )

    assert found == "12 dead, was 4: two sources say so, b.example at 12:01, c.example at 12:02 UTC."


def facts(*lines: str, level: Level = "update", signalled: int = 0) -> list[str]:
    """Return the facts of an event in which two sources print each of these changes."""
    members = [member(n, f"{source}.example", *lines, at=n) for n, source in enumerate("ab")]
    changes = tuple((members[0].id, number) for number in range(len(lines)))
    extent = Extent(2, 2, signalled)
    story = Story("00" * 8, 2, 2, 0, (), (0, 0), ("breaking",), changes, signalled=extent)
    return [fact.change.words for fact in facts_of(StoryEvent(level, NOON, "sources", story, tuple(members)))]


def test_the_dead_come_before_the_injured_before_money() -> None:
    found = facts("$: 2 -> 5", "homes: 4 -> 6", "injured: 10 -> 20", "dead: 3 -> 7")
    assert found == ["7 dead, was 3", "20 injured, was 10", "6 homes, was 4", "5 $, was 2"]


def test_no_fact_is_told_twice() -> None:
    assert facts("people: 3 -> 7", "dead: 3 -> 7") == ["7 dead, was 3"]
    assert facts("dead: 3 -> 7", "injured: 3 -> 7") == ["7 dead, was 3", "7 injured, was 3"]
    assert facts("dead: 3 -> 5", "dead: 5 -> 7") == ["7 dead, was 5"], "an earlier toll"


# Headlines


def members(*titles: str, source: str = "northwire.example") -> list[Member]:
    return [
        Member(f"{number:016x}", "", title, source, source, "original" if number == 1 else "duplicate", number=number)
        for number, title in enumerate(titles, 1)
    ]


@pytest.mark.parametrize(
    "title",
    (
        "Bridge falls into the river|By the numbers: a year of storms|Von der Leyen tritt zurück|"
        "Print media loses readers in all regions|Share prices fall again in Asia and Europe|Мост упал в реку|"
        "大橋が川に崩落、けが人なし|Iran: 3 dead, 12 hurt|Театр покажет комедию «Курара»|সেতু ভেঙে নদীতে|"
        "すでに孫いる５６歳、来年２月１７日に第２子誕生へ"
    ).split("|"),
)
def test_the_first_document_s_title_is_the_headline(title: str) -> None:
    assert headline_of(members(title, "Another headline for the bridge")) == title


@pytest.mark.parametrize("title", ["", "  ", "Northwire", "northwire.example", "Northwire News"])
def test_what_is_no_headline_is_passed_over(title: str) -> None:
    assert headline_of(members(title, "Bridge falls into the river")) == "Bridge falls into the river"


@pytest.mark.parametrize(
    "title",
    [
        "Bridge falls into the river | Northwire",
        "Bridge falls into the river - Northwire News",
        "Bridge falls into the river – northwire.example",
        "Northwire | Bridge falls into the river",
    ],
)
def test_the_name_of_the_site_is_no_part_of_it(title: str) -> None:
    assert headline_of(members(title)) == "Bridge falls into the river"


@given(st.lists(st.text(), max_size=4), st.text(max_size=20))
def test_any_titles_have_a_headline_or_none(titles: list[str], source: str) -> None:
    assert isinstance(headline_of(members(*titles, source=source)), str)


def copies(*titles: str, language: str = "") -> list[Member]:
    """Members of as many sources, in the order they joined."""
    return [
        Member(
            f"{n:016x}", "", title, f"s{n}.example", f"s{n}.example", "update" if n else "original", language=language
        )
        for n, title in enumerate(titles)
    ]


def test_the_headline_follows_most_of_the_newest_copies() -> None:
    old, new = "Bridge collapse kills at least 3", "Bridge collapse kills 7 in Harbour City"
    assert headline_of(copies(old, old, old, old, new, new)) == new
    assert headline_of(copies(old, old, old, old, old, new)) == old, "one source decides nothing"
    other = "Seven dead as the Harbour City bridge falls"
    assert headline_of(copies(old, old, old, new, other)) == other, "two say seven"
    assert headline_of(copies(old, old, new, "Aliens land in the old market")) == old, "none of the newest agree"


def test_one_owner_has_one_vote() -> None:
    fake = [replace(each, owner="Press Ltd") for each in copies(*["Aliens land in Harbour City"] * 5)]
    assert headline_of([*copies("Bridge collapse kills 3", "Bridge collapse kills 3"), *fake]) == (
        "Bridge collapse kills 3"
    )


def test_a_title_with_a_figure_that_was_replaced_is_passed_over() -> None:
    titles = copies("Three dead in bridge collapse", "Harbour City bridge falls into the river")
    assert headline_of(titles, {"3"}) == "Harbour City bridge falls into the river"
    assert headline_of(titles[:1], {"3"}) == "Three dead in bridge collapse", "there is no other"


def test_the_commonest_language_gives_the_headline() -> None:
    english = copies(*["Bridge collapse kills 7"] * 5, language="en")
    german = [replace(each, owner=f"de {each.owner}") for each in copies(*["Brücke eingestürzt"] * 3, language="de")]
    assert headline_of([*english, *german]) == "Bridge collapse kills 7"
