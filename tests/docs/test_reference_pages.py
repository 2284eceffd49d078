"""Every stat of a crawl is explained; the navigation has every page."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import get_args

from projects import FERRY, Project

from scrapy_neardup.crawl.run_summary import STATS
from scrapy_neardup.document import KINDS, LEVELS, STATUSES, Reason

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_every_stat_of_a_crawl_is_in_the_table(project: Project) -> None:
    parts = {"<status>": "|".join(STATUSES), "<level>": "|".join(LEVELS), "<name>": "[a-z-]+", "<figure>": r"\w+"}
    names = [re.sub("<[a-z]+>", lambda part: f"({parts[part[0]]})", name) for name in STATS]
    names.append(f"({parts['<status>']})/({'|'.join([*KINDS, *get_args(Reason)])})")
    done = project.crawl(FERRY, NEARDUP_RECORD="recorded.jsonl.gz")
    found = {name.removeprefix("neardup/") for name in done.stats if name.startswith("neardup/")}
    assert {"checked", "run/kept", "duplicate/exact"} <= found
    assert [name for name in found if not any(re.fullmatch(pattern, name) for pattern in names)] == []


def test_every_guide_is_in_the_list_of_guides() -> None:
    listed = (DOCS / "howto/index.md").read_text(encoding="utf-8")
    assert [path.name for path in (DOCS / "howto").glob("*.md") if f"({path.name})" not in listed] == ["index.md"]


def test_the_menu_has_25_pages_and_leaves_out_only_pages_that_another_page_links_to() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = set(re.findall(r"^ +- (?:.+: )?([\w/-]+\.md)$", navigation, re.MULTILINE))
    pages = {str(path.relative_to(DOCS)): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
    pages = {page: text for page, text in pages.items() if not page.startswith("decisions/0")}  # listed by the site
    assert listed <= pages.keys()
    assert len(listed) <= 25
    linked = {
        os.path.normpath(f"{Path(page).parent}/{target}")
        for page, text in pages.items()
        for target in re.findall(r"\]\(([\w./-]+\.md)", text)
    }
    assert pages.keys() - listed - linked == set()
