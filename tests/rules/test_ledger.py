"""The ledger of a story: which value of a figure counts, who prints it, and what contradicts it."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.evidence.figures.counted import FigureKind
from scrapy_neardup.evidence.figures.tolls import tolls_of
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.records.stored_stories import pack_ledger, read_ledger, without_documents
from scrapy_neardup.records.stories import BREAKING, ENDED, StoryCounters, pack_extent
from scrapy_neardup.rules.ledger import (
    MOST_PRINTED,
    MOST_STATES,
    against,
    note,
    sources_needed,
    supporters_of,
    update_states,
)
from scrapy_neardup.rules.membership import unite
from scrapy_neardup.story import Extent, Ledger, PrintedFigure

PLACE = "in the fire in the market of Belmora, the police said."


class Story:
    """A story of so many owners, whose documents come in the order of the calls."""

    def __init__(self, owners: int = 7) -> None:
        self.ledger = Ledger()
        self.owners = owners
        self.documents = 0
        self.told: list[str] = []  # what the states of the dead were, one after the other

    def prints(self, owner: object, text: str, time: int | None = None) -> Story:
        """Note a sentence of an owner. Without a time it was printed when it came."""
        self.documents += 1
        document = self.documents.to_bytes(8, "big")
        at = self.documents if time is None else time
        note(self.ledger, tolls_of("", f"{text} {PLACE}", "en"), str(owner).encode().ljust(4), document, at)
        update_states(self.ledger, self.owners)
        return self

    def dead(self, owner: object, number: int, time: int | None = None) -> Story:
        return self.prints(owner, f"{number} people died", time)

    @property
    def states(self) -> list[str]:
        return [each.words for each in self.ledger.states if each.kind == FigureKind.DEAD]

    @property
    def state(self) -> PrintedFigure:
        return self.ledger.current[FigureKind.DEAD]


@pytest.mark.parametrize("told", ["dozens:58:58", "7:At least 7:at least 7", "over 7:7:at least 7", "7:Some 7:about 7"])
def test_the_number_and_the_bound_of_a_text_count_before_its_headline(told: str) -> None:
    headline, text, state = told.split(":")
    story = Story(owners=2)
    for owner in (b"a   ", b"b   "):
        note(
            story.ledger, tolls_of(f"Fever: {headline} dead", f"{text} people died {PLACE}", "en"), owner, owner * 2, 2
        )
    update_states(story.ledger, 2)
    assert story.states == [state]


@pytest.mark.parametrize(("owners", "needed"), [(1, 2), (6, 2), (7, 3), (9, 3), (10, 4), (15, 5), (16, 6), (500, 6)])
def test_a_third_of_the_owners_two_at_least_and_six_are_always_enough(owners: int, needed: int) -> None:
    story = Story(owners)
    for owner in range(needed - 1):
        assert story.dead(owner, 12).states == []
    assert story.dead(needed, 12).states == ["12"]
    assert sources_needed(owners) == needed


ORDERS = [frozenset(fours) for fours in combinations(range(7), 3)]
"""Of seven papers four print 12, and three an earlier text with 4, which the crawl may read at any time."""


@pytest.mark.parametrize("fours", ORDERS, ids=lambda fours: "".join(map(str, sorted(fours))))
def test_seven_papers_in_any_order_agree_by_the_times_of_their_pages(fours: frozenset[int]) -> None:
    story = Story()
    for paper in range(7):
        story.dead(paper, 4 if paper in fours else 12, time=paper if paper in fours else 100 + paper)
    assert story.states in (["12"], ["4", "12"])
    assert len(supporters_of(story.ledger, story.state)) == 4
    assert against(story.ledger, story.state) == []


@pytest.mark.parametrize("fours", ORDERS, ids=lambda fours: "".join(map(str, sorted(fours))))
def test_without_times_no_number_of_people_falls_that_a_majority_does_not_print(fours: frozenset[int]) -> None:
    story = Story()
    for paper in range(7):
        before = story.states
        story.dead(paper, 4 if paper in fours else 12)
        printed = [4 if each in fours else 12 for each in range(paper + 1)]
        if story.states != before and before[-1:] == ["12"]:
            assert 2 * printed.count(4) > len(printed)
    if story.state.low == 12 and 0 not in fours:
        assert [each.words for each in against(story.ledger, story.state)] == ["4"] * 3


def test_a_number_that_is_no_people_falls_when_enough_owners_print_the_lower_one() -> None:
    story = Story(4)
    for owner, magnitude in enumerate(["6.4", "6.4", "6.4", "6.1", "6.1"]):
        story.prints(owner, f"An earthquake of magnitude {magnitude} shook Belmora")
    assert [each.words for each in story.ledger.states] == ["6.4", "6.1"]


def test_a_majority_or_a_correction_lets_a_toll_fall() -> None:
    most = Story(3).dead("a", 12).dead("b", 12).dead("c", 4).dead("a", 4)
    assert most.states == ["12", "4"]
    corrected = Story(6).dead("a", 12).dead("b", 12).dead("c", 12).dead("d", 4)
    assert corrected.states == ["12"]
    corrected.prints("e", "Correction: 4 people died, not 12,")
    assert corrected.states == ["12", "4"]


def test_an_owner_counts_with_the_newest_value_that_it_prints() -> None:
    story = Story(4).dead("a", 4).dead("b", 4).dead("a", 9)
    assert story.states == ["4"]
    assert len(supporters_of(story.ledger, story.state)) == 1
    story.dead("b", 9)
    assert story.states == ["4", "9"]
    story.dead("a", 9)
    assert story.state.document == (3).to_bytes(8, "big"), "the first page that prints it"


def test_a_toll_falls_if_all_owners_went_back_to_the_lower_one_and_no_owner_counts_twice() -> None:
    back = Story(6).dead("b", 12).dead("c", 12).dead("a", 13).dead("d", 13).dead("a", 12).dead("d", 12)
    assert back.dead("e", 12).dead("f", 12).states == ["12", "13", "12"]


def test_background_behind_an_old_toll_is_no_state() -> None:
    story = Story(owners=2).dead("a", 4).dead("b", 4)
    for text in ("Fire kills 4. Four people died. Nine have died in the valley this week", "Strike kills 4, not 12"):
        story.prints("a", text).prints("b", text)
    assert story.states == ["4"]


def test_a_page_with_its_old_toll_does_not_take_the_new_one_of_an_owner_back() -> None:
    story = Story(4).dead("a", 12).dead("b", 12).dead("a", 13).dead("a", 12).dead("c", 13)
    assert story.states == ["12", "13"]
    assert [each.owner[:1] for each in supporters_of(story.ledger, story.state)] == [b"a", b"c"]
    corrected = Story(4).dead("a", 13).prints("a", "Correction: 12 people died, not 13,").dead("c", 13)
    assert corrected.states == []


def test_of_two_values_of_one_second_the_greater_one_is_the_newer() -> None:
    assert Story(2).dead("a", 16, time=1).dead("a", 14, time=1).dead("b", 16, time=2).states == ["16"]


def test_a_state_does_not_fall_because_its_story_has_more_owners() -> None:
    story = Story(owners=7)
    for owner, number in zip("abcdefgh", (4, 4, 4, 4, 12, 12, 12, 7), strict=True):
        story.dead(owner, number)
    story.owners = 10
    assert story.dead("i", 7).state.words == "12"


def test_the_guesses_of_one_host_are_no_state() -> None:
    story = Story(4).dead("a", 4).dead("b", 4)
    for guess in range(5, 41):
        story.dead("liar", guess)
    assert story.states == ["4"]
    story.dead("a", 40)
    assert story.states == ["4", "40"], "two print it now, of whom the liar is one: that is its price"


@pytest.mark.parametrize(
    ("before", "after", "states"),
    [
        ("Four people have died", "Two more people have died", ["4", "6"]),
        ("Two people have died", "A second child has died", ["2"]),
        ("Two people have died", "A third body was found", ["2", "3"]),
        ("No one has died", "A first patient has died", ["0", "1"]),
        ("No one has died", "A woman has died", ["0", "1"]),
        ("Four people have died", "A woman has died", ["4"]),
    ],
)
def test_more_is_added_to_what_the_owner_printed_before(before: str, after: str, states: list[str]) -> None:
    story = Story(4)
    for text in (before, after):
        for owner in "ab":
            story.prints(owner, text)
    assert story.states == states


def test_more_is_never_a_fall_and_no_state_if_nobody_knows_to_what_it_is_added() -> None:
    story = Story(4).dead("a", 4).dead("b", 4)
    for owner in "cde":
        story.prints(owner, "Two more people have died")
    assert story.states == ["4"]
    assert against(story.ledger, story.state) == []


def test_bounds_are_told_and_contradict_only_what_they_exclude() -> None:
    story = Story(4).prints("a", "At least 12 people died").prints("b", "At least 12 people died").dead("c", 14)
    assert story.states == ["at least 12"]
    assert against(story.ledger, story.state) == []
    story.dead("d", 9)
    assert [each.words for each in against(story.ledger, story.state)] == ["9"]
    many = Story(4).prints("a", "Between 40 and 50 people died").prints("b", "Between 40 and 50 people died")
    assert many.states == ["40 to 50"]


def test_a_vague_number_is_told_by_its_word() -> None:
    story = Story(owners=2).prints(1, "Dozens were killed").prints(2, "Dozens of people were killed")
    assert story.states == ["dozens"]


def test_a_late_page_with_an_old_value_changes_nothing() -> None:
    story = Story(4).dead("a", 12, time=100).dead("b", 12, time=101)
    story.dead("a", 4, time=10).dead("b", 4, time=11)
    assert story.states == ["12"]
    assert len(supporters_of(story.ledger, story.state)) == 2


@pytest.mark.parametrize(("levels", "runs"), [(BREAKING | ENDED, False), (BREAKING, True)])
def test_ended_events_that_become_one_have_ended(levels: int, *, runs: bool) -> None:
    ledgers = Story(4).dead("a", 9).dead("b", 9).ledger, Story(4).dead("a", 4).dead("b", 4).ledger
    signalled = pack_extent(Extent(states=1))
    stays, moves = (StoryCounters(joined=2, levels=each, signalled=signalled) for each in (BREAKING | ENDED, levels))
    ledgers[0].changed = 2  # it has told one state, and a newer one came with the other story
    unite((bytes(8), b"other..."), stays, moves, ledgers, ())
    assert stays.story(bytes(8), ledgers[0]).is_running is runs


def test_a_ledger_is_bounded() -> None:
    story = Story(500)
    for number in range(MOST_STATES + 10):
        for owner in range(6):
            story.dead(f"{number % 100}{owner}", number + 1)
    ledger = story.ledger
    assert len(ledger.printed) <= MOST_PRINTED
    assert len(ledger.states) <= MOST_STATES
    assert ledger.changed > MOST_STATES
    assert len(pack_ledger(ledger)) < 12_000


def test_what_documents_printed_is_forgotten_with_them() -> None:
    story = Story(4).dead("a", 4).dead("b", 4).dead("a", 9).dead("b", 9)
    left = without_documents(story.ledger, [(3).to_bytes(8, "big"), (4).to_bytes(8, "big")])
    assert {each.document[-1] for each in (*left.printed, *left.states)} == {1, 2}
    assert left.changed == story.ledger.changed


FIGURES = st.builds(
    PrintedFigure,
    st.integers(1, 19),
    st.floats(0, 1e12),
    st.none() | st.floats(0, 1e12),
    st.sampled_from(["exact", "at least", "about", "range"]),
    st.booleans(),
    st.binary(min_size=4, max_size=4),
    st.binary(min_size=8, max_size=8),
    st.integers(0, 2**32 - 1),
)


@given(st.builds(Ledger, st.lists(FIGURES, min_size=1), st.lists(FIGURES), st.integers(0, 2**32 - 1)))
def test_a_ledger_is_read_as_it_was_packed(ledger: Ledger) -> None:
    assert read_ledger(pack_ledger(ledger)) == ledger


def test_no_ledger_is_no_bytes() -> None:
    assert pack_ledger(Ledger()) == b""
    assert read_ledger(None) == read_ledger(b"") == Ledger()


@given(st.binary(min_size=1, max_size=200))
def test_other_bytes_are_no_ledger(damaged: bytes) -> None:
    whole = pack_ledger(Story().dead("a", 4).ledger)
    for packed in (damaged, whole[:-1], whole + damaged[:34], b"\x02" + whole[1:]):
        try:
            read_ledger(packed)
        except StoreError:
            continue
        assert packed == whole or packed[0] == 1
