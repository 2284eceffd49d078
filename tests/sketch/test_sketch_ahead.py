"""Sketches made by the workers that extract: the same as made here, and never a reason to lose a page."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from news_site import article

from scrapy_neardup import NearDupSettings
from scrapy_neardup.content.extractors import Extracted
from scrapy_neardup.content.processes import ExtractionProcesses, worker_options
from scrapy_neardup.content.worker import WorkerOptions
from scrapy_neardup.detector import sketcher_of
from scrapy_neardup.document import Document
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.settings.presets import PRESETS
from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.sketch.text_sketch import pack_sketch, sketch_ahead, unpack_sketch
from scrapy_neardup.tools.lab.feed import RecordedDocument
from scrapy_neardup.tools.lab.replay import PageReader

FOOT = "Sign up to our newsletter and read the stories of the day before anybody else does."
TEXTS = [
    *(f"{article(number)}\n{FOOT}" for number in range(6)),
    "Nine people died in Springfield on Monday, said Jane Miller, and 1,250 were hurt.\n" + article("figures"),
    "Too short to be compared.",
    "".join(chr(0x4E00 + 7 * number % 900) for number in range(400)),
    article("once more"),
    article(3),
]


def ahead_of(options: NearDupSettings | None = None) -> tuple[str, str]:
    made = worker_options(options or NearDupSettings(store="memory://"), sketches=True).sketching
    assert made is not None
    return made


@given(st.one_of(st.text(), st.lists(st.sampled_from([*TEXTS, "Figures: 4 dead", "\n", "Ü 12"])).map(" ".join)))
def test_a_packed_sketch_is_the_sketch(text: str) -> None:
    (sketch,) = Sketcher(PRESETS["news"]).whole(text)
    assert unpack_sketch(pack_sketch(sketch)) == sketch


@pytest.mark.parametrize(
    "values",
    [
        {"preset": "news"},
        {"preset": "ddd"},
        {"min_words": 100},
        {"keep_updates": False},
        {"preset_options": {"min_block_words": 4}},
    ],
)
def test_fingerprints_are_the_same_wherever_the_sketch_was_made(values: dict[str, Any]) -> None:
    """Also where lines have become boilerplate by then, and the text has to be sketched again."""
    options = NearDupSettings(store="memory://", **values)
    here, there = (sketcher_of(options) for _ in range(2))
    sketch = sketch_ahead(ahead_of(options)[1])
    short = article("fifty words", words=50)
    for number, words in enumerate([*TEXTS, short]):
        text = f"{words}\nThe storm killed {number + 2} men."
        document = Document(f"{number:016x}", f"http://{number}.example/", f"{number}.example", "", text, float(number))
        (ahead,) = sketch([text])
        assert there.fingerprint(replace(document, sketch=ahead)) == here.fingerprint(document), number


def test_what_was_sketched_ahead_is_not_sketched_here() -> None:
    sketcher = Sketcher(PRESETS["news"])
    (other,) = sketcher.whole(article("other"))
    document = Document("0" * 16, "", "", "", article("one"), 0.0, sketch=pack_sketch(other))
    assert sketcher.fingerprint(document).text_hash == other.text_hash


@pytest.mark.parametrize("cut", [0, 5, 60, -40, -1])
def test_what_is_no_packed_sketch_is_an_error(cut: int) -> None:
    packed = pack_sketch(*Sketcher(PRESETS["news"]).whole(article("one")))
    with pytest.raises(StoreError, match="packed sketch"):
        unpack_sketch(packed[:cut])


EXTRACTOR = """
    import os
    import sys
    import time

    def extract(html, url):
        return ",".join(sorted(sys.modules)) if url == "modules" else html

    def counts(options):
        return lambda texts: [str(len(texts)).encode()] * len(texts)

    def broken(options):
        raise RuntimeError("cannot be made")

    def breaks(options):
        def sketch(texts):
            raise RuntimeError("cannot be made")
        return sketch

    def ends(options):
        return lambda texts: sys.exit("cannot be made")

    def crashes(options):
        return lambda texts: os._exit(3)

    def hangs(options):
        def sketch(texts):
            open(texts[0], "w").close()
            time.sleep(3600)
        return sketch
"""


@pytest.fixture
def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ExtractionProcesses]]:
    """Starts workers that end with the test."""
    (tmp_path / "plain.py").write_text(dedent(EXTRACTOR))
    monkeypatch.syspath_prepend(str(tmp_path))
    with ExitStack() as pools:

        def start(**options: Any) -> ExtractionProcesses:
            pool = ExtractionProcesses(WorkerOptions("plain.extract", **options))
            pools.callback(pool.close)
            return pool

        yield start


async def test_workers_send_the_sketch_along(workers: Callable[..., ExtractionProcesses]) -> None:
    pool = workers(sketching=ahead_of())
    for text in TEXTS:
        extracted = await pool.extract(text, "")
        sketch = unpack_sketch(extracted.sketch)
        assert (extracted.text, [sketch]) == (text, Sketcher(PRESETS["news"]).whole(text))
    assert (await pool.extract("", "")).text == ""
    modules = (await pool.extract("", "modules")).text.split(",")
    assert "numpy" in modules
    assert "scipy" not in modules  # a second and 50 MB for each worker


@pytest.mark.parametrize(
    ("factory", "what"),
    [
        ("plain.broken", "RuntimeError: cannot be made"),
        ("plain.breaks", "RuntimeError: cannot be made"),
        ("plain.ends", "SystemExit: cannot be made"),
        ("nowhere.to_be_found", "No module named 'nowhere'"),
        ("plain.crashes", "its worker process ended with exit status 3"),
        ("plain.hangs", "not extracted within"),
    ],
)
async def test_a_sketch_that_fails_costs_no_text_and_is_said_once(
    workers: Callable[..., ExtractionProcesses],
    factory: str,
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    ends = factory in ("plain.crashes", "plain.hangs")
    pool = workers(timeout=1 if ends else 20, sketching=(factory, ""))
    for text in ("one", "two" * 5000, "three"):
        assert await pool.extract(text, "") == Extracted(text)
    assert what in str(await asyncio.to_thread(pool.submit_text("four").exception))
    (line,) = [record.getMessage() for record in caplog.records]
    assert what in line


async def test_texts_that_come_together_are_sketched_together(workers: Callable[..., ExtractionProcesses]) -> None:
    pool = workers(sketching=("plain.counts", ""))
    texts = ["x" * 50_000, *(f"text {number}" for number in range(10))]
    extracted = await asyncio.gather(*(pool.extract(text, "") for text in texts))
    alone = [pool.submit(texts[0], ""), *map(pool.submit_text, texts[1:] * 4)]
    counts = [int((await asyncio.wrap_future(each)).sketch) for each in alone]
    assert [each.text for each in extracted] == texts
    assert [int(each.sketch) for each in extracted] == [1, *[8] * 8, 2, 2]
    assert counts == [1, *[32] * 32, *[8] * 8], "texts without a page can wait for more of them"


def test_texts_of_a_replay_load_no_extractor_in_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "heavy.py").write_text("open('loads', 'a').write('x')\n\ndef extract(html, url):\n    return html\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    options = NearDupSettings(store="memory://", extractor="heavy.extract")
    with PageReader(options, 1, sketches=True) as reader:
        pages = list(reader.read(RecordedDocument(number, "", number, text="A text") for number in range(520)))
    assert pages[-1].sketch
    assert (tmp_path / "loads").read_text() == "x", "by this process, which checks the setting"
