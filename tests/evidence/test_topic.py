"""The topic: rewritten coverage of one event has the same rare terms, and joins its story by them."""

import random
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from long_form import tries
from texts import START, opened

from scrapy_neardup.document import Document, Fingerprint, Verdict
from scrapy_neardup.evidence.titles import term_codes, title_terms
from scrapy_neardup.evidence.topic import (
    KEYS,
    MOST_TOPIC_TERMS,
    TERM_WEIGHTS,
    TITLE_BIT,
    TOPIC_TERM_BYTES,
    read_lead,
    tells_title,
    topic_score,
)
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.settings.presets import PRESETS
from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.text.folding import fold

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
COMMON = "the of and that with from they have been which were said after about would there their people when more"
OFTEN = "это было после того когда этого также более человек время который сообщил года своей между через только"


def document(text: str, title: str = "") -> Document:
    return Document("00" * 8, "", "", title, text, 0.0)


def fingerprint(text: str, title: str = "", preset: str = "news") -> Fingerprint:
    return Sketcher(PRESETS[preset]).fingerprint(document(text, title))


def weights(packed: bytes) -> dict[int, int]:
    terms = struct.iter_unpack(">H", packed)
    return {term % TITLE_BIT: weight for (term,), weight in zip(terms, TERM_WEIGHTS, strict=False)}


def slots(words: str) -> set[int]:
    return {code % TITLE_BIT for code in term_codes(fold(f"and {words}"))[1:]}


def prose(seed: object, common: str, rare: Sequence[str] = (), size: int = 60) -> str:
    """Common words of a language, in which rare ones stand."""
    draw = random.Random(repr(seed))
    words = draw.choices(common.split(), k=size)
    for word in rare:
        words.insert(draw.randrange(1, len(words)), word)
    return " ".join(words)


def word(seed: object, letters: str = "abdegiklmnoprstuv") -> str:
    return "".join(random.Random(repr(seed)).choices(letters, k=8))


def learned(documents: int = 60, common: str = COMMON) -> Sketcher:
    """A sketcher that has seen documents of a language, each with rare words of its own."""
    sketcher = Sketcher(NEWS)
    for number in range(documents):
        sketcher.fingerprint(document(prose(number, common, [word((number, each)) for each in range(8)])))
    return sketcher


async def judge(*texts: str, **settings: object) -> list[Verdict]:
    """Return the verdicts of texts by a source each, one after the other."""
    async with opened("news", "memory://", "x", **settings) as detector:
        documents = [
            detector.document(text, url=f"https://paper{number}.example/", seen_at=START + 120 * number)
            for number, text in enumerate(texts)
        ]
        return await detector.check_in_order(documents)


async def test_rewritten_coverage_joins_the_story_and_another_event_does_not() -> None:
    first, train, paper = verdicts = await judge(WIRE, ELSEWHERE, REWRITTEN)
    assert [each.status for each in verdicts] == ["original", "original", "related"]
    assert paper.story == first.story != train.story
    assert paper.containment is not None
    assert paper.containment < NEWS.related_threshold


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("they went to see Magnus Aird in Oban", "Magnus Aird Oban"),
        ("Magnus and the others had gone to the island", ""),  # begins a line
        ("they met 12 of 2000 people on a Monday in March with Magnus Aird", "Magnus Aird"),
        ("sie fanden Ørsted und Ångström in Malmö und gingen dann fort", "Ørsted Ångström Malmö"),
        ("они видели Магнуса и его брата в Осло", "Магнуса Осло"),
        ("they spoke of magnus aird in oban", ""),
        ("Sunday News Weather Sports Business Blogs Local Metro " * 8, ""),  # a menu: all words have a capital
    ],
)
def test_before_enough_is_known_only_names_are_rare(text: str, names: str) -> None:
    filling = "\nand then there was nothing more to be said of it by anybody who had been there on that day at all."
    assert set(weights(fingerprint(text + filling).topic)) == slots(names)


def test_terms_of_the_title_are_marked() -> None:
    text = "they came to the island of Skerrow in the morning with Magnus Aird, and nobody was there to be seen at all."
    packed = fingerprint(text, "Ferry runs aground off Skerrow").topic
    marked = {term % TITLE_BIT for (term,) in struct.iter_unpack(">H", packed) if term >= TITLE_BIT}
    assert marked == slots("Skerrow")
    assert weights(packed).keys() == slots("Skerrow Magnus Aird")


def test_inflected_forms_are_one_term() -> None:
    sketcher = learned()
    one, other = (
        sketcher.fingerprint(document(prose(text, COMMON, text.split()))).topic
        for text in ("Harbours Volcanic Skerrow's", "harbour volcano skerrow")
    )
    assert len(slots("harbours harbour volcanic volcano skerrow")) == 3
    assert weights(one).keys() & weights(other).keys() >= slots("harbour volcano skerrow")


