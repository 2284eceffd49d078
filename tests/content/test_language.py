"""The language of an article is read from its title and first characters."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrapy_neardup.content.document_maker import language_of
from scrapy_neardup.detector import NearDupDetector

SENTENCES = [line.split("  ", 1) for line in Path(__file__).with_name("languages.txt").read_text("utf-8").splitlines()]
RUSSIAN = "Мэр города сообщил, что ремонт моста начнется на следующей неделе и продлится два месяца."
UKRAINIAN = "Мер міста повідомив, що ремонт мосту почнеться наступного тижня і триватиме два місяці."


@pytest.mark.parametrize(("language", "sentence"), SENTENCES, ids=[f"{code}-{text[:9]}" for code, text in SENTENCES])
def test_one_sentence_shows_its_language(language: str, sentence: str) -> None:
    assert language_of("", sentence, "") == language
    assert language_of(sentence, "", "ko" if language != "ko" else "en") == language


def test_what_a_page_declares_counts_if_the_text_does_not_show_its_language() -> None:
    assert language_of("1-0", "", "sw") == "sw"
    assert language_of("", " \n", "sw") == "sw"
    assert language_of("1-0", "", "") == ""


@pytest.mark.parametrize("declared", ["sr", "hr", "bs"])
def test_of_languages_that_are_hardly_told_apart_the_declared_one_counts(declared: str) -> None:
    assert language_of("", "Gradonačelnik je rekao da će popravak mosta početi sljedeći tjedan.", declared) == declared


@pytest.mark.parametrize("refused", ["\0", "\x1b", "\x85", "\ud800", "\ufdd0", "\uffff", "\U0010ffff"])
def test_no_character_hides_the_language(refused: str) -> None:
    assert language_of(refused, f"{refused}{RUSSIAN}{refused}", "en") == "ru"


async def test_an_article_and_its_twin_in_another_language_are_translations(detector: NearDupDetector) -> None:
    """Both pages declare Ukrainian, and the url of both has one number."""
    one = detector.document(UKRAINIAN * 4, url="https://news.example/uk/81000.html", title="Міст", language="uk")
    twin = detector.document(RUSSIAN * 4, url="https://news.example/ru/81000.html", title="Мост", language="uk")
    assert (await detector.check(one)).status == "original"
    verdict = await detector.check(twin)
    assert (verdict.status, verdict.kind) == ("related", "translation")
