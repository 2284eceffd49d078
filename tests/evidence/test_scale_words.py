"""Words that multiply a number, against CLDR: what a newspaper of any language prints is never wrong by a thousand."""

from __future__ import annotations

import pytest
from babel.numbers import format_compact_decimal

from scrapy_neardup.evidence.figures.figure import find_figures

LANGUAGES = "en de es fr it pt nl ru uk pl cs hu ro bg el tr ar fa id vi sv da nb fi hr sr ja zh ko hi".split()
NUMBERS = 20_000, 7_700_000, 2_300_000_000
SENTENCE = {
    "ar": "حوالي {} شخص في المدينة.",
    "fa": "حدود {} نفر در شهر.",
    "ja": "約{}人が集まった。",
    "zh": "约{}人参加。",
}


# The short forms of the other languages have single letters that mean something else elsewhere: "20 t" is 20 tonnes.
SHORT = [each for each in LANGUAGES if each not in ("hu", "ro", "tr", "id", "vi", "sv", "da", "nb", "fi")]


@pytest.mark.parametrize(
    ("form", "language"), [*(("long", each) for each in LANGUAGES), *(("short", each) for each in SHORT)]
)
def test_a_scale_word_is_read_as_cldr_writes_it(form: str, language: str) -> None:
    wrong = []
    for number in NUMBERS:
        written = format_compact_decimal(number, format_type=form, locale=language, fraction_digits=1)  # type: ignore[arg-type]
        values = [each.value for each in find_figures(SENTENCE.get(language, "xx {} xx yy.").format(written))]
        if values != [str(number)]:
            wrong.append((written, values))
    assert wrong == []
