"""The tags in feeds that Scrapy writes as CSV and XML."""

from __future__ import annotations

import pytest
from lxml import etree
from news_site import NewsSite, article, page
from projects import ITEM_A_PAGE, Project

from scrapy_neardup.document import TAGS

pytestmark = pytest.mark.versions

ARTICLE = """
from dataclasses import dataclass
from scrapy_neardup import NearDupFields

@dataclass
class Article(NearDupFields):
    page: str
    section: str = ""
"""


def test_a_csv_feed_has_the_tags_behind_the_fields_of_the_item(project: Project, site: NewsSite) -> None:
    spider = ARTICLE + ITEM_A_PAGE.replace('{"page": response.url}', "Article(page=response.url)")
    project.crawl(spider, "-O", "items.csv", urls=[site.publish("/", page(article("wire")))])
    columns = (project.folder / "items.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert columns == ["page", "section", *TAGS]


def test_an_xml_feed_has_empty_tags_and_can_be_read_whatever_the_items_have(project: Project, site: NewsSite) -> None:
    spider = ITEM_A_PAGE.replace("response.url}", 'response.url, "own": None, "title": "half \\ud800"}')
    project.prepare(spider, {})
    project.run("crawl", "news", "-a", f"urls={site.publish('/', page(article('wire')))}", "-O", "items.xml")
    (item,) = etree.parse(project.folder / "items.xml").getroot()
    found = {child.tag: child.text for child in item}
    assert (found["neardup_status"], found["neardup_kind"]) == ("original", None)
    assert found["own"] == "None", "a field of the user's own stays as Scrapy writes it"
    assert found["title"] == "half ?"
