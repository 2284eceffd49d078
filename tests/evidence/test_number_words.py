"""Numbers in words, and words that multiply a number: a changed one is an update, and a reworded text is none."""

import random
import re
from itertools import product
from operator import itemgetter
from pathlib import Path

import pytest
from babel.numbers import format_compact_decimal
from cases import old_and_new, read_cases
from long_form import some, tries
from num2words import num2words
from texts import START, opened

from scrapy_neardup.document import Verdict
from scrapy_neardup.evidence.figures.figure import find_figures

SENTENCES_OF_A_TEXT = 8
TEXT = Path(__file__).with_name("number_sentences.txt").read_text("utf-8")
SENTENCES = {
    (kind, language): lines.strip().splitlines()
    for kind, language, lines in re.findall(r"^\[(\w+) (\w+)\]\n([^\[]*)", TEXT, re.MULTILINE)
}
"""By kind of sentence, "changed" or "reworded", and language."""


def story(sentences: list[str], number: int) -> list[str]:
    """The sentence of that number in the middle of its neighbours."""
    start = number - SENTENCES_OF_A_TEXT // 2
    return [old_and_new(sentences[(start + i) % len(sentences)])[0] for i in range(SENTENCES_OF_A_TEXT)]


async def verdict(original: list[str], copy: list[str]) -> Verdict:
    async with opened("news", "memory://", "numbers") as detector:
        await detector.check(detector.document("\n".join(original), url="https://one.example/a", seen_at=START))
        return await detector.check(detector.document("\n".join(copy), url="https://two.example/b", seen_at=START + 60))


@pytest.mark.parametrize("language", [language for kind, language in SENTENCES if kind == "changed"])
async def test_a_changed_number_word_is_an_update(language: str) -> None:
    sentences = SENTENCES["changed", language]
    missed = []
    for number, sentence in some(enumerate(sentences), 6):
        original = story(sentences, number)
        copy = ["Echo", *original, "Courier"]
        copy[1 + SENTENCES_OF_A_TEXT // 2] = old_and_new(sentence)[1]
        if (await verdict(original, copy)).status != "update":
            missed.append(sentence)
    assert len(sentences) >= 10
    assert missed == []


@pytest.mark.parametrize("language", [language for kind, language in SENTENCES if kind == "reworded"])
async def test_a_copy_with_the_same_number_words_is_no_update(language: str) -> None:
    sentences, rewordings = SENTENCES["changed", language], SENTENCES["reworded", language]
    wrong = []
    for number in some(range(len(sentences)), 4):
        original = story(sentences, number)
        reworded = rewordings[number % len(rewordings)]
        before, after = old_and_new(reworded)
        for name, one, other in (
            ("byline", original, ["Echo", *original, "Courier"]),
            ("sentence left out", original, original[: number % 7] + original[number % 7 + 1 :]),
            (reworded, [*original, before], [*original, after]),
            (reworded, [before, *original], [after, *original, "Courier"]),
        ):
            found = await verdict(one, other)
            if found.status != "duplicate":
                wrong.append((name, found.status, found.changes))
    assert wrong == []


OPENINGS = {
    "en": "this is what they said of the",
    "de": "das ist die Zahl der",
    "es": "es lo que dijo el informe de los",
    "fr": "c'est le nombre dans les",
    "it": "il numero che sono nella",
    "pt": "o número que foi dito em uma",
    "nl": "het is wat er in de krant van",
    "ru": "это было что и не для",
    "uk": "це було що та не для",
}
FUSED = ("de", "it", "nl")
"""Languages that write a number up to a million as one word; of these there is no table beyond a thousand."""


@pytest.mark.parametrize("variant", ["en", "de", "es", "fr", "fr_BE", "fr_CH", "it", "pt", "pt_BR", "nl", "ru", "uk"])
def test_every_number_is_read_as_num2words_writes_it(variant: str) -> None:
    language = variant[:2]
    numbers = [*range(2, 200), *some(range(200, 1000), 200), *some(range(1000, 10**6, 7000), 60)]
    numbers += [*some(range(2 * 10**6, 10**8, 10**6), 40), 7 * 10**9]
    if language not in FUSED:
        numbers += random.Random(0).sample(range(1000, 10**6), tries(200))
    wrong = []
    for number in numbers:
        words = num2words(number, lang=variant)
        values = [figure.value for figure in find_figures(f"{OPENINGS[language]} {words} kopeks")]
        if values != [str(number)]:
            wrong.append((number, words, values))
    assert wrong == []


@pytest.mark.parametrize(
    ("language", "case", "gender"),
    [
        *product(["ru"], "ngdaip", "mfn"),
        *product(
            ["uk"], ["nominative", "genitive", "dative", "accusative", "instrumental", "locative"], ["", "feminine"]
        ),
    ],
)
def test_a_slavic_number_is_read_in_every_case(language: str, case: str, gender: str) -> None:
    wrong = []
    for number in (*range(2, 101), 200, 345, 1000, 2000, 12_000, 3 * 10**6):
        words = num2words(number, lang=language, case=case, gender=gender)
        if [figure.value for figure in find_figures(f"{OPENINGS[language]} {words} копеек")] != [str(number)]:
            wrong.append((number, words))
    assert wrong == []


@pytest.mark.parametrize("case", read_cases(Path(__file__).with_name("number_words.txt"))["words"], ids=itemgetter(0))
def test_what_a_spelled_number_says(case: tuple[str, ...]) -> None:
    text, *values = case
    assert [figure.value for figure in find_figures(text)] == values


NOTICE = (
    "By Anna Brandt, The Courier, staff writer and agencies. Sign up for the Courier morning briefing and get the"
    " stories that matter in your inbox. This story has been published from a wire agency feed without changes. They"
    " are not those of the paper and would be ours if this was said on the day that they came."
)


def test_a_notice_in_another_language_does_not_change_the_figures() -> None:
    for language in ("de", "es", "fr", "it", "pt", "ru"):
        text = "\n".join(old_and_new(sentence)[0] for sentence in SENTENCES["changed", language][2:6])
        alone, beside = find_figures(text), find_figures(f"{NOTICE}\n{text}\n{NOTICE}")
        assert [figure.value for figure in alone] == [figure.value for figure in beside], language


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
        values = [each.value for each in find_figures(SENTENCE.get(language, "Xx ${} xx yy.").format(written))]
        if values != [str(number)]:
            wrong.append((written, values))
    assert wrong == []
