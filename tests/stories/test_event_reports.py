"""The report of an event, in the form of docs/event.schema.json, and its numbers, the same wherever they are told."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from documents import join, joined, members_in
from json_lines import read_lines
from jsonschema import Draft202012Validator
from newsdesk import BOTH, BUDGET, MINUTE, START, STRIKE, Newsroom, made_up, opened, report, text, toll
from projects import Project
from scrapy_processes import neardup

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.evidence.topic import shared_words
from scrapy_neardup.index import Index
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.stories.summary import message_of
from scrapy_neardup.tools.report.feed_stories import group_stories, matches_of
from scrapy_neardup.tools.report.gathering import gather


async def test_the_report_says_who_when_how_fast_and_what_of(newsroom: Newsroom) -> None:
    for n in range(7):
        await newsroom.publish("fire", f"s{n}", n * 5 * MINUTE, text=toll(4 if n < 4 else 12), language="en")
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
    assert [(f["figure"], f["old"], f["new"]) for f in report["figures"]] == [("dead", "", "4"), ("dead", "4", "12")]


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
        await room.spread("fire", range(6), text=toll(4))
        for n in range(12):
            for source in range(6):
                await room.publish("fire", f"t{n}-{source}", (10 + n) * MINUTE, text=toll(5 + n))
    updates = [special_report(event) for event in room.events if event.level == "update"]
    assert len({each["id"] for each in updates}) == len(updates) > 10
    for each in updates:
        schema.validate(each)


NAMES = "Aldermoor Brandreth Calverley Dunstable Everleigh"


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


View = dict[str, Any]
ITEMS = """
class News(Pages):
    def parse(self, response):
        for url, text in self.settings["ARTICLES"]:
            name = "".join(filter(str.isalpha, url))  # a number would be another figure
            yield {"url": url, "text": text, "title": f"Harbour fire, says {name}"}
