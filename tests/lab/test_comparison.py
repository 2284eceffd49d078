"""Two documents side by side: what they share, and the reasons that are given for the verdict."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from articles import COMET, FERRY
from newsdesk import text

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.lab.comparison import Comparison, TextComparison
from scrapy_neardup.lab.comparison import compare as compare_stored
from scrapy_neardup.lab.feed import RecordedDocument
from scrapy_neardup.lab.pages import RecordedPage
from scrapy_neardup.lab.stored import as_stored
from scrapy_neardup.settings import NearDupSettings


def page(text: str, url: str = "", title: str = "") -> RecordedPage:
    return RecordedPage(RecordedDocument(1, "", 1, url, title), text)


async def compare(first: RecordedPage, second: RecordedPage, settings: NearDupSettings) -> Comparison:
    """Compare two documents in an empty window."""
    detector = NearDupDetector(replace(settings, store="memory://"))
    return compare_stored(detector, as_stored(detector, first), as_stored(detector, second))


def texts_of(comparison: Comparison) -> TextComparison:
    assert comparison.texts is not None
    return comparison.texts


async def test_comparison_of_an_abridged_copy() -> None:
    whole = f"By our reporter\n{FERRY}\n{COMET}"
    comparison = await compare(page(whole), page(COMET), NearDupSettings())
    assert (comparison.status, comparison.kind) == ("duplicate", "abridged")
    texts = texts_of(comparison)
    assert texts.containment == 1
    assert comparison.resemblance == pytest.approx(texts.resemblance, abs=0.15)
    assert [passage.text for passage in texts.shared] == [COMET]
    assert [passage.text for passage in texts.first.own] == [FERRY]
    assert texts.second.own == ()
    assert texts.first.left_out == (("By our reporter", "3 words, under 8"),)
    assert any(line.startswith("containment ") and line.endswith(" >= threshold = 0.45") for line in comparison.why)


async def test_comparison_names_what_changed() -> None:
    comparison = await compare(page(FERRY), page(FERRY.replace("ninety", "forty")), NearDupSettings())
    assert comparison.status == "update"
    assert any("figures changed" in line and "90 -> 40" in line for line in comparison.why)
    assert [passage.text for passage in texts_of(comparison).second.own] == ["forty"]


async def test_comparison_of_two_reports_of_one_template() -> None:
    def report(company: str, cents: int, day: int) -> RecordedPage:
        return page(
            f"The directors of {company} said that the board has declared a dividend of {cents} cents for every share "
            f"of the company. It is payable on the {day} of the month to holders of record on the {day + 2} of it."
        )

    comparison = await compare(report("Harbour Optics", 12, 3), report("Northern Cement", 31, 14), NearDupSettings())

    assert comparison.status == "original"
    assert "reports of one template" in comparison.why[-1]


async def test_comparison_of_strangers() -> None:
    comparison = await compare(page(FERRY), page(COMET), NearDupSettings())
    assert comparison.status == "original"
    assert texts_of(comparison).shared == ()
    assert comparison.why[:2] == (
        "weight of the look-up keys that both have 0 < 2",
        "so they are never compared; if they were:",
    )
    assert comparison.why[-2:] == (
        "terms that the topics share 0 < 5",
        "score of the topics 0.00 < topic_threshold = 0.28",
    )


async def test_comparison_of_two_reports_on_one_event() -> None:
    names = "Magnus Aird and Isla Reid of Northlink came to Skerrow, Barra and Oban"
    one = f"Lifeboats took everybody from the ferry when {names} to see what was left of the hull on the rocks."
    other = f"Nobody knows yet why the steering failed, but yesterday {names}, and today divers look at the rudder."

    comparison = await compare(page(one), page(other), NearDupSettings(preset_options={"related_threshold": 0.45}))

    assert comparison.status == "related"
    assert comparison.topic is not None
    score = f"{comparison.topic.score:.2f}"
    assert comparison.why[-1] == f"score of the topics {score} >= topic_threshold = 0.28"


async def test_two_texts_of_one_source_under_different_titles_are_no_copies_and_the_reason_is_given() -> None:
    first, second = (
        page(f"{text('common', 120)}\n{text(title, 60)}", f"https://paper.example/{title[:4]}", title)
        for title in ("Ferry aground near Skerrow", "Harbour closed after storm")
    )
    comparison = await compare(first, second, NearDupSettings())
    assert comparison.status == "original"
    assert comparison.score >= NearDupSettings().resolved_preset().threshold
    unlike = comparison.why.index("one source has them under titles without a common word")
    assert re.fullmatch(r"common share of the larger text 0\.\d+ < 0\.9", comparison.why[unlike + 1])


async def test_a_scope_that_excludes_the_pair_is_named() -> None:
    copies = [page(FERRY + end, f"https://{site}.example/") for site, end in (("one", ""), ("two", " It is late."))]
    comparison = await compare(*copies, NearDupSettings(scope="same-source"))
    assert comparison.why[-1] == "NEARDUP_SCOPE = same-source allows no match of two sources"
