"""Turn the plugin on: ``ADDONS = {"scrapy_neardup.Addon": 500}`` is all a user writes."""

from scrapy.exceptions import UsageError
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from scrapy_neardup.content.extractors import load_extractor
from scrapy_neardup.crawl.component import load_item_class
from scrapy_neardup.crawl.feeds import storage_class
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.middleware import NearDupDownloaderMiddleware, NearDupSpiderMiddleware
from scrapy_neardup.pipeline import CapturePipeline, NearDupPipeline
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.settings.values import ALLOWED_RULES, BUILT_IN_RULES, load_callable

# ``CONCURRENT_ITEMS``, unless the user sets it. Scrapy starts so many tasks for each response, most of which get no
# item. A hundred of them, Scrapy's default, take more time than all that the plugin does for the response.
ITEMS_AT_ONCE = 8


class WrongSetting(UsageError, SystemExit):
    """A wrong setting. If nobody catches it, Python prints its message instead of a traceback, and exits."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = f"scrapy: error: {message}"


class Addon:
    """Adds middleware and pipelines to the settings, unless the settings name them already."""

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        # Check the settings this early. If the check failed later, when the crawl starts, Scrapy 2.14 would exit with
        # status 0. Scrapy's command line does not catch errors this early.
        try:
            checked_settings(settings)
        except UsageError as error:
            raise WrongSetting(str(error)) from None

    def update_settings(self, settings: BaseSettings) -> None:
        # Check again: a spider's own settings are added after those of its project.
        if not checked_settings(settings).enabled:
            return
        # This keeps components that the settings name, or turn off with None. 10 is next to the engine, so that all
        # other spider middlewares change an item before this one sees it.
        for name, component, order in (
            ("SPIDER_MIDDLEWARES", NearDupSpiderMiddleware, 10),
            ("ITEM_PIPELINES", CapturePipeline, -10_000),  # before those that return new items
            ("ITEM_PIPELINES", NearDupPipeline, 300),
            ("DOWNLOADER_MIDDLEWARES", NearDupDownloaderMiddleware, 1),
        ):
            settings.setdefault_in_component_priority_dict(name, component, order)
        settings.set("CONCURRENT_ITEMS", ITEMS_AT_ONCE, "addon")


def checked_settings(settings: BaseSettings) -> NearDupSettings:
    """Return our settings. Raise UsageError if one is wrong, or names something that cannot be imported."""
    try:
        checked = NearDupSettings.from_mapping(settings)
        load_extractor(checked.extractor)
        if checked.event_rule not in BUILT_IN_RULES:
            load_callable("NEARDUP_EVENT_RULE", checked.event_rule, ALLOWED_RULES)
        for each in checked.item_classes:
            load_item_class(each)
        for name, uri in checked.feeds().items():
            storage_class(settings, name, uri)
    except SettingsError as error:
        is_of_spider = settings.getpriority(error.name) == SETTINGS_PRIORITIES["spider"]
        raise UsageError(f"{error}{' (in the custom_settings of the spider)' if is_of_spider else ''}") from None
    return checked
