"""Real text of twelve scripts: an edited copy is found, another story in the same script is not taken for one."""

from __future__ import annotations

import html
import re
import unicodedata
from pathlib import Path

import pytest

from scrapy_neardup.content import read_head
from scrapy_neardup.content.extractors import extract_with_trafilatura
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Verdict
from scrapy_neardup.sketch import PRESETS, Sketcher

TEXT = Path(__file__).with_name("stories.txt").read_text("utf-8")
STORIES = {
    script: (lines.splitlines()[:3], lines.splitlines()[3:6])
    for script, lines in re.findall(r"^\[(\w+)\]\n([^\[]*)", TEXT, re.MULTILINE)
}
"""Of each script the paragraphs of two stories."""


async def judge(detector: NearDupDetector, *paragraphs: str) -> Verdict:
    return await detector.check(detector.document("\n".join(paragraphs)))


@pytest.mark.parametrize("script", STORIES)
async def test_copies_are_found_and_stories_kept_apart(detector: NearDupDetector, script: str) -> None:
    ferry, library = STORIES[script]

    assert (await judge(detector, *ferry)).status == "original"
    assert (await judge(detector, *library)).status == "original"
    assert (await judge(detector, *ferry)).kind == "exact"
    assert (await judge(detector, ferry[1], ferry[0])).status == "duplicate"  # abridged, and in another order
    assert (await judge(detector, *ferry, library[2])).status == "duplicate"  # extended


@pytest.mark.parametrize("script", STORIES)
async def test_the_words_of_every_script_are_counted(script: str) -> None:
    body = Sketcher(PRESETS["news"]).body("\n".join(STORIES[script][0]))

    assert body.words >= 30
    assert body.unspaced is (script in ("Han", "Kana", "Thai"))
    assert not body.short


@pytest.mark.parametrize("script", STORIES)
async def test_how_a_text_is_encoded_and_set_makes_no_difference(detector: NearDupDetector, script: str) -> None:
    text = "\n".join(STORIES[script][0])
    await judge(detector, text)

    for variant in (unicodedata.normalize("NFD", text), text.upper(), f"\ufeff{text}", text.replace("\n", "\r\n")):
        assert (await judge(detector, variant)).kind == "exact"


@pytest.mark.parametrize("script", STORIES)
def test_entities_are_the_characters_they_stand_for(script: str) -> None:
    paragraphs = STORIES[script][0]
    page = "<html><head><meta charset=utf-8><title>{0}</title></head><body><article>{1}</article></body></html>"
    plain = page.format("News", "".join(f"<p>{html.escape(each)}</p>" for each in paragraphs * 2))
    entities = page.format(
        "News", "".join(f"<p>{''.join(f'&#{ord(c)};' for c in each)}</p>" for each in paragraphs * 2)
    )

    assert extract_with_trafilatura(plain, "") == extract_with_trafilatura(entities, "") != ""


@pytest.mark.parametrize(
    ("html_", "language"),
    [
        ('<!doctype html><html lang="pt-BR"><head>', "pt"),
        ("<HTML class=js data-lang='xx' LANG=EN-us>", "en"),
        ('<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="uk">', "uk"),
        ('<html><head><meta property="og:locale" content="sr_RS"></head>', "sr"),
        ('<html lang=""><meta content="fil, en" http-equiv="Content-Language">', "fil"),
        ('<html lang="el"><meta property="og:locale" content="en_US">', "el"),
        ('<html lang="und"><meta property="og:locale" content="en_US">', "en"),
        ('<!-- <html lang="de"> --><html lang="fr">', "fr"),
        ('<html data-x="lang=de"><body lang="it">', ""),
        ('<html lang="{{ lang }}">', ""),
        ('<meta name="description" content="en"><p>nothing</p>', ""),
        ("", ""),
    ],
)
def test_a_page_names_its_language(html_: str, language: str) -> None:
    assert read_head(html_).language == language
    assert read_head(html_.encode()).language == language