def test_each_language_of_a_stream_has_its_own_common_words() -> None:
    """The common words of the smaller language are in few documents of the stream, but in most of their own."""
    sketcher = learned(300)
    for number in range(60):
        rare = [word((number, each), "абвгдеиклмноп") for each in range(8)]
        sketcher.fingerprint(document(prose(number, OFTEN, rare)))
    topic = weights(sketcher.fingerprint(document(prose("new", OFTEN, ["скерроу", "вулкан"]))).topic)
    common = [topic.get(slot, 0) for slot in slots("после того когда этого также более человек время")]
    assert max(common) < min(topic[slot] for slot in slots("скерроу вулкан")) / 2


JAPANESE = {
    "対馬海峡で旅客船が座礁": "昨夜、対馬海峡で旅客船あさひ丸が座礁し、乗客四百人が救命艇で脱出した。"
    "船長の岡本は舵が故障したと話している。",
    "旅客船あさひ丸座礁、舵の故障か": "旅客船あさひ丸の乗客は、夜明けまで対馬海峡の冷たい風に耐えた。"
    "岡本船長によると、座礁の前に舵が動かなくなった。",
    "市立図書館が再開": "市立図書館が改修を終えて再開し、ガラス屋根の下に明るい閲覧室ができた。"
    "建築家は古い木の壁を残したという。",
}
"""Two reports of one event, and one of another, by title."""


def test_scripts_without_spaces_have_pairs_of_characters_for_terms() -> None:
    sketcher = Sketcher(NEWS)
    for number in range(60):
        draw = random.Random(number)
        a, b, c, d, e = ("".join(chr(0x4E00 + draw.randrange(5000)) for _ in range(4)) for _ in range(5))
        said = f"{a}は{b}が{c}したと話している。{d}によると、{e}を残したという。{a}の{e}は{c}から{b}まで続いている。"
        sketcher.fingerprint(document(said))
    wire, report, library = (sketcher.fingerprint(document(text, title)).topic for title, text in JAPANESE.items())
    assert topic_score(wire, report) > NEWS.topic_threshold
    assert topic_score(wire, library) < NEWS.topic_threshold / 2


UNRELATED = (
    "Shares rose 4.1 percent on Monday, said a trader of Norvik. Wheat fell 1.2, oats 3 and barley 2.4 in March.",
    "On Monday the council fined 3 bakeries; 4 others paid 2.1 or 1.5 thousand for their fog lamps in March.",
    "Eggs cost 2.3 crowns in March, 1.4 more than a year ago, said a farmer on Monday. Of 4 farms 3 have closed.",
    "Broadband reaches 4.2 of 13 islands since March, it was said on Monday. They want 2 cables, 1 mast and 3 boats.",
    "The museum of lace opens 3 rooms on Monday, 4 years late. In March 2 roofs and 1 stair cost it 1.2 million.",
    "A key rate of 3.4 was set on Monday, 1 point down; 4 members of 12 had asked for 2.1 in March already.",
)


async def test_weekdays_months_and_short_numbers_join_nobody() -> None:
    assert [verdict.status for verdict in await judge(*UNRELATED)] == ["original"] * len(UNRELATED)


async def test_a_threshold_of_one_switches_topics_off() -> None:
    options = {"topic_threshold": 1}
    preset = NearDupSettings(store="memory://", preset_options=options).resolved_preset()
    sketcher = Sketcher(preset)
    made = sketcher.fingerprint(document(WIRE, "Ferry runs aground off Skerrow"))
    assert (made.topic, made.topic_keys, sketcher.topics) == (b"", (), None)
    assert "terms" not in sketcher.all_frequencies
    assert made.text_keys == made.band_keys + made.sample_keys
    assert preset.config() != NEWS.config()
    verdicts = await judge(WIRE, REWRITTEN, NEARDUP_PRESET_OPTIONS=options)
    assert [each.status for each in verdicts] == ["original", "original"]


_WORDS = st.sampled_from([*COMMON.split(), "Skerrow", "Magnus", "1482", "ferry", "対馬海峡", "остров", "Ørsted"])
_TEXTS = st.lists(_WORDS, min_size=20, max_size=300).map(" ".join)


@settings(max_examples=tries(40))
@given(texts=st.lists(st.tuples(_TEXTS, _TEXTS), min_size=1, max_size=3), known=st.booleans())
def test_a_topic_is_bounded_and_its_keys_are_those_of_its_heaviest_terms(
    texts: list[tuple[str, str]], known: bool
) -> None:
    sketcher = learned(25) if known else Sketcher(NEWS)
    for text, title in texts:
        made = sketcher.fingerprint(document(text, title[:100]))
        found = list(weights(made.topic).values())
        assert len(made.topic) == len(found) * TOPIC_TERM_BYTES <= MOST_TOPIC_TERMS * TOPIC_TERM_BYTES
        assert len(set(made.topic_keys)) == len(made.topic_keys) == min(KEYS, len(found))


@pytest.mark.parametrize(("title", "tells"), [("Harbour council quarrels", False), ("Harbour festival quarrels", True)])
def test_a_lead_tells_a_title_if_it_has_half_of_its_terms(title: str, tells: bool) -> None:
    assert tells_title(read_lead(["A harbour festival opens in Skerrow"]), title_terms(title)) is tells
