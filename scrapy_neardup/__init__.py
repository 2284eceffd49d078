"""Find out which news a crawl has seen before. The names in ``__all__`` are the public API: see ``docs/api.md``."""

from importlib import import_module
from typing import TYPE_CHECKING

from scrapy_neardup.document import Document, Fingerprint, Kind, NearDupFields, Reason, Status, Verdict
from scrapy_neardup.exceptions import NearDupError, SettingsError, StoreError, StoreUnavailable
from scrapy_neardup.story import Extent, Level, Member, Story

if TYPE_CHECKING:
    from scrapy_neardup.addon import Addon
    from scrapy_neardup.content.extractors import Extractor
    from scrapy_neardup.detector import NearDupDetector
    from scrapy_neardup.items import NearDupItem
    from scrapy_neardup.middleware import NearDupDownloaderMiddleware, NearDupSpiderMiddleware
    from scrapy_neardup.pipeline import CapturePipeline, NearDuplicate, NearDupPipeline
    from scrapy_neardup.settings import NearDupSettings
    from scrapy_neardup.stories.event import StoryEvent
    from scrapy_neardup.stories.rules import Rule

__version__ = "0.1.0"

__all__ = [
    "Addon",
    "CapturePipeline",
    "Document",
    "Extent",
    "Extractor",
    "Fingerprint",
    "Kind",
    "Level",
    "Member",
    "NearDupDetector",
    "NearDupDownloaderMiddleware",
    "NearDupError",
    "NearDupFields",
    "NearDupItem",
    "NearDupPipeline",
    "NearDupSettings",
    "NearDupSpiderMiddleware",
    "NearDuplicate",
    "Reason",
    "Rule",
    "SettingsError",
    "Status",
    "StoreError",
    "StoreUnavailable",
    "Story",
    "StoryEvent",
    "Verdict",
]

# These names are imported on first use. So a program without Scrapy can use the detector, and `scrapy list` does not
# load numpy.
_HOMES = {
    "Addon": "addon",
    "CapturePipeline": "pipeline",
    "Extractor": "content.extractors",
    "NearDupDetector": "detector",
    "NearDupDownloaderMiddleware": "middleware",
    "NearDupItem": "items",
    "NearDupPipeline": "pipeline",
    "NearDupSettings": "settings",
    "NearDupSpiderMiddleware": "middleware",
    "NearDuplicate": "pipeline",
    "Rule": "stories.rules",
    "StoryEvent": "stories.event",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
