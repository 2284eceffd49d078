"""How long ``scrapy neardup report`` takes for a large feed, how large its page is, and how fast a browser shows it.

usage: python benchmarks/report_page.py [--items 200000] [--no-browser]
       python benchmarks/report_page.py --pictures docs/images

The first makes a feed with texts: stories of heavy-tailed size, 400 sources, one day. The second takes the pictures of
the documentation: the report of the bundled site of the example project.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from browser import open_page, running_chromium  # noqa: E402
from newsstand import judged_site  # noqa: E402

SOURCES = 400
START = 1_700_000_000
DAY = 86_400
WORDS_OF_A_TEXT = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("--pictures", type=Path, metavar="DIR")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.pictures:
            take_pictures(example_report(Path(folder)), options.pictures)
        else:
            measure(options.items, Path(folder), browse=not options.no_browser)


def measure(items: int, folder: Path, *, browse: bool) -> None:
    feed, page = folder / "items.jsonl", folder / "report.html"
    with feed.open("w", encoding="utf-8") as file:
        for item in simulated_items(items):
            file.write(json.dumps(item) + "\n")
    print(f"feed: {items:,} items, {feed.stat().st_size / 1e6:,.0f} MB")
    start = time.perf_counter()
    report(str(feed), "-o", str(page))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"built in {time.perf_counter() - start:.1f} s, of which the processor {used.ru_utime + used.ru_stime:.1f} s")
    print(f"memory: {used.ru_maxrss / 1024:,.0f} MB")
    print(f"page: {page.stat().st_size / 1e6:.1f} MB")
    if browse:
        with running_chromium() as browser, open_page(browser, page, "#stories") as watched:
            for name, milliseconds in browser_times(watched.page).items():
                print(f"{name}: {milliseconds:,.0f} ms")


def report(*arguments: str) -> None:
    command = [sys.executable, "-m", "scrapy", "neardup", "report", *arguments]
    subprocess.run(command, cwd=Path(tempfile.gettempdir()), check=True, stdout=subprocess.DEVNULL)


def browser_times(page: Any) -> dict[str, float]:
    """Return milliseconds to the first paint, until the list is there, and for searches and filters with drawing."""
    times = {
        "first paint": page.evaluate("performance.getEntriesByName('first-paint')[0].startTime"),
        "list of stories is there": page.evaluate("performance.getEntriesByName('ready')[0].startTime"),
    }
    steps = {
        "search": ("f-text", "harbour"),
        "search of two words": ("f-text", "harbour minister"),
        "filter by verdict": ("f-verdict", "3"),
        "filter by source": ("f-source", "7"),
        "sort": ("f-sort", "new"),
        "single items too": ("f-size", "1"),
    }
    for name, (field, value) in steps.items():
        times[name] = page.evaluate(
            """async ([field, value]) => {
                const input = document.getElementById(field);
                const before = input.value;
                const begin = performance.now();
                input.value = value;
                input.dispatchEvent(new Event('input', { bubbles: true }));
                document.body.getBoundingClientRect();
                const spent = performance.now() - begin;
                input.value = before;
                input.dispatchEvent(new Event('input', { bubbles: true }));
                return spent;
            }""",
            [field, value],
        )
    return times


def simulated_items(items: int) -> Iterator[dict[str, Any]]:
    """Yield items of a crawl in the order of their times, with tags and texts."""
    chosen = random.Random(1)
    words = [_word(chosen) for _ in range(8000)] + ["harbour", "minister", "ferry", "strike", "storm", "dead"]
    drawn: list[dict[str, Any]] = []
    while len(drawn) < items:
        size = min(2000, int(chosen.paretovariate(1.1))) if chosen.random() < 0.5 else 1
        drawn += _story(chosen, words, len(drawn), size)
    drawn = sorted(drawn[:items], key=lambda item: item["published"])
    yield from drawn


def _word(chosen: random.Random) -> str:
    return "".join(chosen.choices("aeiounrstlmdkpbg", k=chosen.randint(3, 10)))


def _story(chosen: random.Random, words: list[str], number: int, size: int) -> list[dict[str, Any]]:
    start = START + chosen.random() * DAY * 0.8
    title = " ".join(chosen.choices(words, k=8)).capitalize()
    text = " ".join(chosen.choices(words, k=WORDS_OF_A_TEXT))
    first = f"https://paper{chosen.randrange(SOURCES)}.example/{number}/{title.replace(' ', '-').lower()}"
    story = []
    for place in range(size):
        status = "original" if not place else chosen.choices(("duplicate", "update", "related"), (7, 1, 3))[0]
        own = title if place % 3 else " ".join(chosen.choices(words, k=8)).capitalize()
        url = (
            first
            if not place
            else f"https://paper{chosen.randrange(SOURCES)}.example/{number + place}/{own.replace(' ', '-').lower()}"
        )
        share = round(0.5 + chosen.random() / 2, 4) if place else None
        story.append(
            {
                "url": url,
                "title": own if place else title,
                "published": round(start + (chosen.expovariate(1 / 3600) if place else 0), 1),
                "language": "en" if number % 5 else "fr",
                "text": text if not place else f"{text[: int(len(text) * chosen.random())]} {place} dead {own}",
                "neardup_status": status,
                "neardup_kind": "near" if status == "duplicate" else None,
                "neardup_original": first if place else None,
                "neardup_match": first if place else None,
                "neardup_similarity": share,
                "neardup_containment": share,
                "neardup_share": share,
                "neardup_would_drop": status == "duplicate",
                "neardup_story": f"{number:016x}",
                "neardup_changes": "dead: 4 -> 12" if status == "update" else None,
                "neardup_event": "breaking" if place == 300 else None,
                "neardup_reason": None,
            }
        )
    return story


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
