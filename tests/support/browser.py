"""Headless Chromium for tests of pages: the one of the machine, or else one that is installed on the way.

If playwright cannot install it, the tests fail and say what to install: they are never skipped.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect, sync_playwright

VARIABLE = "NEARDUP_TEST_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SLOWEST = 20_000  # milliseconds for an answer of the page, on a busy machine
# Without these, Chromium looks for updates and the like. A sandbox needs rights that containers and root do not have.
FLAGS = "--no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update".split()
FLAGS += "--disable-sync --disable-dev-shm-usage".split()


def find_chromium() -> str:
    """Return the path of Chromium. If the machine has none, playwright downloads one; several processes may ask."""
    if given := os.environ.get(VARIABLE) or next(filter(None, map(shutil.which, NAMES)), None):
        return given
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    if done.returncode:
        raise RuntimeError(f"install Chromium, or name its program in {VARIABLE}.\n{done.stderr[-2000:]}")
    with sync_playwright() as driver:
        return driver.chromium.executable_path


@contextmanager
def running_chromium() -> Iterator[Browser]:
    path = find_chromium()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page, with everything that it should not do: errors, messages on its console, and requests to the network."""

    page: Page
    faults: list[str] = field(default_factory=list)


@contextmanager
def open_page(browser: Browser, path: Path, hash: str = "", **options: object) -> Iterator[Watched]:
    """Open a report, and wait until its data is there. At the end, fail if the page did anything wrong."""
    context: BrowserContext = browser.new_context(accept_downloads=True, **options)  # type: ignore[arg-type]
    watched = Watched(context.new_page())

    def refuse(route: Route) -> None:
        watched.faults.append(f"request: {route.request.url[:200]}")
        route.abort()

    context.route(lambda url: not url.startswith(("file:", "data:", "blob:")), refuse)
    watched.page.on("console", lambda message: watched.faults.append(f"console: {message.text[:500]}"))
    watched.page.on("pageerror", lambda error: watched.faults.append(f"error: {error}"))
    watched.page.set_default_timeout(SLOWEST)
    watched.page.goto(f"{path.resolve().as_uri()}{hash}")
    watched.page.wait_for_selector("html[data-ready]")
    yield watched
    context.close()
    assert not watched.faults, watched.faults


def open_story(page: Page, headline: str) -> None:
    page.get_by_role("button", name=headline).first.click()
    page.locator("#story-title", has_text=headline).wait_for()


def go_to(page: Page, place: str | Locator) -> None:
    """Go to a hash such as "news", or click a link to one, and wait until the page has shown it.

    The browser tells the page of a new hash later, so what stands on it is read too early without this. Its policy
    lets no test wait for an expression, so the page gets an attribute.
    """
    turn = "document.documentElement.toggleAttribute('data-turned', %s)"
    page.evaluate(
        f"() => {{ {turn % 'false'}; addEventListener('hashchange', () => {turn % 'true'}, {{ once: true }}) }}"
    )
    if isinstance(place, str):
        page.evaluate(f"(place) => {{ {turn % 'location.hash === `#${place}`'}; location.hash = place; }}", place)
    else:
        place.click()
    page.wait_for_selector("html[data-turned]")


def has_count(found: Locator, number: int) -> None:
    """Wait until so many elements are there."""
    expect(found).to_have_count(number, timeout=SLOWEST)


def texts(found: Locator) -> list[str]:
    return [text.strip() for text in found.all_inner_texts()]


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
