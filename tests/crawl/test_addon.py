"""What the add-on writes into the settings, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest
from news_site import NewsSite, article, page
from projects import ITEM_A_PAGE, Project
from scrapy.settings import BaseSettings, Settings

from scrapy_neardup import Addon, CapturePipeline, NearDupPipeline, NearDupSpiderMiddleware
from scrapy_neardup.addon import EXPORTERS, ITEMS_AT_ONCE
from scrapy_neardup.middleware import NearDupDownloaderMiddleware

pytestmark = pytest.mark.versions

FILES = "scrapy.pipelines.files.FilesPipeline"
"""A pipeline of the user's own."""

OURS = {
    "CONCURRENT_ITEMS": ITEMS_AT_ONCE,
    "DOWNLOADER_MIDDLEWARES": {NearDupDownloaderMiddleware: 1},
    "SPIDER_MIDDLEWARES": {NearDupSpiderMiddleware: 10},
    "ITEM_PIPELINES": {CapturePipeline: 1, NearDupPipeline: 300},
    "FEED_EXPORTERS": EXPORTERS,
}


def plain(settings: BaseSettings) -> dict[str, Any]:
    """Whole settings, nested ones too, as plain dicts."""
    return {name: plain(value) if isinstance(value, BaseSettings) else value for name, value in settings.items()}


def written(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """All settings of a project with these values as they are expected without us, and as the add-on leaves them."""
    before, after = Settings(values), Settings(values)
    Addon.update_pre_crawler_settings(after)
    Addon().update_settings(after)
    return plain(before), plain(after)


def test_alone_it_adds_its_components_and_nothing_else() -> None:
    before, after = written({})
    assert after == {**before, **OURS}


@pytest.mark.parametrize("order", [700, None])
def test_a_place_given_by_class_stays(order: int | None) -> None:
    given = {
        "DOWNLOADER_MIDDLEWARES": {NearDupDownloaderMiddleware: order},
        "SPIDER_MIDDLEWARES": {NearDupSpiderMiddleware: order},
        "ITEM_PIPELINES": {NearDupPipeline: order, CapturePipeline: order},
        "FEED_EXPORTERS": {"xml": "news.OwnExporter", "csv": None},
    }
    before, after = written(given)
    assert after == {**before, "CONCURRENT_ITEMS": ITEMS_AT_ONCE}
    assert before["ITEM_PIPELINES"] == given["ITEM_PIPELINES"]


def test_a_number_of_items_at_once_that_the_user_set_stays() -> None:
    before, after = written({"CONCURRENT_ITEMS": 200})
    assert after == {**before, **OURS, "CONCURRENT_ITEMS": 200}


def test_the_user_keeps_the_last_word() -> None:
    """What the add-on adds keeps the priority of what it is added to."""
    settings = Settings({"ITEM_PIPELINES": {FILES: 200}})
    Addon().update_settings(settings)
    assert settings.getpriority("ITEM_PIPELINES") == Settings({"ITEM_PIPELINES": {}}).getpriority("ITEM_PIPELINES")


def twins(site: NewsSite) -> list[str]:
    return [site.publish(f"/{number}", page(article("wire"))) for number in range(2)]


def test_wired_by_hand(project: Project, site: NewsSite) -> None:
    crawl = project.crawl(
        ITEM_A_PAGE,
        urls=twins(site),
        ADDONS={},
        SPIDER_MIDDLEWARES={"scrapy_neardup.NearDupSpiderMiddleware": 10},
        ITEM_PIPELINES={"scrapy_neardup.CapturePipeline": 1, "scrapy_neardup.NearDupPipeline": 300},
    )
    assert crawl.status == 0
    assert crawl.statuses == {"original": 1, "duplicate": 1}


@pytest.mark.parametrize(
    "wiring",
    [
        pytest.param({}, id="addon"),
        pytest.param(
            {
                "ADDONS": {},
                "SPIDER_MIDDLEWARES": {"scrapy_neardup.NearDupSpiderMiddleware": 10},
                "ITEM_PIPELINES": {"scrapy_neardup.CapturePipeline": 1, "scrapy_neardup.NearDupPipeline": 300},
            },
            id="by hand",
        ),
    ],
)
def test_disabled_the_crawl_is_as_it_was(project: Project, site: NewsSite, wiring: dict[str, Any]) -> None:
    urls = twins(site)
    crawl = project.crawl(ITEM_A_PAGE, urls=urls, NEARDUP_ENABLED=False, **wiring)
    assert crawl.status == 0
    assert sorted(item["page"] for item in crawl.items) == urls
    assert all(set(item) == {"page"} for item in crawl.items)
    assert crawl.neardup == {}
    assert not (project.folder / ".scrapy").exists()


def test_without_asyncio_the_crawl_goes_on_untagged_and_is_told_the_mend(project: Project, site: NewsSite) -> None:
    reactor = "twisted.internet.selectreactor.SelectReactor"
    crawl = project.crawl(ITEM_A_PAGE, urls=twins(site), TWISTED_REACTOR=reactor)
    assert crawl.status == 0
    assert [set(item) for item in crawl.items] == [{"page"}] * 2
    (error,) = crawl.lines("ERROR", "scrapy-neardup needs asyncio")
    assert "No item is checked" in error
    assert "Leave TWISTED_REACTOR at its default" in error
    assert crawl.stats["waiting_contexts"] == 0
