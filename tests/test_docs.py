"""The reference pages have every tag, verdict and constant of the code."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from scrapy_neardup.document import KINDS, STATUSES, TAGS, Reason
from scrapy_neardup.evidence.topic import COVERAGE_SHARE, FEWEST_DOCUMENTS, LEAD_WORDS, UNKNOWN_COVERAGE
from scrapy_neardup.rules.decision import UNITING_COSINE, UNITING_EXTRA
from scrapy_neardup.rules.scoring import SAME_SOURCE_EXTRA, SUPPORTING_SHARE
from scrapy_neardup.sketch import PRESETS

ROOT = Path(__file__).parents[1]
SETTINGS = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
PRESETS_PAGE = (ROOT / "docs/choosing-a-preset.md").read_text(encoding="utf-8")


def test_the_entry_of_the_topic_threshold_has_the_formula_of_the_code() -> None:
    entry = " ".join(PRESETS_PAGE.partition("### topic_threshold")[2].partition("\n### ")[0].split())
    for text in (
        f"default of `news` is {PRESETS['news'].topic_threshold:g}.",
        f"up to {PRESETS['news'].topic_terms} terms of its title and its first {LEAD_WORDS} words",
        f"score = {1 - COVERAGE_SHARE:g} × cosine + {COVERAGE_SHARE:g} × coverage",
        f"no title, {UNKNOWN_COVERAGE:g} stands for its share",
        f"one source need a score that is {SAME_SOURCE_EXTRA:g} higher",
        f"Until {FEWEST_DOCUMENTS} documents of a language",
        f"{UNITING_EXTRA:g} higher than needed, and the members of both stories that it resembles have a mean cosine of"
        f" {UNITING_COSINE:g} ",
    ):
        assert text in entry
    assert SUPPORTING_SHARE == 0.5
    assert "needs half of this threshold" in entry


@pytest.mark.parametrize("word", [*TAGS, *STATUSES, *KINDS, *get_args(Reason)])
def test_every_tag_and_value_is_explained(word: str) -> None:
    assert f"`{word}`" in SETTINGS
