"""The page for everybody: screen readers, keyboards, phones, dark rooms, paper, and browsers without scripts."""

from importlib.resources import files
from itertools import product
from pathlib import Path

import pytest
from browser import go_to, open_page, open_story, press
from playwright.sync_api import Browser

AXE = files("axe_playwright_python").joinpath("axe.min.js")
PARTS = ("news", "stories", "drops", "numbers")


@pytest.mark.slow
def test_axe_finds_no_fault(browser: Browser, day_report: Path) -> None:
    with open_page(browser, day_report) as watched:
        page = watched.page
        page.evaluate(AXE.read_text(encoding="utf-8") + ";0")
        for part in (*PARTS, "compare"):
            page.emulate_media(color_scheme="light")
            go_to(page, "stories" if part == "compare" else part)
            if part == "compare":
                open_story(page, "River fever: twelve dead, dozens ill")
                press(page, "j", "j")
                page.locator("#story .compare .sides ins").first.wait_for()
            found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
            if part in ("news", "drops", "compare"):
                page.emulate_media(color_scheme="dark")
                contrast = "axe.run({ runOnly: ['color-contrast'], resultTypes: ['violations'] })"
                found += page.evaluate(contrast)["violations"]
            assert [(part, fault["id"], [node["target"] for node in fault["nodes"]]) for fault in found] == []


def test_nothing_is_too_wide_or_cut_without_a_hint(browser: Browser, day_report: Path) -> None:
    with open_page(browser, day_report, viewport={"width": 768, "height": 844}) as watched:
        page = watched.page
        for part, width in product((*PARTS, "story/0"), (768, 390)):
            go_to(page, part)
            page.set_viewport_size({"width": width, "height": 844})
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            for each in page.locator(".scroll:visible").all():
                is_cut = each.evaluate("node => node.scrollWidth > node.clientWidth + 1")
                assert each.get_attribute("data-more") == ("" if is_cut else None)
                hint = each.evaluate("node => getComputedStyle(node, '::before').content")
                assert ("scroll sideways" in hint) == is_cut
            assert page.evaluate(CUT) == []


CUT = """() => [...document.querySelectorAll('nav a, svg text, td, th, .tile, button, h1, h2, h3')]
    .filter((node) => node.checkVisibility() && !node.closest('.scroll'))
    .filter((node) => {
        const { left, right, width } = node.getBoundingClientRect();
        const isCut = node instanceof HTMLElement && node.scrollWidth > node.clientWidth + 1;
        return width > 0 && (left < 0 || right > innerWidth || isCut);
    }).map((node) => node.textContent)"""


def test_the_page_works_by_keyboard_alone(browser: Browser, day_report: Path) -> None:
    with open_page(browser, day_report) as watched:
        page = watched.page
        for name in ("Skip to the content", "News", "Stories"):
            press(page, "Tab")
            assert page.evaluate("document.activeElement.innerText") == name
        press(page, "Enter", "/")
        page.keyboard.type("explosion")
        for _ in range(40):
            press(page, "Tab")
            if page.evaluate("document.activeElement.closest('#story-list') !== null"):
                break
        press(page, "Enter")
        page.locator("#story-title").wait_for()
        assert page.evaluate("document.activeElement.id") == "story-title"


def test_a_story_prints_with_its_differences_and_without_controls(browser: Browser, day_report: Path) -> None:
    with open_page(browser, day_report, "#stories") as watched:
        page = watched.page
        open_story(page, "River fever: twelve dead, dozens ill")
        press(page, "j", "j")
        page.locator("#story .compare .sides ins").first.wait_for()
        page.emulate_media(media="print")
        assert page.locator("nav").is_hidden()
        assert page.locator("#story .compare .head button").first.is_hidden()
        assert page.locator("#story .compare .figure").first.is_visible()
        assert len(page.pdf()) > 10_000


def test_without_scripts_the_news_and_the_numbers_are_there(browser: Browser, day_report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(day_report.as_uri())
    assert page.locator(".tile").first.is_visible()
    assert page.locator("#news .card").first.is_visible()
    assert "without JavaScript" in page.locator("noscript").inner_text()
    context.close()
