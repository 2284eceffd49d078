"""What is no page is not extracted. And where time goes is told."""

from __future__ import annotations

from news_site import Answer, NewsSite, article, page
from projects import ITEM_A_PAGE, NOTING, Project, extracted


def test_the_time_of_each_step_is_in_the_log_and_in_the_stats(project: Project, site: NewsSite) -> None:
    urls = [site.publish(f"/{number}", page(article("the same"))) for number in range(20)]
    urls += [site.publish("/other", page(article("another")))]
    crawl = project.crawl(ITEM_A_PAGE, urls=urls, LOG_LEVEL="INFO")
    assert crawl.neardup == {"checked": 21, "original": 2, "duplicate": 19, "duplicate/exact": 19, "would_drop": 19}
    stats = crawl.stats
    counts = {step: stats[f"neardup/{step}/ms_count"] for step in ("extract", "sketch", "check")}
    assert counts == {"extract": 21, "sketch": 21, "check": 21}
    begin = next(place for place, line in enumerate(crawl.log.splitlines()) if line.endswith("INFO: Time taken:"))
    steps = crawl.log.splitlines()[begin + 1 : begin + 4]
    for line, step in zip(steps, ("  extract 21 in ", "  sketch 21 in ", "  check 21 in "), strict=True):
        assert line.startswith(step)
        assert "p99" in line
        assert len(line) <= 80


def test_what_is_no_page_is_never_given_to_the_extractor(project: Project, site: NewsSite) -> None:
    answers = {
        "image": Answer(b"\x89PNG\r\n\x1a\n" * 100, "image/png"),
        "feed": Answer(b"<?xml version='1.0'?><rss><item>text</item></rss>", "application/rss+xml"),
        "json": Answer(b'{"html": "<p>text</p>"}'.rjust(2000), "application/json"),
        "large": Answer(page(article("large")).encode() * 200),
        "xhtml": Answer(b"<?xml version='1.0'?>" + page(article("xhtml")).encode(), "text/xml"),
    }
    urls = [site.publish(f"/{name}", answer) for name, answer in answers.items()]
    crawl = project.crawl(ITEM_A_PAGE, urls=urls, NEARDUP_MAX_HTML_BYTES=100_000, **NOTING)
    assert extracted(project) == {"xhtml": 1}
    assert crawl.neardup["unchecked/no-text"] == 3
    assert crawl.neardup["unchecked/extraction-failed"] == 1