"""
BODY = "\n".join(" ".join(made_up(("fire", line), 30)) for line in range(8))


def fire(dead: int) -> str:
    return f"{BODY}\nRescue workers said that {dead} people were dead after the great fire in the old harbour."


ARTICLES = [
    ("https://www.wire.example/fire", fire(4)),
    ("https://www.wire.example/again", fire(4)),  # a second page of a source
    ("https://www.sister.example/fire", fire(4)),  # another site of its owner
    ("https://one.blogspot.com/fire", fire(4)),
    ("https://two.blogspot.com/fire", fire(4)),  # of the same platform
    ("https://www.s1.example/fire", fire(4)),
    ("https://www.s1.example/fire", fire(4)),  # the page again
    ("https://www.s2.example/fire", fire(12)),
    ("https://www.s2.example/fire", fire(13)),  # the page again, with another toll
    ("https://www.s3.example/fire", "\n".join([*fire(12).splitlines()[:5], *made_up("more", 60)])),
    ("", fire(12)),  # nobody knows whose
    ("https://www.s4.example/fire", fire(12)),
]
OWNERS = {"Press": ["wire.example", "sister.example"]}


def test_a_crawl_counts_the_stories_that_moved(project: Project) -> None:
    articles = [(f"https://s{number}.example/news", body) for number, body in enumerate((BUDGET, STRIKE, BOTH))]
    crawl = project.crawl(ITEMS, urls=["data:,"], ARTICLES=articles, NEARDUP_EVENTS_FEED="events.jsonl")
    assert crawl.neardup["stories_united"] == 1
    assert read_lines(project.folder / "events.jsonl") == [], "readers of the feed find a file"


@pytest.mark.slow
def test_counts_are_the_same_in_message_feed_watch_report_and_digest(tmp_path: Path) -> None:
    options = {"NEARDUP_SOURCE_OWNERS": OWNERS, "NEARDUP_EVENTS_MIN_SOURCES": 6, "CONCURRENT_ITEMS": 1}
    project = Project(tmp_path)
    crawl = project.crawl(ITEMS, urls=["data:,"], ARTICLES=ARTICLES, NEARDUP_EVENTS_FEED="events.jsonl", **options)
    assert [row["level"] for row in read_lines(tmp_path / "events.jsonl")] == ["watch", "breaking"]
    told = read_lines(tmp_path / "events.jsonl")[-1]
    (watched,) = map(json.loads, neardup(tmp_path, "watch", "--events", "--json").stdout.splitlines())
    rows = gather([tmp_path / "items.jsonl"], NearDupSettings.from_mapping({"NEARDUP_SOURCE_OWNERS": OWNERS})).rows
    story = group_stories(rows, matches_of(rows))[0]
    expected = 6, 10
    assert (told["measures"]["sources"], told["items"]) == expected
    assert (watched["measures"]["sources"], watched["items"]) == expected
    for said in (told, watched):
        assert (len(said["sources"]), sum(each["items"] for each in said["sources"]) + 1) == expected
    assert "6 papers on 8 sites, 10 items" in message_of(told).body
    assert story.words.startswith("6 papers on 8 sites, 10 items")
    assert (len(story.owners), story.size) == expected
    digest = crawl.log[crawl.log.index("Largest stories") :]
    assert re.search(r"(\d+) items, +(\d+) sources", digest).groups() == ("10", "6")


@pytest.mark.in_memory
async def test_a_member_that_does_not_count_is_listed_and_is_no_source(index: Index) -> None:
    for number, counts in enumerate((True, False, True)):
        story = await joined(index, replace(join(f"{number}", 60 * number, f"s{number}.example"), is_coverage=counts))
    event = StoryEvent("watch", START, "sources", story, await members_in(index, story.id))
    report = special_report(event)
    assert [each["source"] for each in report["sources"]] == ["wire.example", "s0.example", "s2.example"]
    assert (report["measures"]["sources"], report["items"], len(report["members"])) == (3, 3, 4)


LEAD = "The Harbour fire of Skerrow began at noon in the old port."
LONG = " ".join(f"Правительство{chr(1072 + n)}" for n in range(9))  # 134 characters, 250 bytes
LONGER = " ".join(f"Правительство{chr(1072 + n)}" for n in range(12))


async def raised(store: str, namespace: str, titles: Sequence[str], languages: Sequence[str], body: str) -> View:
    """Return the report of the event that papers raise which print one text under these titles."""
    async with opened(store=store, namespace=namespace) as room:
        for number, (title, language) in enumerate(zip(titles, languages, strict=True)):
            url = f"https://s{number}.example/"
            document = room.detector.document(body, url=url, title=title, language=language, seen_at=START + number)
            await room.detector.check(document)
        return special_report(room.detector.take_events()[0])


@pytest.mark.in_memory
@pytest.mark.parametrize("title", [LONG, LONGER])
async def test_a_headline_is_never_cut_within_a_word(store_url: str, namespace: str, title: str) -> None:
    """Not even that of the first document, whose title comes from the window."""
    report = await raised(store_url, namespace, [title] * 6, ["ru"] * 6, text("fire"))
    for member in report["members"]:
        assert member["title"] == title or set(member["title"].removesuffix("…").split()) < set(title.split())
    assert report["headline"] == title
    assert message_of(report).body.startswith(title)


@pytest.mark.in_memory
@pytest.mark.parametrize(("last", "lead"), [("en", LEAD), ("de", LEAD), ("fi", "")])
async def test_the_lead_is_in_the_language_of_its_title(store_url: str, namespace: str, last: str, lead: str) -> None:
    headlines = {"en": "Harbour fire of Skerrow spreads", "de": "Feuer in Skerrow (Harbour fire)", "fi": "Satama"}
    languages = [*["en"] * 5, last, last]  # the fifth source, and then two of another language, which count as one
    titles = [headlines[each] for each in languages]
    report = await raised(store_url, namespace, titles, languages, f"{lead}\n{text('fire')}")
    assert report["headline"] == headlines["en"]
    assert (report["lead"], report["lead_from"]["language"]) == (lead or headlines["en"], "en")
