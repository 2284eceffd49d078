"""Change number words on real pages, and count the updates among changed copies and among unchanged ones.

    python benchmarks/spelled_figures.py --pages stream.jsonl [--extractor resiliparse]

The pages are recorded documents (``docs/commands.md``) with a ``lang``. Three copies are made of each page with a
number word. One copy has another number of the same form instead. One has the byline and the footer of another paper.
One lacks a sentence.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from edits import dressed

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.lab.labels import read_background
from scrapy_neardup.lab.pages import PageReader, RecordedPage

SEED = 2019
MOST_PAGES = 400  # of a language
MIN_CHARACTERS = 300
SETTINGS = NearDupSettings(store="memory://")

# Words that may stand for each other in a sentence. Not "once", "sei" and "neuf", which are other words as well.
FORMS: dict[str, list[str]] = {
    "en": ["two three four five six seven eight nine ten eleven twelve thirteen fifteen", "twenty thirty forty fifty"],
    "de": [
        "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn fünfzehn",
        "zwanzig dreißig vierzig fünfzig sechzig",
        "zweihundert dreihundert fünfhundert",
        "zweitausend dreitausend fünftausend",
    ],
    "es": [
        "dos tres cuatro cinco seis siete ocho nueve diez doce trece quince",
        "veinte treinta cuarenta cincuenta sesenta",
        "doscientos trescientos quinientos",
        "doscientas trescientas quinientas",
    ],
    "fr": ["deux trois quatre cinq six sept huit dix onze douze treize quinze", "vingt trente quarante cinquante"],
    "it": ["due tre quattro cinque sette otto nove dieci undici dodici tredici quindici", "venti trenta quaranta"],
    "pt": [
        "dois três quatro cinco seis sete oito nove dez onze doze treze quinze",
        "duas três quatro cinco seis sete",
        "vinte trinta quarenta cinquenta",
        "duzentos trezentos quinhentos",
    ],
    "ru": [
        "два три четыре",
        "две три четыре",
        "пять шесть семь восемь девять десять одиннадцать двенадцать",
        "двух трех четырех пяти шести семи",
        "двух трёх четырёх пяти шести семи",
        "двум трем четырем пяти",
        "двумя тремя четырьмя пятью",
        "двое трое четверо пятеро",
        "двадцать тридцать сорок пятьдесят",
        "двести триста четыреста пятьсот",
    ],
    "uk": [
        "два три чотири",
        "дві три чотири",
        "шість вісім десять дванадцять",
        "двох трьох чотирьох",
        "двадцять сорок",
    ],
    "cjk": ["三 五 六 七 八 九", "二十三 四十 十八"],
}
_WORD = re.compile(r"[^\W\d_]+")
_NUMERALS = "〇零一二三四五六七八九十百千万萬億兩两"
_COUNTED = re.compile(
    f"(?<![第周期拜初{_NUMERALS}])(?:[二三四五六七八九兩两]|[二三四五六七八九]?十[一二三四五六七八九]?)"
    "(?=[人名個个年天歲歳次隻件位家場項起])"
)
_STOP = re.compile(r"(?<=[.!?])\s+|(?<=。)")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=Path, required=True)
    parser.add_argument("--extractor", default="trafilatura")
    options = parser.parse_args()
    texts = _texts(options.pages, options.extractor)
    print("| language | pages | changed number: `update` | unchanged: `update` | sentence left out: `update` |")
    print(f"|{'---|' * 5}")
    for language in FORMS:
        rng = random.Random(f"{SEED} {language}")
        found = ((text, list(places(text, language))) for text in rng.sample(texts[language], len(texts[language])))
        chosen = [(text, rng.choice(each)) for text, each in found if each][:MOST_PAGES]
        originals = [text for text, _ in chosen]
        changed = [_changed(text, place, rng) for text, place in chosen]
        byline = [dressed(text, rng) for text in originals]
        shorter = [_without_a_sentence(text, rng) for text in originals]
        updates = (asyncio.run(_updates(originals, copies)) for copies in (changed, byline, shorter))
        cells = [language, len(chosen), *updates]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


def _texts(pages: Path, extractor: str) -> dict[str, list[str]]:
    """The distinct main contents of each language, in the order of the file."""
    texts: defaultdict[str, dict[str, None]] = defaultdict(dict)
    with PageReader(NearDupSettings(extractor=extractor), os.cpu_count() or 1) as reader:
        for page in reader.read(read_background([pages])):
            if isinstance(page, RecordedPage) and len(page.text) >= MIN_CHARACTERS:
                texts[str(page.recorded.extra.get("lang"))][page.text] = None
    return defaultdict(list, {language: list(each) for language, each in texts.items()})


def places(text: str, language: str) -> Iterator[tuple[int, int, list[str]]]:
    """Each number word, and what may stand there instead."""
    forms = [each.split() for each in FORMS[language]]
    for word in (_COUNTED if language == "cjk" else _WORD).finditer(text):
        if language == "cjk":
            others = forms[len(word[0]) > 1]
        else:
            others = [other for each in forms if word[0] in each for other in each]
        if others:
            yield word.start(), word.end(), [other for other in others if other != word[0]]


def _changed(text: str, place: tuple[int, int, list[str]], rng: random.Random) -> str:
    start, end, others = place
    return text[:start] + rng.choice(others) + text[end:]


def _without_a_sentence(text: str, rng: random.Random) -> str:
    stops = [0, *(stop.end() for stop in _STOP.finditer(text)), len(text)]
    left_out = rng.randrange(len(stops) - 1)
    return text[: stops[left_out]] + text[stops[left_out + 1] :]


async def _updates(originals: Sequence[str], copies: Sequence[str]) -> int:
    """How many copies are updates, each met after all originals."""
    detector = NearDupDetector(SETTINGS)
    await detector.open()
    try:
        documents = [
            detector.document(text, url=f"https://{paper}.example/{number}", seen_at=1_500_000_000 + number)
            for paper, texts in (("first", originals), ("second", copies))
            for number, text in enumerate(texts)
        ]
        verdicts = [
            verdict
            for start in range(0, len(documents), 64)
            for verdict in await detector.check_in_order(documents[start : start + 64])
        ]
    finally:
        await detector.close()
    return sum(verdict.status == "update" for verdict in verdicts[len(originals) :])


if __name__ == "__main__":
    main()
