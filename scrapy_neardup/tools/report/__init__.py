"""The page people look at: one self-contained HTML file made of feeds, which asks no network for anything."""

from scrapy_neardup.tools.report.gathering import gather
from scrapy_neardup.tools.report.page import Built, build_digest, build_report

__all__ = ["Built", "build_digest", "build_report", "gather"]
