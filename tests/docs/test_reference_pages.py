"""Every stat that the code counts is explained; the navigation has every page."""

from __future__ import annotations

import os
import re
from pathlib import Path

from scrapy_neardup.crawl.stats import STATS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
STAT = re.compile(r'\bcount\(f?"([a-z_{][a-z_/{}.]+)"\)|"neardup/([a-z_/]+)"|yield f?"((?:run|hints)/[a-z_{}.]+)"')
# The table gives one name to the stats whose last part is a verdict, a level or a hint.
ONE_NAME = {
    "{verdict.status}/{detail}": "<status>",
    "events/{event.level}": "events/<level>",
    "hints/{hint.name}": "hints/<name>",
}


def test_every_stat_is_in_the_table() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "scrapy_neardup").rglob("*.py")]
    found = {next(filter(None, each)) for text in texts for each in STAT.findall(text)}
    timings = {f"{step}/ms_<figure>" for step in ("extract", "sketch", "check")}
    assert {ONE_NAME.get(name, name) for name in found} | timings == set(STATS)


def test_every_guide_is_in_the_list_of_guides() -> None:
    listed = (DOCS / "howto/index.md").read_text(encoding="utf-8")
    assert [path.name for path in (DOCS / "howto").glob("*.md") if f"({path.name})" not in listed] == ["index.md"]


def test_the_menu_has_25_pages_and_leaves_out_only_pages_that_another_page_links_to() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = set(re.findall(r"^ +- (?:.+: )?([\w/-]+\.md)$", navigation, re.MULTILINE))
    pages = {str(path.relative_to(DOCS)): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
    assert listed <= pages.keys()
    assert len(listed) <= 25
    linked = {
        os.path.normpath(f"{Path(page).parent}/{target}")
        for page, text in pages.items()
        for target in re.findall(r"\]\(([\w./-]+\.md)", text)
    }
    assert pages.keys() - listed - linked == set()
