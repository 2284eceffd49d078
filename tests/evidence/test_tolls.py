"""The tolls of sentences in each language: kind, value, bounds, increments and corrections."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from scrapy_neardup.evidence.figures.tolls import Toll, tolls_of


def _sentences() -> dict[str, list[tuple[str, str]]]:
    found = defaultdict[str, list[tuple[str, str]]](list)
    language = ""
    for line in (Path(__file__).parent / "toll_sentences.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            language = line.strip("[]")
        elif line and not line.startswith("#"):
            sentence, _, expected = line.rpartition(" | ")
            found[language].append((sentence, expected))
    return found


SENTENCES = _sentences()


def _told(toll: Toll) -> str:
    value = f"{toll.low}"
    if toll.qualifier == "range":
        value = f"{toll.low}-{toll.high}"
    elif toll.qualifier == "at least":
        value = f"{toll.low}+"
    elif toll.qualifier == "about":
        value = f"~{toll.low}"
    mark = "!" * toll.is_correction + "+" * toll.is_increment
    return f"{toll.kind.name.lower().replace('_', ' ')} {mark}{value}"


@pytest.mark.parametrize("language", SENTENCES)
def test_the_tolls_of_a_sentence_are_read(language: str) -> None:
    told = {text: ", ".join(map(_told, tolls_of("", text, language))) or "none" for text, _ in SENTENCES[language]}
    assert told == dict(SENTENCES[language])
