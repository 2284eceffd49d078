"""Knows which news a crawl has already seen."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scrapy_neardup.document import Document, Fingerprint, Match, Verdict
from scrapy_neardup.exceptions import NearDupError, SettingsError, StoreError, StoreUnavailable

if TYPE_CHECKING:
    from scrapy_neardup.addon import Addon
    from scrapy_neardup.detector import NearDupDetector
    from scrapy_neardup.items import NearDupFields, NearDupItem
    from scrapy_neardup.middleware import NearDupSpiderMiddleware
    from scrapy_neardup.pipeline import CapturePipeline, NearDuplicate, NearDupPipeline
    from scrapy_neardup.settings import NearDupSettings

__version__ = "0.1.0"

__all__ = [
    "Addon",
    "CapturePipeline",
    "Document",
    "Fingerprint",
    "Match",
    "NearDupDetector",
    "NearDupError",
    "NearDupFields",
    "NearDupItem",
    "NearDupPipeline",
    "NearDupSettings",
    "NearDupSpiderMiddleware",
    "NearDuplicate",
    "SettingsError",
    "StoreError",
    "StoreUnavailable",
    "Verdict",
]

# Loaded when first asked for: a program without Scrapy uses the detector, and `scrapy list` needs no numpy.
_HOMES = {
    "Addon": "addon",
    "CapturePipeline": "pipeline",
    "NearDupDetector": "detector",
    "NearDupFields": "items",
    "NearDupItem": "items",
    "NearDupPipeline": "pipeline",
    "NearDupSettings": "settings",
    "NearDupSpiderMiddleware": "middleware",
    "NearDuplicate": "pipeline",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
