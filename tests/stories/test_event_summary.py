"""The summary of an event: one sentence on the newest figure that several independent sources print."""

from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.document import HOUR
from scrapy_neardup.evidence.figures.tolls import tolls_of
from scrapy_neardup.records.stories import owner_hash
from scrapy_neardup.rules.ledger import note, update_states
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.stories.summary import headline_of, sentence_of, states_of
from scrapy_neardup.story import Extent, Ledger, Level, Member, Story

NOON = 1_573_819_200  # 15 November 2019, 12:00 UTC
NIGHT = 1_572_136_200  # 27 October 2019, 02:30 in Berlin, half an hour before it is 02:00 again
MINUTE = 60


class Told:
    """An event of papers that print sentences, one a minute."""

    def __init__(self, *printed: tuple[str, str], owners: int = 4) -> None:
        self.ledger = Ledger()
        self.members: list[Member] = []
        for number, (source, sentence) in enumerate(printed):
            key = (NOON + number * MINUTE).to_bytes(4, "big") + number.to_bytes(4, "big")
            self.members.append(Member(key.hex(), "", sentence, source, source, "update", number=number + 1))
            owner = owner_hash(self.members[-1].owner)
            note(self.ledger, tolls_of("", sentence, "en"), owner, key, NOON + number * MINUTE)
            update_states(self.ledger, owners)

    def report(self, level: Level = "update", signalled: int = 0, **more: Any) -> dict[str, Any]:
        story = Story("00" * 8, 2, 2, 0, (), (0, 0), ("breaking",), self.ledger, Extent(2, 2, signalled))
        story = replace(story, begins_with_harm=True)
        return special_report(StoryEvent(level, NOON + HOUR, "sources", story, tuple(self.members), **more))

    @property
    def summary(self) -> str:
        return str(self.report()["summary"])

    def facts(self, **more: Any) -> list[str]:
        return [fact["words"] for fact in self.report(**more)["facts"]]


def dead(number: int, *sources: str) -> list[tuple[str, str]]:
    return [(f"{source}.example", f"{number} people died in the fire.") for source in sources]


NOBODY_DIED = ("a.example", "No one died in the fire.")


def test_the_sources_that_print_a_state_are_named_with_what_it_was() -> None:
    assert Told(*dead(4, "a", "b"), *dead(12, "a", "b")).summary == (
        "12 dead, was 4: two sources say so, a.example at 12:02, b.example at 12:03 UTC."
    )
    assert Told(*dead(4, "a", "b")).summary == "4 dead: two sources say so, a.example at 12:00, b.example at 12:01 UTC."


def test_what_two_or_more_print_since_is_told_as_a_contradiction() -> None:
    told = Told(*dead(12, "a", "b", "c"), *dead(4, "d", "e"))
    assert told.summary.endswith("12:02 UTC; 2 say 4.")
    assert told.report()["facts"][0]["against"] == [{"value": "4", "sources": 2}]
    assert Told(*dead(12, "a", "b", "c"), *dead(4, "d")).report()["facts"][0]["against"] == []


def test_the_sources_that_are_named_and_left_out_are_all_that_print_it() -> None:
    told = Told(*dead(4, *"abcdef"))
    assert told.summary.endswith("12:02 UTC and 3 more.")
    told.members = told.members[::3]  # of a long story not all are kept
    assert told.summary.endswith("12:03 UTC and 4 more.")


def test_the_hour_in_which_the_clocks_go_back_is_told_with_its_zone() -> None:
    states = [*states_of(Told(*dead(4, "a", "b")).ledger, Told(*dead(4, "a", "b")).members, 0)]
    moved = [replace(each, id=f"{NIGHT + n * HOUR:08x}" + each.id[8:]) for n, each in enumerate(states[0].supporters)]
    said = sentence_of(states[0]._replace(supporters=tuple(moved)), NIGHT + HOUR, ZoneInfo("Europe/Berlin"))
    assert "a.example at 02:30 CEST, b.example at 02:30 CET." in said


