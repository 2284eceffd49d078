"""``scrapy neardup watch``: what the workers of a window do, read from the store."""

from __future__ import annotations

import json

import pytest
from news_site import NewsSite, article, page
from projects import ITEM_A_PAGE, Project
from scrapy_processes import neardup

STORE = "sqlite:///.scrapy/neardup.sqlite"


@pytest.mark.slow
def test_two_crawls_are_seen_together(project: Project, site: NewsSite) -> None:
    wire = [site.publish(f"/{name}", page(article("wire"))) for name in range(4)]
    other = site.publish("/other", page(article("other")))
    teaser = site.publish("/photo", page(""))
    for urls in ([*wire[:2], other], [*wire[2:], teaser]):
        project.crawl(ITEM_A_PAGE, urls=urls)

    done = neardup(project.folder, "watch", "--once", "--json", "--store", STORE)
    assert done.returncode == 0, done.stderr
    view = json.loads(done.stdout)
    hour = {name: counts["hour"] for name, counts in view["verdicts"].items()}
    assert hour == {
        "original": 2,
        "duplicate": 3,
        "duplicate/exact": 3,
        "would_drop": 3,
        "unchecked": 1,
        "unchecked/too-short": 1,
    }
    (story,) = view["stories"]
    assert (story["hour"], story["headline"]) == (3, "News of the day")
    assert view["events"] == []
