"""Extract main content from HTML outside the event loop, and read the source and page that a url names."""

from scrapy_neardup.content.article_numbers import article_number
from scrapy_neardup.content.extractors import BUILT_IN, Extracted, Extractor, load_extractor
from scrapy_neardup.content.head import (
    MOST_HEAD_BYTES,
    SHORT_PAGE,
    PageHead,
    decode_html,
    guess_encoding,
    language_code,
    read_head,
)
from scrapy_neardup.content.processes import Extraction, ExtractionProcesses, ExtractionThread, worker_processes
from scrapy_neardup.content.urls import (
    LONGEST_URL,
    CanonicalUrls,
    absolute_url,
    is_of_domain,
    platform_of,
    require_domain,
    require_page,
    source_of,
    url_identity,
    without_surrogates,
)
from scrapy_neardup.content.worker import Sketching, WorkerOptions
from scrapy_neardup.content.worker_process import TimeBudget

__all__ = [
    "BUILT_IN",
    "LONGEST_URL",
    "MOST_HEAD_BYTES",
    "SHORT_PAGE",
    "CanonicalUrls",
    "Extracted",
    "Extraction",
    "ExtractionProcesses",
    "ExtractionThread",
    "Extractor",
    "PageHead",
    "Sketching",
    "TimeBudget",
    "WorkerOptions",
    "absolute_url",
    "article_number",
    "decode_html",
    "guess_encoding",
    "is_of_domain",
    "language_code",
    "load_extractor",
    "platform_of",
    "read_head",
    "require_domain",
    "require_page",
    "source_of",
    "url_identity",
    "without_surrogates",
    "worker_processes",
]
