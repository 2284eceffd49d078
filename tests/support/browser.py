"""Headless Chromium for tests of pages: the one of the machine, or else one that is installed on the way.

A machine without Chromium gets it from Debian's packages if the tests may install them, or else from playwright's own
download. If neither works, the tests fail and say what to install: they are never skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Playwright, Route, sync_playwright

VARIABLE = "NEARDUP_TEST_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LOCK = Path(tempfile.gettempdir()) / "neardup-test-chromium.lock"
INSTALL_SECONDS = 250
SLOWEST = 20_000  # milliseconds for an answer of the page, on a busy machine
# Without these, Chromium looks for updates and the like. A sandbox needs rights that containers and root do not have.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


def installed_chromium(driver: Playwright) -> str | None:
    """Return the path of a Chromium, or None if there is none."""
    own = Path(driver.chromium.executable_path)
    given = os.environ.get(VARIABLE) or next(filter(None, map(shutil.which, NAMES)), None)
    return given or (str(own) if own.exists() else None)


def require_chromium(driver: Playwright) -> str:
    """Return the path of Chromium, and install it first if it is missing. Several processes may ask at once."""
    if path := installed_chromium(driver):
        return path
    with FileLock(LOCK, timeout=2 * INSTALL_SECONDS):
        attempts = []
        for commands in _installations():
            if path := installed_chromium(driver):
                return path
            attempts.append(_run(commands))
        if path := installed_chromium(driver):
            return path
    raise RuntimeError(
        f"the tests of the report need Chromium. Install it, for example by 'apt-get install chromium', or name its "
        f"program in {VARIABLE}. These commands did not help:\n" + "\n".join(attempts)
    )


def find_chromium() -> str:
    """Return the path of Chromium for a program that starts it itself. Install it first if it is missing."""
    with sync_playwright() as driver:
        return require_chromium(driver)


def _installations() -> Iterator[list[list[str]]]:
    if shutil.which("apt-get") and os.geteuid() == 0:
        yield [
            ["apt-get", "update", "-qq"],
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-dejavu-core"],
        ]
    yield [[sys.executable, "-m", "playwright", "install", "chromium"]]


def _run(commands: list[list[str]]) -> str:
    """Run commands until one fails. Return what the last of them printed."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in commands:
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"{' '.join(command)}: not done after {INSTALL_SECONDS} s"
        if done.returncode:
            break
    return f"{' '.join(command)}: {(done.stdout + done.stderr)[-2000:]}"


@contextmanager
def running_chromium() -> Iterator[Browser]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=require_chromium(driver), args=list(FLAGS))
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


def texts(found: Locator) -> list[str]:
    return [text.strip() for text in found.all_inner_texts()]


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
