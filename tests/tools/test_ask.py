"""Questions to a window: what they answer, on every store. test_ask_laws.py has the laws of the cursor."""

from collections.abc import AsyncIterator

import pytest
from documents import members_in
from newsdesk import BOTH, BUDGET, START, Newsroom, opened, text, toll

from scrapy_neardup.exceptions import InputError
from scrapy_neardup.index import layout
from scrapy_neardup.tools.ask import Ask


@pytest.fixture
async def room(store_url: str, namespace: str) -> AsyncIterator[Newsroom]:
    async with opened(store=store_url, namespace=namespace, source_owners={"d.example": "Press Ltd"}) as room:
        yield room


@pytest.fixture
def ask(room: Newsroom) -> Ask:
    return Ask(room.detector)


async def publish_fire(room: Newsroom, first: int = 0) -> None:
    """A report, a copy of it, and a newer toll that two papers print."""
    for number, dead in enumerate((4, 4, 12, 12), first):
        await room.publish("fire", f"s{number}", 60 * number, text=toll(dead), language="en")


async def test_a_changed_figure_is_told_once_with_its_source(room: Newsroom, ask: Ask) -> None:
    await publish_fire(room)
    first = await ask.changes()
    again = await ask.changes(first["next"])
    change, *others = [each for each in first["changes"] if not each["is_state"]]
    states = [(each["words"], each["source"]) for each in first["changes"] if each["is_state"]]
    assert states == [("4 dead", "s0.example"), ("12 dead, was 4", "s2.example")]
    assert not others
    story = await ask.story(change["story"])
    assert (story["id"], story["level"]) == (change["story"], None), "no id of an event that may come"
    assert (change["figure"], change["old"], change["new"], change["source"]) == ("dead", "4", "12", "s2.example")
    assert change["confirmed"]
    assert (again["changes"], again["gap"], again["more"], again["gone"]) == ([], False, False, 0)


async def test_stories_are_told_as_they_are_with_what_is_new(room: Newsroom, ask: Ask) -> None:
    await publish_fire(room)
    first = await ask.stories(sources=3)
    await publish_fire(room, 4)
    (story,) = (await ask.stories(first["next"]))["stories"]
    assert [each["status"] for each in first["stories"][0]["joined"]] == [
        "original",
        "duplicate",
        "update",
        "duplicate",
    ]
    assert {each["source"] for each in story["joined"]} == {f"s{number}.example" for number in range(4, 8)}
    assert (story["items"], story["sources"]) == (8, 8)
    for none in ({"sources": 9}, {"language": "xx"}, {"source": "s9.example"}):
        assert (await ask.stories(**none))["stories"] == []  # type: ignore[arg-type]
    assert len((await ask.stories(language="EN", source="www.s4.example"))["stories"]) == 1


async def test_each_level_is_told_once_after_a_list_of_what_runs(room: Newsroom, ask: Ask) -> None:
    empty = await ask.events()
    for number in range(8):
        await room.publish("fire", f"s{number}", 60 * number)
    (event,) = (await ask.events(empty["next"]))["events"]
    (running,) = (await ask.events())["events"]
    assert event["level"] == running["level"] == "breaking"
    assert event["id"] == room.events[0].id == running["id"]
    assert (await ask.story(running["story"]))["measures"]["sources"] == 8
    assert (await ask.events((await ask.events(empty["next"]))["next"]))["events"] == []


async def test_an_event_has_the_id_under_which_receivers_got_it(room: Newsroom, ask: Ask) -> None:
    """Also if its story became a part of another one, and if the story has grown since."""
    empty = await ask.events()
    for fire, first in (("fire", 0), ("blaze", 60)):
        for number in range(14):
            await room.publish(fire, f"s{number}", first + 60 * number)
    known = {(event.id, event.item) for event in room.events}
    older, newer = sorted({event.story.id for event in room.events})
    (other,) = [each for each in await members_in(room.detector.index, newer) if each.id == newer]
    await room.detector.index.stories.unite(older, other)
    await room.publish("fire", "late", 3600)
    told = (await ask.events(empty["next"]))["events"]
    assert {"breaking", "update"} == {each["level"] for each in told}
    assert {(each["id"], each["item"]) for each in told} == known


async def test_coverage_tells_copies_from_reports(room: Newsroom, ask: Ask) -> None:
    for source, body in (("a", BUDGET), ("b", BOTH), ("c", BUDGET)):
        await room.publish("budget", source, 0, text=body, url=f"https://www.{source}.example/budget")
    await room.publish("other", "d", 0)
    by_text = await ask.coverage(BUDGET, url="https://new.example/")
    by_url = await ask.coverage(url="https://www.a.example/budget?utm_source=x")
    by_id = await ask.coverage(document=by_text["copies"][0]["id"])
    assert by_text["status"] == "duplicate"
    assert [each["source"] for each in by_text["copies"]] == ["a.example", "c.example"]
    assert [each["source"] for each in by_url["reports"]] == ["b.example"]
    assert (by_text["owners"], by_text["owners_of_reports"], by_url["owners"], by_id["owners"]) == (3, 1, 2, 2)
    assert (await ask.coverage(text("new")))["status"] == "original"
    assert (await room.detector.index.summary()).documents == 4, "asking registers nothing"


