"""The report of an event: who, when, how fast and of what, in the form of docs/event.schema.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from newsdesk import BOTH, BUDGET, MINUTE, STRIKE, Newsroom, opened, report, text, toll

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.evidence.topic import shared_words
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import Sketcher
from scrapy_neardup.stories.report import special_report


async def test_the_report_says_who_when_how_fast_and_what_of(newsroom: Newsroom) -> None:
    fire = text("fire", 200)
    for n in range(7):
        dead = 4 if n < 4 else 12
        body = f"Rescue workers said that {dead} people were dead after the great fire in the old harbour.\n{fire}"
        await newsroom.publish("fire", f"s{n}", n * 5 * MINUTE, text=body, language="en")

    report = special_report(newsroom.events[0])

    assert json.loads(json.dumps(report)) == report
    assert (report["version"], report["level"], report["headline"]) == (1, "breaking", "News of fire")
    assert report["time"] == "2023-11-14T22:38:20Z"
    assert report["first"] == {"time": "2023-11-14T22:13:20Z", "source": "s0.example",
                               "url": "https://www.s0.example/fire/0"}  # fmt: skip
    assert [source["source"] for source in report["sources"]] == [f"s{n}.example" for n in range(6)]
    assert [(slot["items"], slot["new_sources"]) for slot in report["growth"]] == [(2, 2), (2, 2), (2, 2)]
    assert report["items"] == len(report["members"]) == 6
    assert report["measures"] == {
        "sources": 6, "sites": 6, "sources_with_copies": 4, "new_sources_in_an_hour": 6, "items_in_4_hours": 6,
        "breaking_over": 6,
    }  # fmt: skip
    assert [(change["figure"], change["old"], change["new"]) for change in report["figures"]] == [
        ("dead", "", "4"),
        ("dead", "4", "12"),
    ]


@pytest.fixture(scope="session")
def schema() -> Draft202012Validator:
    text_ = (Path(__file__).parents[2] / "docs/event.schema.json").read_text(encoding="utf-8")
    Draft202012Validator.check_schema(json.loads(text_))
    return Draft202012Validator(json.loads(text_))


async def test_every_report_keeps_the_schema(schema: Draft202012Validator) -> None:
    async with opened(store="memory://", source_owners={"s1.example": "Press"}) as room:
        for n in range(12):
            more = {"url": ""} if n % 4 == 3 else {}
            more["language"] = "en" if n % 2 else ""
            await room.publish("fire", f"s{n}", n * MINUTE, text=toll(4 if n < 8 else 12), **more)
        await room.detector.finish(all_over=True)
        reports = [special_report(event) for event in room.events + room.detector.take_events()]
    assert [each["level"] for each in reports] == ["breaking", "update", "ended"]
    assert reports[1]["update"]["figures"]
    for each in reports:
        schema.validate(each)
        assert set(each) == set(schema.schema["properties"])
    assert not schema.is_valid({**reports[0], "level": "broken"})


async def test_ids_keep_their_form_however_often_a_figure_changes(schema: Draft202012Validator) -> None:
    async with opened(store="memory://") as room:
        for n in range(6):
            await room.publish("fire", f"s{n}", n * MINUTE, text=toll(4))
        for n in range(12):
            for source in range(6):
                await room.publish("fire", f"t{n}-{source}", (10 + n) * MINUTE, text=toll(5 + n))
    updates = [special_report(event) for event in room.events if event.level == "update"]
    assert len({each["id"] for each in updates}) == len(updates) > 10
    for each in updates:
        schema.validate(each)


NAMES = "Aldermoor Brandreth Calverley Dunstable Everleigh"


# Why each member joined


async def test_a_report_in_other_words_names_the_terms_it_shares() -> None:
    async with opened(store="memory://", events_min_sources=3) as room:
        for number in range(6):
            verdict = await room.publish("fire", f"s{number}", number * MINUTE, text=report(NAMES, number))
            assert verdict.status == ("related" if number else "original")
    first, *others = special_report(room.events[0])["members"]
    assert (first["why"], first["topic"], first["terms"]) == ("", 0, [])
    assert len(others) >= 2
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
