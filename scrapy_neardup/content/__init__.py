"""HTML -> main content, off the event loop; and what a url says of a document."""

from scrapy_neardup.content.decoding import decode_html
from scrapy_neardup.content.extractors import load_extractor
from scrapy_neardup.content.urls import canonical_url, source_of, url_identity
from scrapy_neardup.content.workers import ExtractionThreads

__all__ = ["ExtractionThreads", "canonical_url", "decode_html", "load_extractor", "source_of", "url_identity"]
