"""Texts of a corpus, from which document frequencies and reference texts are learned before anything is judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scrapy_neardup.content import source_of
from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.evaluation.feed import WrongLine, read_feed
from scrapy_neardup.evaluation.pages import Page, PageReader
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import Sketcher


def read_corpus(path: Path, settings: NearDupSettings, workers: int) -> Iterator[Page]:
    """Yield the pages that have main content. Raise InputError if a line is wrong."""
    with PageReader(settings.extractor, settings.max_html_bytes, workers) as reader:
        for page in reader.read(read_feed(path)):
            if isinstance(page, WrongLine):
                raise InputError(page.error)
            if page.text.strip():
                yield page


def learn(sketcher: Sketcher, page: Page) -> Fingerprint:
    """Sketch a document that is not judged itself, and count its features."""
    recorded = page.recorded
    document = Document("00" * 8, recorded.url, source_of(recorded.url), recorded.title, page.text, 0.0)
    fingerprint = sketcher.fingerprint(document)
    sketcher.learn(document)
    return fingerprint
