"""Two texts side by side in a real browser: what is compared, what is left out, and what stands beside what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from browser import open_page, press, texts
from playwright.sync_api import Browser, Page
from report_items import item

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
