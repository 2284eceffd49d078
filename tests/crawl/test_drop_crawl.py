"""What real crawls drop: never what the feed does not already have, up to a share of the text."""

from __future__ import annotations

from typing import Any

from news_site import NewsSite, article, page
from projects import ITEM_A_PAGE, Item, Project

DROP: dict[str, Any] = {"NEARDUP_ACTION": "drop"}
IN_ORDER = {"CONCURRENT_REQUESTS": 1}
FERRY = article("ferry")


def by_page(items: list[Item]) -> dict[str, Item]:
    return {str(item["page"]): item for item in items}


def test_an_article_that_holds_another_and_adds_to_it_is_kept(project: Project, site: NewsSite) -> None:
    short = site.publish("/short", page(FERRY, title="Ferry aground"))
    longer = site.publish("/long", page(f"{FERRY}\n{article('own', 300)}", title="Ferry aground"))
    again = site.publish("/again", page(FERRY, title="Ferry aground"))

    crawl = project.crawl(ITEM_A_PAGE, urls=[short, longer, again], **IN_ORDER, **DROP)

    kept = by_page(crawl.items)
    assert kept.keys() == {short, longer}
    assert (kept[longer]["neardup_status"], kept[longer]["neardup_kind"]) == ("duplicate", "extended")
    assert kept[longer]["neardup_would_drop"] is False
    assert 0.2 < float(kept[longer]["neardup_share"]) < 0.6
    assert crawl.neardup["dropped"] == 1


def test_a_wall_longer_than_the_articles_drops_none_of_them(project: Project, site: NewsSite) -> None:
    wall = article("wall", 400)
    headlines = [
        "Ferry aground",
        "Council budget",
        "Painter honoured",
        "Glacier melting",
        "Railway strike",
        "School fire",
    ]
    urls = [site.publish(f"/{n}", page(f"{article(n, 60)}\n{wall}", title=title)) for n, title in enumerate(headlines)]

    first = project.crawl(ITEM_A_PAGE, urls=urls, **IN_ORDER, **DROP)
    more = [site.publish(f"/more-{n}", page(f"{article(f'm{n}', 60)}\n{wall}", title=f"Harbour {n}")) for n in range(5)]
    second = project.crawl(ITEM_A_PAGE, urls=more, **IN_ORDER, **DROP)

    assert len(first.items) >= len(urls) - 2
    assert second.statuses == {"original": 5}


def test_an_item_says_what_it_was_compared_with(project: Project, site: NewsSite) -> None:
    """The third page copies the second, which is an update of the first."""
    report = f"{FERRY}\n{{}} people died in the storm, the governor said on Monday evening.\n{article('more')}"
    first, update, copy = [
        site.publish(path, page(report.format(dead), title="Storm"))
        for path, dead in (("/first", 4), ("/update", 12), ("/copy", 12))
    ]

    crawl = project.crawl(ITEM_A_PAGE, urls=[first, update, copy], **IN_ORDER)

    items = by_page(crawl.items)
    assert items[update]["neardup_status"] == "update"
    assert (items[copy]["neardup_status"], items[copy]["neardup_kind"]) == ("duplicate", "exact")
    assert (items[copy]["neardup_original"], items[copy]["neardup_match"]) == (first, update)
    assert (items[copy]["neardup_similarity"], items[copy]["neardup_share"]) == (1, 1)
    assert items[copy]["neardup_changes"] is None
