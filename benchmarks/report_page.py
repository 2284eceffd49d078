"""Take the pictures of the report that the documentation shows: the report of the site of the example project.

usage: python benchmarks/report_page.py docs/images
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from browser import open_page, running_chromium  # noqa: E402
from newsstand import judged_site  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    with tempfile.TemporaryDirectory() as folder:
        take_pictures(example_report(Path(folder)), parser.parse_args().folder)


def report(*arguments: str) -> None:
    command = [sys.executable, "-m", "scrapy", "neardup", "report", *arguments]
    subprocess.run(command, cwd=Path(tempfile.gettempdir()), check=True, stdout=subprocess.DEVNULL)


def example_report(folder: Path) -> Path:
    """Return the report of the bundled site, judged by a replay of its texts."""
    site, page = judged_site(folder), folder / "report.html"
    feeds = str(site.verdicts), str(site.events)
    report(*feeds, "--documents", str(site.documents), "-o", str(page), "--title", "One day in Brackwater")
    return page


def take_pictures(report_page: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    desk = {"viewport": {"width": 1280, "height": 860}, "reduced_motion": "reduce"}
    looks: dict[str, tuple[str, dict[str, Any]]] = {
        "report-news": ("#news", {**desk, "viewport": {"width": 1280, "height": 1180}}),
        "report-compare": ("#stories", desk),
    }
    with running_chromium() as browser:
        for name, (part, look) in looks.items():
            with open_page(browser, report_page, part, **look) as watched:
                if part == "#stories":
                    open_comparison(watched.page)
                watched.page.screenshot(path=folder / f"{name}.png")


def open_comparison(page: Any) -> None:
    """Open a story and one of its items beside its match: an update whose figures changed."""
    page.get_by_role("button", name="River fever").first.click()
    for key in "jj":
        page.keyboard.press(key)
    page.locator("#story .compare .sides ins").first.wait_for()


if __name__ == "__main__":
    main()
