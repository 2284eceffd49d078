"""The template guard: the same sentences with other names and figures are another report."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document
from scrapy_neardup.evidence.templates import MOST, SPECIFIC_BYTES, are_of_one_template
from scrapy_neardup.evidence.templates import find_specifics as specifics_of
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import PRESETS, Sketcher
from scrapy_neardup.text.body import read_bodies


def dividend(company: str, cents: str, payable: str, holders: str) -> str:
    return (
        f"The directors of {company} said that the board has declared a quarterly dividend of {cents} cents for each "
        f"ordinary share of the company. The dividend is payable on the {payable} of the month to all the holders of "
        f"record on the {holders} of the month, and it compares with a dividend of {cents}.5 cents in the last year."
    )


def result(home: str, away: str, scorer: str, minute: str, crowd: str) -> str:
    return (
        f"The hosts from {home} won again when {scorer} scored the only goal in the {minute} minute of a poor match. "
        f"The visitors from {away} had most of the ball but hardly a chance before the break. Before a crowd of "
        f"{crowd} people the keeper of {away} saved twice from {scorer} late on, and then it was all over for them."
    )


def weather(places: list[str]) -> str:
    a, b, c, d, e, f = places
    return (
        f"明日の天気は晴れで、最高気温は{a}度、最低気温は{b}度の見込みです。"
        f"降水確率は午前が{c}パーセント、午後が{d}パーセントです。"
        f"風は北から毎秒{e}メートル、波の高さは{f}メートルになるでしょう。"
    )


TEMPLATES = {
    "dividend": (
        dividend("Northern Cement Works", "12", "19", "3"),
        dividend("Harbour Optics Group", "31", "26", "14"),
    ),
    "result": (
        result("North Haven", "Port Alba", "Ida Lund", "13", "4,210"),
        result("Old Ferry", "Mill Town", "Jo Marsh", "78", "1,955"),
    ),
    "weather": (weather(["21", "9", "10", "20", "3", "1.5"]), weather(["30", "17", "60", "80", "12", "4"])),
}


@pytest.mark.parametrize(("one", "other"), TEMPLATES.values(), ids=TEMPLATES)
async def test_reports_of_one_template_are_two_originals(one: str, other: str) -> None:
    detector = NearDupDetector(NearDupSettings(store="memory://"))
    await detector.open()

    verdicts = await detector.check_in_order([detector.document(text) for text in (one, other, one)])

    await detector.close()
    assert [verdict.status for verdict in verdicts] == ["original", "original", "duplicate"]


def find_specifics(text: str) -> bytes:
    (found,) = specifics_of(read_bodies([text], min_words=0, min_block_words=0))
    return found


def test_a_report_with_other_figures_is_an_update_of_it() -> None:
    before = result("North Haven", "Port Alba", "Ida Lund", "13", "4,210")
    after = result("North Haven", "Port Alba", "Ida Lund", "14", "5,100")

    assert not are_of_one_template(find_specifics(before), find_specifics(after))


@given(st.text(), st.text())
def test_any_text_has_specifics_that_are_bounded_and_agree_with_themselves(one: str, other: str) -> None:
    found, others = find_specifics(one), find_specifics(other)

    assert len(found) % SPECIFIC_BYTES == 0
    assert len(found) <= MOST * SPECIFIC_BYTES
    assert not are_of_one_template(found, found)
    assert are_of_one_template(found, others) == are_of_one_template(others, found)


def test_texts_that_come_together_are_sketched_as_if_one_by_one() -> None:
    """Also those of which lines become boilerplate meanwhile, and which come again then."""
    notice = "This material may not be published or broadcast or redistributed without the consent of our agency."
    words = [["".join(draw.choices("aeioulmnrst", k=6)) for _ in range(60)] for draw in map(random.Random, range(8))]
    named = [" ".join(word.capitalize() if n % 7 == 3 else word for n, word in enumerate(story)) for story in words]
    texts = [f"{story}.\n{notice}" for story in named]
    together, alone = Sketcher(PRESETS["news"]), Sketcher(PRESETS["news"])

    documents = [
        Document("", f"https://paper.example/{text[:9]}", "paper.example", text[:30], text, 0.0)
        for text in [*texts, *texts[::-1]]
    ]

    found = together.fingerprints(documents)

    assert found == [alone.fingerprint(document) for document in documents]
    assert found[0].signature != found[-1].signature, "the notice is left out by then"
