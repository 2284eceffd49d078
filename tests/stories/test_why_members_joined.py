"""Each member of a story says why it joined: a copy, an update, similar text, or the terms of its topic."""

from __future__ import annotations

import pytest
from newsdesk import MINUTE, Newsroom, text
from other_words import BOTH, BUDGET, STRIKE, report

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.evidence.topic import shared_words
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import Sketcher
from scrapy_neardup.stories.report import special_report

NAMES = "Aldermoor Brandreth Calverley Dunstable Everleigh"


async def test_a_report_in_other_words_names_the_terms_it_shares(newsroom: Newsroom) -> None:
    for number in range(6):
        verdict = await newsroom.publish("fire", f"s{number}", number * MINUTE, text=report(NAMES, number))
        assert verdict.status == ("related" if number else "original")

    first, *others = special_report(newsroom.events[0])["members"]
    assert (first["why"], first["topic"], first["terms"]) == ("", 0, [])
    assert len(others) == 5
    for each in others:
        assert sorted(each["terms"]) == sorted(NAMES.split())
        assert each["topic"] > 0.16
        assert each["why"] == f"topic {each['topic']:.2f}: {', '.join(each['terms'])}"


async def test_copies_updates_and_similar_texts_say_so(newsroom: Newsroom) -> None:
    toll = "Rescue workers said that 4 people were dead after the great fire in the old harbour."
    fire = f"{text('fire', 200)}\n{toll}"
    similar = "\n".join([*fire.splitlines()[:2], text("other", 120)])
    bodies = (fire, fire, fire.replace("4 people", "12 people"), similar, fire, fire)
    for number, body in enumerate(bodies):
        await newsroom.publish("fire", f"s{number}", number * MINUTE, text=body)

    members = special_report(newsroom.events[0])["members"]
    assert [each["why"] for each in members] == ["", "copy", "update", "similar text", "copy", "copy"]
    assert [each["status"] for each in members][3] == "related"


async def test_the_report_names_the_stories_that_became_a_part_of_this_one(newsroom: Newsroom) -> None:
    budget = await newsroom.publish("budget", "s0", 0, text=BUDGET)
    strike = await newsroom.publish("strike", "s1", MINUTE, text=STRIKE)
    await newsroom.publish("both", "s2", 2 * MINUTE, text=BOTH)
    for number in range(3, 8):
        await newsroom.publish("both", f"s{number}", number * MINUTE, text=BOTH)

    found = special_report(newsroom.events[0], lambda each: {budget.story: "b", strike.story: "s"}.get(each, each))
    assert {found["story"], *found["united"]} == {"b", "s"}


def fingerprint_of(body: str) -> Fingerprint:
    document = Document("00" * 8, "", "", "", body, 0.0)
    return Sketcher(NearDupSettings().resolved_preset()).fingerprint(document)


@pytest.mark.parametrize(("form", "other_form"), [("Киевского", "Киевский"), ("Senatoren", "Senates")])
def test_terms_are_words_of_the_new_document(form: str, other_form: str) -> None:
    body = report(f"{form} Skerrow", "new")
    new, old = fingerprint_of(body), fingerprint_of(report(f"{other_form} Skerrow", "old"))
    assert set(shared_words(new.topic, old.topic, "", body)) == {form, "Skerrow"}