def test_without_figures_there_is_nothing_to_say() -> None:
    assert Told().summary == ""


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (dead(12, "a"), "12 dead, unconfirmed: one source says so, a.example"),
        (dead(12, "a", "a"), "12 dead, unconfirmed: one source says so, a.example"),
        ([*dead(12, "a"), *dead(11, "b")], "at least 11 dead, unconfirmed: one source says so, b.example"),
        ([*dead(12, "a"), ("b.example", "12 people were injured in the fire.")], "12 dead, unconfirmed: one source"),
        ([*dead(2, "a"), NOBODY_DIED, ("b.example", "12 people were injured.")], "12 injured, unconfirmed: one source"),
        ([*dead(2, "a"), NOBODY_DIED], ""),
        ([NOBODY_DIED, (f"b.{NOBODY_DIED[0]}", NOBODY_DIED[1]), *dead(4, "c")], "4 dead, unconfirmed: one source"),
    ],
    ids=["one source", "itself", "disagree", "two figures", "others are left", "nobody is left", "nobody at first"],
)
def test_a_number_of_people_that_is_no_state_is_unconfirmed(printed: list[tuple[str, str]], said: str) -> None:
    told = Told(*printed)
    assert told.summary.startswith(said)
    assert told.facts(level="breaking") == []


def test_that_nobody_was_harmed_leads_no_message_unless_it_was_more_before() -> None:
    nobody, somebody = (
        [(f"{source}.example", f"{who} was injured.") for source in "ab"] for who in ("No one", "1 man")
    )
    assert (Told(*nobody).facts(level="breaking"), Told(*nobody).facts()) == ([], ["0 injured"])
    assert Told(*somebody, *nobody).summary.startswith("0 injured, was 1: two sources say so")


def test_the_dead_come_before_the_injured_before_homes_and_what_is_new_comes_first() -> None:
    lines = ["6 homes were destroyed.", "20 people were injured.", "7 people died."]
    told = Told(*[(f"{source}.example", line) for line in lines for source in "ab"])
    assert told.facts() == ["7 dead", "20 injured", "6 homes"]
    assert told.facts(signalled=2) == ["7 dead", "20 injured", "6 homes"]
    assert told.facts(signalled=1) == ["7 dead", "20 injured", "6 homes"]
    later = Told(*[(f"{source}.example", line) for line in reversed(lines) for source in "ab"])
    assert later.facts(signalled=2) == ["6 homes", "7 dead", "20 injured"]
    assert [fact["is_new"] for fact in later.report("ended")["facts"]] == [False] * 3


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


@pytest.mark.parametrize(
    "title",
    "|  |Northwire|northwire.example|Northwire News|Bridge|Bridge falls into ...|The b*y bridge falls down".split("|"),
)
def test_what_is_no_headline_is_passed_over(title: str) -> None:
    assert headline_of(members(title, "Bridge falls into the river")) == "Bridge falls into the river"


@pytest.mark.parametrize("title", "{} | Northwire;{} - Northwire News;{} – northwire.example;Northwire | {}".split(";"))
def test_the_name_of_the_site_is_no_part_of_it(title: str) -> None:
    assert headline_of(members(title.format("Bridge falls into the river"))) == "Bridge falls into the river"


@given(st.lists(st.text(), max_size=4), st.text(max_size=20))
def test_any_titles_have_a_headline_or_none(titles: list[str], source: str) -> None:
    assert isinstance(headline_of(members(*titles, source=source)), str)


def copies(*titles: str, language: str = "") -> list[Member]:
    """Members of as many sources, in the order they joined, one in half an hour."""
    return [
        Member(f"{1800 * n:08x}{n:08x}", "", title, *[f"s{n}.example"] * 2, "update", language=language)
        for n, title in enumerate(titles)
    ]


