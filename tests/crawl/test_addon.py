"""What the add-on writes into the settings, and what it leaves alone."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
from news_site import NewsSite, article, page
from projects import ITEM_A_PAGE, Crawl, Project
from scrapy.settings import BaseSettings, Settings

from scrapy_neardup import Addon, CapturePipeline, NearDupFields, NearDupItem, NearDupPipeline, NearDupSpiderMiddleware
from scrapy_neardup.addon import ITEMS_AT_ONCE
from scrapy_neardup.document import TAGS
from scrapy_neardup.middleware import NearDupDownloaderMiddleware

pytestmark = pytest.mark.versions

FILES = "scrapy.pipelines.files.FilesPipeline"
"""A pipeline of the user's own."""

OURS = {
    "CONCURRENT_ITEMS": ITEMS_AT_ONCE,
    "DOWNLOADER_MIDDLEWARES": {NearDupDownloaderMiddleware: 1},
    "SPIDER_MIDDLEWARES": {NearDupSpiderMiddleware: 10},
    "ITEM_PIPELINES": {CapturePipeline: -10_000, NearDupPipeline: 300},
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


BY_HAND = {
    "ADDONS": {},
    "SPIDER_MIDDLEWARES": {"scrapy_neardup.NearDupSpiderMiddleware": 10},
    "ITEM_PIPELINES": {"scrapy_neardup.CapturePipeline": 1, "scrapy_neardup.NearDupPipeline": 300},
}


def test_wired_by_hand(project: Project, site: NewsSite) -> None:
    crawl = project.crawl(ITEM_A_PAGE, urls=twins(site), **BY_HAND)
    assert crawl.status == 0
    assert crawl.statuses == {"original": 1, "duplicate": 1}


@pytest.mark.parametrize("wiring", [{}, BY_HAND], ids=["addon", "by hand"])
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


SPIDER = '''
from dataclasses import dataclass

import attrs
import pydantic

from scrapy_neardup import NearDupFields, NearDupItem

class Declared(NearDupItem):
    kind = scrapy.Field()

class Plain(scrapy.Item):
    kind = scrapy.Field()

class Partial(scrapy.Item):
    kind = scrapy.Field()
    neardup_status = scrapy.Field()

@dataclass
class Mixed(NearDupFields):
    kind: str

@dataclass
class Bare:
    kind: str

@dataclass(frozen=True)
class Frozen:
    kind: str
    neardup_status: str | None = None

@attrs.define
class Attrs:
    kind: str
    neardup_status: str | None = None
    neardup_similarity: float | None = None

class Pydantic(pydantic.BaseModel):
    kind: str
    neardup_status: str | None = None
    neardup_similarity: float | None = None

class Strict(pydantic.BaseModel, validate_assignment=True):
    kind: str
    neardup_status: int = 0

KINDS = (dict, Declared, Plain, Partial, Mixed, Bare, Frozen, Attrs, Pydantic, Strict)

class News(Pages):
    """Yields two items of the page's kind."""

    def parse(self, response):
        kind = next(kind for kind in KINDS if kind.__name__ == response.url.rpartition("/")[2])
        for _ in range(2):
            yield kind(kind=kind.__name__)
'''

STATUS = "neardup_status"
TAGGED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("dict", "Declared", "Mixed"), TAGS),
    "Partial": (STATUS,),
    **dict.fromkeys(("Attrs", "Pydantic"), (STATUS, "neardup_similarity")),
    **dict.fromkeys(("Plain", "Bare"), ()),
}
"""The tags that each kind of item takes."""
REFUSING = ("Frozen", "Strict")
EVERY_KIND = (*TAGGED, *REFUSING)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    """One crawl that yields two items of every kind, each kind from a page of its own."""
    with NewsSite() as site:
        urls = [site.publish(f"/{kind}", page(article(kind))) for kind in EVERY_KIND]
        yield Project(tmp_path_factory.mktemp("items")).crawl(SPIDER, urls=urls)


def test_no_item_is_lost_and_each_is_judged(crawl: Crawl) -> None:
    assert crawl.status == 0
    assert not crawl.lines(" ERROR: ")
    assert sorted(item["kind"] for item in crawl.items) == sorted(2 * EVERY_KIND)
    assert crawl.neardup == {"checked": 2 * len(EVERY_KIND), "original": 2 * len(EVERY_KIND)}


def test_each_kind_takes_the_tags_that_it_declares_and_a_hint_counts_what_takes_none(crawl: Crawl) -> None:
    for kind, tags in TAGGED.items():
        pair = [item for item in crawl.items if item["kind"] == kind]
        assert [set(item) for item in pair] == [{"kind", *tags}] * 2
        assert {item[STATUS] for item in pair if tags} <= {"original"}
        assert all(next(iter(item)) == "kind" for item in pair), "its own fields come first"
        assert not crawl.lines("WARNING", f".{kind} ")
    untagged = [*REFUSING, *(kind for kind, tags in TAGGED.items() if not tags)]
    assert crawl.hints["untagged"] == 2 * len(untagged)
    assert all(kind in crawl.log.partition(" took no tags")[2] for kind in untagged)


def test_the_bases_declare_every_tag_and_nothing_else() -> None:
    assert set(NearDupItem.fields) == set(TAGS)
    assert tuple(each.name for each in fields(NearDupFields)) == TAGS
