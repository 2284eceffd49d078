"""``ADDONS = {"scrapy_neardup.Addon": 500}`` is all a user writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


class Addon:
    """Wires middleware and pipelines in; what the settings already say of them stays."""

    def update_settings(self, settings: BaseSettings) -> None:
        from scrapy_neardup.exceptions import SettingsError
        from scrapy_neardup.settings import NearDupSettings

        try:
            enabled = NearDupSettings.from_mapping(settings).enabled
        except SettingsError as error:
            raise UsageError(str(error)) from error
        if not enabled:
            return
        from scrapy_neardup.middleware import NearDupSpiderMiddleware
        from scrapy_neardup.pipeline import CapturePipeline, NearDupPipeline

        # Next to the engine: items are seen as the spider's other middlewares leave them.
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", NearDupSpiderMiddleware, 10)
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", CapturePipeline, 1)
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", NearDupPipeline, 300)
