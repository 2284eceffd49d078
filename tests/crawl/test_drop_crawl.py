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


def test_the_share_and_the_sources_that_are_kept_are_settings(project: Project, site: NewsSite) -> None:
    urls = [site.publish(f"/{name}", page(FERRY, title="Ferry aground")) for name in range(3)]

    kept = project.crawl(
        ITEM_A_PAGE, urls=urls, **DROP, NEARDUP_KEEP_SOURCES="127.0.0.1", NEARDUP_NAMESPACE="keep"
    ).items
    tagged = project.crawl(ITEM_A_PAGE, urls=urls, NEARDUP_NAMESPACE="tag")

    assert [item["neardup_would_drop"] for item in kept] == [False] * 3
    assert sorted(item["neardup_would_drop"] for item in tagged.items) == [False, True, True]
    assert tagged.neardup["would_drop"] == 2


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


def test_an_article_under_another_address_is_the_same_page(project: Project, site: NewsSite) -> None:
    old = site.publish("/news/ferry-aground-4711823.html", page(FERRY, title="Ferry aground off Skerrow"))
    moved = site.publish("/sea/ferry-off-skerrow-4711823.html", page(FERRY, title="Ferry off Skerrow"))
    rewritten = site.publish("/sea/ferry-free-4711823.html", page(article("free"), title="Ferry free off Skerrow"))
    printed = site.publish("/news/ferry-aground-4711823-print.html", page(FERRY, title="Ferry aground off Skerrow"))

    crawl = project.crawl(ITEM_A_PAGE, urls=[old, moved, rewritten, printed], **IN_ORDER)

    items = by_page(crawl.items)
    verdicts = [(items[url]["neardup_status"], items[url]["neardup_kind"]) for url in (old, moved, rewritten, printed)]
    assert verdicts == [("original", None), ("duplicate", "revisit"), ("update", None), ("duplicate", "revisit")]


def test_a_section_number_makes_no_updates(project: Project, site: NewsSite) -> None:
    headlines = ["Ferry aground", "Council budget", "Painter honoured", "Glacier melting"]
    urls = [site.publish(f"/4711823/on-{title[:4]}", page(article(title), title=title)) for title in headlines]

    assert project.crawl(ITEM_A_PAGE, urls=urls, **IN_ORDER).statuses == {"original": 4}


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