def test_the_headline_follows_most_of_the_newest_copies() -> None:
    old, new = "Bridge collapse kills at least 3", "Bridge collapse kills 7 in Harbour City"
    assert headline_of(copies(old, old, old, old, new, new)) == new
    assert headline_of(copies(old, old, old, old, old, new)) == old, "one source decides nothing"
    other = "Seven dead as the Harbour City bridge falls"
    assert headline_of(copies(old, old, old, new, other)) == new, "two say seven"
    assert headline_of(copies(old, old, new, "Aliens land in the old market")) == old, "none of the newest agree"


def test_the_headline_is_no_side_article_however_new_or_old() -> None:
    background = "What everybody should know about old bridges"
    event = "Two bodies found after the collapse of the harbour bridge"
    same = "Harbour bridge collapse: second body found in the river"
    assert headline_of(copies(background, event, same, background.upper())) in (event, same)
    opinion = "An expert on steel explains what he would have done"
    newest = "Second body after bridge collapse"
    assert headline_of(copies("Bridge closed", event, same, newest, opinion)) in (same, newest)
    asides = "Divers of the county and how they train", "A diver shows holiday pictures of his boat, county laughs"
    assert headline_of(copies(event, same, newest, "Second body found after collapse of bridge", *asides)) not in asides


def test_a_reaction_or_a_question_gives_no_headline_if_others_tell_the_news() -> None:
    event = "Harbour bridge of the city falls into the river"
    asides = "Mayor reacts to|Why did|В Кремле прокомментировали|Le maire réagit à|Bürgermeister äußert sich zu|علق على"
    for aside in (*asides.split("|"), "Mayor congratulates"):
        title = f"{aside} harbour bridge of the city" + "?" * (aside == "Why did")
        assert headline_of(copies(title, event, title.upper())) == event


def test_words_agree_in_any_grammatical_form_and_with_vowel_signs() -> None:
    titles = "Обрушение моста|Во Франции обрушился мост у Тулузы|Цены растут|Мост обрушился у Тулузы".split("|")
    assert headline_of(copies(*titles)) in (titles[1], titles[3])
    titles = "அம்பாறை வெள்ளம் குறித்து அறிக்கை", "உழவு இயந்திரம் வெள்ளத்தில் மூழ்கியது", "இயந்திரம் மூழ்கியது: மாணவர்கள் உழவு"
    assert headline_of(copies(*titles)) in titles[1:]


def test_one_owner_has_one_vote() -> None:
    fake = [replace(each, owner="Press Ltd") for each in copies(*["Aliens land in Harbour City"] * 5)]
    assert headline_of([*copies(*["Bridge collapse kills 3"] * 2), *fake]) == "Bridge collapse kills 3"


def test_a_title_with_a_figure_that_was_replaced_is_passed_over() -> None:
    titles = copies("Three dead in bridge collapse", "Harbour City bridge falls into the river")
    assert headline_of(titles, {"3"}) == "Harbour City bridge falls into the river"
    assert headline_of(titles[:1], {"3"}) == "Three dead in bridge collapse", "there is no other"


def test_the_headline_tells_how_many_were_harmed() -> None:
    toll, fire = dead(4, "a")[0][1], [(f"{each}.example", "Firemen fight the fire in the harbour") for each in "cde"]
    assert Told(*dead(4, "a", "b"), *fire).report()["headline"] == toll
    assert Told(*dead(4, "a"), *fire).report()["headline"] == fire[0][1], "one source of many says it"
    assert Told(*dead(4, "a"), *fire).report(breaking_over=5)["headline"] == toll


def test_the_commonest_language_gives_the_headline() -> None:
    english = copies(*["Bridge collapse kills 7"] * 5, language="en")
    german = [replace(each, owner=f"de {each.owner}") for each in copies(*["Brücke eingestürzt"] * 3, language="de")]
    assert headline_of([*english, *german]) == "Bridge collapse kills 7"


def test_a_sentence_with_the_number_of_the_headline_leads() -> None:
    titles = ["Gunmen attack village, kill 6 people", "6 people killed by gunmen", "Gunmen attack village again"]
    told = Told(*[(f"{n}.example", title) for n, title in enumerate([titles[0], *titles, titles[2]])])
    assert told.report("breaking", item=told.members[0].id)["lead"] == titles[1]
