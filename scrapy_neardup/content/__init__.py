"""Extract main content from HTML outside the event loop, and read the source and page that a url names."""

from scrapy_neardup.content.article_numbers import article_number
from scrapy_neardup.content.canonical import CanonicalUrls
from scrapy_neardup.content.decoding import (
    SHORT_PAGE,
    declared_encoding,
    decode_as,
    decode_html,
    guess_encoding,
    is_of_text,
)
from scrapy_neardup.content.extraction import Extraction, start_extraction, worker_processes
from scrapy_neardup.content.extractors import Extractor, is_built_in, load_extractor
from scrapy_neardup.content.language import language_code, page_language
from scrapy_neardup.content.outcome import Extracted, Undecoded
from scrapy_neardup.content.page_cache import ExtractedPages
from scrapy_neardup.content.processes import ExtractionProcesses
from scrapy_neardup.content.threads import ExtractionThreads
from scrapy_neardup.content.title import page_title
from scrapy_neardup.content.urls import (
    LONGEST_URL,
    absolute_url,
    domain_of,
    require_domain,
    require_page,
    source_of,
    url_identity,
    without_surrogates,
)
from scrapy_neardup.content.worker import Sketching

__all__ = [
    "LONGEST_URL",
    "SHORT_PAGE",
    "CanonicalUrls",
    "Extracted",
    "ExtractedPages",
    "Extraction",
    "ExtractionProcesses",
    "ExtractionThreads",
    "Extractor",
    "Sketching",
    "Undecoded",
    "absolute_url",
    "article_number",
    "declared_encoding",
    "decode_as",
    "decode_html",
    "domain_of",
    "guess_encoding",
    "is_built_in",
    "is_of_text",
    "language_code",
    "load_extractor",
    "page_language",
    "page_title",
    "require_domain",
    "require_page",
    "source_of",
    "start_extraction",
    "url_identity",
    "without_surrogates",
    "worker_processes",
]