@pytest.mark.in_memory
async def test_who_tells_a_claim_and_which_toll_contradicts_it(room: Newsroom, ask: Ask) -> None:
    fire = "{} people were dead after the great fire in the old harbour."
    young = await ask.coverage("Nine ministers of Ruritania have resigned over the palace of Strelsau.")
    for minute in range(120):
        body = f"There were people after {text(minute)}"
        await room.publish(minute, f"other{minute}", 60 * minute, text=body)
    for number, dead in enumerate((4, 4, 12, 12)):
        given = {"title": "Great fire in the old harbour", "seen_at": START + 7200 + 60 * number}
        await room.detector.check(room.detector.document(toll(dead), url=f"https://s{number}.example/", **given))
    beside = "Conductors want more near Strelsau. The ferry Thistle sails again. The contract waits in Brackwater. "
    await room.publish("ferry", "ferry", 7300, text=beside + text("ferry"))
    mine = "A gas explosion in the Grimwald mine left 9 miners dead under 1,200 tonnes of rock. "
    teaser = "Nine ministers of Ruritania resigned over the palace of Strelsau\n"
    await room.publish("mine", "mine", 7310, text=mine + text("mine"))
    await room.publish("teaser", "teaser", 7320, text=teaser + text("teaser"))
    alone = await ask.coverage("Gas of two kinds left 14 miners dead under 1200 tonnes of rock in the Grimwald mine.")
    apart = await ask.coverage("Conductors of the ferry Thistle end a contract near Brackwater.")
    right, wrong = [await ask.coverage(fire.format(dead)) for dead in (12, 40)]
    nobody = await ask.coverage("Nine ministers of Ruritania have resigned over the palace of Strelsau.")

    assert right["measured"]
    assert right["owners"] == 4, "all tell of the fire"
    assert {each["source"] for each in right["told"]} == {f"s{number}.example" for number in range(4)}
    assert right["told"][0]["sentence"].startswith("Rescue workers said that 4 people were dead")
    assert right["figures"] == [{"figure": "dead", "value": "12", "agree": 2, "contradict": []}], "4 is older"
    (figure,) = wrong["figures"]
    assert (figure["agree"], {each["value"] for each in figure["contradict"]}) == (0, {"4", "12"})
    assert (alone["stories"], alone["owners"]) == ([], 1)
    assert alone["figures"] == [
        {"figure": "dead", "value": "14", "agree": 0, "contradict": [{"value": "9", "owners": 1}]}
    ]
    for answer in (nobody, apart):
        assert (answer["measured"], answer["told"], answer["owners"]) == (True, [], 0)
    for answer, why in (
        (young, "the claim has no rare word"),
        (await ask.coverage("It rained."), "the claim is too short"),
        (await ask.coverage("It rained. Nobody came."), "too-short"),
    ):
        assert not answer["measured"]
        assert why in answer["why"]


async def test_which_articles_are_on_one_site_only(room: Newsroom, ask: Ask) -> None:
    for source, body in (("a", BUDGET), ("b", BOTH), ("c", BUDGET)):
        await room.publish("budget", source, 0, text=body)
    for number, dead in enumerate((4, 12)):  # an update by the same paper
        await room.publish("fire", "d", 60 * number, text=toll(dead), language="en")
    for number, source in enumerate("ef"):
        await room.publish("storm", source, 60 * number)
    await room.publish("other", "", 0, url="")
    await room.publish("short", "g", 0, text="Too short to be compared.")
    answer = await ask.one_site()
    newest = await ask.one_site(most=-1)  # at least one
    assert {each["source"] for each in answer["one_site"]} == {"b.example", "d.example"}
    assert (len(newest["one_site"]), newest["left_out"], answer["left_out"]) == (1, 1, 0)
    for name in ("D.example", "https://www.d.example/x", "press ltd", "Press%20Ltd"):
        only = (await ask.one_site(source=name, language="en-US"))["one_site"]
        assert [each["source"] for each in only] == ["d.example"]
    assert (await ask.one_site(language="xx"))["one_site"] == []


async def test_whether_a_page_was_seen(room: Newsroom, ask: Ask) -> None:
    for source in "ab":
        await room.publish("fire", source, 0, url=f"https://www.{source}.example/fire")
    await room.publish("fire", "a", 60, url="https://a.example/fire", text=toll(12))
    seen = await ask.has_seen("https://a.example/fire?utm_source=x")
    assert [(each["source"], each["status"]) for each in seen["documents"]] == [
        ("a.example", "original"),
        ("a.example", "update"),
    ]
    await room.publish("short", "c", 90, url="https://c.example/fire", text="Too short to be compared.")
    assert [each["status"] for each in (await ask.has_seen("https://c.example/fire"))["documents"]] == ["unchecked"]
    await room.publish("other", "b", 120, url="https://b.example/fire")  # which is in no story
    assert (await ask.story("https://b.example/fire"))["measures"]["sources"] == 2
    assert (await ask.has_seen("https://a.example/flood")) == {"seen": False, "documents": []}


async def test_what_cannot_be_read_is_named(ask: Ask) -> None:
    for question in (
        *map(ask.stories, ("", "x", "٣-٣@٣")),
        ask.events(""),
        ask.stories(language="English"),
        ask.story("x"),
        ask.story("0" * 16),
        ask.has_seen("x"),
        ask.coverage(text=" . "),
    ):
        with pytest.raises(InputError):
            await question


@pytest.mark.in_memory
async def test_a_log_that_is_full_forgets_the_oldest_and_says_so(
    room: Newsroom, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout.Layout, "most_changes", 100)
    await publish_fire(room)
    first = await ask.stories()
    documents = [room.article("fire", f"t{number}", number) for number in range(210)]
    await room.detector.check_in_order(documents)
    late = await ask.stories(first["next"])
    assert late["gap"]
    assert not (await ask.stories(late["next"]))["gap"]
    assert 99 <= len(late["stories"][0]["joined"]) + late["gone"] <= 200
