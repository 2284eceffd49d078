"""``ADDONS = {"scrapy_neardup.Addon": 500}`` is all a user writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_neardup.settings import NearDupSettings

CONCURRENT_ITEMS = 16


class Addon:
    """Wires middleware and pipelines in; what the settings already say of them stays."""

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        # A wrong setting found later, when the crawl has begun to start, leaves Scrapy 2.14 with exit status 0.
        _checked(settings)

    def update_settings(self, settings: BaseSettings) -> None:
        # Once more: a spider's own settings come in after those of its project.
        if not _checked(settings).enabled:
            return
        from scrapy_neardup.middleware import NearDupSpiderMiddleware
        from scrapy_neardup.pipeline import CapturePipeline, NearDupPipeline

        # Next to the engine: items are seen as the spider's other middlewares leave them.
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", NearDupSpiderMiddleware, 10)
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", CapturePipeline, 1)
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", NearDupPipeline, 300)
        # Scrapy starts so many tasks for each response, and they last until its page is extracted.
        settings.set("CONCURRENT_ITEMS", CONCURRENT_ITEMS, "addon")


def _checked(settings: BaseSettings) -> NearDupSettings:
    """Our settings, and what they name can be imported."""
    from scrapy_neardup.content import load_extractor, worker_processes
    from scrapy_neardup.crawl.feeds import check_feed_uri
    from scrapy_neardup.crawl.selection import ItemSelection
    from scrapy_neardup.exceptions import SettingsError
    from scrapy_neardup.settings import NearDupSettings
    from scrapy_neardup.stories import load_rule

    try:
        checked = NearDupSettings.from_mapping(settings)
        processes = worker_processes(checked.extractor, checked.extract_workers)
        load_extractor(checked.extractor, for_processes=processes != 0)
        load_rule(checked.event_rule)
        ItemSelection(checked.item_classes)
        for name, uri in (("DROPPED", checked.dropped_feed), ("EVENTS", checked.events_feed)):
            if uri is not None:
                check_feed_uri(settings, f"NEARDUP_{name}_FEED", uri)
    except SettingsError as error:
        raise UsageError(str(error)) from None
    return checked
