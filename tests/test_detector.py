"""Document -> Verdict: what is said of which document, over an empty window in memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest
from newsdesk import made_up

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Fingerprint, Verdict
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import PRESETS, Sketcher
from scrapy_neardup.sketch.fingerprint import TextSketch

pytestmark = pytest.mark.versions

START = 1_700_000_000.0
HOUR = 3600
URL = "https://www.wire.example/news/bridge"
OTHER = "https://paper.example/2023/bridge-closed"


STORY = made_up("story", 300)


def text_of(tokens: list[str]) -> str:
    """Paragraphs of 30 words."""
    return "\n".join(" ".join(tokens[start : start + 30]) for start in range(0, len(tokens), 30))


def edited(tokens: list[str], every: int) -> list[str]:
    return [word if number % every else f"{word}x" for number, word in enumerate(tokens, 1)]


async def judge(
    detector: NearDupDetector, tokens: list[str] | str, url: str = "", title: str = "", at: float = START
) -> Verdict:
    text = tokens if isinstance(tokens, str) else text_of(tokens)
    return await detector.check(detector.document(text, url=url, title=title, seen_at=at))


async def test_the_first_of_its_kind_is_original_and_begins_a_story(detector: NearDupDetector) -> None:
    document = detector.document(text_of(STORY), url=URL)

    assert await detector.check(document) == Verdict("original", story=document.id)


async def test_the_same_text_elsewhere_is_an_exact_duplicate(detector: NearDupDetector) -> None:
    original = detector.document(text_of(STORY), url=URL)
    await detector.check(original)

    verdict = await judge(detector, STORY, url=OTHER)

    assert (verdict.status, verdict.kind, verdict.similarity, verdict.containment) == ("duplicate", "exact", 1, 1)
    assert (verdict.original, verdict.original_url, verdict.story) == (original.id, URL, original.id)


async def test_the_same_page_again_is_a_revisit(detector: NearDupDetector) -> None:
    await judge(detector, STORY, url=URL)

    verdict = await judge(detector, STORY, url=f"{URL}?utm_source=feed#top", at=START + HOUR)

    assert (verdict.status, verdict.kind) == ("duplicate", "revisit")


async def test_a_light_edit_is_a_near_duplicate(detector: NearDupDetector) -> None:
    await judge(detector, STORY, url=URL)

    verdict = await judge(detector, edited(STORY, 40), url=OTHER)

    assert (verdict.status, verdict.kind, verdict.original_url) == ("duplicate", "near", URL)
    assert 0.7 < (verdict.similarity or 0) < 1


@pytest.mark.parametrize(("first", "second"), [(300, 120), (120, 300)], ids=["abridged", "extended"])
async def test_a_copy_of_another_length_is_abridged_or_extended(
    detector: NearDupDetector, first: int, second: int
) -> None:
    await judge(detector, STORY[:first], url=URL)

    verdict = await judge(detector, STORY[:second], url=OTHER)

    assert (verdict.status, verdict.kind) == ("duplicate", "abridged" if second < first else "extended")
    assert (verdict.containment or 0) > 0.8 > 0.6 > (verdict.similarity or 0)
    assert verdict.share == pytest.approx(1 if second < first else 0.4, abs=0.15)
    assert verdict.would_drop is (second < first)


async def test_a_report_that_shares_a_third_is_related(detector: NearDupDetector) -> None:
    original = detector.document(text_of(STORY), url=URL)
    await detector.check(original)

    verdict = await judge(detector, STORY[:105] + made_up("own reporting", 195), url=OTHER)

    assert (verdict.status, verdict.kind, verdict.story) == ("related", None, original.id)


async def test_a_page_whose_text_changed_is_an_update(detector: NearDupDetector) -> None:
    await judge(detector, STORY, url=URL)

    verdict = await judge(detector, edited(STORY, 12), url=URL)

    assert (verdict.status, verdict.kind, verdict.original_url) == ("update", None, URL)


async def test_without_updates_a_lightly_changed_page_is_a_duplicate() -> None:
    detector = NearDupDetector(NearDupSettings(store="memory://", keep_updates=False))
    await detector.open()
    await judge(detector, STORY, url=URL)

    verdict = await judge(detector, edited(STORY, 12), url=URL)
    rewritten = await judge(detector, made_up("rewritten", 300), url=URL)
    await detector.close()

    assert (verdict.status, verdict.kind) == ("duplicate", "near")
    assert rewritten.status == "update"


async def test_a_document_without_words_may_be_among_others(detector: NearDupDetector) -> None:
    documents = [detector.document(text, url=URL) for text in ("...", text_of(STORY))]
    assert [verdict.status for verdict in await detector.check_in_order(documents)] == ["unchecked", "original"]


async def test_a_short_text_is_judged_only_against_itself(detector: NearDupDetector) -> None:
    short = "Watch the video of the bridge"

    assert await judge(detector, short) == Verdict("unchecked", reason="too-short")
    assert await judge(detector, short.replace("video", "pictures")) == Verdict("unchecked", reason="too-short")
    assert (await judge(detector, short.upper())).kind == "exact"


async def test_the_clock_dates_what_has_no_time(detector: NearDupDetector) -> None:
    assert detector.document("text").seen_at == START


async def test_items_of_one_listing_page_are_not_its_updates(detector: NearDupDetector) -> None:
    verdicts = [
        await detector.check(detector.document(text_of(made_up(number, 60)), url=URL, url_is_own=False))
        for number in range(5)
    ]

    assert {verdict.status for verdict in verdicts} == {"original"}


async def test_a_detector_nobody_opened_opens_itself_once() -> None:
    detector = NearDupDetector(NearDupSettings(store="memory://"))

    verdicts = await asyncio.gather(*(judge(detector, STORY) for _ in range(20)))
    await detector.close()

    assert sorted(verdict.status for verdict in verdicts) == ["duplicate"] * 19 + ["original"]


class NotingSketcher(Sketcher):
    """Notes whether it is asked on the event loop."""

    def __init__(self) -> None:
        super().__init__(PRESETS["news"])
        self.is_on_loop: list[bool] = []

    def fingerprints(self, documents: Sequence[Document], ahead: Sequence[TextSketch | None] = ()) -> list[Fingerprint]:
        self.is_on_loop.append(threading.current_thread() is threading.main_thread())
        return super().fingerprints(documents, ahead)


async def test_the_first_text_is_sketched_outside_the_event_loop() -> None:
    sketcher = NotingSketcher()
    detector = NearDupDetector(NearDupSettings(store="memory://"), sketcher=sketcher)
    await detector.open()
    for number in range(2):
        text = f"The ferry left the harbour {number} " * 20
        await detector.check(detector.document(text, url=f"http://a.example/{number}"))
    await detector.close()
    assert sketcher.is_on_loop == [False, True]
