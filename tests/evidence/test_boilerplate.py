"""The boilerplate guard: lines of several different stories leave the fingerprint, lines of one story stay."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from newsdesk import made_up

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Verdict
from scrapy_neardup.evidence.boilerplate import LineSample
from scrapy_neardup.sketch import PRESETS, Body, BoilerplateGuard, Sketcher

SKETCHER = Sketcher(PRESETS["news"])
DISCLAIMER = (
    "This material may not be published broadcast rewritten or redistributed without the consent of the agency",
    "Subscribe now and read every article of our newsroom for one month without paying anything at all for it",
)


def paragraphs(story: object, count: int, words: int = 30) -> list[str]:
    """Made-up words, of one story and no other."""
    return [" ".join(made_up((story, number), words)) for number in range(count)]


def body_of(lines: Sequence[str]) -> Body:
    return SKETCHER.read_texts(["\n".join(lines)])[0]


def left_out(guard: BoilerplateGuard, lines: Sequence[str]) -> list[str]:
    body = body_of(lines)
    boilerplate = guard.learn(LineSample.of(body, 3), 20)
    return [line.text for line, _ in body.read_lines if line.key in boilerplate]


def test_a_line_of_three_stories_is_boilerplate_from_the_third_on() -> None:
    guard = BoilerplateGuard()

    found = [left_out(guard, [*paragraphs(story, 4), *DISCLAIMER]) for story in range(5)]

    assert found == [[], [], *[list(DISCLAIMER)] * 3]


def test_a_wire_story_in_fifty_papers_has_no_boilerplate() -> None:
    guard, wire = BoilerplateGuard(), paragraphs("wire", 8)

    for paper in range(50):
        cut = wire[: random.Random(paper).randint(3, 8)]
        assert left_out(guard, [*cut, *paragraphs(f"paper {paper}", 1)]) == []


def test_a_paragraph_that_is_quoted_here_and_there_belongs_to_the_story_it_comes_from() -> None:
    guard, wire = BoilerplateGuard(), paragraphs("wire", 6)

    for number in range(20):
        assert left_out(guard, wire) == []
        if number % 4 == 3:
            assert left_out(guard, [wire[2], *paragraphs(f"comment {number}", 4)]) == []


@pytest.mark.parametrize(("own", "lines"), [(2, 1), (10, 2)])
def test_never_over_half_of_a_document_leaves(own: int, lines: int) -> None:
    guard, common = BoilerplateGuard(), paragraphs("common", 4)
    for story in range(5):
        left_out(guard, [*paragraphs(story, 10), *common])

    found = left_out(guard, [*paragraphs("short", own), *common])

    assert len(found) == min(own + 4, 8) // 2
    assert len(found) >= lines


def test_a_document_is_never_made_too_short() -> None:
    guard, common = BoilerplateGuard(), paragraphs("common", 1, 15)
    for story in range(5):
        left_out(guard, [*paragraphs(story, 3), *common])

    assert left_out(guard, [*paragraphs("just enough", 1, 20), *common]) == common
    assert left_out(guard, [*paragraphs("not enough", 1, 19), *common]) == []


def test_what_is_glued_to_the_last_paragraph_is_boilerplate_too() -> None:
    guard, offer = BoilerplateGuard(), "Get access to the fastest growing newsroom of the land for as little as a coin."

    found = [
        left_out(guard, [*paragraphs(story, 4), f"{paragraphs(('last', story), 1)[0]}.{offer} Use the code below."])
        for story in range(4)
    ]

    assert found == [[], [], *[[f"{offer} Use the code below."]] * 2]


@pytest.mark.parametrize(("words", "lines"), [(1, 1), (10, 1), (11, 2), (30, 3), (99, 3)])
def test_the_lead_has_the_first_lines_up_to_so_many_words(words: int, lines: int) -> None:
    assert body_of(made := paragraphs("lead", 3, 10)).lead(words) == made[:lines]


@pytest.mark.parametrize(
    ("block", "sentences"),
    [
        ("The bridge was closed on Monday after the flood. It will be opened again before the summer comes.", 2),
        ("The bridge was closed on Aug. 27 after J. F. Smith of U.S. Bridges Inc. said so to all of us.", 1),
        ("The bridge costs 1.5 million and is shown on bridges.example for all who want to see it. No. Yes.", 1),
        ("橋は閉鎖された。技術者が橋脚にひびを見つけたためである。来月には再び開通する見込みだという。", 3),
        ("पुल सोमवार को बंद कर दिया गया क्योंकि दो खंभों में दरारें थीं। अगले महीने इसे फिर से सब के लिए खोला जाएगा।", 2),
    ],
)
def test_a_block_is_cut_into_sentences(block: str, sentences: int) -> None:
    assert len(body_of([block]).read_lines) == sentences


def test_memory_is_bounded_and_what_keeps_coming_is_kept() -> None:
    guard = BoilerplateGuard(most_lines=100)

    found = [left_out(guard, [*paragraphs(story, 10), *DISCLAIMER]) for story in range(100)]

    assert len(guard) == 100
    assert found[-1] == list(DISCLAIMER)


# Through the detector, over every store.


async def judge(detector: NearDupDetector, lines: Sequence[str], url: str = "") -> Verdict:
    return await detector.check(detector.document("\n".join(lines), url=url, seen_at=1_700_000_000.0))


async def test_a_long_disclaimer_makes_no_duplicates_of_different_stories(detector: NearDupDetector) -> None:
    common = paragraphs("disclaimer", 4)
    for story in range(3):
        await judge(detector, [*paragraphs(story, 12), *common])

    first = await judge(detector, [*paragraphs("short", 5), *common])
    second = await judge(detector, [*paragraphs("another", 5), *common])

    assert [first.status, second.status] == ["original", "original"]


async def test_a_text_is_not_dropped_because_strangers_print_its_own_sentences(detector: NearDupDetector) -> None:
    """Its own seven paragraphs are in three other stories each, so they are left out. Only the wire's nine remain."""
    own, wire = paragraphs("own", 7), paragraphs("wire", 9)
    for line in own:
        for liar in range(3):
            await judge(detector, [line, *paragraphs((liar, line), 3)], f"https://liar{liar}.example/{line[:7]}")
    await judge(detector, wire, "https://wire.example/1")

    verdict = await judge(detector, [*own, *wire], "https://paper.example/1")

    assert (verdict.status, verdict.original_url) == ("duplicate", "https://wire.example/1")
    assert verdict.share == pytest.approx(9 / 16, abs=0.1)
    assert not verdict.would_drop
