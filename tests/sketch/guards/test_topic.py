"""The topic: rewritten coverage of one event says the same names, and joins its story by them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Fingerprint, Verdict
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.similarity.likeness import LEAST_SHARED_NAMES, NAME_BYTES, topic_share
from scrapy_neardup.sketch import PRESETS, Sketcher
from scrapy_neardup.sketch.guards.topic import PAIRED, pack_topic, topic_keys
from scrapy_neardup.stories import StoryEvent

START = 1_700_000_000
NEWS = PRESETS["news"]
WIRE = (
    "The ferry Morning Star with 1,482 people on board ran aground off Skerrow in the Hebrides before dawn, and its "
    "captain, Magnus Aird, was flown to a hospital in Oban. A spokeswoman of the operator Northlink said that steering "
    "had failed in heavy seas. Lifeboats from Barra took the passengers to the island one by one."
)
REWRITTEN = (
    "It took four hours to bring everybody ashore at Skerrow, says Isla Reid, who was asleep when the hull of the "
    "Morning Star began to grind on rock. Nobody of the 1,482 was badly hurt but for the master, Magnus Aird, who is "
    "now being treated at Oban. Divers of Northlink are looking at the rudder, which seems to have jammed."
)
ELSEWHERE = (
    "A goods train with 1,482 tonnes of grain left the rails near Karlow in the Vale of Enna last night, and its "
    "driver, Jonas Pell, walked to the next farm for help. The railway company Midrail said that the points had been "
    "set wrongly for a train of that length. The line to Tessin stays closed until a crane from Arlberg has come."
)


def fingerprint(text: str, title: str = "", preset: str = "news") -> Fingerprint:
    return Sketcher(PRESETS[preset]).fingerprint(Document("00" * 8, "", "", title, text, 0.0))


def share(one: str, other: str) -> float:
    return topic_share(fingerprint(one).topic, fingerprint(other).topic)


async def run(documents: Sequence[tuple[str, str]], minutes: int = 2) -> tuple[list[Verdict], list[StoryEvent]]:
    """Verdicts and events of (source, text), one after the other."""
    detector = NearDupDetector(NearDupSettings(store="memory://"), run="")
    await detector.open()
    given = [
        detector.document(text, url=f"https://{source}.example/{n}", seen_at=START + 60 * minutes * n)
        for n, (source, text) in enumerate(documents)
    ]
    verdicts = await detector.check_in_order(given)
    await detector.close()
    return verdicts, detector.take_events()


async def test_rewritten_coverage_joins_the_story_and_another_event_does_not() -> None:
    verdicts, _ = await run([("wire", WIRE), ("train", ELSEWHERE), ("paper", REWRITTEN)])

    first, train, paper = verdicts
    assert [each.status for each in verdicts] == ["original", "original", "related"]
    assert paper.story == first.story != train.story
    assert paper.containment is not None
    assert paper.containment < NEWS.related_threshold


async def test_coverage_by_the_source_of_the_first_is_its_own_story() -> None:
    verdicts, _ = await run([("wire", WIRE), ("wire", REWRITTEN)])

    assert [each.status for each in verdicts] == ["original", "original"]


async def test_independent_reports_raise_an_event() -> None:
    draw = random.Random(7)
    names = "the Morning Star,off Skerrow,the Hebrides,of Magnus Aird,near Oban,by Northlink,from Barra".split(",")
    reports = []
    for number in range(8):
        words = ["".join(draw.choices("aeioudlmnrst", k=6)) for _ in range(80)]
        for name in draw.sample(names, len(names)):
            words.insert(draw.randrange(1, len(words)), name)
        reports.append((f"s{number}", f"It {' '.join(words)}."))

    verdicts, events = await run(reports)

    assert [each.status for each in verdicts[1:]] == ["related"] * 7
    assert [event.level for event in events] == ["breaking"]


@pytest.mark.parametrize("preset", sorted(PRESETS.keys() - {"news"}))
def test_published_systems_have_no_topic(preset: str) -> None:
    assert fingerprint(WIRE, preset=preset).topic == b""
    assert fingerprint(WIRE, preset=preset).topic_keys == ()


# What a name is.


def number_of_names(text: str, title: str = "") -> int:
    filling = "\nand then there was nothing more to be said of it by anybody who had been there on that day at all."
    return len(fingerprint(text + filling, title).topic) // NAME_BYTES


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("they went to see Magnus Aird in Oban", 3),
        ("they went. Magnus had gone", 0),  # begins a sentence
        ('they said: "Magnus has gone" and left it there', 0),  # or what somebody says
        ("Magnus and the others had gone to the island", 0),
        ("they went to the United States in May, as the President had", 0),  # what any news says
        ("Sunday News Weather Sports Business Blogs Local Metro", 0),  # a menu
        ("they found 1,482 of 2,000 people by 2023", 1),  # neither round nor a year
        ("they found 12 of 99 people in all", 0),
        ("sie fanden Ørsted und Ångström in Malmö und gingen dann fort", 3),
        ("они видели Магнуса и его брата в Осло", 2),
        ("they spoke of magnus aird in oban", 0),
    ],
)
def test_names_and_figures(text: str, names: int) -> None:
    assert number_of_names(text) == names


def test_a_table_has_no_topic() -> None:
    rows = "".join(f"at Skerrow {n}01 of {n}23 and {n}45 by {n}67\n" for n in range(1, 9))

    assert fingerprint(rows).topic == b""


def test_names_of_the_title_count_unless_it_is_all_capitals() -> None:
    text = "they came to the island in the early morning, and there was nobody to be seen there"

    assert number_of_names(f"{text} but Aird.", "Ferry of the island runs aground off Skerrow") == 2
    assert number_of_names(f"{text} but Aird.", "Ferry Runs Aground Off Skerrow") == 1
    assert number_of_names(f"{text} but Aird.", "FERRY RUNS AGROUND") == 1


def test_case_spelling_and_order_do_not_matter() -> None:
    text = "then they met Magnus Aird of Northlink in Oban and in Skerrow, and 1,482 others who had been on the island."
    other = (
        "and on the island they met 1482 others, and in Skerrow and in Oban MAGNUS AIRD of Northlink with the others."
    )

    assert share(text, other) == 1.0


def test_few_names_in_common_are_none() -> None:
    """Two reports of a capital, a minister and a party are of the same country, not of the same event."""
    one = "then they met Magnus Aird of Northlink in Oban and two others whom nobody had ever seen on the island."
    other = "when it was over Magnus Aird and others of Northlink had long been in Oban with all that they had brought."

    assert len(fingerprint(one).topic) // NAME_BYTES == 4
    assert share(one, other) == 0.0


# Laws.

_TOPICS = st.sets(st.integers(0, (1 << 32) - 1), max_size=16).map(lambda names: tuple(sorted(names)))


@given(one=_TOPICS, other=_TOPICS)
def test_a_share_is_one_of_both(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    a, b = pack_topic(one), pack_topic(other)

    assert topic_share(a, b) == topic_share(b, a)
    assert 0.0 <= topic_share(a, b) <= 1.0
    assert topic_share(a, a) == (1.0 if len(a) >= LEAST_SHARED_NAMES * NAME_BYTES else 0.0)


@given(names=_TOPICS)
def test_topics_that_begin_alike_meet(names: tuple[int, ...]) -> None:
    keys = topic_keys(names)

    assert len(set(keys)) == len(keys) == min(len(names), PAIRED) * (min(len(names), PAIRED) - 1) // 2
    assert topic_keys(names[:PAIRED]) == keys


@given(order=st.permutations(WIRE.split(". ")))
def test_the_order_of_sentences_changes_no_topic(order: list[str]) -> None:
    shuffled = ". ".join(part.rstrip(".") for part in order) + "."

    assert share(WIRE, shuffled) >= 0.9
