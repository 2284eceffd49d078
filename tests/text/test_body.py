"""A body has the lines of a text: its sentences, and what is glued to them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from newsdesk import made_up

from scrapy_neardup.sketch import PRESETS, Sketcher
from scrapy_neardup.text.lines import Body

SKETCHER = Sketcher(PRESETS["news"])


def paragraphs(story: object, count: int, words: int = 30) -> list[str]:
    """Made-up words, of one story and no other."""
    return [" ".join(made_up((story, number), words)) for number in range(count)]


def body_of(lines: Sequence[str]) -> Body:
    return SKETCHER.read_texts(["\n".join(lines)])[0]


def test_what_is_glued_to_the_last_paragraph_is_a_line_of_its_own() -> None:
    offer = "Get access to the fastest growing newsroom of the land for as little as a coin. Use the code below."
    (*_, last), (*_, other) = (body_of([f"{paragraphs(story, 1)[0]}.{offer}"]).read_lines for story in range(2))
    assert last[0] == offer
    assert last[1] == other[1]


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
