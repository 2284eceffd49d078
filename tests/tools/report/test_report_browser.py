"""The page in a real browser. Each test also fails if the page logs an error or asks the network for anything."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser import go_to, has_count, open_page, open_story, press, texts
from json_lines import read_lines, write_lines
from playwright.sync_api import Browser, Page
from report_items import JudgedSite, item

from scrapy_neardup.evidence.news import LONGEST_NEWS
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.report.feed_stories import Period
from scrapy_neardup.tools.report.gathering import clean_line, gather
from scrapy_neardup.tools.report.page import build_report

WriteReport = Callable[..., Path]
PARTS = ("news", "stories", "drops", "numbers")


def titles(page: Page) -> list[str]:
    return page.locator("#story-list > li button").all_inner_texts()


# Stories


def test_a_story_opens_to_why_each_member_joined_and_what_differs(browser: Browser, day_report: Path) -> None:
    with open_page(browser, day_report, "#stories") as watched:
        open_story(watched.page, "River fever: twelve dead, dozens ill")
        rows = watched.page.locator(".members tbody tr")
        assert texts(rows.locator(".why")) == [
            "the first version we saw",
            "copy, the same text",
            "figures changed: at least 12 dead, was at least 4; 58 ill, was 31; 29 patients, was 17; "
            "99% of the shorter text is in the longer one",
            "copy, the same text",
        ]
        assert watched.page.locator("#story .timeline circle").count() == 4
        watched.page.get_by_role("button", name="Compare: River fever toll rises to 12").click()
        compare = watched.page.locator("#story .compare")
        compare.locator("ins").first.wait_for()
        assert texts(compare.locator("del .figure")) == ["4", "31", "17"]
        assert texts(compare.locator("ins .figure")) == ["12", "58", "29"]
        assert texts(compare.locator(".role")) == ["MATCH", "THIS ITEM"]
        watched.page.go_back()
        watched.page.locator("#story-list > li").first.wait_for()


def test_both_texts_are_shown_whole(browser: Browser, day_report: Path, judged_day: JudgedSite) -> None:
    recorded = read_lines(judged_day.documents)
    by_title = {row["title"]: row["text"].split() for row in recorded}
    with open_page(browser, day_report, "#stories") as watched:
        for headline in ("Explosion at Brackwater grain terminal", "海洋博物館"):
            open_story(watched.page, headline)
            for _ in range(3):
                press(watched.page, "j")
                compare = watched.page.locator("#story .compare")
                compare.locator(".text").first.wait_for()
                shown = watched.page.evaluate(
                    "[0, 1].map((side) => [...document.querySelectorAll('#story .compare .text')]"
                    ".filter((_, place) => place % 2 === side).map((cell) => cell.textContent).join(''))"
                )
                heads = texts(compare.locator(".title strong"))
                assert [text.split() for text in shown] == [by_title[head] for head in heads]
            go_to(watched.page, "stories")


def test_a_live_page_a_print_page_and_a_translation_are_with_their_story(
    browser: Browser, write_report: WriteReport
) -> None:
    rows = [
        item(),
        item(1, "duplicate", url="https://paper0.example/print/0", neardup_kind="revisit"),
        item(2, "duplicate", neardup_kind="revisit", url=item()["url"]),
        item(3, "related", url="https://paper0.example/live", neardup_similarity=0.1, neardup_containment=0.1),
        item(4, "update", url="https://paper0.example/live", neardup_match="https://paper0.example/live"),
        item(5, "related", neardup_kind="translation", neardup_story=None),
    ]
    with open_page(browser, write_report(rows), "#story/0") as watched:
        rows_shown = watched.page.locator(".members tbody tr")
        assert "|".join(re.split("[,:;]", each)[0] for each in texts(rows_shown.locator(".why"))) == (
            "the first version we saw|the same page under another address|the same event in other words|"
            "figures changed|the same article in another language"
        )
        watched.page.get_by_role("button", name="Show 1 repeated visit").click()
        assert rows_shown.count() == 6


def test_links_of_the_news_list_what_the_news_leave_out(browser: Browser, tmp_path: Path) -> None:
    rows = [item(n, neardup_story=f"{n:016x}", neardup_event="watch") for n in range(2)]
    for n in (10, 20, 30):
        key = {"neardup_story": f"{n:016x}", "published": 1_700_000_000 + 86_400}
        rows += [item(n, **key), item(n + 1, "update", **key, neardup_match=item(n)["url"])]
    write_lines(tmp_path / "items.jsonl", rows)
    built = build_report(gather([tmp_path / "items.jsonl"], NearDupSettings()), most_listed=1)
    (tmp_path / "report.html").write_text(built.html, encoding="utf-8")
    with open_page(browser, tmp_path / "report.html") as watched:
        page = watched.page
        for name, count, later in (("events", 2, 0), ("figures", 3, 3)):
            go_to(page, "news")
            go_to(page, page.locator(f"#news .period:visible a[href='#stories/{name}']"))
            assert len(titles(page)) == count
            page.get_by_role("combobox", name="Day").select_option("2023-11-15")
            assert len(titles(page)) == later
            page.get_by_role("combobox", name="Day").select_option("all days")
        page.get_by_role("button", name="Clear").click()
        has_count(page.locator("#story-list > li"), 3)  # of several items


def test_articles_on_one_site_only_can_be_listed(browser: Browser, write_report: WriteReport) -> None:
    rows = [
        item(),
        item(1, "duplicate"),
        item(2, "related", neardup_similarity=0.1, neardup_containment=0.1, language="en"),
        item(3, neardup_story="c" * 16, language="de"),
    ]
    with open_page(browser, write_report(rows), "#stories") as watched:
        page = watched.page
        page.get_by_role("combobox", name="Show").select_option("articles on one site only")
        assert titles(page) == ["Ferry runs aground, report 2", "Ferry runs aground, report 3"]
        page.get_by_role("combobox", name="Source").select_option("paper1.example")
        assert titles(page) == []
        page.get_by_role("combobox", name="Source").select_option("paper2.example")
        go_to(page, page.locator("#story-list button"))
        assert texts(page.locator(".members .why"))[2].endswith("; on one site only")
        assert "one site" not in " ".join(texts(page.locator(".members .why"))[:2])


def test_stories_are_searched_sorted_and_filtered(browser: Browser, day_report: Path) -> None:
    with open_page(browser, day_report, "#stories") as watched:
        page = watched.page
        assert len(titles(page)) == 9
        page.get_by_role("searchbox").fill("grounded FERRY")
        assert titles(page) == ["Ferry aground off Brackwater floats free"]
        page.get_by_role("button", name="Clear").click()
        page.get_by_role("combobox", name="Verdict").select_option("update")
        assert set(titles(page)) == {"River fever: twelve dead, dozens ill", "Hostel buried by landslide, men missing"}
        page.get_by_role("button", name="Clear").click()
        page.get_by_role("combobox", name="Language").select_option("ja")
        assert len(titles(page)) == 1
        page.get_by_role("button", name="Clear").click()
        page.get_by_role("combobox", name="Source").select_option("tarn-meridian.example")
        page.get_by_role("combobox", name="Sort").select_option("old")
        assert titles(page)[0] == "Corrin deal keeps night train running"
        page.get_by_role("searchbox").fill("nothing like this")
        assert page.locator("#stories-status").inner_text().startswith("No story fits.")


# News and drops


def test_a_day_is_chosen_for_news_stories_and_drops(browser: Browser, write_report: WriteReport) -> None:
    later = {"neardup_story": "b" * 16, "neardup_match": item(2)["url"], "neardup_share": 0.8}
    rows = [item(), item(1, "duplicate"), item(2, neardup_story="b" * 16), item(3, "duplicate", **later)]
    for row in rows[2:]:
        row["published"] += 86_400
    went_on = item(4, "duplicate", title="Toll of the ferry rises", published=1_700_000_000 + 90_000)
    rows += [went_on, item(5, "update", title="Toll of the ferry rises to nine", published=1_700_000_000 + 90_000)]
    with open_page(browser, write_report(rows)) as watched:
        page = watched.page
        page.get_by_role("combobox", name="Day").select_option("2023-11-14")
        assert texts(page.locator("#news .period:visible .card h4")) == ["Ferry runs aground, report 1"]
        go_to(page, page.get_by_role("link", name="Stories"))
        assert titles(page) == ["Ferry runs aground, report 1"]
        go_to(page, page.get_by_role("link", name="News"))
        page.get_by_role("combobox", name="Day").select_option("2023-11-15")
        assert texts(page.locator("#news .period:visible .card h4")) == titles(page)
        assert "Toll of the ferry rises" in titles(page)
        go_to(page, page.get_by_role("link", name="Drops"))
        assert page.locator("#drop-list > li").count() == 2
        page.get_by_role("combobox", name="Day").select_option("all days")
        assert page.locator("#drop-list > li").count() == 3


def test_every_part_counts_what_is_new_since_a_time(browser: Browser, tmp_path: Path) -> None:
    feed, page_file = tmp_path / "items.jsonl", tmp_path / "report.html"
    write_lines(feed, [item(), *(item(n, "duplicate") for n in range(1, 4))])
    since = Period("since then", item(2)["published"])
    page_file.write_text(build_report(gather([feed], NearDupSettings()), since=since).html, encoding="utf-8")
    with open_page(browser, page_file) as watched:
        page = watched.page
        assert "2 of 2 items (100%)" in page.locator(".finding:visible").inner_text()
        words = "2 papers; 2 reprint the same text"
        assert page.locator("#news .card:visible .meta").inner_text().startswith(words)
        go_to(page, page.get_by_role("link", name="Stories"))
        assert page.locator("#story-list .meta").inner_text().startswith(words)
        go_to(page, page.locator("#story-list button"))
        has_count(page.locator(".members tbody tr"), 2)
        page.get_by_role("button", name="Show 2 other items").click()
        has_count(page.locator(".members tbody tr"), 4)
        go_to(page, page.get_by_role("link", name="Drops"))
        assert "2 items would be dropped" in page.locator("#drops .about:visible").inner_text()
        assert page.locator("#drop-list > li").count() == 2
        go_to(page, page.get_by_role("link", name="Numbers"))
        assert texts(page.locator("#numbers .tile:visible strong")) == ["2"]
        assert page.locator("#numbers tbody tr:visible").count() == 2
        page.get_by_role("combobox", name="Day").select_option("all days")
        assert page.locator("#numbers tbody tr:visible").count() == 4


def test_a_table_is_sorted_by_the_column_that_is_clicked(browser: Browser, day_report: Path) -> None:
    with open_page(browser, day_report, "#numbers") as watched:
        table = watched.page.locator(".sortable").last
        for column, place, order in (
            ("source", 0, "ascending"),
            ("source", 0, "descending"),
            ("items", 1, "descending"),
            ("mostly from", 3, "ascending"),
        ):
            head = table.get_by_role("columnheader", name=column)
            head.get_by_role("button").click()
            assert head.get_attribute("aria-sort") == order
            cells = texts(table.locator(f"tbody tr > :nth-child({place + 1})"))
            shown = list(map(int, cells)) if place == 1 else cells
            assert shown == sorted(shown, reverse=order == "descending")


def test_drops_begin_with_what_loses_most_and_open_side_by_side(browser: Browser, write_report: WriteReport) -> None:
    copies = [item(n, "duplicate", neardup_share=share) for n, share in ((1, 0.99), (2, 0.71), (3, 0.8))]
    with open_page(browser, write_report([item(), *copies]), "#drops") as watched:
        lines = texts(watched.page.locator("#drop-list .meta"))
        assert [line.split(" · ")[2].partition(",")[0] for line in lines] == [
            f"{n}% would be lost" for n in (29, 20, 1)
        ]
        watched.page.locator("#drop-list button").first.click()
        watched.page.locator("#drop-list .compare ins").first.wait_for()
        press(watched.page, "Escape")
        assert watched.page.locator("#drop-list .compare").count() == 0


# Hostile and missing values


@pytest.mark.parametrize(
    "hostile",
    [
        "<!--<script></script><script>document.title = 'stolen'</script>",
        "\u202e\u2066 evil \ud800 <img src=x onerror=\"document.title = 'stolen'\">",
        f"\x1b[2J{'Donaudampfschiff' * 15}",
    ],
)
def test_hostile_values_are_text_in_every_part(browser: Browser, write_report: WriteReport, hostile: str) -> None:
    fields = dict.fromkeys(("title", "language", "neardup_reason", "neardup_news"), hostile)
    changes = f"dead: 4 -> {hostile}"
    items = [
        item(text=f"{hostile} and a body of four people.", **fields),
        item(1, "update", text=f"{hostile} and a body of five people.", neardup_changes=changes, **fields),
        item(2, "duplicate", url=f"javascript:document.title='stolen'//{hostile}", neardup_event="breaking", **fields),
        item(3, "unchecked", **fields),
    ]
    with open_page(browser, write_report(items)) as watched:
        page = watched.page
        for part in PARTS:
            go_to(page, part)
        go_to(page, "story/0")
        told = page.locator("#story q").first.inner_text()
        assert told == clean_line(hostile, LONGEST_NEWS)
        fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert page.evaluate(fits), "a very long word is broken"
        press(page, "j", "j")
        page.locator("#story .compare .sides ins").first.wait_for()
        assert page.title().startswith("News of 2023-11-14")
        assert page.locator("img, iframe, object, [onerror]").count() == 0
        assert page.locator("a[href^='javascript']").count() == 0
        if "<" in hostile:
            # The characters before it may be shown as marks.
            assert hostile[hostile.index("<") :] in page.locator("#story .compare .text").first.inner_text()


def test_an_item_may_have_the_name_of_a_method_of_javascript(browser: Browser, write_report: WriteReport) -> None:
    unlike = {"neardup_similarity": 0.0, "neardup_containment": 0.0}
    items = [item(), item(1, "related", url="toString", **unlike), item(2, "related", url="__proto__", **unlike)]
    with open_page(browser, write_report(items), "#story/0") as watched:
        assert texts(watched.page.locator(".members .why"))[1:] == ["the same event in other words"] * 2


@pytest.mark.parametrize("items", [[], [{"name": "no article"}], [item(published=None, title=None, url=None)]])
def test_a_feed_of_little_gives_a_working_page(browser: Browser, write_report: WriteReport, items: list[Any]) -> None:
    with open_page(browser, write_report(items)) as watched:
        for part in PARTS:
            go_to(watched.page, part)
        assert watched.page.locator(".note").count() >= 1


GROUNDED = "The night ferry ran aground off Skerrow on Tuesday evening after its steering failed."
RESCUED = "The coast guard said that forty people were taken off by two tugs before midnight."
HOTELS = "The ferry company will pay for hotels and for the return of all its passengers."
BUILT = "The ferry was overhauled in the spring, the company said in a short statement."
WEATHER = "Meteorologists had warned of heavy seas off the coast since Monday morning at least."


def compared(page: Page) -> list[tuple[str, str]]:
    """Open the comparison of the second item. Return the texts of its rows, left and right."""
    press(page, "j", "j")
    cells = page.locator("#story .compare .sides .text")
    cells.first.wait_for()
    shown = texts(cells)
    return list(zip(shown[::2], shown[1::2], strict=True))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((HOTELS, GROUNDED, BUILT), (GROUNDED, BUILT)),
        ((GROUNDED, HOTELS, WEATHER, RESCUED, BUILT), (GROUNDED, BUILT)),
        ((GROUNDED, "", HOTELS, "", BUILT), (GROUNDED, "", BUILT)),
    ],
)
def test_a_deleted_line_stands_beside_the_place_it_was_deleted_from(
    browser: Browser, write_report: WriteReport, left: tuple[str, ...], right: tuple[str, ...]
) -> None:
    page = write_report([item(text="\n".join(left)), item(1, "duplicate", text="\n".join(right))])
    with open_page(browser, page, "#story/0") as watched:
        rows = [row for row in compared(watched.page) if row != ("", "")]
        expected = [(line, line if line in right else "") for line in left if line]
        assert rows == expected
        deleted = "\n".join(texts(watched.page.locator("#story .sides del")))
        assert deleted.split("\n") == [line for line in left if line and line not in right]
        tops = watched.page.locator("#story .sides .text").evaluate_all("cells => cells.map((cell) => cell.offsetTop)")
        assert tops[::2] == tops[1::2]
