"""The reference pages have every tag, verdict, setting and command of the code."""

import inspect
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest
from projects import FERRY, Project

from scrapy_neardup.crawl.announcer import STATS
from scrapy_neardup.document import KINDS, STATUSES, TAGS, Reason
from scrapy_neardup.rules.systems import NOT_DROPPED
from scrapy_neardup.story import LEVELS

ROOT = Path(__file__).parents[1]
SETTINGS = (ROOT / "docs/settings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", [*TAGS, *STATUSES, *KINDS, *get_args(Reason)])
def test_every_tag_and_value_is_explained(word: str) -> None:
    assert f"`{word}`" in SETTINGS


def test_every_reason_to_keep_a_duplicate_is_listed() -> None:
    section = TROUBLES.partition("### Duplicates are not dropped")[2].partition("\n### ")[0]
    for guard in NOT_DROPPED:
        told = re.findall('"([a-z][^"{]{20,40})', inspect.getsource(guard))
        assert any(text in section for text in told), guard.__name__


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
    assert listed <= pages.keys()
    assert len(listed) <= 25
    linked = {
        os.path.normpath(f"{Path(page).parent}/{target}")
        for page, text in pages.items()
        for target in re.findall(r"\]\(([\w./-]+\.md)", text)
    }
    assert pages.keys() - listed - linked == set()


def test_the_pages_are_short() -> None:
    pages = [
        *DOCS.rglob("*.md"),
        *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
    ]
    words = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").split()) for path in pages}
    assert sum(words.values()) <= 42_000
    assert [page for page, count in words.items() if page.startswith("docs/decisions/") and count > 500] == []


TROUBLES = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
PAGE = TROUBLES.partition("## By message")[2]
LISTED = re.findall(r"^\| `(.+?)` \|", PAGE, re.MULTILINE)


def test_the_code_has_every_message_of_the_page() -> None:
    """The name of a setting and its value stand before the reason, and … stands for what differs each time."""
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "scrapy_neardup").rglob("*.py"))
    code = re.sub('"\\s*\\n\\s*f?"', "", code)  # a text may be written on several lines
    reasons = {listed: listed.partition(" = …: ")[2] or listed for listed in LISTED}
    assert LISTED
    assert [listed for listed, reason in reasons.items() if max(re.split("…|; ", reason), key=len) not in code] == []


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS / "theme"))
    monkeypatch.delitem(sys.modules, "reference", raising=False)
    import reference

    return reference


def test_the_pages_are_those_that_the_code_would_write(reference: ModuleType) -> None:
    pages = {name: (DOCS / name).read_text(encoding="utf-8") for name in reference.PAGES}
    old = [name for name, text in pages.items() if reference.with_reference(text) != text]
    assert old == [], "write them again: python docs/theme/reference.py"


def test_every_setting_and_command_has_a_place(reference: ModuleType) -> None:
    pages = "\n".join((DOCS / name).read_text(encoding="utf-8") for name in reference.PAGES)
    assert reference.missing(pages) == []
    assert "ACTION" in reference.missing(pages.replace("ENABLED, ACTION,", "ENABLED,"))
