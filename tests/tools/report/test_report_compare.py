"""Two texts side by side in a real browser: what is compared, what is left out, and what stands beside what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from browser import open_page, press, texts
from playwright.sync_api import Browser, Page
from report_items import item
from scrapy_processes import neardup

from scrapy_neardup.tools.lab.feed import read_labelled

WriteReport = Callable[..., Path]

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


def facts(page: Page) -> str:
    return page.locator("#story .compare .facts").inner_text()


def test_short_lines_that_a_fingerprint_leaves_out_are_marked_and_are_no_changes(
    browser: Browser, write_report: WriteReport
) -> None:
    left = "\n".join(("Home", "News", GROUNDED, RESCUED, "Read more: storms"))
    right = "\n".join(("Menu", GROUNDED, RESCUED, "Share this"))
    with open_page(browser, write_report([item(text=left), item(1, "duplicate", text=right)]), "#story/0") as watched:
        rows = compared(watched.page)
        assert rows == [
            ("Home\nNews", "Menu"),
            (GROUNDED, GROUNDED),
            (RESCUED, RESCUED),
            ("Read more: storms", "Share this"),
        ]
        assert "No difference; 4 passages not compared." in facts(watched.page)
        left_out = watched.page.locator("#story .sides .left-out")
        assert texts(left_out) == ["Home\nNews", "Menu", "Read more: storms", "Share this"]
        assert watched.page.locator("#story .sides :is(ins, del)").count() == 0


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


# Review


def answer_all(page: Page) -> int:
    """Mark every third pair wrong, and the others right. Return the number of pairs."""
    number = int(page.locator("#review .compare h3").inner_text().split()[-1])
    for place in range(number):
        page.locator("#review .compare h3", has_text=f"Pair {place + 1} of").wait_for()
        page.keyboard.press("2" if place % 3 == 2 else "1")
    return number


def exported(page: Page, folder: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name="Export labels").click()
    path = folder / "labels.jsonl"
    download.value.save_as(path)
    return path


@pytest.mark.slow
def test_exported_labels_are_read_by_eval(browser: Browser, day_report: Path, tmp_path: Path) -> None:
    with open_page(browser, day_report, "#review") as watched:
        answer_all(watched.page)
        labels = exported(watched.page, tmp_path)
    for label in ("cluster", "story"):
        assert len(read_labelled(labels, label)[0]) > 40
    done = neardup(tmp_path, "eval", "labels.jsonl", "--seeds", "1", "--json")
    assert done.returncode == 0, done.stderr


def test_precision_comes_with_its_interval(browser: Browser, write_report: WriteReport) -> None:
    copies = [item(n, "duplicate", neardup_kind="exact") for n in range(1, 9)]
    with open_page(browser, write_report([item(), *copies]), "#review") as watched:
        press(watched.page, "1", "1", "1", "2", "3")
        cells = texts(watched.page.locator("#precision tbody tr").first.locator("th, td"))
        # Wilson's interval of 3 of 4, by the formula: 0.3006 to 0.9544.
        assert cells == ["duplicate, exact (8)", "3", "1", "1", "75%", "30% to 95%"]


def test_marks_are_kept_when_the_page_is_opened_again(browser: Browser, day_report: Path) -> None:
    with open_page(browser, day_report, "#review") as watched:
        press(watched.page, "1", "3")
        watched.page.reload()
        watched.page.wait_for_selector("html[data-ready]")
        watched.page.locator("#review .compare h3", has_text="Pair 3 of").wait_for()
        press(watched.page, "ArrowLeft")
        assert texts(watched.page.locator(".answers [aria-pressed=true]"))[0].startswith("Unsure")


def test_what_another_page_left_in_the_storage_does_no_harm(browser: Browser, day_report: Path) -> None:
    with open_page(browser, day_report, "#review") as watched:
        press(watched.page, "1")
        watched.page.evaluate("for (const name of Object.keys(localStorage)) localStorage[name] = '[5, {}]'")
        watched.page.reload()
        watched.page.wait_for_selector("html[data-ready]")
        watched.page.locator("#review .compare h3", has_text="Pair 1 of").wait_for()
